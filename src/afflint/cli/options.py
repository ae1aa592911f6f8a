"""Options that several commands share, and the checks of their values: an error for an unknown word names the nearest known one."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from afflint.cli.command import MULTIPLE, flag, option
from afflint.cli.output import notify
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import visible

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    from afflint.cli.command import Completion, Option
    from afflint.cli.output import ProgressLine
    from afflint.config import Config
    from afflint.findings.finding import Severity
    from afflint.pipeline.options import Options


def word_completion(known: Sequence[str]) -> Completion:
    """Return a completion to one of these words."""

    def complete(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
        from afflint.cli.completion import words

        return words(known, incomplete)

    return complete


def rule_names(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the last of several comma-separated rules and categories."""
    from afflint.cli import completion

    return completion.rule_names(incomplete, multiple=True)


def rule_name(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a rule or a category."""
    from afflint.cli import completion

    return completion.rule_names(incomplete, multiple=False)


def version(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a version of Kubernetes."""
    from afflint.cli.completion import versions

    return versions(incomplete)


def file(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a file."""
    from afflint.cli.completion import complete_paths

    return complete_paths(incomplete, "file")


def folder(_context: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a folder."""
    from afflint.cli.completion import complete_paths

    return complete_paths(incomplete, "dir")


nodes = option(
    "--nodes",
    metavar="FILE",
    kind=MULTIPLE,
    completion=file,
    help_text="Take nodes from a dump (- for stdin), manifests, pools, a list or a folder; or none.",
)
COLORS = ("auto", "always", "never")
color = option(
    "--color",
    default="auto",
    metavar="WHEN",
    completion=word_completion(COLORS),
    help_text="Use colors: auto (default), always or never. NO_COLOR and FORCE_COLOR apply.",
)


def format_option(words: Sequence[str]) -> Option:
    """Return the --format option of a command, whose default is the first of ``words``."""
    from afflint.findings.phrases import join_words

    help_text = join_words([f"{words[0]} (default)", *words[1:]], "or")
    return option(
        "--format", dest="form", default=words[0], metavar="FORMAT", completion=word_completion(words), help_text=f"Write {help_text}."
    )


configured = (
    option("--config", dest="config_file", metavar="FILE", completion=file, help_text="Use this configuration file, not the nearest one."),
    flag("--no-config", help_text="Use no configuration file."),
)
"""The two options that select the configuration."""


class ConfigOverrides(NamedTuple):
    """The options of a command that select the configuration file or override its settings, as the user wrote them."""

    config_file: str | None
    """None: the nearest file, unless ``no_config`` is set."""
    no_config: bool
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    kubernetes_version: str | None = None
    render: str | None = None
    baseline: str | None = None
    fail_on: str | None = None
    formats: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    jobs: int | None = None


def check_choice(option: str, value: str, known: Collection[str], listing: str = "") -> None:
    """Raise UserError for a value that is not known; the message names the nearest known one, or how to list them."""
    if value in known:
        return
    from afflint.findings.phrases import nearest

    close = nearest(value, known)
    hint = f"; did you mean {close!r}?" if close else f"; {listing}" if listing else f"; use one of {', '.join(known)}"
    raise UserError(f"{option}: unknown value {value!r}{hint}")


def configuration_file(path: str | None, *, no_config: bool) -> str | None:
    """Return the configuration file that --config and --no-config select: the named one, or the nearest; None for no file."""
    from afflint.config import find

    if path is not None and no_config:
        raise UserError("--config cannot be used with --no-config")
    if path is not None and not os.path.isfile(path):
        raise UserError(f"no such configuration file: {path!r}")
    return find(os.getcwd()) if path is None and not no_config else path


def configuration(options: ConfigOverrides, *, was_found: bool = False) -> Config:
    """Return the settings of a command: those of the configuration file, overridden by the options.

    ``was_found``: the user did not name the configuration file, so it is not trusted as one that the user names.
    """
    path = configuration_file(options.config_file, no_config=options.no_config)
    return _overridden(path, options, was_found=was_found or options.config_file is None)


def configuration_of_state(options: ConfigOverrides) -> Callable[[str | None], Config] | None:
    """Return a function that loads another configuration file, or none, with the same options; None if the user has named the file.

    ``--nodes`` is left out: its paths are those of the working directory.
    """
    if options.config_file is not None or options.no_config:
        return None
    return functools.partial(_overridden, options=options._replace(nodes=()), was_found=True)


def _overridden(path: str | None, options: ConfigOverrides, *, was_found: bool) -> Config:
    from afflint import config as settings
    from afflint.checks.registry import CATEGORIES, rules

    known = tuple(rules())
    config = settings.default() if path is None else settings.load(path, rule_names=known, categories=CATEGORIES, was_found=was_found)
    own = tuple([policy.name for policy in config.policies])
    select, ignore = _names("--select", options.select, own), _names("--ignore", options.ignore, own)
    extend_select = _names("--extend-select", options.extend_select, own)
    words = options.nodes in ((settings.AUTO_NODES,), (settings.NO_NODES,))
    for file in () if words else options.nodes:
        if file != "-" and not os.path.exists(file):
            raise UserError(f"--nodes: no such file or folder: {file!r}")
    fail_on = _severity(options.fail_on)
    return settings.with_overrides(
        config,
        select=select,
        ignore=ignore,
        extend_select=extend_select,
        nodes=options.nodes,
        kubernetes_version=_version(options.kubernetes_version),
        render=_renderers(options.render),
        baseline=options.baseline,
        fail_on=fail_on,
        format=options.formats,
        output=options.outputs,
        jobs=_jobs(options.jobs),
    )


def _names(option: str, values: Sequence[str], policies: Sequence[str]) -> tuple[str, ...]:
    """Split comma-separated names of rules, ``policies`` and categories. Raises UserError for an unknown name."""
    from afflint.checks.registry import CATEGORIES, rules

    listed = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    if option == "--select" and values and not listed:
        raise UserError(f"{option} needs the name of a rule or a category")
    for name in listed:
        check_choice(option, name, (*rules(), *policies, *CATEGORIES, "all"), "`afflint rule` lists all rules and categories")
    return listed


def _severity(text: str | None) -> Severity | None:
    if text is None:
        return None
    check_choice("--fail-on", text, SEVERITIES)
    return next(each for each in SEVERITIES if each == text)


def _renderers(text: str | None) -> tuple[str, ...]:
    from afflint.config import RENDERERS

    listed = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in listed:
        check_choice("--render", name, RENDERERS)
    return listed


def _version(text: str | None) -> str | None:
    if text is None:
        return None
    major, _, rest = text.removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if major != "1" or not (minor.isascii() and minor.isdigit() and len(minor) < 4):
        raise UserError(f"--kubernetes-version takes a version such as 1.34, not {text!r}")
    return f"1.{int(minor)}"


def _jobs(number: int | None) -> int | None:
    if number is not None and number < 1:
        raise UserError("--jobs takes a number of processes of at least 1")
    return number


def jobs(number: int | None) -> int:
    """Return the number of processes: ``number``, or the CPUs that this process may use."""
    if number is not None:
        return number
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_options(
    config: Config, progress: ProgressLine, *, cache: str | None = None, use_baseline: bool = True, inline: bool = True
) -> Options:
    """Return the options of a run. ``cache`` is the folder of the cache; ``inline``: suppressions in files apply."""
    from afflint.pipeline.options import Options

    baseline = None
    if config.baseline and use_baseline:
        from afflint.pipeline.baseline import of_config

        baseline = of_config(config)
    return Options(jobs(config.jobs), inline=inline, progress=progress, baseline=baseline, cache=cache)


def cache_folder(folder: str | None, *, no_cache: bool) -> str | None:
    """Return the folder of the cache that --cache-dir and --no-cache select; None for no cache."""
    from afflint.pipeline.mapping import DEFAULT_CACHE

    if folder and not no_cache:
        _warn_if_tracked(folder)
    return None if no_cache else folder or DEFAULT_CACHE


@functools.cache
def _warn_if_tracked(folder: str) -> None:
    """Print a warning if the cache is part of a tree, whose author then decides what is found."""
    from afflint.source.git_index import tracks_files_in

    if tracks_files_in(folder):
        notify(
            f"afflint: warning: Git tracks files in the cache {visible(folder)!r}, so its results may be forged; use another --cache-dir"
        )
