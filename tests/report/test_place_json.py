"""The placement for other programs: it obeys its schema, says all that the plan holds, and is the same bytes every time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from place_sample import BAKERY, LEDGER, TROUBLE, hostile, large, node, verdict, workload

from afflint.placement.plan import Plan
from afflint.report.place import json_report

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "place.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NAMES = ('</script>"', "a\x00\x1b[31mb", "\u202eevil", "\ud800", "日本語", "")


def read(plan: Plan) -> Any:
    return json.loads("".join(json_report.render(plan)))


@pytest.mark.parametrize("plan", [BAKERY, TROUBLE, large(20, 30), large(20, 5, each="node"), *map(hostile, NAMES)])
def test_the_document_obeys_its_schema(plan: Plan) -> None:
    VALIDATOR.validate(read(plan))


def test_an_empty_plan_obeys_it_too() -> None:
    document = read(Plan("rack", (), (), (), ()))
    VALIDATOR.validate(document)
    assert document == {
        "version": 1,
        "groupBy": "rack",
        "nodes": [],
        "workloads": [],
        "groups": [],
        "violations": [],
        "restarts": [],
        "preempted": [],
        "losses": [],
        "rollouts": [],
        "notes": [],
        "coverage": {"seen": [], "not_seen": []},
        "summary": {
            "nodes": 0,
            "domains": 0,
            "workloads": 0,
            "replicas": 0,
            "placed": 0,
            "losses": {"dead": 0, "degraded": 0, "interrupted": 0, "unjudged": 0, "survives": 0},
            "volumes": 0,
            "rollouts": {"completes": 0, "may-block": 0, "blocked": 0, "manual": 0, "unjudged": 0},
            "drains": {"ends": 0, "blocked": 0, "refused": 0},
        },
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.update(extra=1),
        lambda document: document.pop("groupBy"),
        lambda document: document["nodes"][0].update(domain=3),
        lambda document: document["workloads"][0]["verdicts"][0].update(score=1.5),
        lambda document: document["workloads"][0]["verdicts"][0].update(score=100),
        lambda document: document["workloads"][0]["replicas"][0].pop("node"),
        lambda document: document["losses"][0].update(worst="survived"),
        lambda document: document["losses"][1]["outcomes"].update({LEDGER: "gone"}),
    ],
)
def test_the_schema_is_strict(spoil: Callable[[Any], object]) -> None:
    document = read(BAKERY)
    spoil(document)
    assert not VALIDATOR.is_valid(document)


def test_what_is_in_the_plan_is_in_the_document() -> None:
    document = read(TROUBLE)
    assert [node["name"] for node in document["nodes"]] == [node.name for node in TROUBLE.nodes]
    assert document["nodes"][-1] == {
        "name": "spare",
        "domain": None,
        "cordoned": False,
        "taints": ["lent=out:NoExecute", "old:NoSchedule"],
        "labels": {"kubernetes.io/hostname": "spare"},
    }
    ledger, loss = document["workloads"][0], document["losses"][2]
    assert ledger["verdicts"][0] == {
        "node": "control-1",
        "feasible": False,
        "reason": "TaintToleration",
        "why": "has the taint node-role.kubernetes.io/control-plane:NoSchedule, which is not tolerated",
        "score": None,
        "weights": None,
        "parts": {},
    }
    fast = {"node": "fast-1", "feasible": True, "reason": None, "why": "", "score": 200, "weights": None, "parts": {}}
    assert ledger["verdicts"][1] == fast
    assert [replica["node"] for replica in ledger["replicas"]] == ["fast-1", "fast-2", "fast-3", None]
    assert (loss["what"], loss["worst"], loss["nodes"]) == ("zone=yard", "degraded", ["fast-3", "plain-3"])
    assert loss["moves"][1]["target"] == "plain-2"
    assert document["summary"] == {
        "nodes": 8,
        "domains": 3,
        "workloads": 5,
        "replicas": 10,
        "placed": 6,
        "losses": {"dead": 1, "degraded": 2, "interrupted": 0, "unjudged": 0, "survives": 1},
        "volumes": 0,
        "rollouts": {"completes": 0, "may-block": 0, "blocked": 0, "manual": 0, "unjudged": 0},
        "drains": {"ends": 0, "blocked": 0, "refused": 0},
    }


def test_strings_are_exact_and_the_file_is_ascii() -> None:
    for name in NAMES:
        assert "".join(json_report.render(hostile(name))).isascii()
        assert read(hostile(name))["workloads"][0]["notes"] == [name]


def test_a_verdict_takes_a_line() -> None:
    """So that two documents can be compared line by line, and 90,000 verdicts do not take half a million lines."""
    lines = "".join(json_report.render(BAKERY)).split("\n")
    line = '{"node": "plain-1", "feasible": false, "reason": "NodeAffinity", "why": "lacks disk=nvme", "score": null, "weights": null'
    assert f'        {line}, "parts": {{}}}},' in lines


def test_the_weights_met_and_the_parts_of_a_score() -> None:
    rated = verdict("n1", score=400)._replace(weights=(15, 18), parts=(("TaintToleration", 300), ("NodeAffinity", 100)))
    document = read(Plan("zone", (node("n1", "a"),), (workload("Job a/b", [rated], []),), (), ()))
    VALIDATOR.validate(document)
    [found] = document["workloads"][0]["verdicts"]
    assert (found["weights"], found["parts"]) == ({"met": 15, "possible": 18}, {"TaintToleration": 300, "NodeAffinity": 100})
