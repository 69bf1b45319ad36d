"""Where a copy may go, what the engine is told and given: values alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.errors import InputError
from arr_sql.replica.target import CREDENTIALS, Target, engine_config, engine_environment, parse_target

KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLEEXAMPLE77", "AWS_SECRET_ACCESS_KEY": "not-a-secret-but-shaped-like-one"}
STORE = parse_target("s3://lab/lumen", "http://127.0.0.1:9000")


def test_a_folder_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder is taken from where the command runs."""
    monkeypatch.chdir(tmp_path)
    assert parse_target("copy") == Target("folder", str((tmp_path / "copy").resolve()))


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("s3://lab/lumen", "https://store.example.org"), ("s3://lab/a/b.c", "https://store.example.org:9000/"),
        ("s3://lab/lumen", "http://127.0.0.1:9000"), ("s3://lab/lumen", "http://[::1]:9000"), ("s3://lab/lumen", None),
    ],
)  # fmt: skip
def test_stores_that_are_allowed(text: str, endpoint: str | None) -> None:
    """AWS itself, https anywhere, plain http on this machine."""
    made = parse_target(text, endpoint)
    assert (made.kind, made.text, made.endpoint) == ("s3", text, (endpoint or "").rstrip("/"))


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("s3://key:hush@lab/lumen", None), ("s3://lab", None), ("s3://lab/", None), ("s3://lab/a//b", None),
        ("s3://lab/../x", None), ("s3://lab/a?x=hush", None), ("s3://lab/a%2fhush", None), ("sftp://me:hush@host/x", None),
        ("file:///tmp/hush", None), ("https://host/hush", None), ("s3://lab/lumen", "http://hush.example.org"),
        ("s3://lab/lumen", "http://localhost:9000?hush"), ("s3://lab/lumen", "http://127.0.0.1.hush.org"),
        ("s3://lab/lumen", "https://me:hush@store.org"), ("s3://lab/lumen", "http://10.0.0.5:9000"),
        ("s3://lab/lumen", "https://store.org/hush"), ("folder", "https://hush.org"), ("", None), (" ", None),
        ("s3://lab/password=hush-hush-77/x", None), ("../copies/password=hush-hush-77", None),
    ],
)  # fmt: skip
def test_what_is_refused_is_not_repeated(text: str, endpoint: str | None) -> None:
    """Other schemes, keys in an address, plain http to another machine; the message holds nothing of the address."""
    with pytest.raises(InputError) as caught:
        parse_target(text, endpoint)
    assert "hush" not in str(caught.value)


@given(st.text(max_size=30))
def test_no_text_makes_plain_http_leave_the_machine(host: str) -> None:
    """Whatever stands behind http:// other than this machine's two numbers is refused."""
    address = f"http://{host}"
    try:
        made = parse_target("s3://lab/lumen", address)
    except InputError:
        return
    assert made.endpoint.split("//")[1].rsplit(":", 1)[0] in ("127.0.0.1", "[::1]") or made.endpoint in (
        "http://127.0.0.1", "http://[::1]",
    )  # fmt: skip


def test_the_engine_gets_what_it_needs_and_no_more() -> None:
    """A folder's engine gets no key; a store's gets its keys, no proxy, no home, and asks no cloud machine for keys."""
    given_ = {
        **KEYS,
        "HOME": "/home/ana",
        "HTTPS_PROXY": "http://p",
        "ARR_SILICONFLOW_API_KEY": "x",
        "TMPDIR": "/tmp/x",
    }
    assert engine_environment(Target("folder", "/x"), given_) == {"TMPDIR": "/tmp/x"}
    assert engine_environment(STORE, given_) == {**KEYS, "TMPDIR": "/tmp/x", "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.mark.parametrize("given_", [{}, {"AWS_ACCESS_KEY_ID": "x"}, {"AWS_PROFILE": "lab"},
                                    {"AWS_SHARED_CREDENTIALS_FILE": "/nowhere/keys"}])  # fmt: skip
def test_a_store_without_keys_is_refused_before_anything_starts(given_: dict[str, str]) -> None:
    """Half a pair, or a file that is not there, is no key."""
    with pytest.raises(InputError, match="AWS_SHARED_CREDENTIALS_FILE"):
        engine_environment(STORE, given_)


def test_a_file_of_keys_is_named_not_read(tmp_path: Path) -> None:
    """The engine gets its name."""
    keys = tmp_path / "keys"
    keys.write_text("[default]\n", "utf-8")
    given_ = {"AWS_SHARED_CREDENTIALS_FILE": str(keys), "AWS_PROFILE": "lab"}
    assert engine_environment(STORE, given_).items() >= given_.items()


def test_the_configuration_holds_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even when the environment is full of them, and no variable that would be replaced by one."""
    for name in CREDENTIALS:
        monkeypatch.setenv(name, "hush-" + name)
    text = engine_config(Path("/lab/$HOME/${AWS_ACCESS_KEY_ID}/arr.db"), STORE)
    assert "hush" not in text and "$" not in text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_path_survives_the_configuration(name: str) -> None:
    """Read as JSON, the configuration gives the path back, dollar signs and all."""
    value = json.loads(engine_config(Path("/") / name.replace("/", "_"), Target("folder", "/copy " + name)))
    assert value["dbs"][0]["path"] == str(Path("/") / name.replace("/", "_"))
    assert value["dbs"][0]["replica"] == {"type": "file", "path": "/copy " + name, "sync-interval": "1s"}
