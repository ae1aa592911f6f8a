"""What a report has to show: findings, the numbers of the run, and the metadata of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from afflint.findings.coverage import Coverage
from afflint.findings.finding import SEVERITIES, FileId, Finding, Severity
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.report.html_page import PageMetadata


class RuleInfo(NamedTuple):
    """The metadata of a rule that reports use; ``page`` is the Markdown body of its page."""

    name: str
    category: str
    severity: Severity
    summary: str
    help: str
    page: str


class RenderSummary(NamedTuple):
    """How many kustomizations and charts were rendered; ``failed`` has the tool, the name and the reason of each failure."""

    kustomizations: int
    charts: int
    failed: tuple[tuple[str, str, str], ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    """The charts that were rendered without a dependency, with the name of the dependency."""
    unread: tuple[tuple[str, str], ...] = ()
    """The objects whose render roots cannot be determined, such as an ApplicationSet with a cluster generator, with the reason."""


class Summary(NamedTuple):
    """The numbers of a run.

    ``templated``: Go-templated files that were skipped; ``literal``: those in which only the literal constraints were checked;
    ``filled``: files with template placeholders; ``unread``: files that could not be read;
    ``passed``: the kinds that were skipped, with the number of documents of each, the most frequent first.
    ``empty``: the files given by name that contain no document of any kind. ``fixed``: findings that were fixed;
    ``uncovered``: the rules of those that only appeared then.
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
    uncovered: tuple[str, ...] = ()
    renders: RenderSummary | None = None
    """What was rendered, if that was requested."""
    custom: tuple[tuple[str, int], ...] = ()
    """The kinds of custom resources, each with the source of its pod template paths, and the number of resources."""
    literal: int = 0
    coverage: Coverage = Coverage()
    missing_tools: tuple[str, ...] = ()
    """The programs that could render what was not seen and are not installed."""
    skipped_files: tuple[tuple[str, int], ...] = ()
    """What the skipped files are, such as ``encrypted by SOPS``, with the number of files, the most frequent first."""
    overlooked: tuple[str, ...] = ()
    """The names of the files with placement values that no rule has read."""
    clusters: tuple[tuple[str, int], ...] = ()
    """The folders of several clusters, each with the number of its nodes."""

    @property
    def counts(self) -> list[tuple[int, str]]:
        """Return the number of findings of each severity that occurs, the most severe first."""
        return [count for count in zip((self.errors, self.warnings, self.info), SEVERITIES, strict=True) if count[0]]

    @property
    def found(self) -> str:
        """Return ``1 error, 2 warnings``, or ``no findings``."""
        from afflint.findings.phrases import pluralize

        return ", ".join(pluralize(*count) for count in self.counts) or "no findings"

    @property
    def is_partial(self) -> bool:
        """Whether files with manifests or placement values were not read."""
        return bool(self.unread or self.encrypted or self.overlooked)

    @property
    def encrypted(self) -> int:
        """Return the number of encrypted files."""
        return sum(number for reason, number in self.skipped_files if reason.startswith("encrypted"))

    @property
    def skipped(self) -> int:
        """Return the number of documents of other kinds."""
        return sum(number for _, number in self.passed)


class Report(NamedTuple):
    """Everything that a format may print.

    ``findings`` are sorted, without suppressed ones. ``rules`` is called only by formats that print rule metadata. ``source`` returns the
    text of a file by its number, in which spans count lines and columns; None if the file cannot be read.
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
    has_rules: bool = True
    """Whether any rule or policy is selected."""
    made: PageMetadata | None = None
    """When and how an HTML page was made."""

    def fixable(self, finding: Finding) -> bool:
        """Return whether `--fix`, with `--unsafe-fixes` if that is set, would fix a finding."""
        return finding.fix is not None and (finding.fix.safe or self.unsafe)
