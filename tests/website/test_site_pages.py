"""The pages that the site makes: each rule, command, key and custom resource has its place, and the navigation leads to every page.

The site itself is built, and its links are followed, by `.ci/run`: `python -m website`.
"""

import json
import re
import sys
from pathlib import Path

import pytest
from website.navigation import as_toml, navigation, pages_in

from afflint.checks.registry import rules
from afflint.config.validation import schema
from checkout import ROOT, run
from website import __main__ as site
from website import made_pages, reference, rule_pages

KNOWN = rules()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.make_pages(folder)
    return folder


def test_the_navigation_leads_to_every_page_once(made: Path) -> None:
    entries = navigation(made, KNOWN)
    assert pages_in(entries) == {path.relative_to(made).as_posix() for path in made.rglob("*.md")}


def test_every_link_leads_to_a_page(made: Path) -> None:
    """What a link to a place on a page comes to is for the build to find."""
    for page in made.rglob("*.md"):
        for target in re.findall(r"\]\(([^)\s#:]+)[#)]", re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))):
            assert (page.parent / target).is_file(), f"{page.relative_to(made)}: {target}"


def test_missing_pages_are_left_out(tmp_path: Path) -> None:
    assert pages_in(navigation(tmp_path, {})) == {"rules/index.md", "rules/profiles/index.md"}


def test_a_page_without_an_entry_is_at_the_end_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / "nodes.md").write_text("# Nodes\n", encoding="utf-8")
    (tmp_path / "weather.md").write_text("# The weather\n", encoding="utf-8")
    (guide,) = (entry["Guide"] for entry in navigation(tmp_path, {}) if "Guide" in entry)
    assert (guide[0], guide[-1]) == ({"Nodes and pools": "nodes.md"}, {"The weather": "weather.md"})


def test_the_navigation_as_a_setting() -> None:
    entries = [{"Start": [{"One": "a.md"}, "b.md"]}, {"Two": [{"Below": [{'"Quoted"': "c.md"}]}]}]
    assert as_toml(entries) == (
        '[\n  { "Start" = [{ "One" = "a.md" }, "b.md"] },\n  { "Two" = [{ "Below" = [{ "\\"Quoted\\"" = "c.md" }] }] },\n]'
    )


@pytest.mark.parametrize("name", KNOWN)
def test_a_rule_page_shows_what_afflint_says_under_each_bad_example(made: Path, name: str) -> None:
    page, source = (path.read_text(encoding="utf-8") for path in (made / "rules" / f"{name}.md", ROOT / "rules" / f"{name}.md"))
    for marked, shown in (("```yaml bad", '```yaml title="Wrong"'), ("```yaml good", '```yaml title="Right"'), ("```said", ".said title")):
        assert page.count(shown) == source.count(marked)
        assert marked not in page
    assert f"since afflint {KNOWN[name].since}" in page
    for link in re.findall(r"^- \[.*\]\(https://.*\)$", source, re.MULTILINE):
        assert link in page, "its sources"


def test_a_rule_page_marks_the_lines_of_the_findings_and_leads_to_related_rules(made: Path) -> None:
    page = (made / "rules" / "label-not-on-template.md").read_text(encoding="utf-8")
    assert '```yaml title="Wrong" linenums="1" hl_lines="6"\napiVersion: kubevirt.io/v1\n' in page
    page = (made / "rules" / "no-matching-pool.md").read_text(encoding="utf-8")
    assert "[docs/nodes.md](../nodes.md)" in page
    assert "[`unreachable-node-label`](unreachable-node-label.md) reports this" in page
    assert "- [`unreachable-node-label`](unreachable-node-label.md): " in page.partition("## Related rules")[2]


def test_rules_that_are_off_say_so(made: Path) -> None:
    page = (made / "rules" / "hard-anti-affinity-topology.md").read_text(encoding="utf-8")
    assert "off until it is selected" in page
    assert "extend-select: [hard-anti-affinity-topology]" in page


def test_the_index_has_every_rule_below_its_category() -> None:
    index = rule_pages.index_page(KNOWN)
    for category, rows in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        assert re.findall(r"^\| \[`(\S+)`\]", rows, re.MULTILINE) == [each.name for each in KNOWN.values() if each.category == category]
    assert index.count("| [`") == len(KNOWN)


@pytest.mark.parametrize("name", reference.command_names())
def test_a_command_page_has_its_usage_and_every_option(made: Path, name: str) -> None:
    page = (made / "commands" / f"{name}.md").read_text(encoding="utf-8")
    assert f"\nafflint {name} [OPTIONS]" in page
    for row in "".join(reference.options(name)).splitlines():
        assert not row.startswith("| `") or row in page


def test_the_configuration_page_has_every_key(made: Path) -> None:
    page = (made / "configuration.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", page.partition("\n### ")[0], re.MULTILINE) == list(schema()["properties"])
    assert "### Keys of `workloads`" in page
    assert "| `template` | a dotted path such as spec.template |" in page


def test_a_ready_made_set_is_shown_with_its_file(made: Path) -> None:
    for path in (ROOT / "rules" / "profiles").glob("*.md"):
        page = (made / "rules" / "profiles" / path.name).read_text(encoding="utf-8")
        assert page.endswith(f"## The set\n\n```yaml\n{path.with_suffix('.yaml').read_text(encoding='utf-8')}```\n")
        assert page.count('title="Wrong" hl_lines=') == path.read_text(encoding="utf-8").count("```yaml bad")


@pytest.mark.parametrize("page", ["rules/hard-anti-affinity-topology.md", "rules/wrong-type.md"])
def test_the_shown_configuration_is_valid(made: Path, tmp_path: Path, page: str) -> None:
    fences = re.findall(r"^```yaml\n(.*?)^```$", (made / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / ".afflint.yaml").write_text(fences[-1], encoding="utf-8")
    assert ".afflint.yaml:" in run((sys.executable, "-m", "afflint", "config"), tmp_path)


def test_the_catalogue_has_every_kind() -> None:
    page = made_pages.catalogue_page()
    lines = (ROOT / "schemas" / "custom-resources.jsonl").read_text(encoding="utf-8").splitlines()
    assert page.count("<tr><td>") == len(lines)
    for name in ("index", "custom-resources"):
        assert f"{len(lines)} kinds" in (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    each = json.loads(lines[0])
    assert f"<b>{each['kind']}</b><br>{each['group']}" in page
    assert f"<code>{each['places'][0]['path']}</code>" in page
