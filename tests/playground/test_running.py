"""What the page of the playground asks of afflint, asked here as it asks it: files in, JSON out."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playground.__main__ import examples

from checkout import ROOT, clean_environment, run

sys.path.append(str(ROOT / "playground" / "page"))
import running
from persistent import HashTrieMap, HashTrieSet, List
from running import Playground, answer

EXAMPLES = {each["title"]: each for each in examples()}
CART = (ROOT / "examples" / "shop" / "cart.yaml").read_text("utf-8")
FIXED = (ROOT / "examples" / "fixed" / "cart.yaml").read_text("utf-8")
NODES = (ROOT / "examples" / "customapp" / "nodes.yaml").read_text("utf-8")
POLICIES = EXAMPLES["Policies of a platform team"]["files"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which a new playground writes to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "PAGE", Playground())
    return tmp_path


def asked(*question: Any) -> Any:
    return json.loads(answer(json.dumps(question)))


def rules_in(files: dict[str, str]) -> list[tuple[str, str]]:
    return [(each["file"], each["rule"]) for each in Playground().check(files)["findings"]]


def test_findings_have_positions_and_fixes() -> None:
    found = asked("check", {"cart.yaml": CART})["findings"]
    assert [(each["rule"], each["file"], each["line"], each["column"], each["fix"]) for each in found] == [
        ("label-not-on-template", "cart.yaml", 7, 5, "unsafe"),
        ("wrong-type", "cart.yaml", 19, 14, "safe"),
    ]
    assert found[1]["help"] == 'Quote it: `"true"`.'
    assert asked("check", {"a.yaml": ""}) == {"findings": [], "safe": 0, "summary": "No manifest found in 1 file.", "notes": []}


def test_the_summary_is_the_one_of_the_text_report() -> None:
    assert asked("check", {"cart.yaml": CART})["summary"] == "Found 1 error, 1 warning. Read 1 document in 1 file."
    assert asked("check", POLICIES)["summary"] == "Found 1 error, 1 warning. Read 2 documents in 2 files."
    ignored = CART.replace("ssd: true", "ssd: true # afflint: ignore[wrong-type] -- an example")
    assert asked("check", {"cart.yaml": ignored})["summary"] == "Found 1 warning. Read 1 document in 1 file. 1 finding suppressed."
    ignoring = {".afflint.yaml": "ignore: [all]\n", "cart.yaml": CART}
    assert asked("check", ignoring)["summary"] == "Nothing was checked, because no rule is selected."


def test_what_is_not_rendered_is_named() -> None:
    chart = {"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "templates/a.yaml": "kind: {{ .Values.kind }}\n"}
    files = chart | {"kustomization.yaml": "resources: [cart.yaml]\n", "cart.yaml": FIXED}
    answered = asked("check", files)
    assert answered["summary"].startswith("No findings in what was read")
    assert answered["notes"][-1] == "Not rendered: 1 chart and 1 kustomization; `--render` checks what they create."
    assert "Not rendered: 1 chart and 1 kustomization" in asked("place", files | {"nodes.yaml": NODES}, "")["page"]


def test_a_fix_changes_the_file_of_its_finding() -> None:
    fixed = CART.replace("ssd: true", 'ssd: "true"')
    files = {"a/cart.yaml": CART, "b.yaml": ""}
    assert asked("fix", files, 1) == {"file": "a/cart.yaml", "text": fixed, "made": 1}
    assert asked("fix_all", files) == {"a/cart.yaml": fixed, "b.yaml": ""}


def test_a_fix_is_of_a_finding_in_the_given_files() -> None:
    asked("check", {"cart.yaml": CART})
    moved = "# A comment.\n" + CART
    assert asked("fix", {"cart.yaml": moved}, 1)["text"] == moved.replace("ssd: true", 'ssd: "true"')


def test_files_are_checked_together() -> None:
    files = EXAMPLES["Virtual machines that stay Pending"]["files"]
    alone = rules_in({name: text for name, text in files.items() if name != "nodes.yaml"})
    assert ("appliance.yaml", "unschedulable") not in alone
    assert ("appliance.yaml", "unschedulable") in rules_in(files)


def test_a_file_that_is_renamed_or_deleted_is_gone(folder: Path) -> None:
    page = Playground()
    page.check({"a/cart.yaml": CART})
    assert [each["file"] for each in page.check({"b.yaml": CART})["findings"]] == ["b.yaml", "b.yaml"]
    assert [path.name for path in folder.rglob("*")] == ["b.yaml"]


def test_the_configuration_applies() -> None:
    assert ("checkout.yaml", "survives-a-zone") in rules_in(POLICIES)
    ignoring = POLICIES | {".afflint.yaml": "ignore: [all]\n"}
    assert rules_in(ignoring) == []


def test_a_policy_and_a_rule_that_report_the_same_are_one_finding() -> None:
    assert [rule for file, rule in rules_in(POLICIES) if file == "ledger.yaml"] == ["no-hosts"]


def test_a_mistake_in_the_configuration_is_at_its_line() -> None:
    answered = asked("check", POLICIES | {".afflint.yaml": "# Ours.\npolices: []\n"})
    (found,) = answered["findings"]
    assert (found["file"], found["line"], found["column"]) == (".afflint.yaml", 2, 1)
    assert found["message"] == "unknown key `polices`; did you mean `policies`?"
    assert "polices" in asked("place", POLICIES | {".afflint.yaml": "polices: []\n"}, "")["problem"]


def test_what_is_not_checked_is_named() -> None:
    notes = asked("check", {"notes.txt": "text", "empty.txt": "", "cart.yaml": CART})["notes"]
    assert notes == ["Not checked, because of the name or the configuration: `notes.txt`."]
    (note,) = asked("check", {".afflint.yaml": "nodes: [missing.yaml]\n", "cart.yaml": CART})["notes"]
    assert note == ".afflint.yaml:1:1: `nodes`: the file `missing.yaml` does not exist"
    policy = "policies:\n- {name: survives, check: survives, params: {loss: zone}}\n"
    assert asked("check", {".afflint.yaml": policy, "cart.yaml": CART})["notes"] == [
        "Not evaluated, because no nodes are known: `survives`."
    ]
    assert asked("check", {".afflint.yaml": "baseline: known.json\n", "cart.yaml": CART})["notes"] == [
        "The `baseline` of the configuration is not applied here."
    ]


@pytest.mark.parametrize("name", ["../a.yaml", "/a.yaml", "a/../../b.yaml", "", "a//b.yaml", "./a.yaml", "a\\b.yaml", "a\n.yaml"])
def test_no_name_leads_out_of_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        asked("check", {name: CART})
    assert list(folder.rglob("*")) == []


def test_a_plan_is_a_page_or_a_problem() -> None:
    files = EXAMPLES["Virtual machines that stay Pending"]["files"]
    assert asked("place", files, "")["page"].startswith("<!doctype html>")
    assert asked("place", {"cart.yaml": CART}, "") == {"problem": "the files have no nodes", "needsNodes": True}
    assert "Of 3 failures" in asked("place", files, "lose:zone")["page"]


def test_a_rollout_is_simulated() -> None:
    assert "may lose a zone" in asked("place", EXAMPLES["A zone lost in a rollout"]["files"], "roll")["page"]


def test_a_plan_has_no_script_and_escapes_the_files() -> None:
    files = {"cart.yaml": CART.replace("name: cart\n", "name: '<img src=x onerror=alert(1)>'\n"), "nodes.yaml": NODES}
    page = asked("place", files, "")["page"]
    assert "<script" not in page
    assert "<img" not in page


def test_each_example_has_the_report_of_its_files() -> None:
    for example in EXAMPLES.values():
        assert example["report"] == asked("check", example["files"])
        assert example["report"]["findings"]


def test_each_rule_that_is_found_has_a_page() -> None:
    for example in EXAMPLES.values():
        for finding in example["report"]["findings"]:
            if finding["hasPage"]:
                assert asked("page", finding["rule"]).startswith(f"# {finding['rule']}\n")


def test_the_first_example_is_the_one_of_the_readme() -> None:
    assert next(iter(EXAMPLES.values()))["files"] == {"cart.yaml": CART}


def test_it_only_needs_what_the_page_has() -> None:
    """These are afflint, ruamel.yaml without libyaml, and jsonschema with the collections of persistent.py."""
    script = (
        "import sys; missing = 'click platformdirs _ruamel_yaml multiprocessing ssl'.split()\n"
        "sys.modules |= dict.fromkeys(missing)\n"
        f"sys.path.insert(0, {str(ROOT / 'playground' / 'page')!r})\n"
        "import persistent; sys.modules['rpds'] = persistent\n"
        f"from running import PAGE; files = {POLICIES | {'cart.yaml': CART, 'nodes.yaml': NODES}!r}\n"
        "print(len(PAGE.check(files)['findings']), PAGE.fix(files, 0)['made'], len(PAGE.fix_all(files)))\n"
        "print('page' in PAGE.place(files, 'drain:node'))\n"
        "print(PAGE.check({'.afflint.yaml': 'jobs: many'})['findings'][0]['message'])\n"
    )
    output = run([sys.executable, "-c", script], Path.cwd(), environment=clean_environment())
    assert output.split()[1:4] == ["1", "5", "True"]
    assert output.splitlines()[-1] == "`jobs` must be a number from 1 up, not the string `many`"


def test_the_collections_for_jsonschema_do_not_change() -> None:
    values, names, path = HashTrieMap(a=1), HashTrieSet("a"), List("a")
    assert (values.insert("b", 2), values.update({"a": 3}), values.remove("a"), values) == ({"a": 1, "b": 2}, {"a": 3}, {}, {"a": 1})
    assert (names.insert("b"), names.update("bc"), names.discard("a"), names) == ({"a", "b"}, {"a", "b", "c"}, set(), {"a"})
    assert (path.push_front("b"), path) == (("b", "a"), ("a",))
    with pytest.raises(KeyError):
        values.remove("b")
