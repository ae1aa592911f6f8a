"""The conditions of ``match`` and ``exclude``, which select the workloads that a policy applies to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afflint.findings.phrases import nearest, quoted
from afflint.kube.selectors import Selector
from afflint.policies.params import GLOBS, SELECTOR, ParameterMistake, Takes, number, param

_WILDCARDS = frozenset("*?[")


def _kind_faults(value: Any) -> Iterator[ParameterMistake]:
    """Yield kinds that are probably a misspelt known kind. Other unknown kinds may be custom resources."""
    yield from GLOBS.faults(value)
    from afflint.findings.similarity import is_likely_typo
    from afflint.kube.kinds import KINDS

    known = sorted({kind.name for kind in KINDS if kind.templates})
    for index, kind in enumerate([value] if isinstance(value, str) else value):
        near = nearest(kind, known)
        if (
            kind not in known
            and not _WILDCARDS & {*kind}
            and near is not None
            and (is_likely_typo(kind, near) or kind.lower() in (near.lower(), f"{near.lower()}s"))
        ):
            yield ParameterMistake(() if isinstance(value, str) else (index,), f"unknown kind {quoted(kind)}; did you mean {quoted(near)}?")


KINDS = Takes(GLOBS.schema, GLOBS.read, _kind_faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Conditions on a workload, which must all be true. Without conditions every workload matches."""

    kinds: tuple[str, ...] = param(KINDS, "Kinds, or globs. A kind can have a group, as in `Cluster.postgresql.cnpg.io`.", ())
    namespaces: tuple[str, ...] = param(GLOBS, "Names of namespaces, or globs. A manifest without a namespace does not match.", ())
    namespace_labels: Selector | None = param(SELECTOR, "Labels of the namespace. Its manifest must be among the files.", None)
    names: tuple[str, ...] = param(GLOBS, "Names of objects, or globs.", ())
    labels: Selector | None = param(SELECTOR, "Labels of the object or of its pods. Where they differ, the labels of the pods count.", None)
    min_replicas: int | None = param(
        number(0), "The workload can have at least this number of replicas, including by its autoscaler.", None
    )
    files: tuple[str, ...] = param(GLOBS, "Globs of files, as in the `exclude` list of the configuration.", ())


EVERYTHING = Matching()
