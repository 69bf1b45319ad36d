"""A real headless Chromium for tests, driven over its own DevTools protocol: no driver program, no version to match.

    with Browser(path) as browser, browser.page(dark=True) as page:
        page.open("http://127.0.0.1:8000/")
        assert "Search" in page.text("h1")

``path`` is what :func:`find_browser` found; a test without a browser skips through the fixture ``browser_path``
(tests/conftest.py). The browser has a profile of its own in a temporary folder and reaches no host but this machine:
every name but 127.0.0.1 and those in ``hosts`` fails to resolve.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
TIMEOUT = 60.0
"""Seconds after which a browser that does not answer fails its test."""
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), "Space": (32, " ")}


def find_browser() -> str | None:
    """The path of a Chromium, Chrome or Edge on this machine, or None. ``ARR_TEST_BROWSER`` names another."""
    named = os.environ.get("ARR_TEST_BROWSER")
    if named:
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), None) or next(
        (place for place in PLACES if Path(place).is_file()), None
    )


class Browser:
    """One browser process. ``hosts`` maps names to this machine's loopback address, to play a foreign host."""

    def __init__(self, path: str, *, hosts: tuple[str, ...] = ()) -> None:
        self._path, self._hosts = path, hosts

    def __enter__(self) -> Browser:
        from websockets.sync.client import connect

        self._profile = tempfile.TemporaryDirectory(prefix="arr-browser-", ignore_cleanup_errors=True)
        rules = [f"MAP {name} 127.0.0.1" for name in self._hosts] + ["MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
        self._process = subprocess.Popen(
            [self._path, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self._profile.name}",
             # Containers have no user namespaces and a small /dev/shm. Only pages of this project are opened.
             *(("--no-sandbox", "--disable-dev-shm-usage") if sys.platform == "linux" else ()),
             "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-gpu",
             "--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none", "--mute-audio",
             f"--host-resolver-rules={', '.join(rules)}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port, path = self._wait_for_port()
            address = f"ws://127.0.0.1:{port}{path}"
            self._connection = contextlib.ExitStack()
            self._socket = self._connection.enter_context(
                connect(address, max_size=None, open_timeout=TIMEOUT, proxy=None)
            )
        except BaseException:
            self._stop()
            raise
        self._next, self.events = 0, list[dict[str, Any]]()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        self._connection.close()
        self._stop()

    def _stop(self) -> None:
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def _wait_for_port(self) -> tuple[str, str]:
        file, give_up = Path(self._profile.name) / "DevToolsActivePort", time.monotonic() + TIMEOUT
        while time.monotonic() < give_up and self._process.poll() is None:
            lines = file.read_text("utf-8").split("\n") if file.exists() else []
            if len(lines) == 2:
                return lines[0], lines[1]
            time.sleep(0.05)
        self._process.kill()
        raise RuntimeError(f"'{self._path}' did not start (exit code {self._process.wait()})")

    def call(self, method: str, target: str | None = None, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its answer. Raises RuntimeError with the browser's own words."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": parameters}
        if target is not None:
            message["sessionId"] = target
        self._socket.send(json.dumps(message))
        while True:
            answer = self._receive(TIMEOUT)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _receive(self, timeout: float) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._socket.recv(timeout))
        if "method" in answer:
            self.events.append(answer)
        return answer

    def wait_for_event(self, target: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first event of ``target`` since the list was cleared that is ``wanted``. Raises TimeoutError."""
        give_up, seen = time.monotonic() + TIMEOUT, 0
        while True:
            for event in self.events[seen:]:
                if event.get("sessionId") == target and wanted(event):
                    return event
            seen = len(self.events)
            self._receive(max(0.0, give_up - time.monotonic()))

    @contextlib.contextmanager
    def page(
        self, *, dark: bool = False, language: str = "en", scripts: bool = True, width: int = 1180, height: int = 860
    ) -> Iterator[Page]:
        """A page with cookies of its own. ``language`` is what it accepts, ``scripts=False`` a browser without them."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        made = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        target = self.call("Target.attachToTarget", targetId=made, flatten=True)["sessionId"]
        page = Page(self, target)
        for method in ("Page.enable", "Runtime.enable", "Network.enable", "Log.enable", "DOM.enable"):
            page.call(method)
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        page.call("Page.setBypassCSP", enabled=False)
        agent = self.call("Browser.getVersion")["userAgent"]
        page.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=language)
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )  # fmt: skip
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setEmulatedMedia", features=scheme)
        try:
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)


class Page:
    """One page of a :class:`Browser`, as a person meets it: addresses, clicks, keys, and what is to be read."""

    def __init__(self, browser: Browser, target: str) -> None:
        self._browser, self._target = browser, target

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol for this page."""
        return self._browser.call(method, self._target, **parameters)

    def open(self, url: str) -> int:
        """Go to ``url`` and wait until it is loaded; the HTTP status. Raises RuntimeError when there is no answer."""
        self._browser.events.clear()
        loader = self.call("Page.navigate", url=url)
        if loader.get("errorText"):
            raise RuntimeError(f"{url}: {loader['errorText']}")
        answer = self._wait("Network.responseReceived", lambda p: p["loaderId"] == loader["loaderId"])
        self._wait("Page.lifecycleEvent", lambda p: p["name"] == "load" and p["loaderId"] == loader["loaderId"])
        return int(answer["response"]["status"])

    def _wait(self, method: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def is_it(event: dict[str, Any]) -> bool:
            return event["method"] == method and wanted(event["params"])

        return dict(self._browser.wait_for_event(self._target, is_it)["params"])

    @contextlib.contextmanager
    def navigation(self) -> Iterator[None]:
        """Wait until what is done inside has led to another page."""
        self._browser.events.clear()
        yield
        self._wait("Page.frameNavigated", lambda p: "parentId" not in p["frame"])
        self._wait("Page.lifecycleEvent", lambda p: p["name"] == "load")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, a promise awaited. Works without scripts too: the test asks, not the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Ask until ``expression`` is true, also across pages that lead to each other. Raises TimeoutError."""
        give_up = time.monotonic() + TIMEOUT
        while time.monotonic() < give_up:
            with contextlib.suppress(RuntimeError):  # the page that was asked has just gone
                if self.evaluate(expression):
                    return
            time.sleep(0.02)
        raise TimeoutError(f"{expression} did not become true at {self.url}")

    @property
    def url(self) -> str:
        """The address bar."""
        return str(self.evaluate("location.href"))

    def text(self, selector: str = "body") -> str:
        """What is to be read in the first element of ``selector``. Raises RuntimeError when there is none."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return int(self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length"))

    def click(self, selector: str) -> None:
        """Move the mouse onto the first element and click."""
        query = json.dumps(selector)
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({query}); e.scrollIntoView({{block: 'center'}});"
            " const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] })()"
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press one key of ``KEYS``."""
        code, text = KEYS[key]
        shared = {"key": text if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def screenshot(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """A PNG of the window, or of the ``whole`` page."""
        options: dict[str, Any] = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"])
        if path is not None:
            path.write_bytes(data)
        return data

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last :meth:`open` or :meth:`navigation` began."""
        return [
            event["params"]["request"]["url"] for event in self._browser.events
            if event["method"] == "Network.requestWillBeSent" and event.get("sessionId") == self._target
        ]  # fmt: skip

    def complaints(self) -> list[str]:
        """What the browser logged since the last :meth:`open` or :meth:`navigation` began: refused content, errors."""
        self.evaluate("1")  # what was logged before has arrived now
        return [
            event["params"]["entry"]["text"] for event in self._browser.events
            if event["method"] == "Log.entryAdded" and event.get("sessionId") == self._target
        ]  # fmt: skip
