"""A finding is recognised again after its file has changed: by baselines, in GitLab and SARIF reports, and when fixes are made."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from afflint.findings.finding import Finding, identity_of
from afflint.pipeline.baseline import entry_of
from afflint.report.fingerprints import fingerprints
from afflint.yaml.documents import read
from linting import ON_BY_DEFAULT, findings_of, settings_of
from shared_material import cases

LEGACY = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: web}]
  tolerations:
  - {key: node-role.kubernetes.io/master, effect: NoSchedule}
"""
SETTINGS = settings_of(ON_BY_DEFAULT)
UNRELATED = {
    "tolerations": {"key": "example.com/unrelated", "operator": "Exists"},
    "topologySpreadConstraints": {"maxSkew": 1, "topologyKey": "example.com/unrelated", "whenUnsatisfiable": "ScheduleAnyway"},
    "containers": {"name": "unrelated", "image": "example.com/unrelated"},
}
"""Lists, and an item for each that says nothing about the others."""


def check(text: str) -> list[Finding]:
    return findings_of({"web.yaml": text.encode()}, SETTINGS)


def test_a_toleration_inserted_above_changes_neither_fingerprint_nor_baseline() -> None:
    (before,) = check(LEGACY)
    (after,) = check(LEGACY.replace("tolerations:\n", "tolerations:\n  - {key: dedicated, operator: Exists}\n"))
    assert (before.field, after.field) == ("spec.tolerations[0].key", "spec.tolerations[1].key")
    assert list(fingerprints([before])) == list(fingerprints([after]))
    assert entry_of(before) == entry_of(after)


@pytest.mark.parametrize("item", ["{key: a, key: b}", "null"])
def test_so_it_is_for_repeated_keys_and_items_without_a_name(item: str) -> None:
    text = LEGACY.replace("{key: node-role.kubernetes.io/master, effect: NoSchedule}", item)
    after = check(text.replace("tolerations:\n", "tolerations:\n  - {key: dedicated, operator: Exists}\n"))
    before = check(text)
    assert before
    assert list(fingerprints(before)) == list(fingerprints(after))


def test_a_key_repeated_in_an_object_of_a_list_is_reported_for_that_object() -> None:
    objects = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"- {{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeSelector: {{a: b{more}}}, containers: []}}}}\n"
        for name, more in (("one", ""), ("two", ", a: c"))
    )
    (finding,) = (each for each in check(objects) if each.rule == "duplicate-key")
    assert (finding.object.name, finding.field) == ("two", "spec.nodeSelector.a")


def test_an_unrelated_item_inserted_above_changes_no_identity() -> None:
    """Over recorded manifests, most with one mistake each."""
    compared = 0
    for case in cases("validation_cases.jsonl.gz"):
        data = read(case["yaml"].encode(), 0, 0).data
        longer = copy.deepcopy(data)
        for key, items in lists_in(longer):
            items.insert(0, UNRELATED[key])
        if longer == data:
            continue
        before, after = (Counter(map(identity_of, check(json.dumps(each)))) for each in (data, longer))
        assert before - after == Counter(), case["id"]
        compared += len(before)
    assert compared > 0


def lists_in(data: Any) -> Iterator[tuple[str, list[Any]]]:
    """All lists that an unrelated item can be inserted into, however deep, each with its key."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in UNRELATED and isinstance(value, list) and value:
                yield key, value
            yield from lists_in(value)
    elif isinstance(data, list):
        for each in data:
            yield from lists_in(each)
