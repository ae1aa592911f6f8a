"""Choose the recorded cases in `tests/conformance/sample`: `python tools/conformance_sample.py`.

The recordings have several thousand cases, in a folder `shared` next to the checkout. Every clone is tested against the sample,
which has each family, mutation, kind, stage, layer, error, scheduler plugin and reason, in as many combinations as possible. The
next case is always the one that adds most; of equals the shorter one, then the one with the lower id. So the same cases give the
same sample on every machine.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from shared_material import SAMPLE, SHARED

Case = dict[str, Any]


def of_validation(case: Case) -> set[object]:
    """Return how a manifest was changed, its kind, and which layer refused it with which error."""
    errors = case["errors"] or case.get("pod_errors") or []
    verdict = case["stage"], case["layer"], case["refused"], case.get("pod_accepted"), case.get("accepted_before_1_34")
    shown: set[object] = {verdict, (case["kind"], case["family"]), (case["kind"], *verdict), (case["family"], *verdict)}
    # An accepted manifest has no errors. Its kind is recorded instead, since false alarms are the worse mistake.
    shown |= {(part, case["refused"], case["refused"] or case["kind"]) for part in mutations(case["mutation"])}
    if case["accepted"] and case["refused"]:
        shown |= {(case["kind"], "late", error["type"], error["field"].rpartition(".")[2]) for error in errors}
    return shown | {(error["type"], case["layer"], re.sub(r"\[[^]]*\]", "", error["field"])) for error in errors}


def mutations(text: str) -> list[str]:
    """Return ``nodeSelector: value`` for ``nodeSelector: value bare 1e3``: the change without the inserted value."""
    return [re.split(r' bare | ?["\[{(=]| \d', part)[0] for part in text.split(" + ")]


def of_scheduling(case: Case) -> set[object]:
    """Return what the objects use, which plugins refuse and score, and whether some, all or no nodes remain."""
    answer, pod, tags = case["answer"], case["pod"]["spec"], case.get("tags", ())
    feasible = sorted(set(answer.get("feasible", {}).values()))
    special = tuple(name for name in ("api_invalid", "fixed", "error") if answer.get(name))
    objects = [name for name in ("existing", "namespaces", "services", "replicaSets", "statefulSets") if case.get(name)]
    features = {*tags, *objects, *special, *answer.get("reason", {}).values(), *answer.get("scores", {}), *fields(pod)}
    return {*features, *((tag, each) for tag in tags for each in features), (special, str(feasible))}


def of_comparisons(case: Case) -> set[object]:
    """Return what any scheduling case shows, and the operators of the tolerations with the plugins that refuse nodes in the same case."""
    operators = {each.get("operator") for each in case["pod"]["spec"].get("tolerations") or ()} & {"Gt", "Lt"}
    reasons = sorted(set(case["answer"].get("reason", {}).values()))
    return {*of_scheduling(case), *((each, *reasons) for each in operators)}


def of_sequence(case: Case) -> set[object]:
    """Return what the pods use, and the result."""
    answer = case["answer"]
    settled = answer.get("settled", {})
    reasons = {reason for nodes in answer["unschedulable"].values() for reason in nodes.values()} if answer["unschedulable"] else set()
    ends = (bool(answer["unschedulable"]), settled.get("rounds"), bool(settled.get("unschedulable")))
    features = {*reasons, *(field for pod in case["pods"] for field in fields(pod["spec"]))}
    return {*features, *((tag, *ends) for tag in case["tags"]), *((tag, each) for tag in case["tags"] for each in features)}


def of_selectors(case: Case) -> set[object]:
    """Return the fields of the machine and its cluster, the selectors of the pod, and whether it was created."""
    given = fields({name: case.get(name) for name in ("cluster_config", "instancetype", "preference")} | {"vmi": case["vmi"]["spec"]})
    asked = {re.sub(r"/.*", "", key) if ".node." in key else key for key in case["node_selector"]}
    return {*given, *asked, *fields(case["affinity"] or {}), case["kind"], "error" in case}


def of_migratable(case: Case) -> set[object]:
    """Return why the machine cannot migrate, and what happens when its node is drained."""
    return {case["reason"], (case["eviction_strategy"], case["evict_allowed"]), *fields(case["vmi"]["spec"])}


def fields(data: object, path: str = "") -> set[str]:
    """Return the paths of the placement fields in a pod spec."""
    if isinstance(data, list):
        return {found for each in data for found in fields(each, path)}
    if not isinstance(data, dict):
        return set()
    below = {f"{path}.{key}": value for key, value in data.items() if path or key not in ("containers", "nodeName")}
    return {*below, *(found for name, value in below.items() if not name.endswith("matchLabels") for found in fields(value, name))}


CHOSEN: dict[str, tuple[int, Callable[[Case], set[object]]]] = {
    "validation_cases.jsonl.gz": (500, of_validation),
    "scheduling_cases.jsonl.gz": (300, of_scheduling),
    "scheduling_gates_cases.jsonl.gz": (40, of_comparisons),
    "scheduling_resources_cases.jsonl.gz": (40, of_scheduling),
    "sequence_cases.jsonl.gz": (40, of_sequence),
    # They are few, and each is different.
    "edge_cases.jsonl.gz": (80, lambda _: set()),
    "kubevirt_selector_cases.jsonl.gz": (50, of_selectors),
    "kubevirt_migratable_cases.jsonl.gz": (20, of_migratable),
}


def chosen(cases: Iterable[Case], count: int, shows: Callable[[Case], set[object]]) -> list[Case]:
    """Return ``count`` of the cases in the order of their ids. The next case is always the one that adds most."""
    by_id = {case["id"]: case for case in cases}
    shown = {name: shows(case) for name, case in by_id.items()}
    seen: set[object] = set()
    found: list[Case] = []
    queue = [(-len(shown[name]), len(json.dumps(case)), name) for name, case in by_id.items()]
    heapify(queue)
    while queue and len(found) < count:
        before, length, name = heappop(queue)
        now = -len(shown[name] - seen)
        if now > before:  # Others have shown some of it since it was counted.
            heappush(queue, (now, length, name))
            continue
        seen |= shown[name]
        found.append(by_id[name])
    return sorted(found, key=lambda case: str(case["id"]))


def main() -> None:
    """Write the sample."""
    SAMPLE.mkdir(exist_ok=True)
    for name, (count, shows) in CHOSEN.items():
        with gzip.open(SHARED / "conformance" / name, "rt", encoding="utf-8") as lines:
            recorded = [json.loads(line) for line in lines]
        # Cases out of scope are used only if there are not enough others.
        judged = [case for case in recorded if case.get("scope", True)]
        cases = chosen(judged if len(judged) > count else recorded, count, shows)
        text = "".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n" for case in cases)
        (SAMPLE / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"{name}: {len(cases)} cases, {(SAMPLE / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
