"""The built site as a visitor sees it, in Chromium: the home page, and every page on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="Chromium is spoken to over pipes, as Windows has none")
pytest.importorskip("zensical", reason="Zensical, which builds the site, is not installed")

from browser import Browser, chromium
from checkout import ROOT
from site_server import Site
from website import __main__ as website

CART = (ROOT / "examples" / "shop" / "cart.yaml").read_text("utf-8")
FRAME = "document.querySelector('iframe.playground')"
LIST = f"{FRAME}.contentDocument.getElementById('list')"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, without what the playground runs."""
    chromium()
    return website.build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[Site]:
    with Site(built) as served:
        yield served


def test_the_home_page_shows_a_report_without_python(browser: Browser, site: Site) -> None:
    site.asked.clear()
    page = browser.page(f"{site.address}/index.html")
    assert page.until(f"{LIST}?.children.length") == 2
    assert page.value(f"{FRAME}.contentDocument.getElementById('text').value") == CART
    assert "the value of ssd must be a string" in page.value(f"{LIST}.innerText")
    assert not any(part in path for path in site.asked for part in ("parts.json", "pyodide", "worker.js"))
    assert page.value("document.querySelector('details pre').textContent.includes('Found 1 error, 1 warning')")
    # What the playground runs is not part of this build; a click asks for it.
    page.value(f"{LIST}.querySelector('.do button').click()")
    page.until(f"{FRAME}.contentDocument.getElementById('status').textContent.includes('could not be started')")
    assert "/playground/parts.json" in site.asked


def test_the_report_has_the_colours_of_the_site(browser: Browser, site: Site) -> None:
    page = browser.page(f"{site.address}/index.html")
    page.until(f"{LIST}?.children.length")
    paper = f"getComputedStyle({FRAME}.contentDocument.body).backgroundColor"
    page.until(f"{paper} === 'rgb(255, 255, 255)'")
    page.value("document.body.dataset.mdColorScheme = 'slate'")
    page.until(f"{paper} === 'rgb(21, 21, 20)'")


def test_the_report_has_no_scroll_bars_on_a_phone(browser: Browser, site: Site) -> None:
    page = browser.page(f"{site.address}/index.html", width=390, height=844, phone=True)
    page.until(f"{LIST}?.children.length")
    inner = f"{FRAME}.contentDocument.documentElement"
    page.until(f"{inner}.scrollHeight <= {FRAME}.clientHeight && {inner}.scrollWidth <= {FRAME}.clientWidth")


def test_every_page_fits_on_a_phone(browser: Browser, site: Site, built: Path) -> None:
    page = browser.page(f"{site.address}/index.html", width=390, height=844, phone=True)
    wide = []
    for path in sorted(built.rglob("*.html")):
        address = path.relative_to(built).as_posix()
        page.call("Page.navigate", url=f"{site.address}/{address}")
        page.until(f"location.pathname === '/{address}' && document.readyState === 'complete'")
        if page.value("document.documentElement.scrollWidth > innerWidth"):
            wide.append(address)
    assert wide == []
    assert page.errors() == []
