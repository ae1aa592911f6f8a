"""``afflint check --shard`` writes the results of a share of the files; ``afflint merge`` reports on all shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.check_options import CheckOptions, select_options
from afflint.cli.command import Argument, Command
from afflint.cli.options import ConfigOverrides
from afflint.cli.output import ProgressLine, notify, write_or_show
from afflint.cli.reporting import ReportingOptions, check_targets, note_unused_render, notes, report_outcome, report_targets
from afflint.config import RENDERERS
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible
from afflint.source.sources import STDIN, relative

if TYPE_CHECKING:
    from afflint.pipeline.shards import Arguments, Merged, Share


class MergeOptions(NamedTuple):
    """The options of ``afflint merge``; they mean the same as those of ``afflint check``."""

    files: tuple[str, ...]
    render: str | None
    render_network: bool
    offline: bool
    formats: tuple[str, ...]
    outputs: tuple[str, ...]
    statistics: bool
    baseline: str | None
    write_baseline: bool
    no_ignore: bool
    color: str
    quiet: bool
    verbose: bool
    fail_on: str | None
    fail_on_empty: bool
    fail_on_unrendered: bool
    exit_zero: bool
    jobs: int | None
    no_cache: bool
    cache_dir: str | None

    def config_overrides(self, arguments: Arguments) -> ConfigOverrides:
        """Return the options that override the configuration, with those of the shards."""
        return ConfigOverrides(
            arguments.config_file,
            no_config=arguments.config_file is None,
            select=arguments.select,
            extend_select=arguments.extend_select,
            ignore=arguments.ignore,
            nodes=arguments.nodes,
            kubernetes_version=arguments.kubernetes_version,
            render=self.render,
            baseline=self.baseline,
            fail_on=self.fail_on,
            formats=self.formats,
            outputs=self.outputs,
            jobs=self.jobs,
        )

    @property
    def reporting(self) -> ReportingOptions:
        """The options of the report and the exit code."""
        return ReportingOptions(
            self.formats,
            self.outputs,
            statistics=self.statistics,
            write_baseline=self.write_baseline,
            color=self.color,
            quiet=self.quiet,
            verbose=self.verbose,
            fail_on_empty=self.fail_on_empty,
            exit_zero=self.exit_zero,
            fail_on_unrendered=self.fail_on_unrendered,
        )


def merge(args: MergeOptions) -> int:
    """Report the findings of all shards of a run, as a single run would.

    FILE... are the results of all shards, written by check with --shard. Run `afflint
    merge` in the checkout of the shards or in another checkout of the same commit. It checks files again that have changed since.
    With --render, it renders the kustomizations and charts, which no shard does.
    """
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import Merged, rejecting_mismatches

    args.reporting.check()
    merged = Merged(args.files)
    arguments = merged.arguments
    # The shards name the file, not the user.
    config = options.configuration(args.config_overrides(arguments), was_found=True)
    _check_render(args, arguments)
    targets = report_targets(config.format, config.output)
    check_targets(config, args.reporting)
    session = Session(config)
    merged.check_settings(session.settings())
    sources = session.sources(arguments.paths, force_exclude=arguments.force_exclude)
    for note in notes(session):
        notify(f"afflint: {note}")
    with rejecting_mismatches():
        with ProgressLine(len(sources)) as progress:
            merged.set_processes(options.jobs(config.jobs), progress)
            cache = options.cache_folder(args.cache_dir, no_cache=args.no_cache)
            run = options.run_options(config, progress, cache=cache, use_baseline=not args.write_baseline, inline=not args.no_ignore)
            note_unused_render(config)
            checked, run = session.with_renders(sources, run, network=args.render_network, offline=args.offline)
            merged.renders = run.renders is not None
            outcome = session.check(checked, run._replace(mapper=merged))
        for note in _merge_notes(merged):
            notify(f"afflint: {note}")
        return report_outcome(outcome, config, targets, arguments.paths, args.reporting)


def _check_render(args: MergeOptions, arguments: Arguments) -> None:
    """Raise UserError if the shards ran with --render and the merge runs without it.

    The results of the shards cannot turn it on: they may come from elsewhere, and rendering starts programs.
    """
    wanted = tuple(sorted(arguments.render))
    asked = tuple(sorted({name.strip() for name in (args.render or "").split(",") if name.strip()}))
    if wanted and asked != wanted:
        option = "--render" if wanted == tuple(sorted(RENDERERS)) else f"--render={','.join(wanted)}"
        raise UserError(f"the shards ran with {option}; run `afflint merge` with {option}, too")


def _merge_notes(merged: Merged) -> list[str]:
    """Return notices about files that were checked again because the shards did not know their current state."""
    notes = []
    if merged.new_definitions:
        what = "the nodes, node pools or custom resources that the files define have changed since the shards ran"
        if merged.renders:
            what = "the nodes, node pools or custom resources of this run, with those in rendered manifests, are not those of the shards"
        notes.append(f"{what}, so all files were checked again")
    if merged.changed:
        names = ", ".join(map(visible, merged.changed[:3])) + (", …" if len(merged.changed) > 3 else "")
        count = f"{len(merged.changed)} files have" if len(merged.changed) > 1 else "1 file has"
        notes.append(f"{count} changed since the shards ran, and {'were' if len(merged.changed) > 1 else 'was'} checked again: {names}")
    return notes


def write_share(args: CheckOptions, shard: str) -> int:
    """Write the results of a share, which ``shard`` names as ``I/N``, and return the exit code."""
    from afflint.config.trust import renderers
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import lines_of_share

    share = _share(shard)
    _check_options(args)
    (target,) = args.outputs
    config = options.configuration(args.config_overrides._replace(outputs=()))
    arguments = _arguments(args, renderers(config))
    session = Session(config)
    sources = session.sources(arguments.paths, force_exclude=arguments.force_exclude)
    with ProgressLine(len(sources) // share.of) as progress:
        lines = list(lines_of_share(session, sources, share, arguments, options.jobs(config.jobs), progress))
    write_or_show(None if target == "-" else target, lines)
    return 0


def _share(text: str) -> Share:
    from afflint.pipeline.shards import MOST_SHARDS, Share

    number, _, of = text.partition("/")
    if all(each.isascii() and each.isdigit() and len(each) < 9 for each in (number, of)) and 0 < int(number) <= int(of) <= MOST_SHARDS:
        return Share(int(number), int(of))
    raise UserError(f"--shard takes a share and the number of shares, such as 1/8, not {text!r}")


def _check_options(args: CheckOptions) -> None:
    refused = {
        "--fix": args.fix,
        "--diff": args.diff,
        "--unsafe-fixes": args.unsafe_fixes,
        "--kustomize": args.kustomizations,
        "--helm": args.charts,
        "--show-files": args.show_files,
        "--executor": args.executor,
        "--watch": args.watch,
        "--since": args.since,
        "--index": args.from_index,
    }
    of_merge = {
        "--format": args.formats,
        "--fail-on": args.fail_on,
        "--fail-on-empty": args.fail_on_empty,
        "--fail-on-unrendered": args.fail_on_unrendered,
        "--render-network": args.render_network,
        "--offline": args.offline,
        "--exit-zero": args.exit_zero,
        "--baseline": args.baseline,
        "--write-baseline": args.write_baseline,
        "--statistics": args.statistics,
        "--no-ignore": args.no_ignore,
    }
    for option, value in refused.items():
        if value:
            raise UserError(f"--shard cannot be used with {option}")
    for option, value in of_merge.items():
        if value:
            what = "renders nothing" if option in ("--render-network", "--offline") else "writes no report"
            raise UserError(f"--shard {what}: use {option} with `afflint merge`")
    if STDIN in args.paths:
        raise UserError("--shard checks files, not standard input")
    if len(args.outputs) != 1:
        raise UserError("--shard needs one --output FILE for its results; `afflint merge` reads those of all shards")


def _arguments(args: CheckOptions, render: tuple[str, ...]) -> Arguments:
    """Return the options that decide what is read and reported; ``render`` are the tools that `afflint merge` has to start.

    The path of the configuration is relative to the working directory, so that it does not depend on the path of the checkout.
    """
    from afflint.pipeline.shards import Arguments

    file = options.configuration_file(args.config_file, no_config=args.no_config)
    return Arguments(
        args.paths or (".",),
        nodes=args.nodes,
        select=args.select,
        extend_select=args.extend_select,
        ignore=args.ignore,
        config_file=relative(file) if file is not None and args.config_file is None else file,
        kubernetes_version=args.kubernetes_version,
        force_exclude=args.force_exclude,
        render=render,
    )


_OPTIONS = select_options(*MergeOptions._fields)
MERGE = Command(merge, MergeOptions, {"": _OPTIONS}, Argument("files", "FILE...", required=True))
