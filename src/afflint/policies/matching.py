"""What a policy is about: the conditions of ``match`` and ``exclude``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afflint.findings.phrases import nearest, quoted
from afflint.kube.selectors import Selector
from afflint.policies.params import GLOBS, SELECTOR, ParameterMistake, Takes, number, param

_WILDCARDS = frozenset("*?[")


def _kind_faults(value: Any) -> Iterator[ParameterMistake]:
    """A kind that nobody knows may be somebody's own; one that is a slip of a kind that makes pods is none."""
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
    """Conditions on a workload, all of which have to hold. Without any it is about every workload."""

    kinds: tuple[str, ...] = param(KINDS, "Kinds, or globs of them; with a group as in `Cluster.postgresql.cnpg.io`.", ())
    namespaces: tuple[str, ...] = param(GLOBS, "Names of namespaces, or globs. What names no namespace is in none.", ())
    namespace_labels: Selector | None = param(SELECTOR, "Labels of the namespace, as its manifest among the files has them.", None)
    names: tuple[str, ...] = param(GLOBS, "Names of objects, or globs.", ())
    labels: Selector | None = param(SELECTOR, "Labels of the object or of its pods; where they differ, those of the pods.", None)
    min_replicas: int | None = param(number(0), "It may have so many pods at a time, or more; by its autoscaler if it has one.", None)
    files: tuple[str, ...] = param(GLOBS, "Globs of files, as in `exclude` of the configuration.", ())


EVERYTHING = Matching()
