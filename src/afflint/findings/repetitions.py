"""One finding for one fact: a policy of the user may report what a rule of afflint reports as well."""

from __future__ import annotations

from collections.abc import Iterable

from afflint.findings.finding import SEVERITIES, Finding, Related
from afflint.findings.phrases import quoted

_POLICY = "policy"
_OF_WHOLE_OBJECTS = ("", "metadata.name")
"""Fields at which rules report what concerns the object as a whole: findings there need not be about one fact."""


def without_repetitions(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; of a policy and a rule that report the same field at the same place, only one with a note about the other.

    The one with the higher severity remains, of equal ones that of the policy. If it has no fix, it gets that of the other one.
    """
    findings = list(findings)
    if all(each.category != _POLICY for each in findings):
        return findings
    places: dict[tuple[object, ...], list[int]] = {}
    for number, each in enumerate(findings):
        if each.field not in _OF_WHOLE_OBJECTS:
            places.setdefault((each.file, each.source, each.document, each.span, each.field), []).append(number)
    merged: list[Finding | None] = [*findings]
    for numbers in places.values():
        policies = [number for number in numbers if findings[number].category == _POLICY]
        rules = [number for number in numbers if findings[number].category != _POLICY]
        if len(policies) == len(rules) == 1:
            kept, dropped = sorted((*policies, *rules), key=lambda number: SEVERITIES.index(findings[number].severity))
            merged[kept], merged[dropped] = _noted(findings[kept], findings[dropped]), None
    return [each for each in merged if each is not None]


def _noted(kept: Finding, other: Finding) -> Finding:
    what = "policy" if other.category == _POLICY else "rule"
    note = Related(other.file, other.span, f"the {what} {quoted(other.rule)} also reports this: {other.message}", other.source)
    return kept._replace(related=(*kept.related, note, *other.related), fix=kept.fix or other.fix)
