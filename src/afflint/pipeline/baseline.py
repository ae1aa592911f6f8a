"""A baseline: the findings that are already known and are not reported.

An entry names rule, file, object and field, but no line, so it stays valid when other parts of the file change.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from afflint.config import Config
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding, identity_of
from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_named
from afflint.source.sources import relative

VERSION = 1
_LARGEST = 64 << 20
DEFAULT_FILE = ".afflint-baseline.json"
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""A day such as 2026-11-22; any other text is ignored."""


class BaselineError(UserError):
    """A baseline file that cannot be used; the message is for its user."""


class BaselineEntry(NamedTuple):
    """The identity of a finding (``findings.Identity``) with its file, relative to the folder of the baseline."""

    rule: str
    kind: str
    namespace: str
    name: str
    file: str
    field: str


class Applied(NamedTuple):
    """The new findings, the number of known ones, and the entries that no longer occur, with how often."""

    new: list[Finding]
    silenced: int
    gone: list[tuple[BaselineEntry, int]]


class Baseline(NamedTuple):
    """The entries of a baseline, with how often each occurs, and the folder that their files are relative to."""

    known: Counter[BaselineEntry]
    folder: str = ""
    since: Mapping[BaselineEntry, str] = {}
    """The day on which each entry was added, such as ``2026-11-22``; some entries have none."""


def entry_of(finding: Finding, folder: str = "") -> BaselineEntry:
    """Return the entry for a finding in a baseline in ``folder``."""
    rule, kind, namespace, name, field = identity_of(finding)
    return BaselineEntry(rule, kind, namespace, name, _from(folder, finding.file), field)


def _from(folder: str, file: str) -> str:
    """Return the name of a file in a baseline in ``folder``."""
    if folder and os.path.lexists(file):
        file = relative(os.path.abspath(file), folder)
    return file.replace("\\", "/")


def apply(findings: Sequence[Finding], baseline: Baseline, checked: Collection[str] = ()) -> Applied:
    """Compare findings with a baseline. Each entry covers at most as many equal findings as it counts.

    If the file of an entry no longer exists, or if the entry has no file (as in old baselines), the entry covers the same object in any
    file: the object may have been moved. ``checked`` are the files of this run: entries of other existing files are not called gone.
    """
    remaining = Counter(baseline.known)
    others: list[tuple[Finding, BaselineEntry]] = []
    for finding in findings:
        entry = entry_of(finding, baseline.folder)
        if remaining[entry] > 0:
            remaining[entry] -= 1
        else:
            others.append((finding, entry))
    # Findings that have not moved take their entries first.
    moved = _moved(remaining, baseline.folder)
    new: list[Finding] = []
    for finding, entry in others:
        found = _elsewhere(entry, finding.field, moved, remaining)
        if found is None:
            new.append(finding)
        else:
            remaining[found] -= 1
    looked_at = {_from(baseline.folder, file) for file in checked}
    gone = [
        (entry, count)
        for entry, count in sorted((+remaining).items())
        if not entry.file or entry.file in looked_at or not os.path.lexists(os.path.join(baseline.folder, entry.file))
    ]
    return Applied(new, len(findings) - len(new), gone)


def of_file(baseline: Baseline, file: str) -> Counter[BaselineEntry]:
    """Return the entries of a baseline for one file."""
    name = _from(baseline.folder, file)
    return Counter({entry: count for entry, count in baseline.known.items() if entry.file == name})


def _moved(entries: Iterable[BaselineEntry], folder: str) -> dict[BaselineEntry, list[BaselineEntry]]:
    """Return the entries that cover an object in any file, by the entry without its file."""
    there: dict[str, bool] = {"": False}
    found: dict[BaselineEntry, list[BaselineEntry]] = {}
    for entry in entries:
        if entry.kind and entry.name:
            if entry.file not in there:
                there[entry.file] = os.path.lexists(os.path.join(folder, entry.file))
            if not there[entry.file]:
                found.setdefault(entry._replace(file=""), []).append(entry)
    return found


def _elsewhere(
    entry: BaselineEntry, numbered: str, moved: dict[BaselineEntry, list[BaselineEntry]], remaining: Counter[BaselineEntry]
) -> BaselineEntry | None:
    """Return a remaining entry for the same object in another file; ``numbered`` is the field with list indexes, as in old baselines."""
    if remaining[entry._replace(field=numbered)] > 0:
        return entry._replace(field=numbered)
    anywhere = entry._replace(file="")
    for asked in (anywhere, anywhere._replace(field=numbered)):
        for known in moved.get(asked, ()):
            if remaining[known] > 0:
                return known
    return None


def since(findings: Sequence[Finding], baseline: Baseline) -> list[str | None]:
    """Return the day on which each finding was added to a baseline; "" if the entry has no day, None for a new finding."""
    moved = _moved(baseline.known, baseline.folder)
    days: list[str | None] = []
    for finding in findings:
        entry = entry_of(finding, baseline.folder)
        known = entry if baseline.known[entry] else _elsewhere(entry, finding.field, moved, baseline.known)
        days.append(None if known is None else baseline.since.get(known, ""))
    return days


def dump(findings: Sequence[Finding], folder: str = "", *, today: str = "", before: Baseline | None = None) -> str:
    """Return the text of a baseline in ``folder`` with exactly these findings: sorted, one entry per line, so that diffs are readable.

    Entries that the baseline ``before`` has keep their day, or have none; the others get ``today``.
    """
    import json

    known = since(findings, before) if before is not None else [None] * len(findings)
    days: dict[BaselineEntry, str] = {}
    counted: Counter[BaselineEntry] = Counter()
    for finding, day in zip(findings, known, strict=True):
        entry = entry_of(finding, folder)
        counted[entry] += 1
        # Of equal findings the oldest counts; one without a day is the oldest.
        days[entry] = min(days.get(entry, today), today if day is None else day)
    lines = [
        json.dumps({**_plain(entry), **({"count": count} if count > 1 else {}), **({"since": days[entry]} if days[entry] else {})})
        for entry, count in sorted(counted.items())
    ]
    body = ",\n".join(f"    {line}" for line in lines)
    return (
        f'{{\n  "version": {VERSION},\n  "findings": [\n{body}\n  ]\n}}\n'
        if lines
        else f'{{\n  "version": {VERSION},\n  "findings": []\n}}\n'
    )


_BEGIN = re.compile(rb'\s*\{\s*"version":\s*1,\s*"findings":\s*\[')


def is_baseline(begin: bytes) -> bool:
    """Return whether a file that begins with these bytes is a baseline, even if its entries contain conflict markers of a merge."""
    return _BEGIN.match(begin) is not None


def of_config(config: Config) -> Baseline | None:
    """Load the baseline that a configuration names, if any. Raises UserError."""
    if not config.baseline:
        return None
    if config.repository is not None:
        from afflint.config.trust import check_readable

        check_readable(config, "baseline", (config.baseline,))
    return load(config.baseline)


def load(path: str) -> Baseline:
    """Load a baseline file. Raises BaselineError."""
    import json

    try:
        data = json.loads(read_named(path, _LARGEST))
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {path!r}: {error.strerror}; --write-baseline creates one") from None
    except ValueError as error:
        raise BaselineError(f"the baseline {path!r} is not valid JSON: {error}") from None
    except RecursionError:
        raise BaselineError(f"the baseline {path!r} is nested too deeply; --write-baseline creates one") from None
    if type(data) is not dict or data.get("version") != VERSION or type(data.get("findings")) is not list:
        raise BaselineError(f"{path!r} is not a baseline of version {VERSION}; --write-baseline creates one")
    known: Counter[BaselineEntry] = Counter()
    since: dict[BaselineEntry, str] = {}
    for number, item in enumerate(data["findings"], 1):
        entry = _entry(item, path, number)
        known[entry] += _count(item, path, number)
        if type(day := item.get("since")) is str and _DAY.fullmatch(day):
            since[entry] = day
    return Baseline(known, os.path.dirname(path), since)


def _plain(entry: BaselineEntry) -> dict[str, str]:
    return {field: value for field, value in entry._asdict().items() if value}


def _entry(item: Any, path: str, number: int) -> BaselineEntry:
    parts: list[Any] = [item.get(field, "") if type(item) is dict else None for field in BaselineEntry._fields]
    if not all(type(part) is str for part in parts) or not parts[0]:
        raise BaselineError(f"entry {number} of the baseline {path!r} is invalid; --write-baseline creates a new baseline")
    return BaselineEntry(*parts)


def _count(item: dict[str, Any], path: str, number: int) -> int:
    count = item.get("count", 1)
    if type(count) is not int or count < 1:
        raise BaselineError(f"entry {number} of the baseline {path!r} has an invalid count: it must be an integer of 1 or more")
    return count
