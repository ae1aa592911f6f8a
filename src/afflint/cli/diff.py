"""``afflint diff``: what a change does to the findings and to the placement of workloads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.check_options import select_options
from afflint.cli.command import MULTIPLE, Argument, Command, flag, option
from afflint.cli.output import FOUND, ProgressLine, colored, write_or_show
from afflint.cli.place import COMMAND as PLACE
from afflint.cli.place import parse_counts
from afflint.cli.reporting import note_unused_render
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES
from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.changes.git import Range, Repository
    from afflint.findings.finding import Severity
    from afflint.report.changes.model import ChangeReport

_FORMATS = ("text", "json", "markdown", "html")


class DiffOptions(NamedTuple):
    """The options of ``afflint diff``."""

    arguments: tuple[str, ...]
    nodes: tuple[str, ...]
    counts: tuple[str, ...]
    pods: tuple[str, ...]
    render: str | None
    render_network: bool
    offline: bool
    no_placement: bool
    no_resources: bool
    only_running: bool
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    kubernetes_version: str | None
    config_file: str | None
    no_config: bool
    formats: tuple[str, ...]
    outputs: tuple[str, ...]
    baseline: str | None
    color: str
    fail_on: str | None
    exit_zero: bool
    jobs: int | None
    no_cache: bool
    cache_dir: str | None

    @property
    def config_overrides(self) -> options.ConfigOverrides:
        """The options that select and override the configuration."""
        return options.ConfigOverrides(
            self.config_file,
            self.no_config,
            select=self.select,
            extend_select=self.extend_select,
            ignore=self.ignore,
            nodes=self.nodes,
            kubernetes_version=self.kubernetes_version,
            render=self.render,
            baseline=self.baseline,
            fail_on=self.fail_on,
            jobs=self.jobs,
        )


def diff(args: DiffOptions) -> int:
    """Show what a change does: new and fixed findings, and workloads whose placement is different.

    The first argument may be a ref: REF compares the commit where the work tree branched off from REF with the work tree; A..B compares
    two commits; A...B compares B with the commit where it branched off from A. Default: the default branch and the work tree. The other
    arguments are the files, folders and globs to compare. Default: the current folder.

    Exits with 1 if there are new findings at or above --fail-on; a placement that got worse counts as a warning.
    """
    from afflint.changes.comparison import DiffRequest, compare_sides
    from afflint.changes.git import Repository
    from afflint.changes.sides import opened
    from afflint.pipeline.session import Session

    targets = _targets(args)
    options.check_choice("--color", args.color, options.COLORS)
    config = options.configuration(args.config_overrides)
    config_file = options.configuration_file(args.config_file, no_config=args.no_config)
    session = Session(config)
    note_unused_render(config)
    ref, paths = _arguments(Repository(os.getcwd()), args.arguments)
    request = DiffRequest(
        args.pods,
        parse_counts(args.counts),
        args.render_network,
        args.offline,
        placement=not args.no_placement,
        resources=not args.no_resources,
        only_running=args.only_running,
    )

    def asked(repository: Repository) -> Range:
        return repository.range_of(ref)

    load = options.configuration_of_state(args.config_overrides)
    with ProgressLine(0) as progress, opened(session, asked, paths, (config_file, *args.pods), load=load) as sides:
        run = options.run_options(config, progress, cache=options.cache_folder(args.cache_dir, no_cache=args.no_cache))
        report = compare_sides(sides, run, request)
        with sides.head.entered():
            _write(report, targets, args.color)
    return FOUND if _fails(report, config.fail_on) and not args.exit_zero else 0


def _arguments(repository: Repository, arguments: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the ref among the arguments, if the first is one, and the paths."""
    if not arguments:
        return None, (".",)
    first, rest = arguments[0], arguments[1:]
    if ".." in first and not os.path.lexists(first):
        return first, rest or (".",)
    is_ref, is_path = repository.find_commit(first) is not None, os.path.lexists(first)
    if is_ref and is_path:
        raise UserError(f"{first!r} is a ref and a file: write `./{first}` for the file, or `{first}..` for the ref")
    if is_ref:
        return first, rest or (".",)
    if is_path or any(character in first for character in "*?["):
        return None, arguments
    repository.commit(first)  # Raises an error that names the nearest ref.
    raise AssertionError


def _targets(args: DiffOptions) -> list[tuple[str, str | None]]:
    """Return each report format with the absolute path of its file; None for standard output. Raises UserError."""
    from afflint.cli.reporting import report_targets

    found = report_targets(args.formats, args.outputs, _FORMATS)
    return [(name, None if target == "-" else os.path.abspath(target)) for name, target in found]


def _write(report: ChangeReport, targets: list[tuple[str, str | None]], color: str) -> None:
    for name, target in targets:
        write_or_show(target, _chunks(name, report, color=target is None and colored(color)))


def _chunks(name: str, report: ChangeReport, *, color: bool) -> Iterator[str]:
    if name == "json":
        from afflint.report.changes import json_report

        return json_report.render(report)
    if name == "markdown":
        from afflint.report.changes import markdown

        return markdown.render(report)
    if name == "html":
        from afflint.cli.page_metadata import page_metadata
        from afflint.report.changes import page

        return iter([page.render(report._replace(made=page_metadata()))])
    from afflint.report.changes import text

    return text.render(report, color=color)


def _fails(report: ChangeReport, fail_on: Severity) -> bool:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(each.severity in failing for each in report.new) or (report.placement.worse and "warning" in failing)


_SECTIONS = {
    "Input": (
        options.nodes,
        *PLACE.select("counts", "pods"),
        *select_options("render", "render_network", "offline"),
    ),
    "Placement": (
        flag("--no-placement", help_text="Compare findings only."),
        *PLACE.select("no_resources", "only_running"),
    ),
    "Rules and configuration": (*select_options("select", "extend_select", "ignore", "kubernetes_version"), *options.configured),
    "Output": (
        option(
            "--format",
            dest="formats",
            metavar="FORMAT",
            kind=MULTIPLE,
            completion=options.word_completion(_FORMATS),
            help_text="Report as text (default), json, markdown or html.",
        ),
        *select_options("outputs", "baseline"),
        options.color,
    ),
    "Exit code": select_options("fail_on", "exit_zero"),
    "Execution": select_options("jobs", "no_cache", "cache_dir"),
}
COMMAND = Command(
    diff,
    DiffOptions,
    _SECTIONS,
    Argument("arguments", "[REF[..REF]] [PATHS]...", options.file),
    "Show what a change does to findings and placement.",
)
