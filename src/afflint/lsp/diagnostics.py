"""Findings as LSP diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from afflint.checks.registry import rules
from afflint.config import ConfigProblem
from afflint.findings.finding import FileId, Finding
from afflint.findings.repetitions import without_repetitions
from afflint.lsp.capabilities import SOURCE
from afflint.lsp.document import DocumentTexts
from afflint.lsp.rendered import RenderedFolder
from afflint.lsp.text import EditorText
from afflint.lsp.uris import to_uri

_SEVERITIES = {"error": 1, "warning": 2, "info": 3}
_UNNECESSARY = 1


def diagnostics(findings: Iterable[Finding], text: EditorText, texts: DocumentTexts, path: Callable[[FileId], str]) -> list[dict[str, Any]]:
    """Return the diagnostics of one text in document order; ``path`` returns the path of a related file."""
    ordered = sorted(without_repetitions(findings), key=lambda each: (each.span, each.rule, each.message))
    return [_diagnostic(each, text, texts, path) for each in ordered]


def _diagnostic(finding: Finding, text: EditorText, texts: DocumentTexts, path: Callable[[FileId], str]) -> dict[str, Any]:
    diagnostic: dict[str, Any] = {
        "range": text.range_of(finding.span),
        "severity": _SEVERITIES[finding.severity],
        "code": finding.rule,
        "source": SOURCE,
        "message": finding.message,
    }
    if finding.category != "policy":
        diagnostic["codeDescription"] = {"href": page_uri(finding.rule)}
    if finding.rule == "unused-suppression":
        diagnostic["tags"] = [_UNNECESSARY]
    if finding.related:
        locations = [(path(each.source), each) for each in finding.related]
        diagnostic["relatedInformation"] = [
            {"location": {"uri": texts.uri(where), "range": texts.read(where).range_of(each.span)}, "message": each.message}
            for where, each in locations
        ]
    return diagnostic


def unopened_diagnostics(
    plain: Mapping[str, list[Any]], rendered: RenderedFolder, texts: DocumentTexts, wanted: Callable[[list[Finding]], list[Finding]]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the diagnostics of the files that are not open, by URI: ``plain`` are those without rendering, ``wanted`` selects findings."""
    changed = {texts.uri(each.path): each for each in rendered.files}
    yield from ((uri, items) for uri, items in plain.items() if uri not in changed)
    for uri, file in changed.items():
        text = texts.read(file.path)
        replaced = [(each.identity.rule, text.range_of(each.span)) for each in file.replaced]
        own = [each for each in plain.get(uri, ()) if (each["code"], each["range"]) not in replaced]
        items = [*own, *diagnostics(wanted(list(file.added)), text, texts, rendered.path)]
        if items:
            yield uri, items


def configuration_diagnostics(problems: Iterable[ConfigProblem], text: EditorText) -> list[dict[str, Any]]:
    """Return the diagnostics of an open configuration file."""
    return [
        {"range": text.range_of(each.span), "severity": 1, "code": "configuration", "source": SOURCE, "message": each.message}
        for each in problems
    ]


TOO_LARGE = "larger than 1 MB and not checked while it is open; run `afflint check` on it"


def too_large_diagnostic() -> dict[str, Any]:
    """Return the diagnostic of an open document that is too large."""
    start = {"line": 0, "character": 0}
    return {
        "range": {"start": start, "end": start},
        "severity": _SEVERITIES["info"],
        "code": "too-large",
        "source": SOURCE,
        "message": TOO_LARGE,
    }


def page_uri(rule: str) -> str:
    """Return the URI of the page of a built-in rule."""
    return to_uri(rules()[rule].path)
