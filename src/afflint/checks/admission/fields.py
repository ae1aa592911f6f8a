"""Unknown fields and values of the wrong type, which strict decoding rejects, divided into rules by the likely mistake."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from afflint.checks.admission.decoding import mismatches_of
from afflint.checks.admission.refusal_time import accepts_invalid_pods, with_note_in_pod_spec
from afflint.checks.admission.spelling import WEIGHTED_POD_TERM, has_unknown, is_missing
from afflint.checks.match import Match, Target
from afflint.findings.grouping import grouped
from afflint.findings.paths import Path
from afflint.kube.types import Mismatch
from afflint.manifests.manifest import Manifest, Workload

if TYPE_CHECKING:
    from afflint.checks.admission.field_levels import MovedFields


def unknown_field(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report fields that do not exist at this level or in the target version, most often misspelt ones."""
    return _of_rule("unknown-field", manifest, target)


def misplaced_constraint(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report placement fields and labels at a level where they do not exist."""
    return _of_rule("misplaced-constraint", manifest, target)


def missing_term_wrapper(workload: Workload, target: Target) -> Iterator[Match]:
    """Report preferred terms without their wrapper object, and required terms with one."""
    # Strict decoding rejects unknown fields in every version. A weight without its term is decoded, and rejected only by validation.
    late = accepts_invalid_pods(workload, target)
    bare = (with_note_in_pod_spec(match, workload) if late else match for match in _bare_weights(workload))
    return chain(_of_rule("missing-term-wrapper", workload, target), bare)


def _bare_weights(workload: Workload) -> Iterator[Match]:
    for weighted in workload.constraints.pod_preferred:
        if not has_unknown(weighted, WEIGHTED_POD_TERM) and is_missing(workload, weighted, "podAffinityTerm", WEIGHTED_POD_TERM):
            yield Match(
                (*weighted.path, "podAffinityTerm"),
                "this preferred pod term has no podAffinityTerm: it has a weight, but selects no pods",
                "Put labelSelector and topologyKey under podAffinityTerm, next to weight.",
            )


def wrong_type(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report values whose type is not the type of their field."""
    return _of_rule("wrong-type", manifest, target)


def annotation_not_string(manifest: Manifest, target: Target) -> Iterator[Match]:
    """Report annotations whose unquoted value is a number or a boolean."""
    return _of_rule("annotation-not-string", manifest, target)


def _of_rule(rule: str, manifest: Manifest, target: Target) -> Iterator[Match]:
    mismatches = mismatches_of(manifest, target)
    return _faults(rule, manifest, target, mismatches) if mismatches else iter(())


def _faults(rule: str, manifest: Manifest, target: Target, mismatches: tuple[Mismatch, ...]) -> Iterator[Match]:
    from afflint.checks.admission.field_levels import moved_fields
    from afflint.checks.admission.misplaced_fields import swallowed_together

    swallowed = swallowed_together(mismatches, manifest)
    elsewhere = moved_fields(mismatches, manifest, target)
    unknown = grouped((mismatch.path[:-1], str(mismatch.path[-1])) for mismatch in mismatches if mismatch.struct is not None)
    reported: set[tuple[Path, str]] = set()
    for mismatch in mismatches:
        if mismatch.struct is None:
            match = _type_fault(rule, mismatch, manifest, swallowed.get(mismatch.path, []))
        else:
            siblings = unknown[mismatch.path[:-1]]
            match = _unknown_fault(rule, mismatch, manifest, target, elsewhere.get(mismatch.path), siblings)
        if match is not None and (match.path, match.message) not in reported:
            reported.add((match.path, match.message))
            yield match


def _unknown_fault(
    rule: str, mismatch: Mismatch, manifest: Manifest, target: Target, elsewhere: MovedFields | None, siblings: list[str]
) -> Match | None:
    """Return the match for an unknown field if ``rule`` describes it best; fields that belong to the same place share one match."""
    if str(mismatch.path[-1]).startswith("$"):
        return None  # A directive of a strategic merge patch; no cluster ever sees it.
    if mismatch.path[len(manifest.base) :] == ("sops",) and isinstance(mismatch.value, dict) and "lastmodified" in mismatch.value:
        return None  # The keys of a file that SOPS has encrypted, which it removes when it decrypts the file.
    from afflint.checks.admission.field_levels import belongs_elsewhere
    from afflint.checks.admission.misplaced_fields import misplaced_fault, wrapper_fault
    from afflint.checks.admission.unknown_fields import map_around, of_another_version, unknown_field_message

    match = of_another_version(mismatch, target)
    if match is not None:
        return match if rule == "unknown-field" else None
    if elsewhere is not None and (len(elsewhere.fields) > 1 or not elsewhere.of_placement):
        best = "misplaced-constraint" if elsewhere.of_placement else "unknown-field"
        return belongs_elsewhere(elsewhere, manifest) if rule == best else None
    match, best = wrapper_fault(mismatch, siblings, map_around(mismatch, manifest)), "missing-term-wrapper"
    if match is None:
        match, best = misplaced_fault(mismatch, manifest, siblings), "misplaced-constraint"
    if match is None and rule == "unknown-field":  # The slow search for similar names comes last.
        return unknown_field_message(mismatch, manifest)
    return match if rule == best else None


def _type_fault(rule: str, mismatch: Mismatch, manifest: Manifest, swallowed: list[Mismatch]) -> Match | None:
    """Return the match for a value of the wrong type if ``rule`` describes it best."""
    from afflint.checks.admission.misplaced_fields import swallowed_fault
    from afflint.checks.admission.wrong_types import is_annotation, wrong_type_message

    match = swallowed_fault(mismatch, manifest, swallowed)
    best = "misplaced-constraint" if match else "annotation-not-string" if is_annotation(mismatch) else "wrong-type"
    if rule != best:
        return None
    match = match or wrong_type_message(mismatch, manifest)
    if manifest.kind.kubevirt and {"labels", "annotations"}.isdisjoint(mismatch.path):
        # KubeVirt's schemas prune before they check types, so the server reports the first key in the wrong map or list.
        return match._replace(field=_first_key(mismatch.path, mismatch.value))
    return match


def _first_key(path: Path, value: object) -> Path:
    if isinstance(value, dict) and value:
        return (*path, next(iter(value)))
    return _first_key((*path, 0), value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else path
