"""Compares the findings of two sides by their identity: what is new, what is fixed, and what is only in another place."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from afflint.findings.finding import Finding, Identity, identity_of, paired, sort_key
from afflint.findings.namedtuples import NamedTuple


class FindingChanges(NamedTuple):
    """The findings that only the head has, those that only the base has, and those that are in another file; each sorted as reports are.

    ``moved`` has each finding of the base with that of the head; ``silenced`` are findings that the head still has, but suppresses.
    """

    new: list[Finding]
    fixed: list[Finding]
    moved: list[tuple[Finding, Finding]]
    silenced: list[Finding]


_NO_RENAMES: Mapping[str, str] = {}


def compare(base: Sequence[Finding], head: Sequence[Finding], renamed: Mapping[str, str] = _NO_RENAMES) -> FindingChanges:
    """Match the findings of two sides. ``renamed`` has the names in the head of files that have the same content under another name.

    Findings are the same if their identity and their file are; else if the content of a list item differs, but not its place; else if their
    identity is the same, their object has a name, and neither is matched by a finding in its own file.
    """

    def in_file(finding: Finding) -> Hashable:
        return renamed.get(finding.file, finding.file), identity_of(finding)

    def at_place(finding: Finding) -> Hashable:
        return renamed.get(finding.file, finding.file), identity_of(finding)._replace(field=finding.field)

    matched: list[tuple[Finding, Finding]] = []
    gone, new = list(base), list(head)
    for key in (in_file, at_place, _of_object):
        pairs, gone, new = paired(gone, new, key)
        matched += pairs
    moved = [(before, after) for before, after in matched if before.file != after.file]
    return FindingChanges(new, gone, sorted(moved, key=lambda each: sort_key(each[1])), [])


def without_silenced(changes: FindingChanges, unsuppressed: Sequence[Finding]) -> FindingChanges:
    """Return the changes with the fixed findings that the head still has among its ``unsuppressed`` findings as silenced."""
    if not changes.fixed:
        return changes
    still = compare(changes.fixed, unsuppressed)
    gone = {id(each) for each in still.fixed}
    return changes._replace(fixed=still.fixed, silenced=[each for each in changes.fixed if id(each) not in gone])


def _of_object(finding: Finding) -> Identity | None:
    """Return the identity of a finding that does not depend on its file; None if its object has no name."""
    identity = identity_of(finding)
    return identity if identity.kind and identity.name else None
