"""What the one script of a page adds: a search, filters, and an address that keeps them. The pages are the goldens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

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
