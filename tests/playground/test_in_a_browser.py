"""The playground as a visitor has it: built with the wheel, in Chromium, from a web server that can be taken away."""

from __future__ import annotations

import base64
import json
import shutil
import threading
import zlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="Chromium is spoken to over pipes, as Windows has none")

from playground.__main__ import BuildError, build

from browser import Browser, Page, chromium
from checkout import ROOT

FOUND = "document.querySelectorAll('#list li').length"
RULES = "[...document.querySelectorAll('#list li')].map((each) => each.dataset.rule)"
TEXT = "document.getElementById('text').value"
STATUS = "document.getElementById('status').textContent"
PLAN = "document.getElementById('plan').contentDocument.body"
CART = (ROOT / "examples" / "shop" / "cart.yaml").read_text("utf-8")


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self.server.asked.append(getattr(self, "path", ""))  # type: ignore[attr-defined]


class Site:
    """A web server over a folder."""

    def __init__(self, folder: Path) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.asked: list[str] = []
        self._server.asked = self.asked  # type: ignore[attr-defined]
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The playground below a path of its own, as it is on the site."""
    chromium()
    if shutil.which("npm") is None:
        pytest.skip("npm, which fetches Pyodide, is not on PATH")
    folder = tmp_path_factory.mktemp("site")
    try:
        build(folder / "afflint" / "playground")
    except BuildError as error:
        if "npm" in str(error) or "pip download" in str(error):
            pytest.skip(f"what the page runs cannot be fetched: {error}")
        raise
    served = Site(folder)
    yield served
    served.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Browser]:  # noqa: ARG001
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def page(browser: Browser, site: Site) -> Page:
    """The page with its first example, when afflint has looked at it."""
    opened = browser.page(f"{site.address}/afflint/playground/")
    opened.until(FOUND)
    return opened


def choose(page: Page, example: str) -> None:
    page.value(
        f"""(() => {{
          const menu = document.getElementById("examples");
          menu.value = [...menu.options].find((each) => each.textContent === {json.dumps(example)}).value;
          menu.dispatchEvent(new Event("change"));
        }})()"""
    )


def test_a_visitor_finds_and_fixes_mistakes_and_shares_a_link(page: Page, browser: Browser, site: Site) -> None:
    """One visit from the beginning to the end: each step needs what the one before it left."""
    # Findings stand at their lines, in the list and in the editor.
    assert page.value(TEXT) == CART
    assert page.value(RULES) == ["label-not-on-template", "wrong-type"]
    assert page.value(STATUS) == "1 error, 1 warning in 1 document."
    assert page.value("[...document.querySelectorAll('#gutter span')].map((each) => each.textContent)") == ["7", "19"]
    assert page.value("[...document.querySelectorAll('#marks u')].map((each) => each.textContent)") == ["tier", "true"]

    # The page of a rule.
    page.value("[...document.querySelectorAll('#list button')].find((each) => each.textContent === 'wrong-type').click()")
    assert "wrong-type" in page.until("document.querySelector('#rule h2')?.textContent")
    assert page.value("document.querySelectorAll('#rule pre').length") >= 2

    # A fix is one click, and can be taken back like anything that was typed.
    page.value("document.getElementById('view-0').click()")
    page.value("document.querySelector('#list li[data-rule=wrong-type] .do button').click()")
    page.until(f"{FOUND} === 1")
    assert page.value(TEXT) == CART.replace("ssd: true", 'ssd: "true"')
    page.value("document.execCommand('undo')")
    page.until(f"{FOUND} === 2")
    assert page.value(TEXT) == CART
    page.value("document.getElementById('fix-all').click()")
    page.until(f"{FOUND} === 1")

    # What is typed is looked at.
    page.value("document.getElementById('text').focus(); document.getElementById('text').select()")
    page.type("apiVersion: v1\nkind: Pod\nspec: [")
    page.until(f"{RULES}[0] === 'unreadable-manifest'")
    page.value("document.getElementById('text').setSelectionRange(0, 0)")
    page.press("F8", windowsVirtualKeyCode=119)
    assert page.value("document.getElementById('text').selectionStart") > 0

    # A plan, and what happens when nodes fail.
    choose(page, "customapp-typo")
    page.value("document.getElementById('view-1').click()")
    page.until(f"{PLAN}?.textContent.includes('replicas scheduled')")
    assert page.value(f"{PLAN}.querySelector('#workloads') !== null")
    page.value("document.getElementById('happens').value = 'lose:zone'")
    page.value("document.getElementById('happens').dispatchEvent(new Event('change'))")
    page.until(f"{PLAN}?.textContent.includes('Of 3 failures') && {PLAN}.querySelectorAll('input[type=radio]').length > 1")

    # A link holds both texts, behind the `#`.
    page.value("document.getElementById('link').click()")
    fragment = page.until("location.hash")
    data = fragment.removeprefix("#1.")
    texts = json.loads(zlib.decompress(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)), -15))
    assert texts[0] == page.value(TEXT)
    assert "name: worker-6" in texts[1]

    # Nothing was asked of the server but files, and nobody else can be asked: neither by the page nor by what runs afflint.
    assert not any("?" in path or "#" in path for path in site.asked)
    elsewhere = Site(ROOT / "examples")
    asking = f"fetch('{elsewhere.address}/').then(() => 'sent', () => 'refused')"
    assert page.errors() == []
    assert page.value(asking) == page.worker().value(asking) == "refused"
    elsewhere.close()
    assert elsewhere.asked == []

    # Without a network it is all there, and a link opens it with what it holds.
    page.until("document.getElementById('offline').textContent")
    site.close()
    later = browser.page(f"{site.address}/afflint/playground/{fragment}", width=390, height=844, phone=True)
    later.until(FOUND)
    assert later.value(TEXT) == texts[0]
    assert later.value("document.documentElement.scrollWidth <= innerWidth")
    broken = browser.page(f"{site.address}/afflint/playground/#1.AAAA")
    broken.until(f"{STATUS}.includes('link is broken')")
