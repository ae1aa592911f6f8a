"""JUnit XML as Ant wrote it: one suite per file, one failed test case per finding, whatever its severity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from afflint.findings.finding import Finding
from afflint.findings.phrases import visible
from afflint.report.model import Report
from afflint.report.phrases import object_words, roots

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_PASSED = '    <testcase name="check" classname="afflint" time="0"/>\n'


def render(report: Report) -> Iterator[str]:
    """Yield the suites in report order; a report without findings is one suite with one test case that passes.

    The schema requires a time and a host: both are fixed, so that the same findings give the same bytes.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    if not report.findings:
        yield _suite(0, "afflint", tests=1, failures=0) + _PASSED + _SUITE_END
    for number, (file, group) in enumerate(groupby(report.findings, key=lambda finding: finding.file)):
        findings = list(group)
        yield _suite(number, file, tests=len(findings), failures=len(findings))
        # Readers merge test cases with the same name, so that repeated names are numbered; the findings are sorted.
        for name, same in groupby(findings, key=lambda finding: f"{finding.rule} at {finding.span.line}:{finding.span.column}"):
            yield from (_case(finding, name if place == 1 else f"{name} ({place})") for place, finding in enumerate(same, 1))
        yield _SUITE_END
    yield "</testsuites>\n"


def _suite(number: int, name: str, *, tests: int, failures: int) -> str:
    return (
        f'  <testsuite name="{_xml(name)}" package="afflint" id="{number}" timestamp="1970-01-01T00:00:00" hostname="localhost"'
        f' tests="{tests}" failures="{failures}" errors="0" time="0">\n    <properties/>\n'
    )


_SUITE_END = "    <system-out/>\n    <system-err/>\n  </testsuite>\n"


def _case(finding: Finding, name: str) -> str:
    body = "\n".join(_xml(line) for line in _body(finding))
    return (
        f'    <testcase name="{_xml(name)}" classname="{_xml(finding.file)}" time="0">\n'
        f'      <failure message="{_xml(finding.message)}" type="{finding.severity}">{body}</failure>\n    </testcase>\n'
    )


def _body(finding: Finding) -> Iterator[str]:
    yield f"{finding.file}:{finding.span.line}:{finding.span.column}: {finding.message}"
    for label, value in (("object", object_words(finding.object)), ("field", finding.field), ("help", finding.help)):
        if value:
            yield f"{label}: {value}"
    if finding.rendered:
        yield f"rendered: {roots(finding.rendered, None)}"
    for related in finding.related:
        yield f"{related.file}:{related.span.line}:{related.span.column}: {related.message}"


def _xml(text: str) -> str:
    """Escape ``text`` for an attribute or an element, without characters that XML 1.0 does not allow."""
    return visible(text).translate(_ENTITIES)
