"""Policies that no workload can meet together are reported at the later of them, and no others."""

from pathlib import Path

import pytest

from afflint import config
from afflint.checks.registry import CATEGORIES, rules
from afflint.cli.reporting import notes
from afflint.policies.contradictions import contradictions
from checkout import ROOT
from policing import session_of

CHEAP = "- {name: cheap, check: required-node-labels, params: {labels: {performance: [low, medium]}}}\n"
FAST = "- {name: fast, check: required-node-labels, params: {labels: {performance: high}}%s}\n"


def pairs(folder: Path, policies: str, more: str = "") -> list[tuple[str, str]]:
    """The policies that contradict another, the later of both first."""
    return [(each.policy, each.other) for each in contradictions(session_of(folder, policies, more).config.policies)]


def test_it_is_reported_at_the_later_one(tmp_path: Path) -> None:
    [note] = notes(session_of(tmp_path, CHEAP + FAST % ""))
    assert note == (
        f"{tmp_path}/.afflint.yaml:3:4: no node can meet two policies: "
        "`fast` requires `performance` to be `high`, but `cheap` requires `low` or `medium`; "
        "use `exclude` in one of them for the workloads of the other"
    )


def test_one_that_does_not_run_contradicts_none(tmp_path: Path) -> None:
    assert list(notes(session_of(tmp_path, CHEAP + FAST % "", "ignore: [cheap]\n"))) == []


@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(CHEAP + FAST % ", match: {kinds: [StatefulSet]}", id="one is about all"),
        pytest.param(FAST % ", exclude: {names: [web]}" + CHEAP, id="whichever"),
        pytest.param(FAST % ", match: {kinds: Job}" + CHEAP.replace("}}}", "}}, match: {kinds: [Job]}}"), id="both are about the same"),
        pytest.param(
            "- {name: a, check: required-template-labels, params: {labels: {team: '*', tier: db}}}\n"
            "- {name: b, check: required-template-labels, params: {labels: {tier: [web, queue]}}}\n",
            id="labels of pods",
        ),
    ],
)
def test_what_nothing_can_meet(tmp_path: Path, policies: str) -> None:
    assert len(pairs(tmp_path, policies)) == 1


@pytest.mark.parametrize(
    "policies",
    [
        pytest.param(CHEAP + (FAST % "").replace("high", "[high, medium]"), id="one value is right for both"),
        pytest.param(CHEAP + (FAST % "").replace("high", '"*"'), id="any value is right"),
        pytest.param(CHEAP + (FAST % "").replace("performance: high", "disk: high"), id="another label"),
        pytest.param(FAST % ", match: {kinds: Job}" + CHEAP.replace("}}}", "}}, match: {kinds: Pod}}"), id="about others"),
        pytest.param(FAST % ", match: {kinds: Job}" + CHEAP.replace("}}}", "}}, exclude: {kinds: Job}}"), id="one leaves the others out"),
        # The node selector of a namespace may choose what no manifest may.
        pytest.param(FAST % "" + CHEAP.replace("required", "forbidden").replace("low", "high"), id="demanded and forbidden"),
        # Replicas in several zones are on several nodes, too.
        pytest.param(
            "- {name: apart, check: required-spread, params: {topology-key: kubernetes.io/hostname}}\n"
            "- {name: keys, check: allowed-topology-keys, params: {keys: topology.kubernetes.io/zone}}\n",
            id="another topology key may do",
        ),
    ],
)
def test_what_something_can_meet(tmp_path: Path, policies: str) -> None:
    assert pairs(tmp_path, policies) == []


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "rules" / "profiles").glob("*.yaml")), ROOT / "examples" / "policies" / ".afflint.yaml"],
    ids=lambda path: path.name,
)
def test_ours_contradict_none(path: Path) -> None:
    loaded = config.load(str(path), rule_names=tuple(rules()), categories=CATEGORIES)
    assert loaded.policies
    assert list(contradictions(loaded.policies)) == []
