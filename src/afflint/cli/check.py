"""``afflint check``: lint manifests and report the findings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from afflint.cli.check_options import CheckOptions
from afflint.cli.command import Command
from afflint.cli.options import cache_folder, configuration, configuration_file, configuration_of_state, run_options
from afflint.cli.output import FOUND, USAGE, ProgressLine, colored, notify, show, show_bytes
from afflint.cli.reporting import check_targets, note_unused_render, notes, report_outcome, report_targets
from afflint.findings.errors import UserError
from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from afflint.fix.rounds import FixOutcome
    from afflint.pipeline.options import Options
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session
    from afflint.source.sources import Source
    from afflint.workers import DaskCluster


def check(args: CheckOptions) -> int:
    """Lint manifests: files, folders, globs or '-'. Default: the current folder."""
    if args.executor is None:
        return _run(args, None)
    from afflint.workers import DaskCluster, address

    cluster = DaskCluster(address(args.executor))
    try:
        return _run(args, cluster)
    finally:
        cluster.close()


def _run(args: CheckOptions, cluster: DaskCluster | None) -> int:
    if not args.watch:
        return _run_once(args, cluster)
    from afflint.cli.watch import watch_and_check

    return watch_and_check(args, lambda on_outcome: _run_once(args, cluster, on_outcome))


def _run_once(args: CheckOptions, cluster: DaskCluster | None, on_outcome: Callable[[Outcome], None] | None = None) -> int:
    from afflint.pipeline.session import Session

    _check_combinations(args)
    config = configuration(args)
    targets = report_targets(config.format, config.output)
    check_targets(config, args, writes_report=not (args.diff or args.show_files))
    if args.render and (args.fix or args.diff):
        raise UserError("--fix and --diff change source files, and cannot be used with --render")
    if args.from_index:
        return _check_index(Session(config), args, cluster, targets)
    if args.since is not None:
        _check_alone("--since", args)
    session = Session(config)
    sources = _sources(session, args)
    if args.show_files:
        return _show_files(sources)
    for note in notes(session):
        notify(f"afflint: {note}")
    if args.fix or args.diff:
        fixed = _fix(session, sources, args, cluster)
        if args.diff:
            return _show_diff(fixed, args)
        outcome, unwritten = _write_fixes(session, sources, fixed, args, cluster)
    else:
        outcome, unwritten = _outcome(session, sources, args, cluster), False
    # The fixed text of standard input is written to standard output, as editors expect; the report goes to standard error.
    to_stderr = args.fix and session.stdin is not None
    if on_outcome is not None:
        on_outcome(outcome)
    code = report_outcome(outcome, config, targets, args, to_stderr=to_stderr)
    return USAGE if unwritten else code


def _check_combinations(args: CheckOptions) -> None:
    """Raise UserError, before anything is read, for options that cannot be combined."""
    report_targets(args.formats, args.outputs)
    if args.statistics and (args.formats or args.outputs):
        raise UserError("--statistics cannot be used with --format or --output")
    if args.diff and (args.formats or args.outputs or args.statistics or args.write_baseline):
        raise UserError("--diff cannot be used with --format, --output, --statistics or --write-baseline")


def _sources(session: Session, args: CheckOptions) -> list[Source]:
    """Return the sources of the paths, and of the kustomizations and charts that --kustomize and --helm name."""
    rendered: list[Source] = []
    if args.kustomizations or args.charts or args.values:
        if args.values and not args.charts:
            raise UserError("--values FILE needs --helm CHART")
        rendered = session.rendered(args.kustomizations, args.charts, args.values)
        if session.missing_dependencies:
            from afflint.report.coverage import missing_dependencies_line

            notify(f"afflint: {missing_dependencies_line(session.missing_dependencies)}")
    named = args.paths or (() if rendered else (".",))
    return session.sources(named, rendered, stdin_name=args.stdin_filename, force_exclude=args.force_exclude)


def _outcome(session: Session, sources: Sequence[Source], args: CheckOptions, cluster: DaskCluster | None) -> Outcome:
    with ProgressLine(len(sources)) as progress:
        options = _run_options(session, args, cluster, progress)
        if not args.fix:
            note_unused_render(session.config)
            if args.since is not None:
                return _outcome_since(session, args, args.since, options)
            sources, options = session.with_renders(sources, options, network=args.render_network, offline=args.offline)
        return session.check(sources, options)


def _show_files(sources: Sequence[Source]) -> int:
    show(f"{visible(source.name)}\n" for source in sources)
    return 0


def _check_index(session: Session, args: CheckOptions, cluster: DaskCluster | None, targets: list[tuple[str, str]]) -> int:
    """Check the files of the index instead of those of the work tree, and return the exit code."""
    from afflint.changes.sides import Rendering, opened_index, shared_mapper

    _check_alone("--index", args, **{"--since": args.since, "standard input (`-`)": "-" in args.paths})
    config_file = configuration_file(args.config_file, no_config=args.no_config)
    with ProgressLine(0) as progress, opened_index(session, args.paths or (".",), config_file, force_exclude=args.force_exclude) as index:
        options = _run_options(session, args, cluster, progress)
        with index.entered() as moved:
            if args.show_files:
                return _show_files(index.sources())
            options = options._replace(mapper=shared_mapper((index,), options, placing=False))
            index.render(options, Rendering(args.render_network, args.offline))
            outcome = index.check(options)
        for note in (*notes(moved), *index.notes):
            notify(f"afflint: {visible(note)}")
        note_unused_render(session.config)
        # The source lines of findings are read while the files of the index exist.
        return report_outcome(outcome, session.config, targets, args)


def _check_alone(option: str, args: CheckOptions, **more: object) -> None:
    """Raise UserError for options that --since or --index cannot be used with."""
    excluded = {
        "--fix": args.fix,
        "--diff": args.diff,
        "--write-baseline": args.write_baseline,
        "--kustomize": args.kustomizations,
        "--helm": args.charts,
        "--stdin-filename": args.stdin_filename is not None,
        **more,
    }
    named = next((name for name, given in excluded.items() if given), None)
    if named is not None:
        raise UserError(f"{option} cannot be used with {named}" + ("; use --render" if named in ("--kustomize", "--helm") else ""))


def _outcome_since(session: Session, args: CheckOptions, ref: str, options: Options) -> Outcome:
    from afflint.changes.sides import outcome_since

    config_file = configuration_file(args.config_file, no_config=args.no_config)
    outcome, skipped = outcome_since(
        session,
        ref,
        args.paths or (".",),
        options,
        config_file,
        load=configuration_of_state(args),
        network=args.render_network,
        offline=args.offline,
        force_exclude=args.force_exclude,
    )
    for note in skipped:
        notify(f"afflint: {visible(note)}")
    return outcome


def _fix(session: Session, sources: Sequence[Source], args: CheckOptions, cluster: DaskCluster | None) -> FixOutcome:
    from afflint.fix.rounds import fix_files

    with ProgressLine(len(sources)) as progress:
        options = _run_options(session, args, cluster, progress)
        return fix_files(session, sources, options, unsafe=args.unsafe_fixes, tops=args.paths or (".",))


def _run_options(session: Session, args: CheckOptions, cluster: DaskCluster | None, progress: ProgressLine) -> Options:
    cache = cache_folder(args.cache_dir, no_cache=args.no_cache)
    options = run_options(session.config, progress, cache=cache, use_baseline=not args.write_baseline, inline=not args.no_ignore)
    options = options._replace(cluster=cluster)
    if not args.crds:
        return options
    from afflint.source.sources import discover

    # Raises UserError at once if a path does not exist. The paths are absolute, because commits are checked in another folder.
    files = [each._replace(path=os.path.abspath(each.path)) for each in discover(args.crds)]
    return options._replace(definitions=lambda: files)


def _show_diff(fixed: FixOutcome, args: CheckOptions) -> int:
    """Print the changes as a diff, and a summary on standard error; return the exit code."""
    from afflint.cli.fixes import diff, patch, would_fix

    if (color := colored(args.color)) or (sys.stdout is not None and sys.stdout.isatty()):
        show(diff(fixed, color))
    else:
        show_bytes(b"".join(patch(fixed)))
    _notify_unchanged(fixed)
    if not args.quiet:
        notify(would_fix(fixed, unsafe=args.unsafe_fixes))
    return FOUND if fixed.changes and not args.exit_zero else 0


def _write_fixes(
    session: Session, sources: Sequence[Source], fixed: FixOutcome, args: CheckOptions, cluster: DaskCluster | None
) -> tuple[Outcome, bool]:
    """Write the fixes; return the outcome afterwards, and whether some files could not be written."""
    from afflint.cli.fixes import write_fixes

    _notify_unchanged(fixed)
    problems = write_fixes(fixed, session.stdin)
    for problem in problems:
        notify(f"afflint: {visible(problem)}")
    # Some files were not written: check again what is on disk.
    outcome = _outcome(session, sources, args, cluster) if problems else fixed.outcome
    gone, new = fixed.compared(outcome)
    summary = outcome.summary._replace(fixed=len(gone), uncovered=tuple(sorted(each.rule for each in new)))
    return outcome._replace(summary=summary), bool(problems)


def _notify_unchanged(fixed: FixOutcome) -> None:
    for name, reason in fixed.skipped:
        notify(f"afflint: {visible(name)} is left unchanged: {reason}")


COMMAND = Command(check, CheckOptions)
