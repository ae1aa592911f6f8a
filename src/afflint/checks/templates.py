"""Checks what is written literally in a template, and keeps the findings that are certain whatever its actions do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.checks.match import Match, Target
from afflint.checks.registry import BoundRule, Dispatch, Evidence, evidence
from afflint.findings.paths import Path
from afflint.kube.constraints import NONE
from afflint.kube.custom_resources import CustomWorkload, value_at
from afflint.kube.kinds import CUSTOM_PLACEMENT
from afflint.kube.manifests import Manifest, Workload
from afflint.yaml.template_text import TemplateText


def constrained(manifests: Iterable[Manifest]) -> list[Workload]:
    """Return the workloads with constraints among some manifests."""
    return [each for each in manifests if isinstance(each, Workload) and each.constraints is not NONE]


class TemplateChecks:
    """The rules whose findings in the literal text of a template can be certain."""

    def __init__(self, rules: Iterable[BoundRule], target: Target) -> None:
        self._evidence = evidence()
        self._dispatch = Dispatch([rule for rule in rules if rule.name in self._evidence], target)

    def matches(self, manifest: Manifest, text: TemplateText) -> Iterator[tuple[str, Match]]:
        """Yield the certain findings in the constraints of a manifest of a template, each with the name of its rule."""
        for workload in constrained([manifest]):
            for rule, match in self._dispatch.matches(workload):
                if _is_certain(match, self._evidence[rule], workload, text):
                    yield rule, match


def _is_certain(match: Match, evidence: Evidence, workload: Workload, text: TemplateText) -> bool:
    """Return whether all lines of the evidence are literal and rendered together, each only with the fields around it."""
    proof = _proof(match.path, evidence, workload)
    if proof is None:
        return False
    document = workload.document
    first = document.locate(proof, key=True).line
    if not text.is_whole(first, document.extent(proof).end_line):
        return False
    if evidence == "constraint" and text.has_alternative(first):
        return False
    return all(text.implies(first, document.locate(proof[:length], key=True).line) for length in range(1, len(proof)))


def _proof(path: Path, evidence: Evidence, workload: Workload) -> Path | None:
    """Return the path of the value that proves a match at ``path``; None if the match is not in a constraint."""
    constraint = _constraint_around(path, workload)
    if constraint is None or evidence == "constraint":
        return constraint
    ends = [end for end in range(len(constraint) + 1, len(path) + 1) if type(path[end - 1]) is int]
    if evidence == "entry" and value_at(workload, path) is not None:
        return path
    if not ends:
        return constraint
    return path[: ends[0 if evidence == "term" else -1]]


def _constraint_around(path: Path, workload: Workload) -> Path | None:
    if isinstance(workload, CustomWorkload):
        roots = [part.path for part in workload.parts]
    else:
        roots = [(*workload.pod_path, name) for name in CUSTOM_PLACEMENT]
    return next((root for root in roots if len(path) > len(root) and path[: len(root)] == root), None)
