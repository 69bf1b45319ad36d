"""Who is let in, asked over real sockets."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from arr_sql.serve.guard import HEADERS
from tests.serve.running import Site, start, stop

PAGES = (
    "/",
    "/?q=warmup",
    "/retrievals",
    "/memories",
    "/memory?id=m-steps",
    "/sources",
    "/audit",
    "/display?theme=dark",
    "/x",
)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("cookie", ["", "arr_pass=1", "arr_pass_{port}=", "arr_pass_{port}={token}", 'broken="'])
def test_without_the_pass_nothing_is_shown(site: Site, path: str, cookie: str) -> None:
    """No cookie, a foreign one, and the token itself as a cookie are refused on every page."""
    sent = {"Cookie": cookie.format(port=site.port, token=site.token)} if cookie else {}
    status, _, text = site.get(path, sent, with_cookie=False)
    assert (status, "warmup" in text) == (403, False)


@pytest.mark.parametrize("token", ["", "x", "%C3%A9", "%FF", "{token}x", "%00"])
def test_a_wrong_token_is_refused(site: Site, token: str) -> None:
    """Only the very token lets in, and only at the entry."""
    status, headers, _ = site.get(f"/?token={token.format(token=site.token)}", with_cookie=False)
    assert status == 403 and "set-cookie" not in headers
    assert site.get(f"/memories?token={site.token}", with_cookie=False)[0] == 403


def test_the_token_becomes_a_strict_cookie(site: Site) -> None:
    """The entry answers with a cookie that no script reads and no other site sends, and leads to an address without token."""
    status, headers, text = site.get(f"/?token={site.token}", with_cookie=False)
    parts = {part.strip().lower() for part in headers["set-cookie"].split(";")[1:]}
    assert status == 200 and {"httponly", "samesite=strict", "path=/"} <= parts
    assert site.token not in headers["set-cookie"] + text
    assert 'url=/"' in text


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.test:{port}", "0.0.0.0:{port}", ""],
)
def test_a_foreign_host_is_refused(site: Site, host: str) -> None:
    """A name that resolves to this machine, as in DNS rebinding, opens nothing, not even with the cookie or the token."""
    sent = {"Host": host.format(port=site.port)}
    assert site.get("/", sent)[0] == 421
    assert site.get(f"/?token={site.token}", sent)[0] == 421


def test_its_own_names_are_answered(site: Site) -> None:
    """By address and as localhost."""
    assert site.get("/", {"Host": f"localhost:{site.port}"})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.test", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(site: Site, origin: str) -> None:
    """A page from elsewhere gets nothing, with the cookie or without."""
    assert site.get("/?q=warmup", {"Origin": origin.format(port=site.port)})[0] == 403


@pytest.mark.parametrize(
    ("name", "status"), [("cross-site", 403), ("same-site", 403), ("none", 200), ("same-origin", 200)]
)
def test_fetch_metadata(site: Site, name: str, status: int) -> None:
    """A picture or frame in a page of another port (same site, but another origin) is refused."""
    assert site.get("/", {"Sec-Fetch-Site": name})[0] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_reading(site: Site, method: str) -> None:
    """No other method is answered."""
    assert site.get("/memories", method=method)[0] == 405
    assert site.get("/memories", method="HEAD")[::2] == (200, "")


@pytest.mark.parametrize("path", [*PAGES, "/?token=wrong", "/style.css"])
def test_every_answer_has_the_headers(site: Site, path: str) -> None:
    """Also refusals and errors: nothing may be loaded, run, framed or kept."""
    for with_cookie in (True, False):
        _, headers, _ = site.get(path, with_cookie=with_cookie)
        assert {name: headers.get(name.lower()) for name in HEADERS} == HEADERS
        assert "script" not in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers and "server" not in headers


def test_each_inspector_has_its_own_pass(site: Site, inspected: Path) -> None:
    """One started beside it is not opened by the other's cookie or token."""
    other = start(inspected)
    try:
        assert other.get("/", {"Cookie": site.cookie.replace(str(site.port), str(other.port))})[0] == 403
        assert other.get(f"/?token={site.token}", with_cookie=False)[0] == 403
        assert other.get("/")[0] == site.get("/")[0] == 200
    finally:
        stop(other)


def test_it_listens_on_loopback_only(site: Site) -> None:
    """This machine's other addresses answer nothing."""
    own = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own - {"127.0.0.1"}:
        with pytest.raises(OSError), socket.create_connection((address, site.port), timeout=5):
            pass


@pytest.mark.parametrize("target", ["//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", ""])
def test_the_way_back_stays_here(site: Site, target: str) -> None:
    """Choosing a language leads to no other site."""
    status, headers, _ = site.get(f"/display?language=zh&to={target}")
    assert (status, headers["location"]) == (303, "/")
    assert site.get("/display?theme=dark&to=/audit?kind=retrieval")[1]["location"] == "/audit?kind=retrieval"
