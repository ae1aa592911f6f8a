"""SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from afflint.findings.finding import Edit, Finding, Fix, Severity, Span
from afflint.findings.phrases import visible
from afflint.report.fingerprints import fingerprints
from afflint.report.json_stream import document
from afflint.report.model import Report, RuleInfo, Summary
from afflint.report.paths import uri

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"
_PLACEHOLDER = re.compile(r"\{(\d+)\}")


def render(report: Report) -> Iterator[str]:
    """Yield one run: the rules that have findings, with their pages, and a result per finding."""
    occurring = {finding.rule for finding in report.findings}
    rules = [rule for rule in report.rules() if rule.name in occurring]
    numbers = {rule.name: number for number, rule in enumerate(rules)}
    driver = {"name": "afflint", "version": report.version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The working directory of afflint."}}},
        "columnKind": "unicodeCodePoints",
        **_invocations(report.summary),
        "results": [],
    }
    frame = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    prints = fingerprints(report.findings)
    results = (_result(finding, fingerprint, numbers) for finding, fingerprint in zip(report.findings, prints, strict=True))
    return document(frame, "results", results, indent=6)


def _invocations(summary: Summary) -> dict[str, object]:
    """Return the sources of workloads that were not seen: warnings if rendering was requested, otherwise notes."""
    level = "note" if summary.renders is None else "warning"
    notifications = [
        {"level": level, "message": _message(each.message), "locations": [{"physicalLocation": {"artifactLocation": _artifact(each.file)}}]}
        for each in summary.coverage.not_seen
    ]
    return {"invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}]} if notifications else {}


def _rule(rule: RuleInfo) -> dict[str, object]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": _why(rule.page) or rule.summary},
        "help": {"text": rule.help, "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"category": rule.category, "tags": ["kubernetes", rule.category]},
    }


def _why(page: str) -> str:
    """Return the first paragraph of the section "Why it matters" as one line; "" if the page has none."""
    section = page.partition("\n## Why it matters\n")[2].lstrip()
    paragraph = section.partition("\n\n")[0]
    return "" if paragraph.startswith("#") else " ".join(paragraph.split())


def _result(finding: Finding, fingerprint: str, numbers: Mapping[str, int]) -> dict[str, object]:
    result: dict[str, object] = {"ruleId": finding.rule}
    if finding.rule in numbers:
        result["ruleIndex"] = numbers[finding.rule]
    result |= {
        "level": _LEVELS[finding.severity],
        "message": _message(finding.message, finding.help),
        "locations": [_location(finding)],
        "partialFingerprints": {"finding/v1": fingerprint},
    }
    if finding.related:
        # SARIF requires distinct locations; two names can become equal by escaping.
        related = [{"physicalLocation": _physical(each.file, each.span), "message": _message(each.message)} for each in finding.related]
        result["relatedLocations"] = list({repr(location): location for location in related}.values())
    if finding.rendered:
        result["properties"] = {"renderedIn": list(finding.rendered)}
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.file, finding.fix, finding.help)]
    return result


def _location(finding: Finding) -> dict[str, object]:
    location: dict[str, object] = {"physicalLocation": _physical(finding.file, finding.span)}
    ref = finding.object
    parts = [visible(part) for part in (ref.api_version, ref.kind, ref.namespace, ref.name) if part]
    logical = [{"name": parts[-1], "fullyQualifiedName": "/".join(parts), "kind": "object"}] if parts else []
    logical += [{"fullyQualifiedName": visible(finding.field), "kind": "property"}] if finding.field else []
    if logical:
        location["logicalLocations"] = logical
    return location


def _physical(file: str, span: Span) -> dict[str, object]:
    return {"artifactLocation": _artifact(file), "region": _region(span)}


def _artifact(file: str) -> dict[str, str]:
    location = {"uri": uri(file)}
    if not location["uri"].startswith("file:"):
        location["uriBaseId"] = _ROOT
    return location


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _fix(file: str, fix: Fix, purpose: str) -> dict[str, object]:
    change = {"artifactLocation": _artifact(file), "replacements": [_replacement(edit) for edit in fix.edits]}
    return {"description": _message(purpose or "Fix it."), "artifactChanges": [change], "properties": {"safe": fix.safe}}


def _replacement(edit: Edit) -> dict[str, object]:
    # Exact, except for lone surrogates: readers would reject the whole report.
    text = edit.text.encode("utf-8", "backslashreplace").decode("utf-8")
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": text}}


def _message(*sentences: str) -> dict[str, str]:
    """Return a message with a line per sentence, in which names from manifests are neither placeholders nor links.

    SARIF requires doubled braces. Common readers show doubled braces unchanged, so only braces of a placeholder are doubled; ``{}``
    and ``{a: b}`` never are.
    """
    text = "\n".join(visible(sentence) for sentence in sentences if sentence)
    return {"text": _PLACEHOLDER.sub(r"{{\1}}", text).replace("](", "] (")}
