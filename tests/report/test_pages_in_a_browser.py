"""What the one script of a page adds: a search, filters, and an address that keeps them."""

from itertools import pairwise
from pathlib import Path

import pytest
import report_sample
import standing_sample
from place_sample import BAKERY, large

from afflint.report.place import page as place_page
from browser import Browser, Page
from rendering.real_tools import FOLDER

SAMPLES = {
    "report.html": lambda: report_sample.rendered("html", report_sample.report(*report_sample.FINDINGS)),
    "policies.html": lambda: standing_sample.rendered("policies.html"),
    "trends.html": lambda: standing_sample.rendered("trends.html"),
    "bakery.html": lambda: place_page.render(BAKERY),
}
TYPED = "words.value = {!r}; words.dispatchEvent(new Event('input', {{bubbles: true}}))"
FOUND = "found.textContent"
SHOWN = "[...document.querySelectorAll({!r})].filter((each) => each.checkVisibility()).length"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages."""
    folder = tmp_path_factory.mktemp("pages")
    for name, render in SAMPLES.items():
        (folder / name).write_bytes(render().encode())
    return folder


def opened(browser: Browser, page_file: Path, fragment: str = "") -> Page:
    page = browser.page(page_file.as_uri() + fragment)
    page.until("location.protocol == 'file:' && document.readyState == 'complete'")
    return page


@pytest.mark.parametrize(
    "name, row, word, found, left, total",
    [("report.html", ".finding", "zone", "1 of 5 findings", 1, 5), ("policies.html", "tr[data-namespace]", "cart", "1 of 2", 1, 2)],
)
def test_a_search_leaves_what_it_finds_and_the_address_keeps_it(
    browser: Browser, folder: Path, name: str, row: str, word: str, found: str, left: int, total: int
) -> None:
    page = opened(browser, folder / name)
    assert (page.value("document.getElementById('find').hidden"), page.value(FOUND), page.value(SHOWN.format(row))) == (False, "", total)
    page.value(TYPED.format(word))
    assert (page.value(FOUND), page.value(SHOWN.format(row)), page.value("location.hash")) == (found, left, f"#find={word}")
    again = opened(browser, folder / name, f"#find={word}")
    assert (again.value("words.value"), again.value(FOUND)) == (word, found)
    page.value(TYPED.format(""))
    assert (page.value(FOUND), page.value("location.hash")) == ("", "")
    assert page.errors() == again.errors() == []


def test_a_choice_is_in_the_address_too(browser: Browser, folder: Path) -> None:
    assert opened(browser, folder / "report.html", "#severity=error").value(FOUND) == "2 of 5 findings"
    assert opened(browser, folder / "policies.html", "#namespace==shop&find=zone").value(FOUND) == "1 of 2"


@pytest.mark.parametrize("name, anchor", [("report.html", "n3"), ("policies.html", "p3"), ("bakery.html", "w1")])
def test_an_address_opens_what_it_names(browser: Browser, folder: Path, name: str, anchor: str) -> None:
    page = opened(browser, folder / name)
    page.value(f"for (const each of document.querySelectorAll('details')) each.open = false; location.hash = '#{anchor}'")
    page.until(f"{anchor}.closest('details').open")
    assert page.errors() == []


# The page of `place`: the table of what each application survives.

CELL = "document.querySelector('table.matrix td a')"
FAILURES = "[...document.querySelectorAll('label:has(> input[name=loss])')].filter((each) => each.firstChild.value)"


def test_a_cell_of_the_resilience_table_opens_its_disruption(browser: Browser, folder: Path) -> None:
    page = opened(browser, folder / "bakery.html")
    choice = f"document.getElementById('f' + {CELL}.dataset.loss)"
    assert not page.value(f"{choice}.checked")
    page.value(f"{CELL}.click()")
    page.until(f"{choice}.checked")
    # Its effects are shown, and those of no other disruption.
    assert page.value(SHOWN.format("section.after")) == 1
    assert page.value(f"document.querySelector('section.after.a' + {CELL}.dataset.loss).checkVisibility()")
    assert page.value("decodeURIComponent(location.hash)").startswith("#after=")
    assert page.errors() == []


def test_an_address_with_a_disruption_scrolls_to_its_effects(browser: Browser, folder: Path) -> None:
    page = browser.page((folder / "bakery.html").as_uri() + "#after=node fast-1", 390, 500, phone=True)
    page.until("window.scrollY > 0")
    top = page.value("document.getElementById('after').getBoundingClientRect().top")
    assert abs(top) < 50, "the effects are at the top of the window"
    assert page.value("document.querySelector('section.after.a1').checkVisibility()")
    assert page.errors() == []


@pytest.mark.parametrize(("width", "phone"), [(1280, False), (390, True)])
def test_the_page_of_a_large_cluster_finds_the_failures_that_harm_a_workload(
    browser: Browser, tmp_path: Path, width: int, phone: bool
) -> None:
    file = tmp_path / "large.html"
    file.write_text(place_page.render(large(60, 120, each="node")), encoding="utf-8")
    page = browser.page(file.as_uri(), width, phone=phone)
    page.until("document.readyState == 'complete'")
    assert page.value("document.documentElement.scrollWidth") == width, "only tables scroll sideways"
    assert page.value(f"{FAILURES}.length") == 60
    name = page.value("document.querySelector('table.matrix tbody th').textContent").partition("/")[2]
    page.value(TYPED.format(name))
    left = page.value(f"{FAILURES}.filter((each) => !each.hidden && !each.closest('[hidden]')).length")
    assert 0 < left < 60, page.value(FOUND)
    assert page.errors() == []


# All pages: on a telephone, on paper, and without a mouse.

HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((each) => Number(each.tagName[1]))"
FOLDED = "for (const each of document.querySelectorAll('details')) each.open = {}"


@pytest.mark.parametrize("unfolded", ["true", "false"])
@pytest.mark.parametrize("name", SAMPLES)
def test_on_a_telephone_no_page_scrolls_sideways(browser: Browser, folder: Path, name: str, unfolded: str) -> None:
    page = browser.page((folder / name).as_uri(), 390, 844, phone=True)
    page.until("document.readyState == 'complete'")
    page.value(FOLDED.format(unfolded))
    assert page.value("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("name", SAMPLES)
def test_headings_are_in_order(browser: Browser, folder: Path, name: str) -> None:
    levels = opened(browser, folder / name).value(HEADINGS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


CHOICES = ".find, .losses, .ones, .only, .choose, .tosee, .a0, .skip"
"""What a reader uses on the screen."""


@pytest.mark.parametrize("name", SAMPLES)
def test_paper_shows_what_is_folded_and_nothing_to_click(browser: Browser, folder: Path, name: str) -> None:
    page = opened(browser, folder / name)
    page.value(FOLDED.format("false"))
    inside = f"[...document.querySelectorAll('details > :not(summary)')].filter((each) => !each.closest({CHOICES!r}))"
    hidden = f"{inside}.filter((each) => !each.checkVisibility()).map((each) => each.outerHTML.slice(0, 80))"
    choices = f"[...document.querySelectorAll({f'{CHOICES}, input, select, button'!r})].filter((each) => each.checkVisibility()).length"
    assert page.value(f"{hidden}.length") == page.value(f"{inside}.length") > 0, "folded on the screen"
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.value(hidden) == []
    assert page.value(choices) == 0
    # No mark says that something can be unfolded.
    mark = "getComputedStyle(each, '::before').content + getComputedStyle(each).listStyleType"
    marks = f"[...document.querySelectorAll('summary')].map((each) => {mark})"
    assert {mark.replace("normal", '""') for mark in page.value(marks)} == {'""none'}


AXE = FOLDER / "axe" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = (
    "axe.run(document, {resultTypes: ['violations']})"
    ".then((result) => result.violations.map((each) => each.id + ': ' + each.nodes[0].html + ' ' + each.nodes[0].failureSummary))"
)


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: `.ci/tools` does so where npm is")
@pytest.mark.parametrize(("width", "phone", "dark"), [(390, True, False), (1280, False, False), (1280, False, True)])
@pytest.mark.parametrize("name", SAMPLES)
def test_pages_are_accessible(browser: Browser, folder: Path, name: str, width: int, phone: bool, dark: bool) -> None:
    """axe-core finds nothing: neither contrast below WCAG AA nor a field without a label nor a table that no key can scroll."""
    page = browser.page((folder / name).as_uri(), width, phone=phone, dark=dark)
    page.until("document.readyState == 'complete'")
    page.value(f"{AXE.read_text(encoding='utf-8')}; 0")
    page.value(FOLDED.format("true"))
    assert page.value(VIOLATIONS) == []
    # With a failure chosen, the replicas that it moves are pale and still readable.
    if page.value("Boolean(document.getElementById('f1')?.click() ?? document.getElementById('f1'))"):
        assert page.value(VIOLATIONS) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_the_first_stop_of_the_tab_key_skips_to_the_results(browser: Browser, folder: Path, name: str) -> None:
    page = opened(browser, folder / name)
    page.press("Tab", code="Tab", windowsVirtualKeyCode=9)
    assert page.value("document.activeElement.className") == "skip"
    assert page.value("document.activeElement.getBoundingClientRect().top >= 0"), "it is seen as soon as it has the focus"
    assert page.value("Boolean(document.querySelector(document.activeElement.hash))")
    # All others come in the order of the page: nothing jumps ahead.
    assert page.value("[...document.querySelectorAll('[tabindex]')].every((each) => each.tabIndex <= 0)")
