"""``afflint check --shard`` writes what a share of the files tells; ``afflint merge`` makes the report of all shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from afflint.cli import check as checking
from afflint.cli import options
from afflint.cli.command import Argument, Command
from afflint.cli.output import ProgressLine, say, shown, write_or_show
from afflint.findings.errors import UserError
from afflint.source.sources import STDIN, relative

if TYPE_CHECKING:
    from afflint.pipeline.shards import Arguments, Merged, Share

_OF_THE_REPORT = (
    *("formats", "outputs", "fail_on", "fail_on_empty", "exit_zero", "baseline", "write_baseline", "statistics", "no_ignore"),
    *("jobs", "color", "quiet", "verbose"),
)
"""What `check` takes and `merge` takes as well."""

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


def merge(files: tuple[str, ...], **given: Any) -> int:
    """Report what all shards of a run found, as one run would have.

    FILE... are the results of all shards, as check writes them with --shard. Run it where they were made, or in another checkout of the
    same state: what has changed since is checked anew.
    """
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import Merged, refusing_what_does_not_fit

    checking.see_that_reports_go_together(given)
    merged = Merged(files)
    arguments = merged.arguments
    given = {**given, **arguments._asdict(), "no_config": arguments.config_file is None, "no_cache": True, "unsafe_fixes": False}
    config = options.configuration(given, was_found=True)  # It is the shards that name it, not the user.
    targets = checking.targets_of(config.format, config.output)
    checking.check_targets(config, given)
    session = Session(config)
    merged.see_that_it_fits(session.settings())
    sources = session.sources(arguments.paths, force_exclude=arguments.force_exclude)
    for note in checking.notes(session):
        say(f"afflint: {note}")
    with refusing_what_does_not_fit():
        with ProgressLine(len(sources)) as progress:
            merged.with_help_of(options.jobs(config.jobs), progress)
            outcome = session.check(sources, checking.run_options(config, {**given, "mapper": merged}, progress))
        for note in _notes(merged):
            say(f"afflint: {note}")
        return checking.reported(outcome, config, targets, arguments.paths, given)


def _notes(merged: Merged) -> list[str]:
    """Where the shares did not tell what there is now."""
    said = []
    if merged.new_nodes:
        said.append("nodes lie among the files, which no shard could know; all files were checked anew: name them with --nodes")
    if merged.changed:
        names = ", ".join(map(shown, merged.changed[:3])) + (", …" if len(merged.changed) > 3 else "")
        count = f"{len(merged.changed)} files are" if len(merged.changed) > 1 else "1 file is"
        said.append(f"{count} not as the shards saw {'them' if len(merged.changed) > 1 else 'it'} and checked anew: {names}")
    return said


def write_share(paths: Sequence[str], given: dict[str, Any]) -> int:
    """Write the results of a share, as the options of `check` ask for it."""
    from afflint.pipeline.session import Session
    from afflint.pipeline.shards import lines_of_share

    share = _share(given["shard"])
    _see_that_it_goes_with(paths, given)
    arguments = _arguments(tuple(paths) or (".",), given)
    (target,) = given["outputs"]
    config = options.configuration({**given, "outputs": ()})
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
    raise UserError(f"--shard takes a share and how many there are, such as 1/8 to 8/8, not {text!r}")


def _see_that_it_goes_with(paths: Sequence[str], given: dict[str, Any]) -> None:
    for name, option in _NEVER_WITH_SHARD.items():
        if given[name]:
            raise UserError(f"--shard goes without {option}")
    for name, option in _ONLY_WITH_MERGE.items():
        if given[name]:
            raise UserError(f"--shard makes no report: {option} goes with `afflint merge`")
    if STDIN in paths:
        raise UserError("--shard checks files, not standard input")
    if len(given["outputs"]) != 1:
        raise UserError("--shard needs one --output FILE for its results; `afflint merge` reads those of all shards")


def _arguments(paths: tuple[str, ...], given: dict[str, Any]) -> Arguments:
    """What decides what is read and found; the configuration by the way from here, so that it is the same wherever the checkout lies."""
    from afflint.pipeline.shards import Arguments

    file = options.configuration_file(given)
    names = {name: tuple(given[name]) for name in ("nodes", "select", "extend_select", "ignore")}
    return Arguments(
        paths,
        **names,
        config_file=relative(file) if file is not None and given["config_file"] is None else file,
        kubernetes_version=given["kubernetes_version"],
        force_exclude=given["force_exclude"],
    )


MERGE = Command(
    merge, {"": [each for each in checking.COMMAND.options if each.name in _OF_THE_REPORT]}, Argument("files", "FILE...", required=True)
)
