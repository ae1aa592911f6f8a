"""A baseline: the findings that a repository had when it began to use afflint, silent until they are mended.

An entry names rule, object and field, never a line, so that it holds while the file around it changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from afflint.errors import UserError
from afflint.findings import Finding
from afflint.reading.files import read_named

VERSION = 1
_LARGEST = 64 << 20
DEFAULT_FILE = ".afflint-baseline.json"


class BaselineError(UserError):
    """A baseline file that cannot be used; the message is for its user."""


class Entry(NamedTuple):
    """What makes a finding the same one. ``file`` stands in where there is no named object."""

    rule: str
    kind: str
    namespace: str
    name: str
    file: str
    field: str


class Applied(NamedTuple):
    """The findings that are new, how many old ones stay silent, and the entries (with their numbers) that no longer occur."""

    new: list[Finding]
    silenced: int
    gone: list[tuple[Entry, int]]


def entry_of(finding: Finding) -> Entry:
    """The entry that would silence a finding."""
    ref = finding.object
    file = "" if ref.kind and ref.name else finding.file.replace("\\", "/")
    return Entry(finding.rule, ref.kind or "", ref.namespace or "", ref.name or "", file, finding.field)


def apply(findings: Sequence[Finding], known: Counter[Entry]) -> Applied:
    """Hold findings against a baseline. Of several alike as many stay silent as the baseline has."""
    remaining = Counter(known)
    new: list[Finding] = []
    for finding in findings:
        entry = entry_of(finding)
        if remaining[entry] > 0:
            remaining[entry] -= 1
        else:
            new.append(finding)
    return Applied(new, len(findings) - len(new), sorted((+remaining).items()))


def dump(findings: Iterable[Finding]) -> str:
    """The text of a baseline that silences exactly these findings: sorted, one entry to a line, so that diffs read well."""
    import json

    counted = sorted(Counter(entry_of(finding) for finding in findings).items())
    lines = [json.dumps({**_plain(entry), **({"count": count} if count > 1 else {})}) for entry, count in counted]
    body = ",\n".join(f"    {line}" for line in lines)
    return (
        f'{{\n  "version": {VERSION},\n  "findings": [\n{body}\n  ]\n}}\n'
        if lines
        else f'{{\n  "version": {VERSION},\n  "findings": []\n}}\n'
    )


def load(path: str) -> Counter[Entry]:
    """The entries of a baseline file with their numbers. Raises BaselineError."""
    import json

    try:
        data = json.loads(read_named(path, _LARGEST))
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {path!r}: {error.strerror}; --write-baseline makes one") from None
    except ValueError as error:
        raise BaselineError(f"the baseline {path!r} is no JSON: {error}") from None
    except RecursionError:
        raise BaselineError(f"the baseline {path!r} is nested far deeper than any baseline; --write-baseline makes one") from None
    if type(data) is not dict or data.get("version") != VERSION or type(data.get("findings")) is not list:
        raise BaselineError(f"{path!r} is no baseline of version {VERSION}; --write-baseline makes one")
    known: Counter[Entry] = Counter()
    for number, item in enumerate(data["findings"], 1):
        known[_entry(item, path, number)] += _count(item, path, number)
    return known


def _plain(entry: Entry) -> dict[str, str]:
    return {field: value for field, value in entry._asdict().items() if value}


def _entry(item: Any, path: str, number: int) -> Entry:
    parts: list[Any] = [item.get(field, "") if type(item) is dict else None for field in Entry._fields]
    if not all(type(part) is str for part in parts) or not parts[0]:
        raise BaselineError(f"entry {number} of the baseline {path!r} is none; write it anew with --write-baseline")
    return Entry(*parts)


def _count(item: dict[str, Any], path: str, number: int) -> int:
    count = item.get("count", 1)
    if type(count) is not int or count < 1:
        raise BaselineError(f"entry {number} of the baseline {path!r} has a count that is no number from 1 up")
    return count
