"""Nothing outside a trusted folder is read, nothing blocks, nothing raises; both ways of opening are tested."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arr_sql.core import folder_access
from arr_sql.core.folder_access import HAS_DESCRIPTORS
from arr_sql.core.rooted import Entry, FileInfo, FileRead, Listing, Refused, Root
from arr_sql.errors import PathRefused, StateError

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX special files")
LIMIT = 1 << 20


@pytest.fixture(params=[True, False] if HAS_DESCRIPTORS else [False], ids=lambda by: "descriptor" if by else "path")
def by_descriptor(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def kb(tmp_path: Path, by_descriptor: bool) -> Iterator[Root]:
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "ok.md").write_bytes(b"fine\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.md").write_bytes(b"deep\n")
    (tmp_path / "kb-private").mkdir()
    (tmp_path / "kb-private" / "plan.md").write_bytes(b"secret plan\n")
    with Root(folder, by_descriptor=by_descriptor) as root:
        yield root


@contextmanager
def without_privileges() -> Iterator[None]:
    """Permission bits do not bind root; step down while the block runs."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def code(result: object) -> str:
    assert isinstance(result, Refused), result
    assert "plan" not in result.detail
    return result.code


def test_a_file_comes_back_whole_with_its_size_and_time(kb: Root) -> None:
    """The bytes and what they belong to."""
    info = (kb.path / "sub" / "deep.md").stat()
    assert kb.read_file("sub/deep.md", LIMIT) == FileRead("sub/deep.md", b"deep\n", 5, info.st_mtime_ns)
    assert kb.look("sub/deep.md") == FileInfo("sub/deep.md", 5, info.st_mtime_ns)
    assert isinstance(kb.read_file("./sub//deep.md", LIMIT), FileRead)


@pytest.mark.parametrize(
    "rel", ["../kb-private/plan.md", "sub/../../kb-private/plan.md", "/etc/hostname", "a\0b", "sub/../ok.md"]
)
def test_a_path_that_could_leave_the_root_is_refused(kb: Root, rel: str) -> None:
    """One answer for all of them, and for the look and the scan as well."""
    assert code(kb.read_file(rel, LIMIT)) == "outside_root"
    assert code(kb.look(rel)) == "outside_root"
    assert code(kb.scan(rel)) == "outside_root"


def test_a_neighbour_with_the_same_first_letters_is_outside(kb: Root, tmp_path: Path) -> None:
    """Components are compared by what they are, not by how they begin (field report grepf-02)."""
    for outside in ("kb-private/plan.md", "kb/../kb-private/plan.md", "kb-private/none.md", "kb/../none", ".."):
        assert code(kb.locate(f"{tmp_path}/{outside}")) == "outside_root"
    assert kb.locate(f"{tmp_path}/kb/./ok.md") == "ok.md"
    assert kb.locate(f"{tmp_path}/kb/sub/../ok.md") == "ok.md"
    assert kb.locate(f"{tmp_path}/kb-private/../kb/ok.md") == "ok.md"
    assert kb.locate(kb.path) == ""
    assert code(kb.locate("x\0y")) == "outside_root"


def test_outside_says_the_same_whether_it_exists_or_not(kb: Root, tmp_path: Path) -> None:
    """No oracle."""
    there, missing = kb.locate(tmp_path / "kb-private" / "plan.md"), kb.locate(tmp_path / "kb-private" / "nope.md")
    assert isinstance(there, Refused) and isinstance(missing, Refused)
    assert (there.code, there.detail) == (missing.code, missing.detail)


def test_another_case_is_another_folder_where_the_system_says_so(kb: Root, tmp_path: Path) -> None:
    """``/srv/t/KB`` is ``/srv/t/kb`` exactly where the file system makes no difference."""
    same = (tmp_path / "KB").exists()
    found = kb.locate(tmp_path / "KB" / "ok.md")
    assert found == "ok.md" if same else code(found) == "outside_root"


@posix
def test_a_root_may_be_named_in_many_ways(
    kb: Root, tmp_path: Path, by_descriptor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trailing slash, relative, through a symlinked parent, as ``.`` and through ``..``."""
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(kb.path)
    for name in (f"{kb.path}/", "../kb", str(tmp_path / "link" / "kb"), ".", "sub/.."):
        with Root(name, by_descriptor=by_descriptor) as root:
            assert root.path == kb.path
            assert isinstance(root.read_file("ok.md", LIMIT), FileRead)
            assert root.locate("ok.md") == "ok.md"
            assert root.locate(tmp_path / "link" / "kb" / "ok.md") == "ok.md"
            assert code(root.locate(tmp_path / "link" / "kb-private" / "plan.md")) == "outside_root"


@posix
def test_a_folder_that_cannot_be_trusted_raises_with_the_way_out(tmp_path: Path, by_descriptor: bool) -> None:
    """A caller's mistake is an exception, unlike anything found below the root."""
    (tmp_path / "file").touch()
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    no_folder, link = "not a folder", "Name the folder it points to"
    for name, said in (("none", "no such file"), ("file", no_folder), ("link", link), ("pipe", no_folder)):
        with pytest.raises(PathRefused, match=said):
            Root(tmp_path / name, by_descriptor=by_descriptor)
    with pytest.raises(PathRefused):
        Root("a\0b", by_descriptor=by_descriptor)


def test_a_closed_root_says_so(tmp_path: Path, by_descriptor: bool) -> None:
    """Using it is a mistake in the program, not something found on disk."""
    root = Root(tmp_path, by_descriptor=by_descriptor)
    root.close()
    root.close()
    with pytest.raises(StateError):
        root.read_file("a", LIMIT)


@posix
def test_links_are_never_followed(kb: Root, tmp_path: Path) -> None:
    """To a file, to a folder, in the middle of a path, to the root itself, broken."""
    (kb.path / "plan.md").symlink_to(tmp_path / "kb-private" / "plan.md")
    (kb.path / "inner.md").symlink_to("ok.md")
    (kb.path / "folder").symlink_to(tmp_path / "kb-private")
    (kb.path / "sub" / "back").symlink_to("..")
    (kb.path / "broken.md").symlink_to("nowhere")
    for rel in ("plan.md", "inner.md", "folder", "folder/plan.md", "sub/back/ok.md", "broken.md"):
        assert code(kb.read_file(rel, LIMIT)) == "symlink", rel
    assert code(kb.scan("folder")) == "symlink"
    located = kb.locate(kb.path / "sub" / "back" / "ok.md")
    assert located == "sub/back/ok.md"


@posix
def test_special_files_are_refused_at_once(kb: Root) -> None:
    """A pipe without a writer would block a plain open for ever."""
    os.mkfifo(kb.path / "pipe.md")
    os.mkfifo(kb.path / "pipe-folder")
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(kb.path)  # the whole path may be too long for a socket
        try:
            server.bind("s.md")
        finally:
            os.chdir(here)
        for rel in ("pipe.md", "s.md", "pipe-folder/x.md"):
            assert code(kb.read_file(rel, LIMIT)) in ("special_file", "vanished")
        assert code(kb.read_file("pipe.md", LIMIT)) == "special_file"
        assert code(kb.read_file("s.md", LIMIT)) == "special_file"
        entries = kb.scan()
        assert isinstance(entries, list)
        assert [entry.name for entry in entries if entry.kind == "special"] == ["pipe-folder", "pipe.md", "s.md"]


@posix
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_devices_are_refused(by_descriptor: bool) -> None:
    """Endless and blocking devices are not files."""
    with Root("/dev", by_descriptor=by_descriptor) as root:
        for name in ("zero", "null", "tty"):
            if os.path.exists(f"/dev/{name}"):
                assert code(root.read_file(name, LIMIT)) == "special_file"


def test_what_is_no_file_is_refused_by_kind(kb: Root) -> None:
    """A folder, nothing, a file used as a folder, a file that is too large."""
    assert code(kb.read_file("sub", LIMIT)) == "not_a_file"
    assert code(kb.read_file("", LIMIT)) == "not_a_file"
    assert code(kb.read_file("none.md", LIMIT)) == "vanished"
    assert code(kb.read_file("none/none.md", LIMIT)) == "vanished"
    assert code(kb.read_file("ok.md/x", LIMIT)) == "vanished"
    assert code(kb.scan("ok.md")) == "vanished"
    assert code(kb.read_file("x" * 5000, LIMIT)) == "vanished"
    assert code(kb.read_file("ok.md", 4)) == "too_large"
    assert isinstance(kb.read_file("ok.md", 5), FileRead)


def test_sensitive_names_are_refused_before_anything_is_opened(kb: Root) -> None:
    """Also when they do not exist: the name decides, and it is no oracle."""
    (kb.path / ".env").write_bytes(b"X=1\n")
    (kb.path / ".ssh").mkdir()
    (kb.path / ".ssh" / "config").write_bytes(b"Host x\n")
    for rel in (".env", "sub/.env.local", "sub/id_rsa", ".ssh/config", "a/.aws/credentials"):
        assert code(kb.read_file(rel, LIMIT)) == "sensitive_name"
        assert code(kb.look(rel)) == "sensitive_name"


@posix
def test_what_may_not_be_read_is_a_refusal(kb: Root) -> None:
    """A file and a folder without permission."""
    for name in ("shut.md", "shut"):
        path = kb.path / name
        path.mkdir() if name == "shut" else path.touch()
        path.chmod(0)
    kb.path.chmod(0o755)
    if kb._folder.__class__ is folder_access.PathFolder and os.geteuid() == 0:
        pytest.skip("root's temporary folder cannot be entered by path without privileges")
    with without_privileges():
        results = [kb.read_file("shut.md", LIMIT), kb.scan("shut"), kb.read_file("shut/x", LIMIT)]
    (kb.path / "shut").chmod(0o700)
    assert [code(result) for result in results] == ["permission_denied"] * 3


def test_a_folder_lists_names_in_order_with_kinds(kb: Root) -> None:
    """Sizes and times for files only."""
    (kb.path / "Z.md").write_bytes(b"zz")
    entries = kb.scan()
    assert isinstance(entries, list)
    assert [(entry.name, entry.kind, entry.size) for entry in entries] == [
        ("Z.md", "file", 2),
        ("ok.md", "file", 5),
        ("sub", "folder", 0),
    ]
    said = (kb.path / "Z.md").stat()
    assert entries[0] == Entry("Z.md", "file", 2, said.st_mtime_ns, said.st_ctime_ns, said.st_ino)


def test_a_file_that_changes_while_it_is_read_is_read_again(kb: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes are outlived, a third is reported."""
    path = kb.path / "ok.md"
    real_read, changes = os.read, 0

    def changing_read(fd: int, count: int) -> bytes:
        nonlocal changes
        if changes < wanted:
            changes += 1
            with path.open("ab") as file:
                file.write(b"more\n")
        return real_read(fd, count)

    monkeypatch.setattr("arr_sql.core.rooted.os.read", changing_read)
    wanted = 2
    read = kb.read_file("ok.md", LIMIT)
    assert isinstance(read, FileRead)
    assert read.data == path.read_bytes() and read.size == len(read.data)
    wanted = 10_000
    assert code(kb.read_file("ok.md", LIMIT)) == "changed_while_reading"


@posix
@pytest.mark.parametrize("swap", ["link", "pipe", "other"])
def test_a_file_swapped_between_the_look_and_the_open_is_not_read(kb: Root, tmp_path: Path, swap: str) -> None:
    """The descriptor decides, whatever the name meant a moment ago."""
    path, folder = kb.path / "ok.md", kb._folder
    assert folder is not None
    real_open = folder.open_file

    def swapping_open(name: str) -> int:
        path.unlink()
        if swap == "link":
            path.symlink_to(tmp_path / "kb-private" / "plan.md")
        elif swap == "pipe":
            os.mkfifo(path)
        else:
            (tmp_path / "new").write_bytes(b"other\n")
            (tmp_path / "new").rename(path)
        return real_open(name)

    folder.open_file = swapping_open  # type: ignore[method-assign]
    result = kb.read_file("ok.md", LIMIT)
    if isinstance(result, FileRead):  # another file took the name and the next attempt read it whole
        assert (swap, result.data) == ("other", b"other\n")
    else:
        assert result.code in ("symlink", "special_file", "changed_while_reading")


@posix
def test_a_folder_swapped_for_a_link_again_and_again_never_leaks(kb: Root, tmp_path: Path) -> None:
    """A race run for real: another thread flips ``sub`` between a folder and a link to the private neighbour."""
    (kb.path / "real").mkdir()
    (kb.path / "real" / "plan.md").write_bytes(b"public\n")
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            os.rename(kb.path / "real", kb.path / "flip")
            os.rename(kb.path / "flip", kb.path / "real")
            os.symlink(tmp_path / "kb-private", kb.path / "flip")
            os.unlink(kb.path / "flip")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        results = [kb.read_file("flip/plan.md", LIMIT) for _ in range(3000)]
    finally:
        stop.set()
        thread.join()
    seen = {result.data if isinstance(result, FileRead) else result.code for result in results}
    if kb._folder.__class__ is folder_access.DescriptorFolder:  # by path a swap can win the race; that is why
        assert b"secret plan\n" not in seen
    assert seen & {"vanished", "symlink", b"public\n"}


@posix
def test_moving_the_root_does_not_redirect_it(kb: Root, tmp_path: Path) -> None:
    """A descriptor holds the folder, not its name."""
    if kb._folder.__class__ is not folder_access.DescriptorFolder:
        pytest.skip("only descriptors can promise this")
    kb.path.rename(tmp_path / "moved")
    (tmp_path / "kb").symlink_to(tmp_path / "kb-private")
    assert isinstance(kb.read_file("ok.md", LIMIT), FileRead)
    assert code(kb.read_file("plan.md", LIMIT)) == "vanished"


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="APFS refuses names that are not UTF-8")
def test_names_that_are_not_utf8_can_be_opened(kb: Root) -> None:
    """``surrogateescape`` carries the bytes."""
    (Path(os.fsdecode(os.fsencode(kb.path) + b"/caf\xe9.md"))).write_bytes(b"x")
    entries = kb.scan()
    assert isinstance(entries, list)
    name = entries[0].name
    assert name == "caf\udce9.md"
    assert isinstance(kb.read_file(name, LIMIT), FileRead)


def test_nothing_stays_open(kb: Root) -> None:
    """Refusals give their descriptors back too."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        for rel in ("ok.md", "none", "sub/deep.md", "sub/none", "ok.md/x", "../x", "sub"):
            kb.read_file(rel, LIMIT)
            kb.look(rel)
            kb.scan(rel)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_descriptor_way_is_used_where_the_system_has_it(tmp_path: Path) -> None:
    """Windows alone falls back."""
    with Root(tmp_path) as root:
        expected = folder_access.PathFolder if sys.platform == "win32" else folder_access.DescriptorFolder
        assert root._folder.__class__ is expected
    assert stat.S_ISDIR(tmp_path.stat().st_mode)


def test_a_folder_is_looked_at_again_by_its_stamp(kb: Root, by_descriptor: bool) -> None:
    """The files' numbers while the folder is as it was listed; None when a name came, is no file, or lies outside."""
    listing = kb.list_folder()
    assert isinstance(listing, Listing)
    (entry,) = [entry for entry in listing.entries if entry.name == "ok.md"]
    numbers = kb.look_again("", listing.stamp, ["ok.md"])
    if not by_descriptor:
        assert numbers is None  # the way of Windows: folders are listed each time
        return
    assert numbers == [entry[2:]]
    assert kb.look_again("", listing.stamp, ["sub"]) is None and kb.look_again("", listing.stamp, ["gone"]) is None
    inner = kb.list_folder("sub")
    assert isinstance(inner, Listing) and kb.look_again("sub", inner.stamp, []) == []
    assert kb.look_again("sub", listing.stamp, []) is None
    for outside in ("..", "sub/..", "/", "sub/../../x"):
        assert kb.look_again(outside, listing.stamp, []) is None
    time.sleep(0.02)
    (kb.path / "new.md").write_bytes(b"x")
    assert kb.look_again("", listing.stamp, ["ok.md"]) is None
