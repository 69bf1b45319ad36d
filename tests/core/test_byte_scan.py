"""Finding what is left of a text in raw bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.byte_scan import MAX_WINDOWS, SHORTEST, find_anywhere, find_short, forms, make_probes, scan_files

TEXT = "The zebrafish diverged at step 900, 学习率减半, and nobody knew why it did so."


def scan(tmp_path: Path, data: bytes, *texts: str) -> bool:
    path = tmp_path / "x.db"
    path.write_bytes(data)
    return bool(scan_files([path, tmp_path / "x.db-wal"], make_probes(texts))[0])


@pytest.mark.parametrize("form", sorted(forms(TEXT)))
@pytest.mark.parametrize("offset", range(9))
def test_a_run_of_a_text_is_found_wherever_it_stands(tmp_path: Path, form: bytes, offset: int) -> None:
    """23 bytes from anywhere in a text are enough, in each encoding, at each position, and shorter runs are not promised."""
    run = make_probes([TEXT]).shortest_run
    assert run == 23
    for start in range(0, len(form) - run, 7):
        assert scan(tmp_path, b"\x00" * offset + form[start : start + run] + b"\x01" * 40, TEXT)
    assert not scan(tmp_path, b"\x00" * offset + bytes(len(form)), TEXT)


def test_a_short_text_is_found_as_a_whole(tmp_path: Path) -> None:
    """From six bytes on a title, a path or a word is looked for; what is shorter stands in any file by chance."""
    assert scan(tmp_path, b"...notes/a.md...", "notes/a.md")
    assert not scan(tmp_path, b"...notes/b.md...", "notes/a.md")
    assert len(make_probes(["abcde"], terms=["abcde"]).short) == 2  # its two forms in UTF-16 alone
    assert SHORTEST == 6


def test_rules_and_zeros_are_no_text(tmp_path: Path) -> None:
    """A line of dashes, or a vector's zeros, says nothing about whose it was."""
    assert len(make_probes(["-" * 80, "=" * 8], vectors=[bytes(64)])) == 0


def test_vectors_are_found_by_a_part(tmp_path: Path) -> None:
    """55 bytes of a vector are enough."""
    vector = bytes((n * 37 + 11) % 256 for n in range(1536))
    path = tmp_path / "v"
    for start in range(0, 1400, 97):
        path.write_bytes(b"\x00" * 3 + vector[start : start + 55])
        assert scan_files([path], make_probes((), [vector]))[0]


def test_pieces_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text across the border of two pieces is found, and every byte is counted once."""
    from arr_sql.core import byte_scan

    monkeypatch.setattr(byte_scan, "PIECE", 64)
    monkeypatch.setattr(byte_scan, "OVERLAP", 32)
    path = tmp_path / "x"
    for offset in range(70):
        path.write_bytes(b"\x00" * offset + TEXT.encode()[:30] + b"\x00" * 50)
        found, size = scan_files([path], make_probes([TEXT]))
        assert found and size == offset + 80


def test_a_large_text_takes_fewer_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit the windows stand apart, and the run that is needed grows by eight bytes for each step."""
    from arr_sql.core import byte_scan

    assert MAX_WINDOWS >= 1_000_000
    monkeypatch.setattr(byte_scan, "MAX_WINDOWS", 100)
    text = "".join(f"{n:05d} word " for n in range(40))
    probes = make_probes([text])
    assert probes.step > 1 and probes.step % 2 == 1 and probes.shortest_run == 15 + 8 * probes.step
    data = text.encode()
    for start in range(0, len(data) - probes.shortest_run, 5):
        part = b"\x00\x00\x00" + data[start : start + probes.shortest_run]
        assert byte_scan.find_at_stride(part + bytes(16), probes.windows)


@given(st.binary(max_size=400), st.sets(st.binary(min_size=6, max_size=22), min_size=101, max_size=130))
def test_many_short_probes_give_what_few_give(data: bytes, short: set[bytes]) -> None:
    """Sifting by beginnings loses nothing."""
    some = {data[at : at + 9] for at in range(0, max(0, len(data) - 9), 11)}
    expected = {probe for probe in short | some if probe in data}
    assert find_short(data, short | some) == expected


@given(st.binary(min_size=16, max_size=300))
def test_windows_are_found_anywhere(data: bytes) -> None:
    """Every window of a value is found in it."""
    windows = {data[at : at + 16] for at in range(0, len(data) - 15, 3)}
    assert find_anywhere(b"x" + data, windows) == windows
