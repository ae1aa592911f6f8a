"""Markdown for job summaries and for comments on pull or merge requests: a table, errors first, within the size limit of a comment.

Text from manifests and file names is untrusted: it could end the table, add links and pictures, and mention users by ``@name``.
Everything that Markdown or HTML would interpret is escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from afflint.findings.coverage import WorkloadSource
from afflint.findings.finding import SEVERITIES, Finding
from afflint.findings.phrases import pluralize, visible
from afflint.report.model import Report
from afflint.report.paths import slashed
from afflint.report.phrases import object_words
from afflint.report.text import summary_lines

MOST_BYTES = 65_000
"""A comment on GitHub has at most 65,536 characters; job summaries (1 MiB) and comments on GitLab may be longer."""

_LONGEST = 600
"""The longest message, help or file name that is shown, in characters."""
_RELATED = 3
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$^\"'=]")
# What becomes a link or a mention without any of these characters.
_CALLS = re.compile(r"[@!~$%&](?=\w)|#(?=\d)|(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_NOTHING = "&#8203;"


def render(report: Report) -> Iterator[str]:
    """Yield a heading, a table with a row per finding, and the summary. Findings beyond the size limit are counted."""
    yield f"### afflint: {report.summary.found}\n\n"
    closing = "" if report.quiet else "\n".join(f"{prose(line)}<br>" for line in summary_lines(report)).removesuffix("<br>") + "\n"
    if not report.quiet:
        closing += "".join(_not_seen(report.summary.coverage.not_seen))
    if report.findings:
        yield from _table(report, MOST_BYTES - len(closing.encode()))
    yield closing


def _not_seen(sources: Sequence[WorkloadSource]) -> Iterator[str]:
    """Yield a collapsed list of the sources of workloads that were not seen, up to a share of the size limit."""
    if not sources:
        return
    yield f"\n<details><summary>Not checked: {len(sources)}</summary>\n\n"
    room = MOST_BYTES // 4
    for number, source in enumerate(sources):
        row = f"- {code(slashed(source.file))}: {prose(source.message)}\n"
        room -= len(row.encode())
        if room < 0:
            yield f"- and {len(sources) - number} more\n"
            break
        yield row
    yield "\n</details>\n"


def _table(report: Report, room: int) -> Iterator[str]:
    """Yield the rows that fit into ``room`` bytes, and how many more there are."""
    head = "| | Where | What | Rule |\n|---|---|---|---|\n"
    room -= len(head) + 300  # The heading, and the line about the rest.
    yield head
    ordered = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    for number, finding in enumerate(ordered):
        severity = f"**{finding.severity}**" if finding.severity == "error" else finding.severity
        cells = (severity, code(f"{slashed(finding.file)}:{finding.span.line}"), "<br>".join(_words(finding)), code(finding.rule))
        row = f"| {' | '.join(cells)} |\n"
        room -= len(row.encode())
        if room < 0:
            counts = Counter(finding.severity for finding in ordered[number:])
            rest = ", ".join(pluralize(counts[each], each) for each in SEVERITIES if counts[each])
            yield f"\n**And {len(ordered) - number} more: {rest}.**\n"
            break
        yield row
    yield "\n"


def _words(finding: Finding) -> Iterator[str]:
    yield prose(finding.message)
    if about := object_words(finding.object):
        yield f"<sub>{prose(about)}</sub>"
    if finding.help:
        yield f"*Help:* {prose(finding.help)}"
    if finding.rendered:
        more = f" and {len(finding.rendered) - _RELATED} more" if len(finding.rendered) > _RELATED else ""
        yield f"*Rendered in:* {', '.join(code(slashed(each)) for each in finding.rendered[:_RELATED])}{more}"
    if finding.fix is not None:
        yield f"*Fixed by* {code('--fix' if finding.fix.safe else '--fix --unsafe-fixes')}"
    for related in finding.related[:_RELATED]:
        yield f"*Note:* {prose(related.message)}, {code(f'{slashed(related.file)}:{related.span.line}')}"


def prose(text: str) -> str:
    """Return a sentence with the text in backticks as code, in which nothing becomes a link or a mention."""
    parts = _cut(text).split("`")
    if len(parts) % 2 == 0:  # An unpaired backtick.
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(code(part) if number % 2 else _escaped(_CALLS.sub("\\g<0>\u200b", part)) for number, part in enumerate(parts) if part)


def code(text: str) -> str:
    """Return a text as code, in which nothing is Markdown or HTML."""
    return f"<code>{_escaped(_cut(text))}</code>"


def _cut(text: str) -> str:
    text = visible(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _escaped(text: str) -> str:
    """Replace special characters by numeric references, which are never Markdown or HTML syntax."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text).replace("\u200b", _NOTHING)
