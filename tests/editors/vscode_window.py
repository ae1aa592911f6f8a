"""A window of a real Visual Studio Code: code-server, which runs it in a browser, driven as a user does, with keys and the pointer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from urllib.parse import urlencode

import pytest

from browser import Browser, Page
from rendering.real_tools import FOLDER

_PATIENCE = 60.0
_CONTROL = 2
_KEYS = {"F1": ("F1", 112), "Enter": ("Enter", 13), "End": ("End", 35), ".": ("Period", 190), "s": ("KeyS", 83)}
_QUIET = {"workbench.startupEditor": "none", "workbench.tips.enabled": False, "extensions.ignoreRecommendations": True}


def code_server() -> str:
    """The path of code-server; skips the test if it is not installed."""
    found = which("code-server") or which("code-server", path=str(FOLDER))
    if found is None:
        pytest.skip(f"code-server is neither on PATH nor in {FOLDER}: `.ci/tools` installs it where npm is")
    return found


class VSCode:
    """A running server of Visual Studio Code with one extension, and a browser for its windows."""

    def __init__(self, port: int, browser: Browser) -> None:
        self._port, self._browser = port, browser

    def window(self, folder: Path, file: str, line: int = 1, column: int = 1) -> Window:
        """A window with a folder, and in it a file with the cursor at a position."""
        opened = f"vscode-remote://127.0.0.1:{self._port}{folder}/{file}:{line}:{column}"
        payload = json.dumps([["openFile", opened], ["gotoLineMode", "true"]])
        page = self._browser.page(f"http://127.0.0.1:{self._port}/?{urlencode({'folder': folder, 'payload': payload})}")
        return Window(page)


@contextmanager
def running(folder: Path, *extensions: Path, trusted: bool = True) -> Iterator[VSCode]:
    """Visual Studio Code with its data in ``folder`` and with extensions (.vsix) installed. ``trusted``: it trusts each folder."""
    settings = folder / "data" / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    # A folder that is not trusted opens in restricted mode, without a question.
    settings.write_text(json.dumps({**_QUIET, "security.workspace.trust.startupPrompt": "never"}))
    command = [
        code_server(),
        "--config",
        folder / "config.yaml",
        "--user-data-dir",
        folder / "data",
        "--extensions-dir",
        folder / "extensions",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AFFLINT")}
    with (folder / "log").open("w") as log:
        for extension in extensions:
            subprocess.run([*command, "--install-extension", extension], env=environment, stdout=log, stderr=log, check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command += ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
        command += ["--disable-getting-started-override", *(["--disable-workspace-trust"] if trusted else [])]
        server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(lambda: _answers(port), "code-server answers")
            with Browser(folder / "profile") as browser:
                yield VSCode(port, browser)
        finally:
            server.terminate()
            server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: Callable[[], bool], expected: str) -> None:
    """Waits for a condition; fails, saying what was expected, if it never comes true."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never came true: {expected}"
        time.sleep(0.1)


class Window:
    """One window: what it shows, and what a user does in it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def text(self, selector: str) -> str:
        """The text of the first element of a kind, as soon as it has one."""
        return str(self.page.until(f"document.querySelector({selector!r})?.innerText.replaceAll('\\xa0', ' ')"))

    def until_text(self, selector: str, part: str) -> str:
        """The text of the first element of a kind that has ``part`` in its text, as soon as one has."""
        texts = f"[...document.querySelectorAll({selector!r})].map((each) => each.innerText.replaceAll('\\xa0', ' '))"
        return str(self.page.until(f"{texts}.find((text) => text.includes({part!r}))"))

    def item(self, name: str) -> str:
        """What an item of the status bar says to a screen reader."""
        return str(self.page.value(f"document.getElementById({name!r}).ariaLabel"))

    def press(self, key: str, *, control: bool = False) -> None:
        code, number = _KEYS[key]
        self.page.press(key, code=code, windowsVirtualKeyCode=number, modifiers=_CONTROL if control else 0)

    def run(self, command: str) -> None:
        """Runs a command by its title, in the palette."""
        self.press("F1")
        self.page.until("!!document.querySelector('.quick-input-widget input')?.checkVisibility()")
        self.page.type(command)
        self.until_text(".quick-input-list .monaco-list-row.focused", command)
        self.press("Enter")

    def point_at(self, selector: str) -> None:
        """Moves the pointer to the first element of a kind."""
        corner = (
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        x, y = self.page.value(corner)
        for moved in (1, 0):
            self.page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + moved, y=y)

    def webview(self) -> str:
        """The document of the page in a webview, as an expression, as soon as it has content."""
        document = "document.querySelector('iframe.webview')?.contentDocument?.querySelector('#active-frame')?.contentDocument"
        self.page.until(f"!!{document}?.querySelector('h1')")
        return document
