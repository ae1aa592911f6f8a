"""A headless Chromium for tests, spoken to in its own protocol over two pipes: no driver, no package."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE = 60.0


def chromium() -> str:
    """Where Chromium is; skips the test, saying so, where it is not."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("Chromium is not on PATH")
    return found


class Browser:
    """One browser with a profile of its own, in a folder."""

    def __init__(self, folder: Path) -> None:
        # Chromium reads from descriptor 3 and writes to 4; ours are moved out of their way first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in (os.pipe(), os.pipe()) for end in pipe]
        to_read, self._write, self._read, to_write = ends
        command = [chromium(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu"]
        # Containers have little shared memory, and no sandbox for root.
        command += ["--disable-dev-shm-usage", "--no-sandbox", "--disable-background-networking", "--hide-scrollbars", "about:blank"]

        def placed() -> None:
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=placed, pass_fds=(3, 4), start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._received = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, session: str | None = None, **given: Any) -> Any:
        """The result of a method of the protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": given, **({"sessionId": session} if session else {})}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], _PATIENCE)
            more = os.read(self._read, 1 << 16) if ready else b""
            assert more, "Chromium says nothing any more"
            self._received += more
        message, _, self._received = self._received.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def page(self, address: str, width: int = 1280, height: int = 800, *, dark: bool = False, phone: bool = False) -> Page:
        """A new tab of a window of that size, in which all elements of the page are there."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.call("Runtime.enable")
        page.call("Log.enable")
        page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Page.navigate", url=address)
        page.until("location.href !== 'about:blank' && document.readyState !== 'loading'")
        return page


class Page:
    """A tab, or a worker of one."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **given: Any) -> Any:
        return self._browser.call(method, self._session, **given)

    def value(self, expression: str) -> Any:
        """What an expression in JavaScript comes to; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """What an expression comes to as soon as that is something."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            found = self.value(expression)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"never came true: {expression}\nthe page says: {self.value('document.body.innerText')}\n{self.errors()}")

    def press(self, key: str, **more: Any) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def errors(self) -> list[str]:
        """The errors on the console so far, of the tab and its workers."""
        answer = []
        for event in self._browser.events:
            if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                answer.append(f"{event['params']['entry']['text']} {event['params']['entry'].get('url', '')}")
            if event.get("method") == "Runtime.exceptionThrown":
                answer.append(str(event["params"]["exceptionDetails"]))
        return answer

    def worker(self) -> Page:
        """The worker that this tab started last."""
        attached = [each["params"] for each in self._browser.events if each.get("method") == "Target.attachedToTarget"]
        return Page(self._browser, next(each["sessionId"] for each in reversed(attached) if each["targetInfo"]["type"] == "worker"))
