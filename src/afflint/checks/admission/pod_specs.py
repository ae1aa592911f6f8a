"""What the API server rejects in a pod spec that is not in a file: a change that is only proposed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from afflint.checks.match import Target
from afflint.manifests.reader import manifests_in
from afflint.yaml import documents


def rejections(spec: Mapping[str, Any], labels: Mapping[str, str], target: Target) -> frozenset[tuple[str, str]]:
    """Return the rules of the category ``admission`` that report errors about a pod with this spec, each with its message."""
    return frozenset(_rejections({"metadata": {"name": "pod", "labels": dict(labels)}, "spec": dict(spec)}, target))


def _rejections(pod: dict[str, Any], target: Target) -> Iterator[tuple[str, str]]:
    from afflint.checks.registry import Dispatch, bind_rules, rules

    found = {name: rule for name, rule in rules().items() if rule.category == "admission"}
    dispatch = Dispatch(bind_rules(found), target)
    document = documents.read(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}, default=str).encode(), 0, 0)
    for manifest in manifests_in(document):
        for name, match in dispatch.matches(manifest):
            if (match.severity or found[name].severity) == "error":
                yield name, match.message
