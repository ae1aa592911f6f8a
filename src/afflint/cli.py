"""The command line: the only module that prints and ends the process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from afflint import __version__
from afflint.findings import SEVERITIES

if TYPE_CHECKING:
    from collections import Counter

    from afflint.baseline import Entry
    from afflint.config import Config
    from afflint.engine import Settings
    from afflint.placement.plan import Plan
    from afflint.reading.sources import Source
    from afflint.report import Report
    from afflint.session.run import Options, Outcome

FOUND, USAGE, FAULT = 1, 2, 3
"""Exit codes: findings at or above --fail-on; wrong usage or configuration; a fault of afflint."""

_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
_FAULT_MESSAGE = """afflint: internal error: {error}
This is a fault of afflint, not of your manifests. Please report it with the command line and, if you can, the file.
Set AFFLINT_TRACEBACK=1 to see where it happened."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="afflint")
def cli() -> None:
    """Lint where Kubernetes and KubeVirt workloads are placed: labels, affinity, spread, tolerations.

    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage or configuration; 3 a fault of afflint.
    """


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "--nodes",
    "nodes",
    multiple=True,
    metavar="FILE",
    help="Nodes of the cluster: a dump, Node manifests, or a list under `nodes:`. Repeatable.",
)
@click.option("--select", multiple=True, metavar="NAMES", help="Only these rules or categories ('all' for every rule); comma-separated.")
@click.option("--extend-select", multiple=True, metavar="NAMES", help="These rules or categories as well.")
@click.option("--ignore", multiple=True, metavar="NAMES", help="Not these rules or categories.")
@click.option("--format", "formats", multiple=True, metavar="FORMAT", help=f"One of {', '.join(_FORMATS)}. Default: text. Repeatable.")
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Where the report goes, in the order of --format; '-' or none: standard output.",
)
@click.option(
    "--fail-on", default="warning", metavar="SEVERITY", help="The lowest severity that gives exit code 1: error, warning (default) or info."
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--config", "config_file", metavar="FILE", help="This configuration, instead of one found from the working directory upward.")
@click.option("--no-config", is_flag=True, help="No configuration file at all.")
@click.option(
    "--kubernetes-version", metavar="1.N", help="The version of the cluster that the manifests are for. Default: the newest known."
)
@click.option("--stdin-filename", metavar="NAME", help="How reports call standard input ('-').")
@click.option("--force-exclude", is_flag=True, help="Let `exclude` hold for files that are named, too: for hooks.")
@click.option("--kustomize", "kustomizations", multiple=True, metavar="DIR", help="Check what `kustomize build DIR` gives. Repeatable.")
@click.option("--helm", "charts", multiple=True, metavar="CHART", help="Check what `helm template CHART` gives. Repeatable.")
@click.option("--values", "values", multiple=True, metavar="FILE", help="A values file for --helm. Repeatable.")
@click.option("--baseline", metavar="FILE", help="Report only what is not in this baseline.")
@click.option(
    "--write-baseline", is_flag=True, help="Write what is found to the baseline (default .afflint-baseline.json), and exit with 0."
)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--no-ignore", is_flag=True, help="Report what inline suppressions silence.")
@click.option("--jobs", type=int, metavar="N", help="Processes. Default: one for each core when there are many files.")
@click.option("--show-files", is_flag=True, help="List the files that would be read, and stop.")
@click.option("--color", default="auto", metavar="WHEN", help="auto (default), always or never. NO_COLOR and FORCE_COLOR are honoured.")
@click.option("-q", "--quiet", is_flag=True, help="Only findings, no summary.")
@click.option("-v", "--verbose", is_flag=True, help="More about each finding.")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Lint manifests: files, folders, globs, or '-' for standard input. Default: the current folder."""
    from afflint.reading.sources import SourceError

    targets = _targets(options["formats"], options["outputs"])
    if options["statistics"] and (options["formats"] or options["outputs"]):
        raise click.UsageError("--statistics is a report of its own and goes without --format and --output")
    _one_of("--fail-on", options["fail_on"], SEVERITIES)
    _one_of("--color", options["color"], ("auto", "always", "never"))
    config = _configuration(options)
    rendered = _rendered(options) if options["kustomizations"] or options["charts"] or options["values"] else []
    try:
        named = paths or (() if rendered else (".",))
        sources = list(_sources(named, config, options["stdin_filename"], force_exclude=options["force_exclude"])) + rendered
        context = _context(config, sources)
        nodes = _node_files(config)
    except SourceError as error:
        raise click.UsageError(str(error)) from None
    if options["show_files"]:
        _print(f"{_visible(source.name)}\n" for source in sources)
        return 0
    known = _baseline(options["baseline"]) if options["baseline"] and not options["write_baseline"] else None
    run_options = _run_options(config, sources, _jobs(options["jobs"]), known, inline=not options["no_ignore"])
    outcome = _run(sources, context, nodes, config, run_options)
    if options["write_baseline"]:
        return _write_baseline(options["baseline"], outcome)
    if options["statistics"]:
        _print(_statistics(outcome))
    else:
        report = _make_report(outcome, (*nodes, *context, *sources), quiet=options["quiet"], verbose=options["verbose"])
        _report(targets, report, options["color"])
    if outcome.gone:
        entries = (
            "1 entry of the baseline no longer occurs" if outcome.gone == 1 else f"{outcome.gone} entries of the baseline no longer occur"
        )
        _say(f"afflint: {entries}; --write-baseline prunes", 0)
    return 0 if options["exit_zero"] or not _fails(outcome, options["fail_on"]) else FOUND


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "--nodes",
    "nodes",
    multiple=True,
    metavar="FILE",
    help="Nodes of the cluster: a dump, Node manifests, or a list under `nodes:`. Repeatable.",
)
@click.option("--pods", "pods", multiple=True, metavar="FILE", help="A dump of the pods that run already. Repeatable.")
@click.option("--resources", is_flag=True, help="Count CPU, memory, pods and other resources: requests against what nodes have.")
@click.option(
    "--by", "group_by", default="zone", metavar="KEY", help="The node label to group nodes by: zone (default), region, or any key."
)
@click.option("--lose", "losses", multiple=True, metavar="WHAT", help="A node, KEY=VALUE, or each:node, each:zone, each:KEY. Repeatable.")
@click.option("--format", "form", default="text", metavar="FORMAT", help="text (default), json or html.")
@click.option("--output", metavar="FILE", help="Where the plan goes. Default: standard output.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if a replica has no place.")
@click.option("--config", "config_file", metavar="FILE", help="This configuration, instead of one found from the working directory upward.")
@click.option("--no-config", is_flag=True, help="No configuration file at all.")
@click.option("--color", default="auto", metavar="WHEN", help="auto (default), always or never. NO_COLOR and FORCE_COLOR are honoured.")
def place(paths: tuple[str, ...], **options: Any) -> int:
    """Where each replica can go on the given nodes, and what a failure does.

    Exit code 1 when a replica has no place, now or after one of the failures asked for.
    """
    from afflint.inventory.node_files import NodeFileError
    from afflint.placement import InventoryError
    from afflint.placement.failures import UnknownLossError
    from afflint.placement.planning import make_plan
    from afflint.reading.sources import SourceError, named
    from afflint.session.placing import read_stage

    _one_of("--format", options["form"], ("text", "json", "html"))
    _one_of("--color", options["color"], ("auto", "always", "never"))
    config = _configuration(options)
    try:
        sources = list(_sources(paths or (".",), config, None))
        pods = [named(path) for path in options["pods"]]
        stage, problems = read_stage(sources, _node_files(config), pods, _settings(config), resources=options["resources"])
        plan = make_plan(stage.inventory, stage.makers, options["group_by"], options["losses"])
    except (SourceError, NodeFileError, InventoryError, UnknownLossError) as error:
        raise click.UsageError(str(error)) from None
    for problem in problems:
        _say(f"afflint: {_visible(problem)}", 0)
    chunks = _plan_chunks(plan, options["form"], options["color"], to_file=options["output"] is not None)
    if options["output"] is None:
        _print(chunks)
    else:
        _write(options["output"], chunks)
    unplaced = any(replica.node is None for workload in plan.workloads for replica in workload.replicas)
    hurt = any(outcome != "survives" for loss in plan.losses for outcome in loss.outcomes.values())
    return FOUND if (unplaced or hurt or problems) and not options["exit_zero"] else 0


def _plan_chunks(plan: Plan, form: str, color: str, *, to_file: bool) -> Iterator[str]:
    if form == "json":
        from afflint.report import place_json

        return place_json.render(plan)
    if form == "html":
        from afflint.report import place_page

        return iter([place_page.render(plan)])
    import shutil

    from afflint.report import place_table

    return place_table.render(plan, color=not to_file and _colored(color), width=shutil.get_terminal_size((100, 24)).columns)


@cli.command("rule")
@click.argument("name", required=False)
@click.option("--format", "form", default="text", metavar="FORMAT", help="text (default) or json.")
def rule_command(name: str | None, form: str) -> None:
    """The page of a rule; without a name the table of rules."""
    from afflint import rulebook
    from afflint.rules import rules

    _one_of("--format", form, ("text", "json"))
    if name is not None:
        _one_of("rule", name, rules(), "afflint rule")
    shown = [rules()[name]] if name is not None else list(rules().values())
    if form == "json":
        _print([rulebook.as_json(shown, single=name is not None)])
    else:
        _print([rulebook.page(shown[0], color=_colored("auto")) if name is not None else rulebook.table(shown)])


@cli.command("config")
@click.option("--config", "config_file", metavar="FILE", help="This configuration, instead of one found from the working directory upward.")
@click.option("--no-config", is_flag=True, help="No configuration file at all.")
def config_command(config_file: str | None, no_config: bool) -> None:
    """The effective configuration and where each value comes from."""
    from afflint import config as settings

    effective = _configuration({"config_file": config_file, "no_config": no_config})
    rows = list(settings.describe(effective))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    width = min(widths[1], 60)
    _print(f"{key:<{widths[0]}}  {value:<{width}}  {origin}\n" for key, value, origin in rows)


# Settings.


def _configuration(options: dict[str, Any]) -> Config:
    from afflint import config as settings
    from afflint.rules import CATEGORIES, rules

    path = options.get("config_file")
    if path is not None and options.get("no_config"):
        raise click.UsageError("--config and --no-config exclude each other")
    if path is not None and not os.path.isfile(path):
        raise click.UsageError(f"no such configuration file: {path!r}")
    if path is None and not options.get("no_config"):
        path = settings.find(os.getcwd())
    names = tuple(rules())
    config = settings.default() if path is None else settings.load(path, rule_names=names, categories=CATEGORIES)
    chosen = {key: _names(f"--{key.replace('_', '-')}", options.get(key) or ()) for key in ("select", "ignore", "extend_select")}
    nodes = tuple(options.get("nodes") or ())
    for path in nodes:
        if not os.path.exists(path):
            raise click.UsageError(f"--nodes: no such file: {path!r}")
    return settings.with_overrides(config, **chosen, nodes=nodes, kubernetes_version=_version(options.get("kubernetes_version")))


def _names(option: str, values: Sequence[str]) -> tuple[str, ...]:
    """The rule and category names in comma-separated values, each known."""
    from afflint.rules import CATEGORIES, rules

    listed = tuple(name.strip() for value in values for name in value.split(",") if name.strip())
    for name in listed:
        _one_of(option, name, (*rules(), *CATEGORIES, "all"), "afflint rule")
    return listed


def _version(text: str | None) -> str | None:
    major, _, minor = (text or "1.0").removeprefix("v").partition(".")
    if major != "1" or not minor.partition(".")[0].isdigit():
        raise click.UsageError(f"--kubernetes-version takes a version such as 1.34, not {text!r}")
    return text and f"1.{int(minor.partition('.')[0])}"


def _run(sources: Sequence[Source], context: Sequence[Source], nodes: Sequence[Source], config: Config, options: Options) -> Outcome:
    from afflint.session.run import run

    try:
        if not nodes:
            return run(sources, _settings(config), options, context)
        from afflint.inventory.node_files import NodeFileError

        try:
            return run(sources, _settings(config), options, context, nodes)
        except NodeFileError as error:
            raise click.UsageError(str(error)) from None
    finally:
        if isinstance(options.progress, _Progress):
            options.progress.clear()


def _run_options(config: Config, sources: Sequence[Source], jobs: int, known: Counter[Entry] | None, *, inline: bool) -> Options:
    from afflint import config as settings
    from afflint.session.run import Options

    ignored = _below_root(settings.ignores(config), config.root) if config.per_file_ignores else None
    return Options(jobs, inline, ignored, _Progress(len(sources)), known)


def _settings(config: Config) -> Settings:
    from afflint import config as settings
    from afflint.checks.match import Target
    from afflint.engine import Settings
    from afflint.kube.kinds import custom_kind
    from afflint.rules import rules

    selected = settings.selected(((rule.name, rule.category, rule.default) for rule in rules().values()), config)
    version = tuple(int(part) for part in config.kubernetes_version.split("."))
    plugins = frozenset(config.admission_plugins)
    if _HARD_TOPOLOGY_PLUGIN in plugins and not {_HARD_TOPOLOGY_RULE, "affinity", "all"} & {*config.ignore}:
        selected |= {_HARD_TOPOLOGY_RULE}
    target = Target((version[0], version[1]), frozenset(config.feature_gates), plugins, config.complete)
    custom = tuple(custom_kind(each.api_version, each.kind, each.template) for each in config.workloads)
    return Settings(selected, tuple(config.severity.items()), target, custom, host_key=config.physical_host_key)


def _node_files(config: Config) -> list[Source]:
    """The files of nodes that the command line or the configuration names; only the command line may name a pipe. Raises SourceError."""
    from afflint.config import COMMAND_LINE
    from afflint.reading.sources import Source, named

    asked = config.origins["nodes"] == COMMAND_LINE
    return [named(path) if asked else Source(os.path.normpath(path), path) for path in config.nodes]


# A cluster with this plugin refuses what this rule, otherwise off, finds.
_HARD_TOPOLOGY_PLUGIN, _HARD_TOPOLOGY_RULE = "LimitPodHardAntiAffinityTopology", "hard-anti-affinity-topology"


def _context(config: Config, sources: Sequence[Source]) -> list[Source]:
    """The files that the configuration names as context and that are not checked anyway."""
    if not config.context:
        return []
    from afflint import config as settings
    from afflint.reading.sources import Source, discover

    wanted = settings.matcher(config.context)
    checked = {os.path.abspath(source.path) for source in sources if source.data is None}

    def included(path: str) -> bool:
        return wanted(os.path.relpath(path, config.root).replace(os.sep, "/"))

    found = discover((config.root,), included=included)
    return [Source(os.path.relpath(each.path), each.path) for each in found if os.path.abspath(each.path) not in checked]


def _rendered(options: dict[str, Any]) -> list[Source]:
    """What kustomize and helm make of the folders that the command line names."""
    from afflint.reading.rendering import RenderError, helm, kustomize

    if options["values"] and not options["charts"]:
        raise click.UsageError("--values goes with --helm")
    try:
        built = [kustomize(folder) for folder in options["kustomizations"]]
        return built + [helm(chart, options["values"]) for chart in options["charts"]]
    except RenderError as error:
        raise click.UsageError(str(error)) from None


def _baseline(path: str) -> Counter[Entry]:
    """The baseline to hold findings against."""
    from afflint.baseline import BaselineError, load

    try:
        return load(path)
    except BaselineError as error:
        raise click.UsageError(str(error)) from None


def _write_baseline(path: str | None, outcome: Outcome) -> int:
    from afflint.baseline import DEFAULT_FILE, dump

    target = path or DEFAULT_FILE
    if path is None and os.path.islink(target):
        raise click.UsageError(f"{target!r} is a link; name the file to write with --baseline FILE")
    _write(target, iter([dump(outcome.findings)]))
    count, shown = len(outcome.findings), _visible(target)
    _print([f"Wrote {count} {'finding' if count == 1 else 'findings'} to {shown}; `--baseline {shown}` keeps them silent.\n"])
    return 0


def _statistics(outcome: Outcome) -> Iterator[str]:
    """A line for each rule with findings, the most frequent first."""
    from collections import Counter

    counts = Counter((finding.rule, finding.category, finding.severity) for finding in outcome.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    width = max((len(str(count)) for _, count in rows), default=0)
    name_width = max((len(rule) for (rule, _, _), _ in rows), default=0)
    for (rule, category, severity), count in rows:
        yield f"{count:>{width}}  {rule:<{name_width}}  {severity:<7}  {category}\n"
    if not rows:
        yield "No findings.\n"


def _below_root(names: Callable[[str], frozenset[str]], root: str) -> Callable[[str], frozenset[str]]:
    return lambda path: names(os.path.relpath(path, root).replace(os.sep, "/"))


def _sources(paths: Sequence[str], config: Config, stdin_name: str | None, *, force_exclude: bool = False) -> Iterator[Source]:
    from afflint import config as settings
    from afflint.reading.sources import STDIN, Source, discover

    def relative(path: str) -> str:
        return os.path.relpath(path, config.root).replace(os.sep, "/") + ("/" if path.endswith("/") else "")

    excluded = settings.matcher(config.exclude) if config.exclude else None
    included = settings.matcher(config.include) if config.include else None
    found = discover(
        paths,
        (lambda path: excluded(name) if (name := relative(path)).partition("/")[0] not in (".", "..") else False)
        if excluded
        else (lambda _: False),
        (lambda path: included(relative(path))) if included else None,
    )
    for source in found:
        if source.path == STDIN:
            yield Source(stdin_name, STDIN) if stdin_name else source
        elif not (force_exclude and excluded and excluded(relative(os.path.abspath(source.path)))):
            yield source


def _jobs(given: int | None) -> int:
    if given is not None:
        if given < 1:
            raise click.UsageError("--jobs takes a number of processes, 1 or more")
        return given
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _fails(outcome: Outcome, fail_on: str) -> bool:
    counts = (outcome.summary.errors, outcome.summary.warnings, outcome.summary.info)
    return any(counts[: SEVERITIES.index(fail_on) + 1])


def _one_of(option: str, value: str, known: Any, listing: str = "") -> None:
    """Refuse a word that is none of the known ones, with the nearest of them."""
    if value in known:
        return
    from afflint.wording import nearest

    close = nearest(value, known)
    hint = f"; did you mean {close!r}?" if close else f"; `{listing}` lists them" if listing else f"; it takes {', '.join(known)}"
    raise click.UsageError(f"{option}: there is no {value!r}{hint}")


# Output.


def _targets(formats: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    """Each report format with where it goes. Only one may go to standard output."""
    for name in formats:
        _one_of("--format", name, _FORMATS)
    if len(outputs) > max(len(formats), 1):
        raise click.UsageError("--output needs a --format of its own each")
    chosen = list(formats) or ["text"]
    targets = [(name, outputs[number] if number < len(outputs) else "-") for number, name in enumerate(chosen)]
    if sum(target == "-" for _, target in targets) > 1:
        raise click.UsageError("only one report can go to standard output; give the others an --output FILE")
    return targets


def _make_report(outcome: Outcome, sources: Sequence[Source], *, quiet: bool, verbose: bool) -> Report:
    from afflint.report import Report

    paths = {source.name: source for source in sources}
    return Report(outcome.findings, outcome.summary, _rule_infos, lambda name: _source_text(paths.get(name)), __version__, verbose, quiet)


def _rule_infos() -> list[Any]:
    from afflint.report import RuleInfo
    from afflint.rules import rules

    return [RuleInfo(each.name, each.category, each.severity, each.summary(), each.remedy(), each.page()) for each in rules().values()]


def _source_text(source: Source | None) -> str | None:
    from afflint.reading.documents import to_utf8
    from afflint.reading.sources import read_bytes

    if source is None:
        return None
    try:
        return to_utf8(read_bytes(source)).decode("utf-8", "replace")
    except (OSError, UnicodeDecodeError):
        return None


def _report(targets: list[tuple[str, str]], report: Report, color: str) -> None:
    from afflint.report import render

    for name, target in targets:
        if target == "-":
            _print(render(name, report, color=_colored(color)))
        else:
            _write(target, render(name, report))


def _write(target: str, chunks: Iterator[str]) -> None:
    """A whole file or none: written beside its place and then moved there. Devices and pipes are written as they are."""
    place = os.path.realpath(target)
    regular = os.path.isfile(place) or not os.path.exists(place)
    written = f"{place}.{os.urandom(8).hex()}.tmp" if regular else place
    # In a folder that others may write to, nobody can have put anything in the way of a new file.
    new = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) if regular else 0
    ours = False
    try:
        number = os.open(written, os.O_WRONLY | new, 0o666)
        ours = regular
        with open(number, "w", encoding="utf-8", newline="\n") as file:
            if regular and os.path.exists(place):
                _take_over(file.fileno(), os.stat(place))
            file.writelines(chunks)
        if regular:
            os.replace(written, place)
            ours = False
    except OSError as error:
        raise click.UsageError(f"cannot write {target!r}: {error.strerror}") from None
    finally:
        if ours:
            os.unlink(written)


def _take_over(file: int, status: os.stat_result) -> None:
    """Give a new file the owner, as far as that is allowed, and the mode of the one that it replaces."""
    if not hasattr(os, "fchown"):
        return
    import contextlib

    with contextlib.suppress(OSError):
        os.fchown(file, status.st_uid, status.st_gid)
    os.fchmod(file, status.st_mode & 0o7777)


def _print(chunks: Any) -> None:
    stream = sys.stdout
    if stream is None:
        raise click.UsageError("standard output is closed; --output FILE takes the report")
    if hasattr(stream, "reconfigure"):
        # A name from a manifest must not end the run because the terminal cannot show it.
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.writelines(chunks)
        stream.flush()
    except OSError as error:
        # What is still buffered would fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):  # Whoever reads our output may have seen enough.
            raise click.UsageError(f"cannot write the report: {error.strerror}") from None


def _colored(when: str) -> bool:
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _visible(text: str) -> str:
    from afflint.report.escape import visible

    return visible(text)


class _Progress:
    """How many files are done, on standard error, once a run on a terminal takes longer than a second."""

    def __init__(self, total: int) -> None:
        import time

        self._total = total
        self._clock = time.monotonic
        self._next = self._clock() + 1
        self._shown = False

    def __call__(self, done: int) -> None:
        now = self._clock()
        if now < self._next or sys.stderr is None or not sys.stderr.isatty():
            return
        self._next = now + 0.1
        self._shown = True
        width = 24
        filled = width * done // max(self._total, 1)
        sys.stderr.write(f"\r{'━' * filled}{'─' * (width - filled)} {done}/{self._total} files")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


# The way in.


def main() -> None:
    """Run the command line and end the process with one of the exit codes above."""
    sys.exit(_guarded())


def _guarded() -> int:
    # Manifests are trees without cycles; looking for some costs a tenth of the run.
    gc.disable()
    try:
        result = cli.main(prog_name="afflint", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except KeyboardInterrupt:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.ClickException as error:
        return _say(_visible(f"afflint: {' '.join(error.format_message().split())}"), USAGE)
    except Exception as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _failed(error: Exception) -> int:
    from afflint.config import ConfigError

    if isinstance(error, ConfigError):
        return _say("\n".join(f"afflint: {line}" for line in str(error).splitlines()), USAGE)
    from afflint.session.processes import WorkerDiedError

    if isinstance(error, WorkerDiedError):
        return _say(f"afflint: {error}", FAULT)
    if isinstance(error, FileNotFoundError) and not _has_working_directory():
        return _say("afflint: the working directory no longer exists; change to one that does", USAGE)
    if isinstance(error, MemoryError):
        return _say("afflint: memory ran out; check fewer files at a time, or with fewer processes (`--jobs`)", FAULT)
    if os.environ.get("AFFLINT_TRACEBACK"):
        import traceback

        traceback.print_exc()
    summary = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return _say(_FAULT_MESSAGE.format(error=_visible(summary)), FAULT)


def _has_working_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _say(message: str, code: int) -> int:
    import contextlib

    if sys.stderr is not None:  # Closed: then the exit code has to do.
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()
    return code
