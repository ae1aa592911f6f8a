"""The built site as a visitor sees it, in Chromium: the home page, what the search finds, and every page on a phone."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fcntl", reason="Chromium is spoken to over pipes, as Windows has none")
pytest.importorskip("zensical", reason="Zensical, which builds the site, is not installed")

from browser import Browser, Page, chromium
from checkout import ROOT
from site_server import Site
from website import __main__ as website
from website import search

CART = (ROOT / "examples" / "shop" / "cart.yaml").read_text("utf-8")
FRAME = "document.querySelector('iframe.playground')"
LIST = f"{FRAME}.contentDocument.getElementById('list')"
SEARCH = "([...document.querySelectorAll('*')].map((each) => each.shadowRoot).find((each) => each?.querySelector('input')))"
HITS = f"[...{SEARCH}.querySelectorAll('a[href]')]"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, without what the playground runs."""
    chromium()
    return website.build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[Site]:
    with Site(built) as served:
        yield served


@pytest.fixture(scope="module")
def searching(browser: Browser, site: Site) -> Page:
    """A page with its search open."""
    page = browser.page(f"{site.address}/install.html")
    page.until("document.readyState === 'complete'")
    page.until(f"!!{SEARCH}?.querySelector('dialog[open]') || (document.querySelector('.md-search__button').click(), false)")
    return page


def hits(page: Page, typed: str) -> list[str]:
    """Type something into the search, and return the addresses of the hits on the site."""
    type_into_search(page, "nomatchforthis")
    page.until(f"{HITS}.length === 0")  # The hits of the previous test are gone.
    type_into_search(page, typed)
    found = [urlsplit(link) for link in page.until(f"{HITS}.length > 0 && {HITS}.map((each) => each.href)")]
    return [f"{each.path.removeprefix('/')}{f'#{each.fragment}' if each.fragment else ''}" for each in found]


def type_into_search(page: Page, text: str) -> None:
    page.value(f"(() => {{ const field = {SEARCH}.querySelector('input'); field.focus(); field.select(); }})()")
    page.type(text)


@pytest.mark.parametrize(
    "typed, page",
    [
        ("install", "install.html"),
        ("pip", "install.html"),
        ("baseline", "baselines.html"),
        ("suppress", "suppressions.html"),
        ("argo cd", "argo-cd.html"),
        ("pre-commit", "pre-commit.html"),
        ("vscode", "editors.html"),
        ("visual studio code", "editors.html"),
        ("exit code", "stability.html#exit-codes"),
        ("kyverno", "coming-from.html"),
        ("github action", "ci.html#github-actions"),
        ("config", "configuration.html"),
        ("helm", "rendering.html"),
        ("flux", "flux.html"),
        ("playground", "playground.html"),
        ("fix", "commands/check.html#fixes"),
        ("wrong-type", "rules/wrong-type.html"),
        ("label-not-on-template", "rules/label-not-on-template.html"),
        *((word, page) for page, words in search.WORDS.items() for word in words),
    ],
)
def test_the_search_finds_the_page_first(searching: Page, typed: str, page: str) -> None:
    first = hits(searching, typed)[0]
    assert page in (first, first.partition("#")[0])


def test_a_word_leads_to_an_existing_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "search.json"
    item = {"location": "a.html", "title": "A", "text": "Text", "path": ["Guide", "A"], "level": 1, "tags": []}
    index.write_text(json.dumps({"config": {}, "items": [item]}), encoding="utf-8")
    monkeypatch.setattr(search, "WORDS", {"a.html": ("alpha",)})
    search.add_words(index)
    added = {**item, "title": "alpha → A", "text": "", "path": ["alpha", "Guide", "A"]}
    assert json.loads(index.read_text(encoding="utf-8"))["items"] == [added, item]
    monkeypatch.setattr(search, "WORDS", {"b.html": ("beta",)})
    with pytest.raises(search.SearchError, match=r"leads to b\.html, which does not exist"):
        search.add_words(index)


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


def test_the_home_page_on_a_disk_shows_the_report_of_the_terminal(browser: Browser, built: Path) -> None:
    page = browser.page((built / "index.html").as_uri())
    assert page.until("document.querySelector('article details').open")
    assert page.value("document.querySelector('iframe.playground')") is None


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
    browser.events.clear()  # Errors of the tests before.
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
