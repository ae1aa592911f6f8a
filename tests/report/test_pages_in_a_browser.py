"""What the one script of a page adds: a search, filters, and an address that keeps them. The pages are the goldens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from place_sample import large

from afflint.report.place import page as place_page
from browser import Browser, Page

GOLDEN = Path(__file__).parent / "golden"

TYPED = "words.value = {!r}; words.dispatchEvent(new Event('input', {{bubbles: true}}))"
FOUND = "found.textContent"
SHOWN = "[...document.querySelectorAll({!r})].filter((each) => each.checkVisibility()).length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def opened(browser: Browser, name: str, fragment: str = "") -> Page:
    page = browser.page((GOLDEN / name).as_uri() + fragment)
    page.until("location.protocol == 'file:' && document.readyState == 'complete'")
    return page


@pytest.mark.parametrize(
    "name, row, word, found, left, total",
    [("report.html", ".finding", "zone", "1 of 5 findings", 1, 5), ("policies.html", "tr[data-namespace]", "cart", "1 of 2", 1, 2)],
)
def test_a_search_leaves_what_it_finds_and_the_address_keeps_it(
    browser: Browser, name: str, row: str, word: str, found: str, left: int, total: int
) -> None:
    page = opened(browser, name)
    assert (page.value("document.getElementById('find').hidden"), page.value(FOUND), page.value(SHOWN.format(row))) == (False, "", total)
    page.value(TYPED.format(word))
    assert (page.value(FOUND), page.value(SHOWN.format(row)), page.value("location.hash")) == (found, left, f"#find={word}")
    again = opened(browser, name, f"#find={word}")
    assert (again.value("words.value"), again.value(FOUND)) == (word, found)
    page.value(TYPED.format(""))
    assert (page.value(FOUND), page.value("location.hash")) == ("", "")
    assert page.errors() == again.errors() == []


def test_a_choice_is_in_the_address_too(browser: Browser) -> None:
    assert opened(browser, "report.html", "#severity=error").value(FOUND) == "2 of 5 findings"
    assert opened(browser, "policies.html", "#namespace==shop&find=zone").value(FOUND) == "1 of 2"


@pytest.mark.parametrize("name, anchor", [("report.html", "n3"), ("policies.html", "p3"), ("place/bakery.html", "w1")])
def test_an_address_opens_what_it_names(browser: Browser, name: str, anchor: str) -> None:
    page = opened(browser, name)
    page.value(f"for (const each of document.querySelectorAll('details')) each.open = false; location.hash = '#{anchor}'")
    page.until(f"{anchor}.closest('details').open")
    assert page.errors() == []


# The page of `place`: the table of what each application survives.

CELL = "document.querySelector('table.matrix td a')"
FAILURES = "[...document.querySelectorAll('label:has(> input[name=loss])')].filter((each) => each.firstChild.value)"


def test_a_cell_of_the_resilience_table_opens_its_disruption(browser: Browser) -> None:
    page = opened(browser, "place/bakery.html")
    choice = f"document.getElementById('f' + {CELL}.dataset.loss)"
    assert not page.value(f"{choice}.checked")
    page.value(f"{CELL}.click()")
    page.until(f"{choice}.checked")
    # Its effects are shown, and those of no other disruption.
    assert page.value(SHOWN.format("section.after")) == 1
    assert page.value(f"document.querySelector('section.after.a' + {CELL}.dataset.loss).checkVisibility()")
    assert page.value("decodeURIComponent(location.hash)").startswith("#after=")
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
