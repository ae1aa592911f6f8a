"""A baseline: the findings that a repository had when it began to use afflint, silent until they are mended.

An entry names rule, file, object and field, never a line, so that it holds while the file around it changes.
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
    """The findings that are new, how many old ones stay silent, and the entries (with their numbers) that no longer occur."""

    new: list[Finding]
    silenced: int
    gone: list[tuple[BaselineEntry, int]]


class Baseline(NamedTuple):
    """The entries of a baseline with their numbers, and the folder that their files are relative to."""

    known: Counter[BaselineEntry]
    folder: str = ""
    since: Mapping[BaselineEntry, str] = {}
    """The day on which each came into the baseline, as far as it says so: ``2026-11-22``."""


def entry_of(finding: Finding, folder: str = "") -> BaselineEntry:
    """The entry that would silence a finding, in a baseline that lies in ``folder``."""
    rule, kind, namespace, name, field = identity_of(finding)
    return BaselineEntry(rule, kind, namespace, name, _from(folder, finding.file), field)


def _from(folder: str, file: str) -> str:
    """How a baseline in ``folder`` calls a file."""
    if folder and os.path.lexists(file):
        file = relative(os.path.abspath(file), folder)
    return file.replace("\\", "/")


def apply(findings: Sequence[Finding], baseline: Baseline, checked: Collection[str] = ()) -> Applied:
    """Hold findings against a baseline. Of several alike as many stay silent as the baseline has.

    An entry whose file is gone holds for the same object in whichever file: it was moved. So does one that names no file but an object,
    as baselines had it once. ``checked`` are the files of this run: of entries in others that are still there nobody can say.
    """
    remaining = Counter(baseline.known)
    others: list[tuple[Finding, BaselineEntry]] = []
    for finding in findings:
        entry = entry_of(finding, baseline.folder)
        if remaining[entry] > 0:
            remaining[entry] -= 1
        else:
            others.append((finding, entry))
    # Only then what may have moved: nothing is to take the entry of a finding that is still where it was.
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
    """The entries of a baseline that are about one file."""
    name = _from(baseline.folder, file)
    return Counter({entry: count for entry, count in baseline.known.items() if entry.file == name})


def _moved(entries: Iterable[BaselineEntry], folder: str) -> dict[BaselineEntry, list[BaselineEntry]]:
    """The entries that hold for an object wherever it is, by what they say of it."""
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
    """An entry that is left for the same object in another file; ``numbered`` is the field as baselines had it once."""
    if remaining[entry._replace(field=numbered)] > 0:
        return entry._replace(field=numbered)
    anywhere = entry._replace(file="")
    for asked in (anywhere, anywhere._replace(field=numbered)):
        for known in moved.get(asked, ()):
            if remaining[known] > 0:
                return known
    return None


def since(findings: Sequence[Finding], baseline: Baseline) -> list[str | None]:
    """Since when a baseline knows each finding: the day, "" where it does not say, None for one that is new."""
    moved = _moved(baseline.known, baseline.folder)
    days: list[str | None] = []
    for finding in findings:
        entry = entry_of(finding, baseline.folder)
        known = entry if baseline.known[entry] else _elsewhere(entry, finding.field, moved, baseline.known)
        days.append(None if known is None else baseline.since.get(known, ""))
    return days


def dump(findings: Sequence[Finding], folder: str = "", *, today: str = "", before: Baseline | None = None) -> str:
    """The text of a baseline for ``folder`` that silences exactly these findings: sorted, one entry to a line, for diffs that read well.

    What a baseline from ``before`` knows keeps its day, or has none; the rest has come ``today``.
    """
    import json

    known = since(findings, before) if before is not None else [None] * len(findings)
    days: dict[BaselineEntry, str] = {}
    counted: Counter[BaselineEntry] = Counter()
    for finding, day in zip(findings, known, strict=True):
        entry = entry_of(finding, folder)
        counted[entry] += 1
        # Of several alike the oldest counts; one without a day is older than any.
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
    """Whether a file that begins so is a baseline, be its entries as they may: a merge may have left its marks in them."""
    return _BEGIN.match(begin) is not None


def of_config(config: Config) -> Baseline | None:
    """The baseline that a configuration names, if any. Raises UserError."""
    if not config.baseline:
        return None
    if config.repository is not None:
        from afflint.config.trust import check_readable

        check_readable(config, "baseline", (config.baseline,))
    return load(config.baseline)


def load(path: str) -> Baseline:
    """A baseline file. Raises BaselineError."""
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
        if type(day := item.get("since")) is str and _is_day(day):
            since[entry] = day
    return Baseline(known, os.path.dirname(path), since)


def _is_day(text: str) -> bool:
    """Whether a text is a day such as 2026-11-22; what is none is of no use, and no reason to refuse a baseline."""
    year, *rest = text.split("-")
    return len(text) == 10 and len(year) == 4 and len(rest) == 2 and text.isascii() and all(each.isdigit() for each in (year, *rest))


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
