"""``afflint check --shard`` writes the results of a share of the files; ``afflint merge`` reports on all shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from afflint.cli import check as checking
from afflint.cli import options
from afflint.cli.command import Argument, Command
from afflint.cli.output import ProgressLine, notify, write_or_show
from afflint.findings.errors import UserError
from afflint.findings.phrases import visible
from afflint.source.sources import STDIN, relative

if TYPE_CHECKING:
    from afflint.pipeline.shards import Arguments, Merged, Share

_OF_THE_REPORT = (
    *("formats", "outputs", "fail_on", "fail_on_empty", "exit_zero", "baseline", "write_baseline", "statistics", "no_ignore"),
    *("jobs", "color", "quiet", "verbose"),
)
"""The options of `check` that `merge` has as well."""

_ONLY_WITH_MERGE = {
    "formats": "--format",
    "fail_on": "--fail-on",
    "fail_on_empty": "--fail-on-empty",
    "exit_zero": "--exit-zero",
    "baseline": "--baseline",
    "write_baseline": "--write-baseline",
    "statistics": "--statistics",
    "no_ignore": "--no-ignore",
}
_NEVER_WITH_SHARD = {
    "fix": "--fix",
    "diff": "--diff",
    "unsafe_fixes": "--unsafe-fixes",
    "render": "--render",
    "kustomizations": "--kustomize",
    "charts": "--helm",
    "show_files": "--show-files",
    "executor": "--executor",
    "watch": "--watch",
}


def merge(args: dict[str, Any]) -> int:
    """Report the findings of all shards of a run, as a single run would.

    FILE... are the results of all shards, written by check with --shard. Run `afflint
    merge` in the checkout of the shards or in another checkout of the same commit. It checks files again that have changed since.
    """
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import Merged, refusing_what_does_not_fit

    checking.check_report_options(args)
    merged = Merged(args["files"])
    arguments = merged.arguments
    args = {**args, **arguments._asdict(), "no_config": arguments.config_file is None, "render": None}
    args |= {"no_cache": True, "unsafe_fixes": False}
    config = options.configuration(options.config_overrides(args), was_found=True)  # The shards name the file, not the user.
    targets = checking.report_targets(config.format, config.output)
    checking.check_targets(config, args)
    session = Session(config)
    merged.see_that_it_fits(session.settings())
    sources = session.sources(arguments.paths, force_exclude=arguments.force_exclude)
    for note in checking.notes(session):
        notify(f"afflint: {note}")
    with refusing_what_does_not_fit():
        with ProgressLine(len(sources)) as progress:
            merged.with_help_of(options.jobs(config.jobs), progress)
            outcome = session.check(sources, checking.run_options(config, {**args, "mapper": merged}, progress))
        for note in _notes(merged):
            notify(f"afflint: {note}")
        return checking.report_outcome(outcome, config, targets, arguments.paths, args)


def _notes(merged: Merged) -> list[str]:
    """Return notices about files that were checked again because the shards did not know their current state."""
    notes = []
    if merged.new_definitions:
        notes.append(
            "the nodes, node pools or custom resources that the files define have changed since the shards ran, "
            "so all files were checked again"
        )
    if merged.changed:
        names = ", ".join(map(visible, merged.changed[:3])) + (", …" if len(merged.changed) > 3 else "")
        count = f"{len(merged.changed)} files have" if len(merged.changed) > 1 else "1 file has"
        notes.append(f"{count} changed since the shards ran, and {'were' if len(merged.changed) > 1 else 'was'} checked again: {names}")
    return notes


def write_share(paths: Sequence[str], args: dict[str, Any]) -> int:
    """Write the results of the share that the options of `check` name, and return the exit code."""
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import lines_of_share

    share = _share(args["shard"])
    _check_options(paths, args)
    arguments = _arguments(tuple(paths) or (".",), args)
    (target,) = args["outputs"]
    config = options.configuration(options.config_overrides({**args, "outputs": ()}))
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


def _check_options(paths: Sequence[str], args: dict[str, Any]) -> None:
    for name, option in _NEVER_WITH_SHARD.items():
        if args[name]:
            raise UserError(f"--shard cannot be used with {option}")
    for name, option in _ONLY_WITH_MERGE.items():
        if args[name]:
            raise UserError(f"--shard writes no report: use {option} with `afflint merge`")
    if STDIN in paths:
        raise UserError("--shard checks files, not standard input")
    if len(args["outputs"]) != 1:
        raise UserError("--shard needs one --output FILE for its results; `afflint merge` reads those of all shards")


def _arguments(paths: tuple[str, ...], args: dict[str, Any]) -> Arguments:
    """Return the options that decide what is read and reported.

    The path of the configuration is relative to the working directory, so that it does not depend on the path of the checkout.
    """
    from afflint.pipeline.shards import Arguments

    file = options.configuration_file(args["config_file"], no_config=args["no_config"])
    names = {name: tuple(args[name]) for name in ("nodes", "select", "extend_select", "ignore")}
    return Arguments(
        paths,
        **names,
        config_file=relative(file) if file is not None and args["config_file"] is None else file,
        kubernetes_version=args["kubernetes_version"],
        force_exclude=args["force_exclude"],
    )


MERGE = Command(
    merge,
    dict,
    {"": [each for each in checking.COMMAND.options if each.name in _OF_THE_REPORT]},
    Argument("files", "FILE...", required=True),
)
