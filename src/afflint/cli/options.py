"""Options that several commands share, and the checks of their values: an error for an unknown word names the nearest known one."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from afflint import config as settings
from afflint.cli.command import FILE, FOLDER, MULTIPLE, NUMBER, RULES, CommandOptions, check_choice, flag, option
from afflint.cli.output import notify
from afflint.config import RENDERERS, find
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES, Severity
from afflint.findings.phrases import join_words, visible
from afflint.kube import NEWEST, OLDEST

if TYPE_CHECKING:
    from afflint.cli.output import ProgressLine
    from afflint.config import Config
    from afflint.pipeline.options import Options


class ConfigOverrides(CommandOptions):
    """The options of a command that select the configuration file or override its settings, as the user wrote them.

    Each command declares the options that it supports; the others keep these defaults.
    """

    config_file: str | None = None
    """None: the nearest file, unless ``no_config`` is set."""
    no_config: bool = False
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    kubernetes_version: str | None = None
    render: str | None = None
    baseline: str | None = None
    fail_on: Severity | None = None
    formats: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    jobs: int | None = None


CONFIG_FILE: str | None = option("--config", metavar="FILE", completion=FILE, help_text="Use this configuration file, not the nearest one.")
NO_CONFIG: bool = flag("--no-config", help_text="Use no configuration file.")
NODES: tuple[str, ...] = option(
    "--nodes",
    metavar="FILE",
    kind=MULTIPLE,
    completion=FILE,
    help_text="Take nodes from a dump (- for stdin), manifests, pools, a list or a folder; or none.",
)
RENDER: str | None = option(
    "--render",
    metavar="[TOOLS]",
    bare_value=",".join(RENDERERS),
    completion=RENDERERS,
    help_text="Check what kustomizations and charts render to.",
)
RENDER_NETWORK: bool = flag("--render-network", help_text="Let --render fetch bases and charts over the network.")
OFFLINE: bool = flag("--offline", help_text="Let --render use the bases and charts that --render-network has fetched before.")
SELECT: tuple[str, ...] = option(
    "--select", metavar="NAMES", kind=MULTIPLE, completion=RULES, help_text="Enable only these rules or categories; comma-separated."
)
IGNORE: tuple[str, ...] = option(
    "--ignore", metavar="NAMES", kind=MULTIPLE, completion=RULES, help_text="Disable these rules or categories."
)
KUBERNETES_VERSION: str | None = option(
    "--kubernetes-version",
    metavar="1.N",
    completion=tuple([f"1.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]),
    help_text="Set the Kubernetes version of the cluster. Default: the newest.",
)
OUTPUTS: tuple[str, ...] = option(
    "--output",
    metavar="FILE",
    kind=MULTIPLE,
    completion=FILE,
    help_text="Write the report to a file ('-': standard output), one for each --format.",
)
BASELINE: str | None = option("--baseline", metavar="FILE", completion=FILE, help_text="Leave out findings that --write-baseline recorded.")
VERBOSE: bool = flag("-v", "--verbose", help_text="Explain each finding and list skipped files.")
COLORS = ("auto", "always", "never")
COLOR: str = option(
    "--color",
    default="auto",
    metavar="WHEN",
    choices=COLORS,
    help_text="Use colors: auto (default), always or never. NO_COLOR and FORCE_COLOR apply.",
)
FAIL_ON: Severity | None = option(
    "--fail-on",
    metavar="SEVERITY",
    choices=SEVERITIES,
    help_text="Exit with 1 for findings of at least this severity: error, warning (default) or info.",
)
EXIT_ZERO: bool = flag("--exit-zero", help_text="Exit with 0 even if there are findings.")


def form_option(words: Sequence[str]) -> Any:
    """Declare the --format option of a command, whose default is the first of ``words``."""
    help_text = join_words([f"{words[0]} (default)", *words[1:]], "or")
    return option("--format", default=words[0], metavar="FORMAT", choices=words, help_text=f"Write {help_text}.")


def output_option(what: str) -> Any:
    """Declare the --output option of a command that writes only one file."""
    return option("--output", metavar="FILE", completion=FILE, help_text=f"Write the {what} to a file. Default: standard output.")


class RulesAndConfiguration(ConfigOverrides, heading="Rules and configuration"):
    """The options that choose rules and the configuration."""

    select = SELECT
    extend_select = option(
        "--extend-select", metavar="NAMES", kind=MULTIPLE, completion=RULES, help_text="Enable these rules or categories as well."
    )
    ignore = IGNORE
    kubernetes_version = KUBERNETES_VERSION
    config_file = CONFIG_FILE
    no_config = NO_CONFIG


JOBS = option("--jobs", metavar="N", kind=NUMBER, help_text="Use N processes. Default: one per CPU.")
NO_CACHE: Any = flag("--no-cache", help_text="Do not read or write the cache.", envvar="AFFLINT_NO_CACHE")
CACHE_DIR: Any = option(
    "--cache-dir", metavar="DIR", envvar="AFFLINT_CACHE_DIR", completion=FOLDER, help_text="Keep the cache in this folder."
)


class ExecutionOptions(ConfigOverrides, heading="Execution"):
    """The options for how a command runs."""

    jobs = JOBS
    no_cache: bool = NO_CACHE
    cache_dir: str | None = CACHE_DIR


def configuration_file(path: str | None, *, no_config: bool) -> str | None:
    """Return the configuration file that --config and --no-config select: the named one, or the nearest; None for no file."""
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
    return functools.partial(_overridden, options=ConfigOverrides(**{**vars(options), "nodes": ()}), was_found=True)


def _overridden(path: str | None, options: ConfigOverrides, *, was_found: bool) -> Config:
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
    return settings.with_overrides(
        config,
        select=select,
        ignore=ignore,
        extend_select=extend_select,
        nodes=options.nodes,
        kubernetes_version=_version(options.kubernetes_version),
        render=_renderers(options.render),
        baseline=options.baseline,
        fail_on=options.fail_on,
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


def _renderers(text: str | None) -> tuple[str, ...]:
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
