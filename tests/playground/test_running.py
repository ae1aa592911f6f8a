"""What the page of the playground asks of afflint, asked here as it asks it: two texts in, JSON out."""

from __future__ import annotations

import json
import sys
from typing import Any

from playground.__main__ import examples

from checkout import ROOT, clean_environment, run

sys.path.insert(0, str(ROOT / "playground" / "page"))
from running import Playground, answer

EXAMPLES = {each["name"]: each for each in examples()}
CART = EXAMPLES["shop: cart"]["manifest"]


def asked(*question: Any) -> Any:
    return json.loads(answer(json.dumps(question)))


def test_findings_have_positions_and_fixes() -> None:
    found = asked("check", CART, "")["findings"]
    assert [(each["rule"], each["tab"], each["line"], each["fix"]) for each in found] == [
        ("label-not-on-template", 0, 7, "unsafe"),
        ("wrong-type", 0, 19, "safe"),
    ]
    assert found[1]["help"] == 'Quote it: `"true"`.'
    assert asked("check", "", "") == {"findings": [], "safe": 0, "documents": 0, "suppressed": 0}


def test_a_fix_changes_the_text_that_it_was_found_in() -> None:
    asked("check", CART, "")
    assert asked("fix", 1) == {"tab": 0, "text": CART.replace("ssd: true", 'ssd: "true"'), "made": 1}
    assert asked("fix_all") == [CART.replace("ssd: true", 'ssd: "true"'), ""]


def test_nodes_count_in_what_is_found() -> None:
    example = EXAMPLES["customapp-typo"]
    alone, beside = ({each["rule"] for each in asked("check", example["manifest"], nodes)["findings"]} for nodes in ("", example["nodes"]))
    assert beside - alone


def test_a_plan_is_a_page_or_a_problem() -> None:
    example = EXAMPLES["customapp"]
    assert asked("place", example["manifest"], example["nodes"], "")["page"].startswith("<!doctype html>")
    assert "the tab Nodes" in asked("place", example["manifest"], "", "")["problem"]
    assert "Of 3 failures" in asked("place", example["manifest"], example["nodes"], "lose:zone")["page"]


def test_each_rule_that_is_found_has_a_page() -> None:
    page = Playground()
    for example in EXAMPLES.values():
        for finding in page.check(example["manifest"], example["nodes"])["findings"]:
            assert page.page(finding["rule"]).startswith(f"# {finding['rule']}\n")


def test_the_first_example_shows_something() -> None:
    assert next(iter(EXAMPLES)) == "shop: cart"


def test_it_only_needs_afflint_and_ruamel_yaml() -> None:
    """These two are all that the page carries, and there is no libyaml in a browser."""
    script = (
        "import sys; missing = 'click jsonschema platformdirs _ruamel_yaml multiprocessing ssl'.split()\n"
        "sys.modules |= dict.fromkeys(missing)\n"
        f"sys.path.insert(0, {str(ROOT / 'playground' / 'page')!r})\n"
        f"from running import PAGE; cart = {CART!r}\n"
        f"nodes = {EXAMPLES['customapp']['nodes']!r}\n"
        "print(len(PAGE.check(cart, nodes)['findings']), PAGE.fix(0)['made'], len(PAGE.fix_all()))\n"
        "print('page' in PAGE.place(cart, nodes, 'drain:node'))\n"
    )
    told = run([sys.executable, "-c", script], ROOT, environment=clean_environment())
    assert told.split()[1:] == ["1", "2", "True"]
