"""``afflint diff``: what a change does to the findings and to the placement of workloads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FILE, MULTIPLE, Command, argument, flag, option
from afflint.cli.options import ConfigOverrides, ExecutionOptions, RulesAndConfiguration
from afflint.cli.output import FOUND, ProgressLine, colored, format_module, page_metadata, write_or_show
from afflint.cli.place import COUNTS, NO_RESOURCES, ONLY_RUNNING, PODS, parse_counts
from afflint.cli.reporting import note_unused_render, report_targets
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES

if TYPE_CHECKING:
    from afflint.changes.git import Range, Repository
    from afflint.findings.finding import Severity
    from afflint.report.changes.model import ChangeReport

_FORMATS = ("text", "json", "markdown", "html")


class DiffInput(ConfigOverrides, heading="Input"):
    nodes = options.NODES
    counts = COUNTS
    pods = PODS
    render = options.RENDER
    render_network = options.RENDER_NETWORK
    offline = options.OFFLINE


class DiffPlacement(ConfigOverrides, heading="Placement"):
    no_placement: bool = flag("--no-placement", help_text="Compare findings only.")
    no_resources = NO_RESOURCES
    only_running = ONLY_RUNNING


class DiffOutput(ConfigOverrides, heading="Output"):
    formats = option(
        "--format", metavar="FORMAT", kind=MULTIPLE, completion=_FORMATS, help_text="Report as text (default), json, markdown or html."
    )
    outputs = options.OUTPUTS
    baseline = options.BASELINE
    color = options.COLOR


class DiffExitCode(ConfigOverrides, heading="Exit code"):
    fail_on = options.FAIL_ON
    exit_zero = options.EXIT_ZERO


class DiffOptions(DiffInput, DiffPlacement, RulesAndConfiguration, DiffOutput, DiffExitCode, ExecutionOptions):
    """The options of ``afflint diff``."""

    arguments: tuple[str, ...] = argument("[REF[..REF]] [PATHS]...", FILE)


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
    from afflint.simulation.inputs import PlaceRequest

    targets = _targets(args)
    config = options.configuration(args)
    config_file = options.configuration_file(args.config_file, no_config=args.no_config)
    session = Session(config)
    note_unused_render(config)
    ref, paths = _arguments(Repository(os.getcwd()), args.arguments)
    request = DiffRequest(
        args.pods,
        args.render_network,
        args.offline,
        not args.no_placement,
        PlaceRequest(resources=not args.no_resources, only_running=args.only_running, counts=parse_counts(args.counts)),
    )

    def asked(repository: Repository) -> Range:
        return repository.range_of(ref)

    load = options.configuration_of_state(args)
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
    found = report_targets(args.formats, args.outputs, _FORMATS)
    return [(name, None if target == "-" else os.path.abspath(target)) for name, target in found]


def _write(report: ChangeReport, targets: list[tuple[str, str | None]], color: str) -> None:
    for name, target in targets:
        write_or_show(target, _chunks(name, report, color=target is None and colored(color)))


def _chunks(name: str, report: ChangeReport, *, color: bool) -> Iterator[str]:
    module = format_module("changes", name)
    if name == "html":
        return iter([module.render(report._replace(made=page_metadata()))])
    chunks: Iterator[str] = module.render(report, color=color) if name == "text" else module.render(report)
    return chunks


def _fails(report: ChangeReport, fail_on: Severity) -> bool:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(each.severity in failing for each in report.new) or (report.placement.worse and "warning" in failing)


COMMAND = Command(diff, DiffOptions, "Show what a change does to findings and placement.")
