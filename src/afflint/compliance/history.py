"""Reads the JSON reports of earlier runs, and compares each with the one before it by the identity of their findings."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from afflint.changes.findings import compare
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES, Finding, ObjectRef, Severity, Span
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible
from afflint.report.compliance import Compliance
from afflint.report.paths import folder_of
from afflint.report.trends.model import DIMENSIONS, Dimension, Subject, Trend, TrendPoint
from afflint.source.files import read_regular

_LARGEST = 64 << 20
_MOST_FILES = 5_000
_DATE = re.compile(r"(?<![0-9A-Za-z])(\d{4})-?(\d{2})-?(\d{2})(?:[T _-]?(\d{2})[:-]?(\d{2})(?:[:-]?\d{2}(?:\.\d+)?)?Z?)?(?![0-9A-Za-z])")
"""A day, with or without a time in UTC: 2026-11-26, 20261126, 2026-11-26T0130Z."""
_UNREAD = "write the reports with `afflint check --format json` or `afflint report --format json`"

Owners = Mapping[tuple[str | None, str | None, str | None], str]
"""The owner of each workload, by kind, namespace and name."""


class EarlierReport(NamedTuple):
    """What a trend needs of a report. ``owners`` has the owner of each finding; the other fields are those of ``TrendPoint``."""

    subject: Subject
    date: str
    file: str | None
    findings: Sequence[Finding]
    owners: Sequence[str]
    scope: int | None
    unknown: int | None


class _MalformedError(ValueError):
    """Why a file is not a report."""


def trends(names: Iterable[str], current: Compliance, today: str, *, besides: str | None = None) -> tuple[Trend, ...]:
    """Return the trends of the reports in files and folders, findings first. Raises UserError for a file that is not a report.

    ``current``: if the run has policies, its violations are the last point, with the date ``today``. Its workloads name the owners of
    findings. ``besides``: a file that is not part of the history, because the run is about to replace it.
    """
    owners = {_workload(each.object): each.owner for each in current.evaluated}
    reports = [
        read_report(file, owners) for file in _files(names) if besides is None or os.path.realpath(file) != os.path.realpath(besides)
    ]
    reports.sort(key=lambda each: (each.date, each.file))
    if current.policies:
        reports.append(_of_run(current, today))
    elif not reports:
        raise UserError("--history: no JSON report found")
    subjects: tuple[Subject, ...] = ("findings", "violations")
    each_subject = {subject: [each for each in reports if each.subject == subject] for subject in subjects}
    return tuple(_trend(subject, found) for subject, found in each_subject.items() if found)


def _files(names: Iterable[str]) -> Iterator[str]:
    """Yield the named files, and the JSON files below the named folders. Links in folders are skipped. Raises UserError."""
    for name in names:
        if not os.path.isdir(name):
            if not os.path.exists(name):
                raise UserError(f"--history: no such file or folder: {name!r}")
            yield name
            continue
        found = []
        for folder, folders, files in os.walk(name):
            folders.sort()
            paths = (os.path.join(folder, each) for each in files if each.endswith(".json"))
            found += [path for path in paths if not os.path.islink(path)]
        if len(found) > _MOST_FILES:
            raise UserError(f"--history: {name!r} has {len(found)} JSON files; at most {_MOST_FILES} are read")
        yield from sorted(found)


def read_report(path: str, owners: Owners) -> EarlierReport:
    """Read a report of ``afflint check`` or ``afflint report`` in JSON. Raises UserError with the file and the reason."""
    try:
        return _report(path, json.loads(read_regular(path, _LARGEST)), owners)
    except _MalformedError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.strerror}"
    except RecursionError:
        reason = "the JSON is nested too deep"
    except ValueError as error:
        reason = f"not valid JSON: {error}"
    raise UserError(f"--history: {visible(path)}: {visible(reason)}")


def _report(path: str, data: Any, owners: Owners) -> EarlierReport:
    if not isinstance(data, dict):
        raise _MalformedError(f"not a report: {_UNREAD}")
    if data.get("version") != 1:
        raise _MalformedError("not a report of version 1")
    date = _date(path, data.get("date"))
    if "policies" in data:
        return _of_policies(path, date, data)
    if "findings" in data and "summary" in data:
        return _of_findings(path, date, data, owners)
    raise _MalformedError(f"not a report: {_UNREAD}")


def _date(path: str, given: Any) -> str:
    """Return when a report was made: its key ``date``, or what its name or the name of its folder says, never the time of the file."""
    folder, name = os.path.split(os.path.normpath(path))
    for text in (given, name, os.path.basename(folder)):
        for match in _DATE.finditer(text) if isinstance(text, str) else ():
            year, month, day, hour, minute = match.groups()
            try:
                when = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))
            except ValueError:
                continue
            return f"{when:%Y-%m-%d %H:%M}" if hour else f"{when:%Y-%m-%d}"
    raise _MalformedError("no date: name the file or its folder by the day of the report, such as 2026-11-26.json")


# Reports of afflint check.


def _of_findings(path: str, date: str, data: Mapping[str, Any], owners: Owners) -> EarlierReport:
    found = [_finding(each, f"findings[{number}]") for number, each in enumerate(_list(data, "findings", ""))]
    coverage = data.get("coverage")
    not_seen = coverage.get("not_seen") if isinstance(coverage, dict) else None
    return EarlierReport(
        "findings",
        date,
        path,
        found,
        [owners.get(_workload(each.object), "") for each in found],
        _count(_map(data, "summary", ""), "documents"),
        len(not_seen) if isinstance(not_seen, list) else None,
    )


def _finding(data: Any, at: str) -> Finding:
    given = _mapped(data, at)
    text = {key: _text(given, key, at) for key in ("rule", "category", "message", "file", "field")}
    item = given.get("item")
    return Finding(
        text["rule"],
        text["category"],
        _severity(given, at),
        text["message"],
        "",
        text["file"],
        0,
        _line(given, at),
        _object(given, at),
        text["field"],
        item=item if isinstance(item, str) else "",
    )


# Reports of afflint report.


def _of_policies(path: str, date: str, data: Mapping[str, Any]) -> EarlierReport:
    found: list[Finding] = []
    owners: list[str] = []
    unknown = 0
    for number, each in enumerate(_list(data, "policies", "")):
        at = f"policies[{number}]"
        policy = _mapped(each, at)
        name, severity = _text(policy, "name", at), _severity(policy, at)
        unknown += bool(policy.get("unasked"))
        for place, workload in enumerate(_list(policy, "workloads", at)):
            inside = f"{at}.workloads[{place}]"
            verdict = _mapped(workload, inside)
            state = _text(verdict, "state", inside)
            unknown += state == "undecided"
            if state != "unmet":
                continue
            owner = verdict.get("owner")
            for nth, breach in enumerate(_list(verdict, "breaches", inside)):
                here = f"{inside}.breaches[{nth}]"
                where = _mapped(breach, here)
                message, file = _text(where, "message", here), _text(where, "file", here)
                found.append(_violation(name, severity, message, file, _line(where, here), _object(verdict, inside)))
                owners.append(owner if isinstance(owner, str) else "")
    return EarlierReport("violations", date, path, found, owners, _count(_map(data, "summary", ""), "workloads"), unknown)


def _violation(policy: str, severity: Severity, message: str, file: str, span: Span, ref: ObjectRef) -> Finding:
    return Finding(policy, "policy", severity, message, "", file, 0, span, ref, "")


def _of_run(current: Compliance, today: str) -> EarlierReport:
    """Return the violations of the current run, as its own report in JSON would have them."""
    found: list[Finding] = []
    owners: list[str] = []
    for policy in current.policies:
        for verdict in policy.unmet():
            for each in verdict.breaches:
                ref = verdict.workload.object
                found.append(_violation(policy.name, policy.severity, each.message, each.file, _span(each.line), ref))
                owners.append(verdict.workload.owner)
    unknown = sum(bool(policy.unasked) + policy.number("undecided") for policy in current.policies)
    return EarlierReport("violations", today, None, found, owners, current.workloads, unknown)


# Values of a report. All of them raise _MalformedError.


def _mapped(value: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError(f"{at or 'the report'} is not an object")
    return value


def _of_type(data: Mapping[str, Any], key: str, at: str, expected: type, noun: str) -> Any:
    if not isinstance(data.get(key), expected):
        raise _MalformedError(f"{f'{at}.' * bool(at)}{key} is not {noun}")
    return data[key]


def _text(data: Mapping[str, Any], key: str, at: str) -> str:
    return str(_of_type(data, key, at, str, "a string"))


def _list(data: Mapping[str, Any], key: str, at: str) -> list[Any]:
    return list(_of_type(data, key, at, list, "a list"))


def _map(data: Mapping[str, Any], key: str, at: str) -> Mapping[str, Any]:
    return dict(_of_type(data, key, at, dict, "an object"))


def _severity(data: Mapping[str, Any], at: str) -> Severity:
    text = _text(data, "severity", at)
    found = next((each for each in SEVERITIES if each == text), None)
    if found is None:
        raise _MalformedError(f"{at}.severity is not one of {', '.join(SEVERITIES)}")
    return found


def _line(data: Mapping[str, Any], at: str) -> Span:
    return _span(_of_type(data, "line", at, int, "a number"))


def _span(line: int) -> Span:
    """Return the position of a line; a trend shows no column."""
    return Span(line, 1, line, 1)


def _object(data: Mapping[str, Any], at: str) -> ObjectRef:
    ref = _map(data, "object", at)
    parts = [ref.get(key) for key in ("apiVersion", "kind", "namespace", "name")]
    return ObjectRef(*(part if isinstance(part, str) else None for part in parts))


def _count(data: Mapping[str, Any], key: str) -> int | None:
    number = data.get(key)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 10**12 else None


# Trends.


def _workload(ref: ObjectRef) -> tuple[str | None, str | None, str | None]:
    return ref.kind, ref.namespace, ref.name


def _trend(subject: Subject, reports: Sequence[EarlierReport]) -> Trend:
    points: list[TrendPoint] = []
    new: Sequence[Finding] = ()
    fixed: Sequence[Finding] = ()
    before: EarlierReport | None = None
    for report in reports:
        if before is not None:
            changes = compare(before.findings, report.findings)
            new, fixed = changes.new, changes.fixed
        points.append(
            TrendPoint(
                report.date,
                report.file,
                Counter(each.severity for each in report.findings),
                {dimension: _counted(report, dimension) for dimension in DIMENSIONS[subject]},
                report.scope,
                report.unknown,
                None if before is None else len(new),
                None if before is None else len(fixed),
            )
        )
        before = report
    return Trend(subject, tuple(points), tuple(new), tuple(fixed))


def _counted(report: EarlierReport, dimension: Dimension) -> Mapping[str, int]:
    if dimension == "owner":
        return Counter(report.owners)
    of: Mapping[str, Callable[[Finding], str]] = {
        "category": lambda each: each.category,
        "rule": lambda each: each.rule,
        "folder": lambda each: folder_of(each.file),
    }
    return Counter(map(of[dimension], report.findings))
