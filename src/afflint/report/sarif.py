"""SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from afflint.findings.finding import Edit, Finding, Fix, ObjectRef, Related, Severity, Span
from afflint.findings.phrases import visible
from afflint.report import Report, RuleInfo
from afflint.report.fingerprints import fingerprints
from afflint.report.json_stream import document
from afflint.report.paths import uri

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_ROOT = "%SRCROOT%"
_PLACEHOLDER = re.compile(r"\{(\d+)\}")


def render(report: Report) -> Iterator[str]:
    """One run: the rules of which something was found, with their pages, and a result per finding."""
    occurring = {finding.rule for finding in report.findings}
    rules = [rule for rule in report.rules() if rule.name in occurring]
    numbers = {rule.name: number for number, rule in enumerate(rules)}
    driver = {"name": "afflint", "version": report.version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The directory in which afflint was started."}}},
        "columnKind": "unicodeCodePoints",
        "results": [],
    }
    frame = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    prints = fingerprints(report.findings)
    results = (_result(finding, fingerprint, numbers) for finding, fingerprint in zip(report.findings, prints, strict=True))
    return document(frame, "results", results, indent=6)


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
    """The first paragraph of the page's section about why the defect matters, as one line; "" if it has none."""
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
        # SARIF wants them distinct, and two names may differ in nothing but what has been escaped.
        result["relatedLocations"] = list({repr(location): location for location in map(_related, finding.related)}.values())
    if finding.rendered:
        result["properties"] = {"renderedIn": list(finding.rendered)}
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.file, finding.fix, finding.help)]
    return result


def _location(finding: Finding) -> dict[str, object]:
    location: dict[str, object] = {"physicalLocation": _physical(finding.file, finding.span)}
    if logical := [*_object(finding.object), *_field(finding.field)]:
        location["logicalLocations"] = logical
    return location


def _object(ref: ObjectRef) -> Iterator[dict[str, str]]:
    parts = [visible(part) for part in (ref.api_version, ref.kind, ref.namespace, ref.name) if part]
    if parts:
        yield {"name": parts[-1], "fullyQualifiedName": "/".join(parts), "kind": "object"}


def _field(field: str) -> Iterator[dict[str, str]]:
    if field:
        yield {"fullyQualifiedName": visible(field), "kind": "property"}


def _related(related: Related) -> dict[str, object]:
    return {"physicalLocation": _physical(related.file, related.span), "message": _message(related.message)}


def _physical(file: str, span: Span) -> dict[str, object]:
    place = {"uri": uri(file)}
    if not place["uri"].startswith("file:"):
        place["uriBaseId"] = _ROOT
    return {"artifactLocation": place, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def _fix(file: str, fix: Fix, purpose: str) -> dict[str, object]:
    change = {
        "artifactLocation": _physical(file, fix.edits[0].span)["artifactLocation"],
        "replacements": [_replacement(edit) for edit in fix.edits],
    }
    return {"description": _message(purpose or "Mend it."), "artifactChanges": [change], "properties": {"safe": fix.safe}}


def _replacement(edit: Edit) -> dict[str, object]:
    # Exact, except for what has no encoding: a lone surrogate would make a reader refuse the whole report.
    text = edit.text.encode("utf-8", "backslashreplace").decode("utf-8")
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": text}}


def _message(*sentences: str) -> dict[str, str]:
    """A message of one line per sentence, in which a name out of a manifest is neither a placeholder nor a link.

    SARIF wants every brace doubled. The readers in use show doubled braces as they are, so only what would be taken for a
    placeholder is doubled; ``{}`` and ``{a: b}`` never are.
    """
    text = "\n".join(visible(sentence) for sentence in sentences if sentence)
    return {"text": _PLACEHOLDER.sub(r"{{\1}}", text).replace("](", "] (")}
