"""The false alarm rate, measured on code that everybody has: the running Python's standard library."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from arr_sql.core.redaction import withhold_lines

# What is withheld there, and rightly: example passwords as literals. Looser than an exact list because the standard
# library differs from version to version.
KNOWN = {
    "urllib/request.py": 1,  # passwd='geheim$parole'
    "distutils/tests/test_config.py": 2,  # password:yh^%#rest-of-my-password
    "test/test_urllib2net.py": 1,  # http://evil:thing@example.com
    "test/test_netrc.py": 2,
}


def test_hardly_a_line_of_the_standard_library_is_withheld() -> None:
    """Of some 800,000 lines a handful that are known by name, and at most three that are not."""
    root = Path(sysconfig.get_paths()["stdlib"])
    unknown: list[str] = []
    lines = 0
    for path in sorted(root.rglob("*.py")):
        rel = path.relative_to(root).as_posix()
        if "site-packages" in rel or "dist-packages" in rel:
            continue
        text = path.read_text("utf-8", "replace")
        lines += text.count("\n")
        found = withhold_lines(text)
        if found.count > KNOWN.get(rel, 0):
            unknown += [f"{rel}:{number}" for number in found.lines]
    assert lines > 100_000
    assert len(unknown) <= 3, unknown
