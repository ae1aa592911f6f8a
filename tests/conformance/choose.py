"""Chooses the sample of the recorded cases that lies beside this file, out of all of them: ``python tests/conformance/choose.py``.

The recordings hold several thousand cases and lie beside the checkout where somebody has them. Here are those of them that every clone
is tested against: chosen so that each family, mutation, kind, stage, layer, error, scheduler plugin and reason is there, in as many
combinations as there is room for. First the case that shows most of what is still missing, then the next; of equals the shorter
one, then the one with the lower id. So the same cases give the same sample, on every machine.
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

sys.path.insert(0, str(Path(__file__).parents[1]))

from shared_material import SAMPLE, SHARED

Case = dict[str, Any]


def of_validation(case: Case) -> set[object]:
    """What a manifest was changed in, of which kind it is, and who refused it for what."""
    errors = case["errors"] or case.get("pod_errors") or []
    verdict = case["stage"], case["layer"], case["refused"], case.get("pod_accepted"), case.get("accepted_before_1_34")
    shown: set[object] = {verdict, (case["kind"], case["family"]), (case["kind"], *verdict), (case["family"], *verdict)}
    # What is accepted names no errors: there the kinds tell more, and false alarms are the worse mistake.
    shown |= {(part, case["refused"], case["refused"] or case["kind"]) for part in mutations(case["mutation"])}
    if case["accepted"] and case["refused"]:
        shown |= {(case["kind"], "late", error["type"], error["field"].rpartition(".")[2]) for error in errors}
    return shown | {(error["type"], case["layer"], re.sub(r"\[[^]]*\]", "", error["field"])) for error in errors}


def mutations(text: str) -> list[str]:
    """``nodeSelector: value`` of ``nodeSelector: value bare 1e3``: what was done, without the value that was put in."""
    return [re.split(r' bare | ?["\[{(=]| \d', part)[0] for part in text.split(" + ")]


def of_scheduling(case: Case) -> set[object]:
    """What the objects use, which plugins refuse and score, and whether some, all or no nodes remain."""
    answer, pod, tags = case["answer"], case["pod"]["spec"], case.get("tags", ())
    feasible = sorted(set(answer.get("feasible", {}).values()))
    special = tuple(name for name in ("api_invalid", "fixed", "error") if answer.get(name))
    objects = [name for name in ("existing", "namespaces", "services", "replicaSets", "statefulSets") if case.get(name)]
    features = {*tags, *objects, *special, *answer.get("reason", {}).values(), *answer.get("scores", {}), *fields(pod)}
    return {*features, *((tag, each) for tag in tags for each in features), (special, str(feasible))}


def of_comparisons(case: Case) -> set[object]:
    """Beside what any scheduling case shows: the operators of the tolerations, and the plugins that refuse nodes beside each."""
    operators = {each.get("operator") for each in case["pod"]["spec"].get("tolerations") or ()} & {"Gt", "Lt"}
    reasons = sorted(set(case["answer"].get("reason", {}).values()))
    return {*of_scheduling(case), *((each, *reasons) for each in operators)}


def of_sequence(case: Case) -> set[object]:
    """What the pods use, and how it ended."""
    answer = case["answer"]
    settled = answer.get("settled", {})
    reasons = {reason for nodes in answer["unschedulable"].values() for reason in nodes.values()} if answer["unschedulable"] else set()
    ends = (bool(answer["unschedulable"]), settled.get("rounds"), bool(settled.get("unschedulable")))
    features = {*reasons, *(field for pod in case["pods"] for field in fields(pod["spec"]))}
    return {*features, *((tag, *ends) for tag in case["tags"]), *((tag, each) for tag in case["tags"] for each in features)}


def of_selectors(case: Case) -> set[object]:
    """What the machine and its cluster say, what the pod asks for, and whether there is one."""
    given = fields({name: case.get(name) for name in ("cluster_config", "instancetype", "preference")} | {"vmi": case["vmi"]["spec"]})
    asked = {re.sub(r"/.*", "", key) if ".node." in key else key for key in case["node_selector"]}
    return {*given, *asked, *fields(case["affinity"] or {}), case["kind"], "error" in case}


def of_migratable(case: Case) -> set[object]:
    """Why it does not migrate, and what follows when its node is drained."""
    return {case["reason"], (case["eviction_strategy"], case["evict_allowed"]), *fields(case["vmi"]["spec"])}


def fields(data: object, path: str = "") -> set[str]:
    """The paths of the placement fields in a pod spec."""
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
    # Each a class of its own, and few.
    "edge_cases.jsonl.gz": (80, lambda _: set()),
    "kubevirt_selector_cases.jsonl.gz": (50, of_selectors),
    "kubevirt_migratable_cases.jsonl.gz": (20, of_migratable),
}


def chosen(cases: Iterable[Case], count: int, shows: Callable[[Case], set[object]]) -> list[Case]:
    """So many of the cases, in the order of their ids; each time the one that shows most of what none yet shows."""
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
    SAMPLE.mkdir(exist_ok=True)
    for name, (count, shows) in CHOSEN.items():
        with gzip.open(SHARED / "conformance" / name, "rt", encoding="utf-8") as lines:
            recorded = [json.loads(line) for line in lines]
        # Where there is a choice, not what is judged by nobody.
        judged = [case for case in recorded if case.get("scope", True)]
        cases = chosen(judged if len(judged) > count else recorded, count, shows)
        text = "".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n" for case in cases)
        (SAMPLE / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"{name}: {len(cases)} cases, {(SAMPLE / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
