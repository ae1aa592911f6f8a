"""Checks what is written literally in a template, and keeps the findings that are certain whatever its actions do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from afflint.checks.match import Match, Target
from afflint.checks.registry import BoundRule, Dispatch, Evidence, evidence
from afflint.findings.paths import Path
from afflint.findings.similarity import is_likely_typo
from afflint.kube.constraints import NONE
from afflint.kube.kinds import CUSTOM_PLACEMENT, PLACEMENT_FIELDS
from afflint.manifests.custom_resources import CustomWorkload, value_at
from afflint.manifests.manifest import Manifest, Workload
from afflint.yaml.template_text import TemplateText


def has_constraints(manifests: Iterable[Manifest]) -> bool:
    """Return whether one of the manifests has constraints."""
    return any(isinstance(each, Workload) and each.constraints is not NONE for each in manifests)


class TemplateChecks:
    """The rules whose findings in the literal text of a template can be certain."""

    def __init__(self, rules: Iterable[BoundRule], target: Target) -> None:
        self._evidence = evidence()
        self._dispatch = Dispatch([rule for rule in rules if rule.name in self._evidence], target)

    def matches(self, manifest: Manifest, text: TemplateText, *, grows: bool = False) -> Iterator[tuple[str, Match]]:
        """Yield the certain findings in the constraints of a manifest of a template, each with the name of its rule.

        ``grows``: another template includes the text, and may add items and fields to it.
        """
        if not isinstance(manifest, Workload):
            return
        for rule, match in self._dispatch.matches(manifest):
            evidence = self._evidence[rule]
            if grows and evidence == "constraint":
                continue
            if _is_certain(match, evidence, manifest, text) or (
                not grows and rule in _ABOUT_KEYS and _is_certain_key(match, manifest, text)
            ):
                yield rule, match


_ABOUT_KEYS = frozenset(("misplaced-constraint", "unknown-field"))


def _is_certain(match: Match, evidence: Evidence, workload: Workload, text: TemplateText) -> bool:
    """Return whether all lines of the evidence are literal and rendered together, each only with the fields around it."""
    proof = _proof(match.path, evidence, workload)
    if proof is None:
        return False
    document, is_scalar = workload.document, type(value_at(workload, proof)) in (str, int, float, bool)
    first = document.locate(proof, key=True).line
    if not text.is_whole(first, document.extent(proof).end_line, grows=not is_scalar):
        return False
    if evidence in ("constraint", "lone entry") and text.has_alternative(first):
        return False
    return all(text.implies(first, document.locate(proof[:length], key=True).line) for length in range(1, len(proof)))


def _is_certain_key(match: Match, workload: Workload, text: TemplateText) -> bool:
    """Return whether a match is about the key of a constraint that is literal, whatever its value is, and always in the map around it."""
    path, document = match.path, workload.document
    if not path or _constraint_around(path, workload) is not None or not _names_constraint(path[-1]):
        return False
    line, column, *_ = document.locate(path, key=True)
    around = [*(path[:length] for length in range(1, len(path))), (*workload.base, "kind")]
    return text.keeps_parent(line, column) and all(text.implies(line, document.locate(each, key=True).line) for each in around)


def _names_constraint(key: object) -> bool:
    return key in PLACEMENT_FIELDS or any(is_likely_typo(str(key), each) for each in CUSTOM_PLACEMENT)


def _proof(path: Path, evidence: Evidence, workload: Workload) -> Path | None:
    """Return the path of the value that proves a match at ``path``; None if the match is not in a constraint."""
    constraint = _constraint_around(path, workload)
    if constraint is None or evidence == "constraint":
        return constraint
    ends = [end for end in range(len(constraint) + 1, len(path) + 1) if type(path[end - 1]) is int]
    if evidence in ("entry", "lone entry") and value_at(workload, path) is not None:
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
