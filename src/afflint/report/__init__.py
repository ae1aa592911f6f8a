"""The report formats: findings in, chunks of text out. A format's module is imported only when that format is asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.findings.finding import SEVERITIES, FileId, Finding, Severity
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.report.html_page import PageMetadata

FORMATS: tuple[str, ...] = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html")


class RuleInfo(NamedTuple):
    """What a report may say about a rule; ``page`` is the Markdown body of its page."""

    name: str
    category: str
    severity: Severity
    summary: str
    help: str
    page: str


class RenderSummary(NamedTuple):
    """How many kustomizations and charts were rendered for a run; of those that were not the tool, the name and the reason."""

    kustomizations: int
    charts: int
    failed: tuple[tuple[str, str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    """The charts that were rendered without one that they need, with the name of that one."""
    unread: tuple[tuple[str, str], ...] = ()
    """What names roots in a way that is not understood, such as an ApplicationSet with generators of clusters, and why."""


class Summary(NamedTuple):
    """What a run read and found.

    ``templated``: Go-templated files skipped; ``filled``: files read with placeholders of a template in them; ``unread``: files that could
    not be read; ``passed``: the kinds that were passed over, with the number of documents of each, the most frequent first.
    ``empty``: the files named one by one that hold no document of any kind. ``fixed``: findings that were mended, and are none any more.
    """

    files: int
    documents: int
    errors: int
    warnings: int
    info: int
    suppressed: int
    templated: int
    unread: int
    filled: int = 0
    passed: tuple[tuple[str, int], ...] = ()
    empty: tuple[str, ...] = ()
    fixed: int = 0
    renders: RenderSummary | None = None
    """What was rendered, where that was asked for."""
    custom: tuple[tuple[str, int], ...] = ()
    """The kinds of custom resources with what says where each places pods, and the number of resources."""

    @property
    def counts(self) -> list[tuple[int, str]]:
        """How many findings there are of each severity that occurs, the most severe first."""
        return [each for each in zip((self.errors, self.warnings, self.info), SEVERITIES, strict=True) if each[0]]

    @property
    def found(self) -> str:
        """``1 error, 2 warnings``, or ``no findings``."""
        from afflint.findings.phrases import pluralize

        return ", ".join(pluralize(*each) for each in self.counts) or "no findings"

    @property
    def passed_over(self) -> int:
        """How many documents were passed over."""
        return sum(number for _, number in self.passed)


class Report(NamedTuple):
    """Everything a format may print.

    ``findings`` are sorted and rid of the suppressed ones. ``rules`` is called only by formats that print rule metadata.
    ``source`` gives the text in which the spans of a file, known by its number, count their lines and columns; None when it cannot be had.
    """

    findings: Sequence[Finding]
    summary: Summary
    rules: Callable[[], Sequence[RuleInfo]]
    source: Callable[[FileId], str | None]
    version: str
    verbose: bool
    quiet: bool
    unsafe: bool = False
    """Whether unsafe fixes count as fixes."""
    made: "PageMetadata | None" = None
    """What a page says about its making."""

    def fixable(self, finding: Finding) -> bool:
        """Whether `--fix` (with `--unsafe-fixes` where that was asked for) would mend a finding."""
        return finding.fix is not None and (finding.fix.safe or self.unsafe)


def render(format: str, report: Report, *, color: bool = False) -> Iterator[str]:  # noqa: A002 (the name of the option)
    """Chunks that joined are ``report`` in one of FORMATS, and end with a newline unless there is nothing to say.

    Only ``text`` has colours. Every chunk can be encoded as UTF-8, whatever the findings hold.
    """
    if format == "text":
        from afflint.report import text

        return text.render(report, color=color)
    if format == "concise":
        from afflint.report import concise

        return concise.render(report)
    if format == "json":
        from afflint.report import json_report

        return json_report.render(report)
    if format == "sarif":
        from afflint.report import sarif

        return sarif.render(report)
    if format == "github":
        from afflint.report import github

        return github.render(report)
    if format == "gitlab":
        from afflint.report import gitlab

        return gitlab.render(report)
    if format == "junit":
        from afflint.report import junit

        return junit.render(report)
    if format == "markdown":
        from afflint.report import markdown

        return markdown.render(report)
    if format == "html":
        from afflint.report import check_page

        return check_page.render(report)
    raise ValueError(f"no report format is called {format!r}; there are {', '.join(FORMATS)}")
