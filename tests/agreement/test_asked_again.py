"""What a command has made leaves the command nothing to do: planned pods, a compared tree, fixed files."""

import json
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plans import Plans, as_json

from cluster_objects import Object
from command_line import Afflint
from git_history import History
from mistaken_manifests import mistaken_manifests
from random_orders import drawn_objects

randoms = st.randoms(use_true_random=False)


def examples(number: int) -> settings:
    """A number of examples; a failing one is not made smaller."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=number, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=checks)


@examples(20)
@given(randoms)
def test_pods_that_run_where_place_puts_them_stay_there(plans: Plans, random: Random) -> None:
    objects = [each for each in drawn_objects(random) if "kubevirt" not in each["apiVersion"]]
    first = plans.of_objects(objects)
    again = plans.of_objects([*objects, *plans.pods_of(first, objects)])
    assert {key: sorted(pods.values()) for key, pods in again.placed.items()} == {
        key: sorted(pods.values()) for key, pods in first.placed.items()
    }
    assert again.pending == first.pending
    assert again.outcomes == first.outcomes
    assert again.report["violations"] == again.report["preempted"] == []


@examples(4)
@given(randoms, st.lists(mistaken_manifests(), max_size=1))
def test_a_tree_that_is_written_in_another_form_has_not_changed(
    afflint: Afflint, tmp_path_factory: pytest.TempPathFactory, random: Random, mistaken: list[Object]
) -> None:
    objects = [*drawn_objects(random), *mistaken]
    history = History(tmp_path_factory.mktemp("tree"))
    base = history.commit({"all.json": as_json(objects)})
    head = history.commit({"all.json": None, **{f"{number:02}.json": json.dumps(each) for number, each in enumerate(objects)}})
    with pytest.MonkeyPatch.context() as here:
        here.chdir(history.root)
        itself, other = [afflint("diff", "--no-config", "--nodes", ".", "--format", "json", f"{base}..{commit}") for commit in (base, head)]
    assert (itself.code, other.code) == (0, 0)
    assert json.loads(itself.out)["summary"]["verdict"] == "unchanged"
    report = json.loads(other.out)
    assert report["new"] == report["fixed"] == report["placement"] == []
    # What the API server rejects is compared by its fields, file by file.
    rejected = [each for each in report["not_compared"] if each["reason"].startswith("the API server would reject it")]
    assert report["not_compared"] == rejected
    assert rejected or (report["values"], report["summary"]["verdict"]) == ([], "unchanged")


@examples(5)
@given(randoms, st.lists(mistaken_manifests(), min_size=1, max_size=2))
def test_a_second_run_with_fix_changes_nothing(
    afflint: Afflint, tmp_path_factory: pytest.TempPathFactory, random: Random, mistaken: list[Object]
) -> None:
    for number, each in enumerate(mistaken):
        each["metadata"]["name"] = f"web-{number}"
    folder = tmp_path_factory.mktemp("fixed")
    file = folder / "all.json"
    file.write_bytes(as_json([*drawn_objects(random), *mistaken]))
    words = ("check", "--no-config", "--fix", "--unsafe-fixes", "--nodes", str(file), "--format", "json", str(file))
    first = afflint(*words)
    fixed = file.read_bytes()
    again = afflint(*words)
    assert file.read_bytes() == fixed
    assert (again.code, json.loads(again.out)["findings"]) == (first.code, json.loads(first.out)["findings"])
