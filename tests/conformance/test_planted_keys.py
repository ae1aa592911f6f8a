"""Mistakes in the keys of constraints in real custom resources and values of charts: nearly all of them are found."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from afflint.charts.values import constraints_in_values
from afflint.checks.registry import rules
from afflint.kube.shapes import ShapedValue
from afflint.manifests.custom_resources import CustomWorkload
from afflint.pipeline.map_step import Checker, default_settings
from afflint.yaml import documents, prefilter
from afflint.yaml.documents import Document
from conformance.planted_keys import planted
from shared_material import SHARED, recorded, shared

# So that a file with many constraints is not checked a thousand times.
_MOST_IN_DOCUMENT = 3
# The same field of a kind has the same mistakes in each of its objects.
_MOST_OF_A_FIELD = 3


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(default_settings())


def messages(checker: Checker, name: str, data: Any) -> Counter[str]:
    known = rules()
    # JSON is YAML, and is written and read in a tenth of the time.
    found = checker.check(name, json.dumps(data).encode()).found
    return Counter(each.message for each in found if (each.severity or known[each.rule].severity) != "info")


def parts_of(workloads: list[CustomWorkload]) -> list[ShapedValue]:
    return list({part.path: part for workload in workloads for part in workload.parts}.values())


def measured(checker: Checker, name: str, document: Document, parts: list[ShapedValue]) -> Iterator[tuple[str, bool]]:
    """Yield each mistake that can be planted in some constraints of a document, and whether it is reported."""
    before = messages(checker, name, document.data)
    for part in parts[:_MOST_IN_DOCUMENT]:
        for mistake, data in planted(document.data, part.path, part.shape):
            yield f"{part.shape}: {mistake}", bool(messages(checker, name, data) - before)


def share_found(results: list[tuple[str, bool]]) -> float:
    missed, all_of = Counter(name for name, found in results if not found), Counter(name for name, _ in results)
    print("\n".join(f"{name}: {count} of {all_of[name]} missed" for name, count in missed.most_common()))
    return sum(found for _, found in results) / len(results)


def test_mistakes_in_custom_resources_are_found(checker: Checker) -> None:
    results: list[tuple[str, bool]] = []
    fields: Counter[tuple[object, ...]] = Counter()
    for case in recorded(SHARED / "conformance" / "custom_real.jsonl.gz"):
        document = documents.read(case["text"].encode(), 0, 1)
        workloads = [each for each in checker.manifests(document) if isinstance(each, CustomWorkload)]
        parts = []
        for part in parts_of(workloads):
            field = document.data["kind"], part.shape, *("*" if isinstance(step, int) else step for step in part.path)
            fields[field] += 1
            if fields[field] <= _MOST_OF_A_FIELD:
                parts.append(part)
        results += measured(checker, "a.yaml", document, parts)
    assert share_found(results) >= 0.95


def test_mistakes_in_values_of_charts_are_found(checker: Checker) -> None:
    results: list[tuple[str, bool]] = []
    for file in sorted(shared("corpus").rglob("*.yaml")):
        if not prefilter.is_values_file(file.name):
            continue
        for piece, line, problem in documents.split(file.read_bytes()):
            document = documents.read(piece, 0, line) if problem is None else None
            if document is not None and document.problem is None:
                results += measured(checker, "values.yaml", document, parts_of(list(constraints_in_values(document, {}))))
    assert share_found(results) >= 0.95
