"""The sample that every clone is tested against is one: whatever was recorded is in it."""

from collections import Counter

from tools.conformance_sample import CHOSEN, chosen, of_scheduling, of_selectors, of_sequence, of_validation

from shared_material import SAMPLE, recorded

VALIDATION, SCHEDULING, SEQUENCES = (recorded(SAMPLE / f"{name}_cases.jsonl.gz") for name in ("validation", "scheduling", "sequence"))


MACHINES, MIGRATABLE = (recorded(SAMPLE / f"kubevirt_{name}_cases.jsonl.gz") for name in ("selector", "migratable"))


def test_it_is_as_large_as_it_says() -> None:
    for name, (count, _) in CHOSEN.items():
        ids = [case["id"] for case in recorded(SAMPLE / name)]
        assert len(ids) == len(set(ids)) == count
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 150_000


def test_manifests_of_each_kind_and_family_refused_by_each_layer_and_accepted() -> None:
    assert len({case["kind"] for case in VALIDATION}) == 11
    assert len({case["family"] for case in VALIDATION}) == 32
    assert {case["layer"] for case in VALIDATION} == {"core", "crd-schema", "webhook", "webhook-schema", None}
    assert {case["stage"] for case in VALIDATION} == {"yaml", "decode", "validate", None}
    assert len({error["type"] for case in VALIDATION for error in case["errors"]}) == 10
    verdicts = Counter(case["refused"] for case in VALIDATION)
    assert min(verdicts[True], verdicts[False]) > 100
    assert sum(case["accepted"] and case["refused"] for case in VALIDATION) > 20, "stored, and its pods refused"


def test_clusters_in_which_each_plugin_refuses_and_scores() -> None:
    reasons = {reason for case in SCHEDULING for reason in case["answer"].get("reason", {}).values()}
    assert reasons == {"NodeAffinity", "TaintToleration", "InterPodAffinity", "NodeUnschedulable", "PodTopologySpread", "NodeName"}
    scores = {plugin for case in SCHEDULING for plugin in case["answer"].get("scores", {})}
    assert scores == {"TaintToleration", "InterPodAffinity", "PodTopologySpread", "NodeAffinity"}
    assert len({tag for case in SCHEDULING for tag in case["tags"]}) == 25
    assert {name for name in ("api_invalid", "fixed", "error") if any(case["answer"].get(name) for case in SCHEDULING)} == {
        "api_invalid", "fixed", "error",
    }  # fmt: skip
    assert {tag for case in SEQUENCES for tag in case["tags"]} == {"random_sequence", "scale_out", "drain", "kubevirt"}


def test_machines_that_ask_for_each_label_and_fail_to_migrate_for_each_recorded_reason() -> None:
    prefixes = {key.split("/")[0] for case in MACHINES for key in case["node_selector"] if ".node." in key}
    assert len(prefixes) >= 7
    assert {case["kind"] for case in MACHINES} == {"launch", "migration"}
    assert any("error" in case for case in MACHINES)
    assert len({case["reason"] for case in MIGRATABLE}) >= 5


def test_the_choice_is_the_same_whatever_the_order() -> None:
    for cases, shows in ((VALIDATION, of_validation), (SCHEDULING, of_scheduling), (SEQUENCES, of_sequence), (MACHINES, of_selectors)):
        few = chosen(cases, 20, shows)
        assert few == chosen(reversed(cases), 20, shows)
        assert len(set().union(*map(shows, few))) > len(set().union(*map(shows, cases[:20])))
