"""Contract 12.2: two kinds of address and no third, and nothing in a project's files can name one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core.settings import read_settings
from arr_sql.errors import InputError
from arr_sql.llm.endpoint import SILICONFLOW, SILICONFLOW_URL, Endpoint, local_endpoint

REFUSED = [
    "", "http://127.0.0.1/v1", "http://127.0.0.1:0/v1", "http://127.0.0.1:080/v1", "http://127.0.0.1:65536/v1",
    "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v2", "http://127.0.0.1:8080/v1/chat",
    "http://127.0.0.1:8080/v1?x=1", "http://127.0.0.1:8080/v1#x", "https://127.0.0.1:8080/v1",
    "http://localhost:8080/v1", "http://LOCALHOST:8080/v1", "http://127.1:8080/v1", "http://127.0.0.2:8080/v1",
    "http://2130706433:8080/v1", "http://0x7f000001:8080/v1", "http://0177.0.0.1:8080/v1", "http://0.0.0.0:8080/v1",
    "http://[::]:8080/v1", "http://[::ffff:127.0.0.1]:8080/v1", "http://[::1%25lo]:8080/v1", "http://::1:8080/v1",
    "http://169.254.169.254:80/v1", "http://10.0.0.1:8080/v1", "http://192.168.1.10:8080/v1", "http://example.org:80/v1",
    "http://127.0.0.1:8080@example.org/v1", "http://u:p@127.0.0.1:8080/v1", "http://127.0.0.1:8080\\@example.org/v1",
    "http://127.0.0.1.example.org:8080/v1", "http://127.0.0.1:8080/v1\n", "http://127.0.0.1:8080/v1\nHost: x",
    "http://127.0.0.1:８０８０/v1", "http://１２７.0.0.1:8080/v1", "http://127。0。0。1:8080/v1", "HTTP://127.0.0.1:8080/v1",
    "file:///etc/passwd", "unix:///tmp/x", "//127.0.0.1:8080/v1", "https://api.siliconflow.cn/v1/", "https://api.siliconflow.cn",
    "http://api.siliconflow.cn/v1", "https://api.siliconflow.cn:443/v1", "https://API.siliconflow.cn/v1",
    "https://api.siliconflow.cn./v1", "https://api.siliconflow.com/v1", "https://api.siliconflow.cn@example.org/v1",
    "https://api.siliconfiow.cn/v1", "https://apі.siliconflow.cn/v1", "https://example.org/https://api.siliconflow.cn/v1",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_no_other_address_can_be_made(text: str) -> None:
    """Not by the operator's setting and not inside the program."""
    with pytest.raises(InputError):
        Endpoint(text)
    if text == text.strip():
        with pytest.raises(InputError):
            local_endpoint(text)


@pytest.mark.parametrize("text", ["http://127.0.0.1:11434/v1", "http://[::1]:1/v1", "http://127.0.0.1:65535/v1"])
def test_a_loopback_address_with_a_port_is_allowed(text: str) -> None:
    """Both families, any port."""
    assert local_endpoint(text).url == text and local_endpoint(text).is_local
    assert local_endpoint(f"  {text}\n").url == text


def test_the_remote_address_is_one_and_is_not_local() -> None:
    """And it can't be named as the local server."""
    assert Endpoint(SILICONFLOW_URL) == SILICONFLOW and not SILICONFLOW.is_local
    with pytest.raises(InputError, match="default"):
        local_endpoint(SILICONFLOW_URL)


@given(st.text(max_size=60) | st.from_regex(r"https?://[a-z0-9.:\[\]@/]{1,40}", fullmatch=True))
def test_whatever_is_accepted_is_of_the_two_kinds(text: str) -> None:
    """No text slips through."""
    try:
        url = Endpoint(text).url
    except InputError as refusal:
        assert not text.strip() or len(text) < 12 or text not in str(refusal)  # it may hold a pasted key
    else:
        assert url == SILICONFLOW_URL or url.startswith(("http://127.0.0.1:", "http://[::1]:"))


@pytest.mark.parametrize(
    "lines", ['[llm]\nendpoint = "http://127.0.0.1:1/v1"', 'llm_endpoint = "x"', "[network]\nproxy = 1"]
)
def test_arr_toml_can_not_name_an_endpoint(tmp_path: Path, lines: str) -> None:
    """The project's file is closed: such a key is an error."""
    path = tmp_path / "arr.toml"
    path.write_text(f'{lines}\n[project]\nteam_id = "a"\nproject_id = "b"\n', "utf-8")
    with pytest.raises(InputError):
        read_settings(path)
