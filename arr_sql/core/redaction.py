"""Credentials stay out of the index, of answers and of stored queries.

Promises:

- a file whose name says that it holds keys is never opened (:func:`is_sensitive_name`);
- of every other file only the *lines* that bear a credential are withheld, each replaced by one fixed text, so line
  numbers stay right and the rest stays searchable (:func:`withhold_lines`); a private key goes as a whole block;
- in a query the credential alone is replaced (:func:`redact`).

What counts is in ``core/credential_shapes.py``. Known gaps, on purpose: passphrases of several words, single
dictionary words (``password = "swordfish"``), and a value on another line than its name.

Held by ``tests/core/test_redaction.py``, ``test_redaction_names.py`` and ``test_redaction_time.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arr_sql.core import credential_shapes as shapes
from arr_sql.core.later import pattern

WITHHELD_LINE = "[line withheld: credential]"
REDACTED = "[redacted]"

_SENSITIVE_NAMES = frozenset((
    ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd",
    ".htdigest", ".git-credentials", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".passwd-s3fs",
    ".rclone.conf", "rclone.conf", ".yarnrc", ".yarnrc.yml", ".cargo-credentials", ".vault-token", ".terraformrc",
    "terraform.rc", ".envrc", ".env", ".flaskenv", ".credentials", "credentials", "credentials.json",
    "credentials.toml", "credentials.csv", "credentials.yaml", "credentials.yml", "client_secret.json",
    "client_secrets.json", "secrets.json", "secrets.yaml", "secrets.yml", "secrets.toml", "secrets.env", ".secrets",
    ".secret", "application_default_credentials.json", "serviceaccount.json", "service_account.json", "kubeconfig",
    ".kubeconfig", "accesstokens.json", "azureprofile.json", "msal_token_cache.json", "shadow", "gshadow",
    "master.passwd", "key3.db", "key4.db", "logins.json", "wallet.dat", ".bash_history", ".zsh_history",
    ".python_history", ".psql_history", ".mysql_history", ".node_repl_history", ".lesshst",
))  # fmt: skip
_SENSITIVE_SUFFIXES = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".bks", ".kdbx", ".kdb", ".ppk", ".p8", ".pk8", ".pkcs12",
    ".ovpn", ".tfstate", ".tfstate.backup", ".age-key", ".agekey", ".keytab", ".gpg-key", ".env",
)  # fmt: skip
_SENSITIVE_PREFIXES = (
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "client_secret_", "service-account", "service_account_",
    "secring.",
)  # fmt: skip
_ENV_TEMPLATES = (".example", ".sample", ".template", ".dist", ".tmpl", ".defaults")
_SENSITIVE_IN = {
    ".docker": {"config.json"},
    ".kube": {"config"},
    ".aws": {"credentials", "config"},
    ".cargo": {"credentials", "credentials.toml"},
    ".gem": {"credentials"},
    ".config": {"hub", "gh", "hosts.yml"},
    "gh": {"hosts.yml"},
    ".m2": {"settings.xml", "settings-security.xml"},
    ".huggingface": {"token"},
    "huggingface": {"token", "stored_tokens"},
    ".streamlit": {"secrets.toml"},
    ".git": {"config"},
}
_SENSITIVE_FOLDERS = frozenset((".ssh", ".gnupg", ".password-store", ".aws", ".azure", ".gcloud", ".secrets", ".kube"))
_SOURCE_SUFFIXES = (".py", ".md", ".rst", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".rb", ".tex")


def is_sensitive_name(name: str) -> bool:
    """Whether a file of this name is never opened. ``name`` may be a path: its last folder counts (``.aws/config``).

    Case does not count. ``.env.example`` and its kind are templates and stay readable; so does ``tokenizer.py``.
    """
    *folders, last = name.replace("\\", "/").lower().rsplit("/", 2)
    if last in _SENSITIVE_NAMES:
        return True
    if folders and last in _SENSITIVE_IN.get(folders[-1], ()):
        return True
    if last.endswith(_SENSITIVE_SUFFIXES):
        return not last.endswith(_ENV_TEMPLATES)
    if last.startswith(".env.") or ".env." in last:
        return not last.endswith((*_ENV_TEMPLATES, *_SOURCE_SUFFIXES))
    if last.startswith(_SENSITIVE_PREFIXES):
        return not last.startswith("service") or last.endswith(".json")
    return False


def is_sensitive_folder(name: str) -> bool:
    """Whether nothing in a folder of this name is opened (``.ssh``, ``.gnupg``, ...)."""
    return name.lower() in _SENSITIVE_FOLDERS


@dataclass(frozen=True, slots=True)
class Withheld:
    """``text`` with the credential lines replaced, how many, and their numbers (from 1)."""

    text: str
    count: int
    lines: tuple[int, ...]


# Searching a text for these takes no time; only lines that hold one are looked at. They are the literal parts of the
# expressions in credential_shapes, lower case; test_redaction.py checks that no shape lacks one.
_NAME_HINTS = (
    "pass", "pwd", "pword", "secret", "token", "key", "auth", "credential", "密码", "密碼", "口令", "密钥", "金鑰", "令牌",
)  # fmt: skip
_SHAPE_HINTS = (
    "://", "akia", "asia", "abia", "acca", "ltai", "akid", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_",
    "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "xox", "xapp-",
    "hooks.slack.com", "sk-", "sk_", "rk_", "aiza", "ya29.", "gocspx-", "npm_", "pypi-", "rubygems_", "dckr_pat_",
    "hf_", "gsk", "r8", "nvapi", "pplx", "xai", "whsec_", "sg.", "dop_v1_", "shpat_", "shpca_", "shppa_", "shpss_",
    "hvs.", "tskey-", "atatt3", "age-secret-key-", ":aa", "eyj", "bearer", "identified", "curl",
)  # fmt: skip
_HINTS = _NAME_HINTS + _SHAPE_HINTS
_SHAPED = frozenset(_SHAPE_HINTS)


def has_secret(text: str) -> bool:
    """Whether any line of ``text`` bears a credential."""
    lines = text.split("\n")
    return any(next(_spans(lines[number], shaped), None) is not None for number, shaped in _candidates(lines))


def withhold_lines(text: str) -> Withheld:
    """Replace each line that bears a credential. A line ends at ``\\n``; a ``\\r`` before it is kept."""
    lines = text.split("\n")
    withheld: set[int] = set()
    for number, shaped in _candidates(lines):
        if number not in withheld and next(_spans(lines[number], shaped), None) is not None:
            withheld.add(number)
            if shapes.PEM_BEGIN.search(lines[number]):
                withheld.update(range(number + 1, _pem_end(lines, number) + 1))
    if not withheld:
        return Withheld(text, 0, ())
    for number in withheld:
        lines[number] = WITHHELD_LINE + ("\r" if lines[number].endswith("\r") else "")
    return Withheld("\n".join(lines), len(withheld), tuple(number + 1 for number in sorted(withheld)))


def private_key_lines(text: str) -> frozenset[int]:
    """Numbers (from 1) of the lines that belong to private keys, which no look at one line alone can tell."""
    if "PRIVATE KEY" not in text:
        return frozenset()
    lines = text.split("\n")
    found: set[int] = set()
    for number, line in enumerate(lines):
        if number not in found and "PRIVATE KEY" in line and shapes.PEM_BEGIN.search(line):
            found.update(range(number, _pem_end(lines, number) + 1))
    return frozenset(number + 1 for number in found)


def redact(text: str) -> str:
    """Replace the credentials alone by ``[redacted]``; for query texts. The rest is unchanged."""
    lines = text.split("\n")
    for number, shaped in _candidates(lines):
        spans = _merged(_spans(lines[number], shaped))
        if spans and shapes.PEM_BEGIN.search(lines[number]):
            for inside in range(number + 1, _pem_end(lines, number) + 1):
                lines[inside] = REDACTED
        for start, end in reversed(spans):
            lines[number] = lines[number][:start] + REDACTED + lines[number][end:]
    return "\n".join(lines)


_MAX_KEPT, _MAX_KNOWN = 40, 1 << 17
# Words as they are written: those that hold no hint, and the others with their hints. Texts repeat their words and no hint
# holds white space, so only new words are searched.
_clean: set[str] = set()
_bearing: dict[str, list[str]] = {}


def _candidates(lines: list[str]) -> list[tuple[int, bool]]:
    """Indexes of the lines that hold a hint, in order, each with whether a hint of a shape is among them."""
    if len(_clean) + len(_bearing) > _MAX_KNOWN:
        _clean.clear()
        _bearing.clear()
    doubtful = [(number, words) for number, line in enumerate(lines) if not _clean.issuperset(words := line.split())]
    hints_of = _hints_of({word for _, words in doubtful for word in words if word not in _clean})
    found: list[tuple[int, bool]] = []
    for number, words in doubtful if hints_of else ():
        hints = [hint for word in words if word in hints_of for hint in hints_of[word]]
        if hints:
            found.append((number, not _SHAPED.isdisjoint(hints)))
    return found


def _hints_of(words: set[str]) -> dict[str, list[str]]:
    """Those of ``words`` that hold hints, with their hints. What is told here another thread may forget at any moment."""
    bearing: dict[str, list[str]] = {}
    new: list[str] = []
    for word in words:
        known = _bearing.get(word)
        if known is None:
            new.append(word)
        else:
            bearing[word] = known
    searched = _lower("\n".join(new))
    present = [hint for hint in _HINTS if hint in searched] if new else []
    for word in new:
        hints = [hint for hint in present if hint in _lower(word)] if present else []
        if hints:
            bearing[word] = hints
        if len(word) <= _MAX_KEPT:
            if hints:
                _bearing[word] = hints
            else:
                _clean.add(word)
    return bearing


def _lower(text: str) -> str:
    """``text`` as the expressions compare it, which take ſ for s and ı for i. May be longer, never by a line."""
    return text.lower() if text.isascii() else text.lower().replace("ſ", "s").replace("ı", "i")


def _pem_end(lines: list[str], begin: int) -> int:
    """Index of the last line of the key that starts at ``begin``. Prose that names the header ends it."""
    for number in range(begin, len(lines)):
        if shapes.PEM_END.search(lines[number]):
            return number
        if number > begin and not shapes.PEM_INSIDE.fullmatch(lines[number]):
            return number - 1
    return len(lines) - 1


def _merged(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spans(line: str, shaped: bool) -> Iterator[tuple[int, int]]:
    """Where credentials stand in one line. Lazy: the first one answers most questions.

    Each expression is only tried where the words that it needs are there.
    """
    lowered = _lower(line)
    for match in shapes.SHAPES.finditer(line) if shaped else ():
        if not shapes.MASKED.search(match[0]):
            yield match.span()
    if "PRIVATE KEY" in line:
        for match in shapes.PEM_BEGIN.finditer(line):
            end = shapes.PEM_END.search(line, match.end())
            yield match.start(), end.end() if end else len(line)
    if "://" in line:
        for match in shapes.USER_IN_URL.finditer(line):
            if not shapes.is_placeholder(match[2]):
                yield match.span(2)
    for shape, need in ((shapes.NETRC, "login"), (shapes.CURL_USER, "curl"), (shapes.SQL_PASSWORD, "'")):
        for match in shape.finditer(line) if need in lowered else ():
            if shapes.is_secret_value(match[1].strip("\"'"), "password", quoted=shape is shapes.SQL_PASSWORD):
                yield match.span(1)
    for match in shapes.FLAG.finditer(line) if "-" in line else ():
        if shapes.is_secret_value(match[1], "password", quoted=False) and not shapes.is_code(match[1]):
            yield match.span(1)
    for match in shapes.AUTH_HEADER.finditer(line) if "authorization" in lowered else ():
        basic = match[1].lower() == "basic" and shapes.is_basic_credentials(match[2])
        if basic or (not shapes.is_placeholder(match[2]) and any(char.isdigit() for char in match[2])):
            yield match.span(2)
    for match in shapes.BEARER.finditer(line) if "bearer" in lowered else ():
        if shapes.looks_random(match[1]) and not shapes.is_placeholder(match[1]):
            yield match.span(1)
    yield from _assigned(line, lowered)


_BARE_VALUE = pattern(r"[^\s\"'`<,;，；。]{1,400}")
_QUOTED_VALUE = {quote: pattern(rf"(?:\\.|[^{quote}\\\n]){{0,400}}") for quote in "\"'`"}
_ESCAPED_VALUE = pattern(r"[^\"'`\\\n]{0,400}")
_ENV_NAME = pattern(r"\s*(?:export\s+|set\s+|ENV\s+|-\s+|\$env:)?[A-Z][A-Z0-9_]*")


def _assignments(line: str, lowered: str) -> Iterator[re.Match[str]]:
    """Where a name that says secret is given a value, from left to right, not overlapping by more than a character."""
    if not shapes.GIVES_SIGN.search(line):
        return
    place = 0
    if len(lowered) != len(line):  # a letter whose small form is two: the places differ
        while match := shapes.ASSIGNMENT.search(line, place):
            place = max(match.start() + 1, match.end() - 1)
            yield match
        return
    for start in sorted({at for name in shapes.NAME_STARTS for at in _places(lowered, name)}):
        if start >= place and (found := shapes.ASSIGNMENT.match(line, start)):
            place = max(start + 1, found.end() - 1)
            yield found


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _assigned(line: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Values given to a name that says secret."""
    for match in _assignments(line, lowered):
        start, opening = match.end(), match[1]
        escaped = bool(opening) and match[0].endswith("\\" + opening)  # JSON inside a string
        pattern = _BARE_VALUE if not opening else _ESCAPED_VALUE if escaped else _QUOTED_VALUE[opening]
        value = pattern.match(line, start)
        if value is None or not value[0]:
            continue
        before = shapes.NAME_BEFORE.search(line, max(0, match.start() - 64), match.start())
        name_start = before.start() if before else match.start()
        strength = shapes.name_strength(_name_of(line, name_start, match))
        if strength is None or (match[0].endswith(":") and name_start and line[name_start - 1] == ":"):
            continue  # the second case is the middle of an ARN or URN
        if opening:
            if "," in match[0] and not _is_pair(line, name_start, value.end()):
                continue
            if shapes.is_secret_value(value[0], strength, quoted=True):
                yield value.span()
        elif _is_bare_secret(line, name_start, match, value, strength):
            yield value.span()


def _is_pair(line: str, name_start: int, value_end: int) -> bool:
    """``("password", "...")`` is a name and its value; ``"user", "password", "host:22"`` is a list of words."""
    return line[max(0, name_start - 1) : name_start] in ("'", '"') and bool(
        _BEFORE_PAIR.search(line, max(0, name_start - 8), name_start) and _AFTER_PAIR.match(line, value_end)
    )


_BEFORE_PAIR = pattern(r"[(\[]\s{0,4}[\"']\Z")
_AFTER_PAIR = pattern(r"[\"']\s{0,4}[)\]]")
_NAME_IN_MATCH = pattern(r"[\w.$-]+")


def _name_of(line: str, name_start: int, match: re.Match[str]) -> str:
    name = _NAME_IN_MATCH.match(line, name_start, match.end())
    return name[0] if name else ""


def _is_bare_secret(
    line: str, name_start: int, match: re.Match[str], value: re.Match[str], strength: shapes.Strength
) -> bool:
    """An unquoted value is a secret in a settings file and a variable in code; what stands around it decides."""
    text = value[0]
    tail = line[value.end() : value.end() + 1]
    if shapes.is_code(text):
        return False
    if _ENV_NAME.fullmatch(line, 0, len(line[:name_start]) + len(_name_of(line, name_start, match))):
        tight = match[0].endswith("=") and not match[0].endswith(" =")
        if tight and strength == "password" and not shapes.is_placeholder(text) and len(text) >= 6 and text.isascii():
            return not text.startswith(("$", "/", "%"))
    if text.isidentifier() and (tail in (",", ")") or shapes.name_strength(text) is not None):
        return False
    if (tail == "<") != match[0].endswith(">"):  # <password>...</password>
        return False
    if text.isidentifier() and strength == "password":
        alone = not line[value.end() :].strip() or tail in (";", "&", " ")
        return alone and shapes.is_secret_value(text, strength, quoted=False)
    return shapes.is_secret_value(text, strength, quoted=False)
