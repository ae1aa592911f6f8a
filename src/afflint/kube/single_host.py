"""Workloads whose own node constraints allow only one host."""

from __future__ import annotations

from afflint.findings.paths import Path
from afflint.kube.constraints import Constraints, items
from afflint.kube.node_labels import HOSTNAME
from afflint.yaml.placeholders import is_unfinished_name

_SELECTED_BY = (("matchExpressions", HOSTNAME), ("matchFields", "metadata.name"))


def pinned_host(constraints: Constraints) -> tuple[Path, str] | None:
    """Return the only host that nodeSelector or required node affinity allows, with the path of its name, or None."""
    selector = constraints.node_selector
    host = selector.data.get(HOSTNAME) if selector else None
    if selector and _is_name(host):
        return (*selector.path, HOSTNAME), str(host)
    required = [term for term in constraints.node_terms if term.required]
    if len(required) != 1:
        return None
    for field, key in _SELECTED_BY:
        for expression in items(required[0].data, field, required[0].path):
            values = expression.data.get("values")
            if expression.data.get("key") != key or expression.data.get("operator") != "In" or type(values) is not list:
                continue
            if len(values) == 1 and _is_name(values[0]):
                return (*expression.path, "values", 0), values[0]
    return None


def _is_name(host: object) -> bool:
    return type(host) is str and host != "" and not is_unfinished_name(host)
