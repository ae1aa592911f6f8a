"""The playground as a visitor has it: built with the wheel, in Chromium, from a web server that can be taken away."""

import base64
import json
import shutil
import zlib
from collections.abc import Iterator

import pytest

pytest.importorskip("fcntl", reason="Chromium is spoken to over pipes, as Windows has none")

from playground.__main__ import BuildError, build

from browser import Browser, Page, chromium
from checkout import ROOT
from site_server import Site

FOUND = "document.querySelectorAll('#list li').length"
RULES = "[...document.querySelectorAll('#list li')].map((each) => each.dataset.rule)"
TEXT = "document.getElementById('text').value"
STATUS = "document.getElementById('status').textContent"
NOTICE = "document.getElementById('notice').innerText"
LIVE = "document.getElementById('status').dataset.version"
TABS = "[...document.querySelectorAll('#files [role=tab]')].map((each) => each.dataset.name)"
OPEN = "document.querySelector('#files [aria-selected=true]').dataset.name"
PLAN = "document.getElementById('plan').contentDocument.body"
CART = (ROOT / "examples" / "shop" / "cart.yaml").read_text("utf-8")
FIXED = CART.replace("ssd: true", 'ssd: "true"')


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
    with Site(folder) as served:
        yield served


@pytest.fixture
def page(browser: Browser, site: Site) -> Page:
    """The page with its first example, when afflint has checked it."""
    return live(browser, f"{site.address}/afflint/playground/")


def live(browser: Browser, address: str, **window: int | bool) -> Page:
    """Open a page, and wait until afflint runs in it."""
    opened = browser.page(address, **window)  # type: ignore[arg-type]
    opened.until(LIVE)
    return opened


def click(page: Page, selector: str) -> None:
    page.value(f"document.querySelector({json.dumps(selector)}).click()")


def choose(page: Page, menu: str, text: str) -> None:
    """Choose an entry of a menu by its text."""
    page.value(
        f"""(() => {{
          const menu = document.getElementById({json.dumps(menu)});
          menu.value = [...menu.options].find((each) => each.textContent === {json.dumps(text)}).value;
          menu.dispatchEvent(new Event("change"));
        }})()"""
    )


def write(page: Page, text: str) -> None:
    """Replace the text in the editor."""
    page.value("document.getElementById('text').focus(); document.getElementById('text').select()")
    page.type(text)


def name_file(page: Page, name: str) -> None:
    """Type a name into the open dialog, and confirm it."""
    page.until("document.getElementById('naming').open")
    page.value("document.getElementById('name').select()")
    page.type(name)
    click(page, "#naming [type=submit]")


def link_of(page: Page) -> str:
    """Ask for a link, and return its part after the address."""
    page.value("history.replaceState(null, '', location.pathname)")
    click(page, "#link")
    fragment: str = page.until("location.hash")
    return fragment


def link_to(state: object, version: int = 2) -> str:
    """Return a link as anyone could write it."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return f"#{version}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def test_findings_and_fixes(page: Page) -> None:
    # Findings are at their lines, in the list and in the editor.
    page.until(f"{STATUS} === 'Found 1 error, 1 warning. Read 1 document in 1 file.'")
    assert page.value(TEXT) == CART
    assert page.value(RULES) == ["label-not-on-template", "wrong-type"]
    assert page.value("[...document.querySelectorAll('#gutter span')].map((each) => each.textContent)") == ["7", "19"]
    assert page.value("[...document.querySelectorAll('#marks u')].map((each) => each.textContent)") == ["tier", "true"]

    # A place leads to its line and column.
    places = "[...document.querySelectorAll('#list .head button:first-of-type')]"
    assert page.value(f"{places}.map((each) => each.textContent)") == ["cart.yaml:7:5", "cart.yaml:19:14"]
    page.value(f"{places}[1].click()")
    assert page.value("document.activeElement.id") == "text"
    assert page.value(f"{TEXT}.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)") == "true"

    # The page of a rule.
    page.value("[...document.querySelectorAll('#list button')].find((each) => each.textContent === 'wrong-type').click()")
    assert "wrong-type" in page.until("document.querySelector('#rule h2')?.textContent")
    assert page.value("document.querySelectorAll('#rule pre').length") >= 2
    click(page, "#view-findings")

    # A fix is one click, and can be undone like anything that was typed.
    click(page, "#list li[data-rule=wrong-type] .do button")
    page.until(f"{FOUND} === 1")
    assert page.value(TEXT) == FIXED
    page.value("document.execCommand('undo')")
    page.until(f"{FOUND} === 2")
    assert page.value(TEXT) == CART
    click(page, "#fix-all")
    page.until(f"{FOUND} === 1")
    assert page.value(TEXT) == FIXED

    # Typed text is checked.
    write(page, "apiVersion: v1\nkind: Pod\nspec: [")
    page.until(f"{RULES}[0] === 'unreadable-manifest'")
    page.value("document.getElementById('text').setSelectionRange(0, 0)")
    page.press("F8", windowsVirtualKeyCode=119)
    assert page.value("document.getElementById('text').selectionStart") > 0
    assert page.errors() == []


def test_files(page: Page) -> None:
    assert page.value(TABS) == ["cart.yaml"]
    assert page.value("document.getElementById('delete').disabled")

    # The configuration is a file like on a disk, and its mistakes are findings.
    click(page, "#add")
    name_file(page, ".afflint.yaml")
    page.until(f"{OPEN} === '.afflint.yaml'")
    write(page, "ignroe: [label-not-on-template]\n")
    page.until(f"{RULES}.join() === 'configuration'")
    assert page.value("document.querySelector('#list .head button').textContent") == ".afflint.yaml:1:1"
    write(page, "ignore: [label-not-on-template]\n")
    page.until(f"{RULES}.join() === 'wrong-type'")

    # The name decides what a file is.
    page.value("document.querySelectorAll('#files [role=tab]')[0].click()")
    click(page, "#rename")
    name_file(page, "../cart.yaml")
    assert "letters, digits" in page.until("document.getElementById('name-problem').textContent")
    name_file(page, ".afflint.yaml")
    page.until("document.getElementById('name-problem').textContent === 'There is a file .afflint.yaml already.'")
    name_file(page, "cart.txt")
    page.until("document.getElementById('notes').textContent.includes('cart.txt')")
    assert page.value(FOUND) == 0
    click(page, "#rename")
    name_file(page, "shop/cart.yaml")
    page.until(f"{FOUND} === 1")
    assert page.value("document.querySelector('#list .head button').textContent") == "shop/cart.yaml:19:14"

    # A finding in another file opens it; the arrow keys change files.
    page.value("document.querySelectorAll('#files [role=tab]')[1].click()")
    click(page, "#list .head button")
    assert page.value(OPEN) == "shop/cart.yaml"
    page.value("document.querySelector('#files [aria-selected=true]').focus()")
    page.press("ArrowRight", windowsVirtualKeyCode=39)
    assert page.value(OPEN) == page.value("document.activeElement.dataset.name") == ".afflint.yaml"

    # A deleted file can be restored.
    click(page, "#delete")
    page.until(f"{FOUND} === 2")
    assert page.value(TABS) == ["shop/cart.yaml"]
    page.value("document.querySelector('#notice-text button').click()")
    page.until(f"{FOUND} === 1")
    assert page.value(TABS) == ["shop/cart.yaml", ".afflint.yaml"]
    assert page.errors() == []


def test_dropped_files_are_added(browser: Browser, site: Site) -> None:
    page = browser.page(f"{site.address}/afflint/playground/?embed")
    page.until(f"{FOUND} === 2")
    choose(page, "examples", "An empty file")
    assert page.value(STATUS) == "Type or paste a manifest, or drop files on the page."
    page.value(
        f"""(() => {{
          const data = new DataTransfer();
          const texts = [["cart.yaml", {json.dumps(CART)}], ["my cart.yaml", ""], ["large.yaml", " ".repeat(1000001)]];
          for (const [name, text] of texts) data.items.add(new File([text], name));
          document.body.dispatchEvent(new DragEvent("drop", {{ bubbles: true, cancelable: true, dataTransfer: data }}));
        }})()"""
    )
    page.until(f"{TABS}.join() === 'manifest.yaml,cart.yaml'")
    assert page.value(TEXT) == CART
    notice = page.value(NOTICE)
    assert "my cart.yaml is not added. A name has letters" in notice
    assert "large.yaml is not added. It is larger than 1 MB" in notice
    page.until(f"{STATUS} === 'Found 1 error, 1 warning. Read 1 document in 2 files.'")


def test_a_plan_and_what_happens_when_nodes_fail(page: Page) -> None:
    click(page, "#view-placement")
    assert "the files have no nodes" in page.until("document.getElementById('place-status').textContent")
    click(page, "#place-status button")
    page.until(f"{PLAN}?.textContent.includes('3 replicas')")
    assert page.value(TABS) == ["cart.yaml", "nodes.yaml"]
    choose(page, "examples", "Virtual machines that stay Pending")
    click(page, "#view-placement")
    page.until(f"{PLAN}?.textContent.includes('virt-launcher-appliance') && {PLAN}.querySelector('#workloads') !== null")
    choose(page, "happens", "each zone fails")
    page.until(f"{PLAN}?.textContent.includes('Of 3 failures') && {PLAN}.querySelectorAll('input[type=radio]').length > 1")
    choose(page, "examples", "A zone lost in a rollout")
    click(page, "#view-placement")
    choose(page, "happens", "each workload is rolled out")
    page.until(f"{PLAN}?.textContent.includes('may lose a zone')")
    assert page.value("document.getElementById('plan').getAttribute('sandbox')") == "allow-same-origin"
    assert page.errors() == []


def test_a_link_has_the_state_of_the_page(page: Page, browser: Browser, site: Site) -> None:
    choose(page, "examples", "Policies of a platform team")
    page.until(f"{TABS}.length === 3")
    page.value("document.querySelectorAll('#files [role=tab]')[2].click()")
    click(page, "#view-placement")
    choose(page, "happens", "each zone is drained")
    fragment = link_of(page)
    assert "browsers do not send to a server" in page.until(NOTICE)
    data = fragment.removeprefix("#2.")
    state = json.loads(zlib.decompress(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)), -15))
    assert [name for name, _ in state["files"]] == ["checkout.yaml", "ledger.yaml", ".afflint.yaml"]

    opened = browser.page(f"{site.address}/afflint/playground/{fragment}")
    opened.until(f"{TABS}.length === 3")
    assert opened.value(OPEN) == ".afflint.yaml"
    assert opened.value(TEXT) == state["files"][2][1]
    assert opened.value("document.getElementById('happens').value") == "drain:zone"
    opened.until("document.getElementById('place-status').textContent.includes('have no nodes')")


def test_files_that_are_too_large_for_a_link(browser: Browser, site: Site) -> None:
    page = browser.page(f"{site.address}/afflint/playground/?embed")
    page.until(f"{FOUND} === 2")
    write(page, f"# {'a' * 1_000_000}")
    for control in ("#link", "#open"):
        click(page, "#close-notice")
        click(page, control)
        page.until(f"{NOTICE}.includes('The files are too large for a link')")
    assert page.value("location.hash") == ""


def test_findings_move_while_text_is_typed(browser: Browser, site: Site) -> None:
    """Before the next check, which needs Python."""
    page = browser.page(f"{site.address}/afflint/playground/?embed")
    page.until(f"{FOUND} === 2")
    page.value("document.getElementById('text').focus(); document.getElementById('text').setSelectionRange(0, 0)")
    page.type("# One.\n# Two.\n")
    assert page.value("[...document.querySelectorAll('#gutter span')].map((each) => each.textContent)") == ["9", "21"]
    click(page, "#list li[data-rule=wrong-type] .head button")
    assert page.value(f"{TEXT}.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)") == "true"


@pytest.mark.parametrize(
    "link, problem",
    [
        ("#2.AAAA", "damaged"),
        ("#2.", "damaged"),
        ("#2.%%%", "damaged"),
        (link_to({"files": []}), "it has no files"),
        (link_to([["a.yaml", "text"]]), "it has no files"),
        (link_to({"files": [["a.yaml", {"text": 1}]]}), "it has no files"),
        (link_to({"files": [["../a.yaml", ""]]}), "letters, digits"),
        (link_to({"files": [["a.yaml", ""], ["a.yaml", ""]]}), "There is a file a.yaml already"),
        (link_to({"files": [["a", ""], ["a/b.yaml", ""]]}), "cannot both exist"),
        (link_to({"files": [["a.yaml", "a" * 1_000_001]]}), "too large"),
        (link_to({"files": [["a.yaml", ""]]}, version=3), "another version"),
    ],
)
def test_a_link_that_cannot_be_opened(browser: Browser, site: Site, link: str, problem: str) -> None:
    """It is reported, and the files of the page remain."""
    page = browser.page(f"{site.address}/afflint/playground/?embed")
    page.until(f"{FOUND} === 2")
    page.value(f"location.hash = {json.dumps(link)}")
    page.until(f"{NOTICE}.includes({json.dumps(problem)})")
    assert page.value(TEXT) == CART
    assert page.errors() == []


def test_nothing_in_a_link_is_executed(page: Page) -> None:
    """File names cannot contain markup, and texts, also in messages and in the plan, are text."""
    attack = "<img src=x onerror='window.attacked = top.attacked = 1'><script>top.attacked = 1</script>"
    manifest = CART.replace("name: cart\n", f"name: {json.dumps(attack)}\n").replace("ssd: true", 'ssd: "true"')
    nodes = "nodes: [{name: worker-1}]\n"
    state = {"files": [["a.yaml", manifest], ["nodes.yaml", nodes]], "open": attack, "view": attack, "happens": attack}
    page.value(f"location.hash = {json.dumps(link_to(state))}")
    page.until("document.getElementById('list').textContent.includes('<img')")
    click(page, "#view-placement")
    page.until(f"{PLAN}?.textContent.includes('<img')")
    assert page.value("document.images.length + document.querySelectorAll('script:not([src])').length") == 0
    assert page.value("window.attacked") is None


def test_the_home_page_loads_python_only_when_it_is_needed(browser: Browser, site: Site) -> None:
    site.asked.clear()
    opened = browser.page(f"{site.address}/afflint/playground/index.html?embed")
    opened.until(f"{FOUND} === 2")
    assert opened.value(STATUS) == "Found 1 error, 1 warning. Read 1 document in 1 file."
    choose(opened, "examples", "A zone lost in a rollout")
    opened.until(f"{RULES}.join() === 'spread-lost-in-rollout'")
    assert not opened.value(LIVE)
    assert not any("pyodide" in path or ".whl" in path for path in site.asked)
    choose(opened, "examples", "Replicas that may share a node")
    click(opened, "#list li[data-rule=wrong-type] .do button")
    opened.until(f"{FOUND} === 1")
    assert opened.value(TEXT) == FIXED


def test_the_page_does_not_scroll_by_itself(browser: Browser, site: Site) -> None:
    """On a phone, a new report leaves the page where the visitor has scrolled to."""
    opened = live(browser, f"{site.address}/afflint/playground/", width=390, height=844, phone=True)
    choose(opened, "examples", "All mistakes of a shop")
    opened.until(f"{STATUS} === 'Found 6 errors, 1 warning. Read 6 documents in 5 files.'")
    opened.value("document.querySelector('#list li:last-child').scrollIntoView()")
    before = opened.value("scrollY")
    assert before > 844
    click(opened, "#list li:last-child .do button")
    opened.until(f"{FOUND} === 6")
    assert opened.value("scrollY > 844")
    # The tab of the fixed file is visible.
    assert opened.value(OPEN) == "web.yaml"
    tab = "document.querySelector('#files [aria-selected=true]').getBoundingClientRect()"
    assert opened.value(f"{tab}.left >= 0 && {tab}.right <= innerWidth")


def test_the_home_page_opens_the_playground_with_its_files(browser: Browser, site: Site) -> None:
    opened = browser.page(f"{site.address}/afflint/playground/index.html?embed")
    opened.until(f"{FOUND} === 2")
    write(opened, "# Mine.\n")
    click(opened, "#open")
    opened.until(f"location.search === '' && location.hash.startsWith('#2.') && document.getElementById('text') && {TEXT} === '# Mine.\\n'")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("query", ["", "?embed"])
def test_it_fits_on_a_phone(browser: Browser, site: Site, query: str, dark: bool) -> None:
    opened = browser.page(f"{site.address}/afflint/playground/{query}", width=390, height=844, phone=True, dark=dark)
    opened.until(f"{FOUND} === 2")
    assert opened.value("document.documentElement.scrollWidth <= innerWidth")
    choose(opened, "examples", "All mistakes of a shop")
    opened.until(f"{TABS}.length === 5")
    assert opened.value("document.documentElement.scrollWidth <= innerWidth")
    paper = opened.value("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(21, 21, 20)" if dark else "rgb(255, 255, 255)")


def test_a_plan_on_a_phone_is_as_high_as_its_content(browser: Browser, site: Site) -> None:
    opened = browser.page(f"{site.address}/afflint/playground/", width=390, height=844, phone=True)
    opened.until(f"{FOUND} === 2")
    choose(opened, "examples", "Virtual machines that stay Pending")
    click(opened, "#view-placement")
    opened.until(f"{PLAN}?.textContent.includes('replicas scheduled')")
    plan = "document.getElementById('plan')"
    opened.until(f"{plan}.clientHeight > innerHeight && {plan}.contentDocument.documentElement.scrollHeight <= {plan}.clientHeight")
    assert opened.value(f"{plan}.contentDocument.documentElement.scrollWidth <= {plan}.clientWidth")
    assert opened.value("document.documentElement.scrollWidth <= innerWidth")


def test_the_documented_size(site: Site) -> None:
    """A server compresses what is not compressed yet."""
    files = [path.read_bytes() for path in site.folder.rglob("*") if path.is_file()]
    assert abs(sum(min(len(zlib.compress(data)), len(data)) for data in files) / 1e6 - 8) < 1
    for page in ("docs/index.md", "docs/playground.md", "playground/page/index.html"):
        assert "8 MB" in (ROOT / page).read_text("utf-8")


def test_controls_have_names(page: Page) -> None:
    """What a screen reader announces: the computed name of every button, field and menu."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = [each for each in nodes if each.get("role", {}).get("value") in ("button", "textbox", "combobox", "tab", "link", "Iframe")]
    assert len(controls) > 10
    assert [each for each in controls if not each.get("name", {}).get("value")] == []
    named = {each["name"]["value"] for each in controls}
    assert {"cart.yaml 2", "cart.yaml", "Fix wrong-type in line 19 of cart.yaml", "Example", "Copy link"} <= named


def test_without_a_network(page: Page, browser: Browser, site: Site) -> None:
    """The last test of the module: the server is gone after it."""
    # Nothing was asked of the server but files, and no other server can be asked: neither by the page nor by what runs afflint.
    assert not any("#" in path for path in site.asked)
    assert not any("?" in path and not path.endswith("?embed") for path in site.asked)
    elsewhere = Site(ROOT / "examples")
    asking = f"fetch('{elsewhere.address}/').then(() => 'sent', () => 'refused')"
    assert page.value(asking) == page.worker().value(asking) == "refused"
    elsewhere.close()
    assert elsewhere.asked == []

    # It works offline, and a link opens with its files.
    fragment = link_of(page)
    page.until("document.getElementById('offline').textContent")
    site.close()
    later = live(browser, f"{site.address}/afflint/playground/{fragment}", width=390, height=844, phone=True)
    later.until(f"{FOUND} === 2")
    assert later.value(TEXT) == CART
