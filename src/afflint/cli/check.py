"""``afflint check``: lint manifests and report the findings."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint import __version__
from afflint.cli import options
from afflint.cli.command import MULTIPLE, NUMBER, Argument, Command, flag, option
from afflint.cli.output import FOUND, USAGE, ProgressLine, colored, named_files, notify, show, show_bytes, write
from afflint.config import RENDERERS
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES
from afflint.findings.phrases import join_words, pluralize, quoted, visible
from afflint.report import FORMATS

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.fix.rounds import FixOutcome
    from afflint.pipeline.options import Options
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session
    from afflint.report import Report
    from afflint.source.sources import Source


def check(args: dict[str, Any]) -> int:
    """Lint manifests: files, folders, globs or '-'. Default: the current folder."""
    paths = args["paths"]
    if args["shard"] is not None:
        from afflint.cli.shards import write_share

        return write_share(paths, args)
    if args["executor"] is None:
        return _run(paths, args)
    from afflint.pipeline.dask_executor import DaskMapper, address

    cluster = DaskMapper(address(args["executor"]), _cache_folder(args))
    try:
        return _run(paths, {**args, "mapper": cluster})
    finally:
        cluster.close()


def _run(paths: tuple[str, ...], args: dict[str, Any]) -> int:
    if not args["watch"]:
        return _run_once(paths, args)
    from afflint.cli.watch import watch_and_check

    return watch_and_check(paths, args, lambda on_outcome: _run_once(paths, args, on_outcome))


def _run_once(paths: tuple[str, ...], args: dict[str, Any], on_outcome: Callable[[Outcome], None] | None = None) -> int:
    from afflint.pipeline.session import Session

    check_report_options(args)
    if args["diff"] and any(args[each] for each in ("formats", "outputs", "statistics", "write_baseline")):
        raise UserError("--diff cannot be used with --format, --output, --statistics or --write-baseline")
    config = options.configuration(options.config_overrides(args))
    targets = report_targets(config.format, config.output)
    check_targets(config, args)
    if args["render"] and (args["fix"] or args["diff"]):
        raise UserError("--fix and --diff change source files, and cannot be used with --render")
    session = Session(config)
    sources = _sources(session, paths, args)
    if args["show_files"]:
        show(f"{visible(source.name)}\n" for source in sources)
        return 0
    for note in notes(session):
        notify(f"afflint: {note}")
    if args["fix"] or args["diff"]:
        fixed = _fix(session, sources, paths, args)
        if args["diff"]:
            return _show_diff(fixed, args)
        outcome, unwritten = _write_fixes(session, sources, fixed, args)
    else:
        outcome, unwritten = _outcome(session, sources, args), False
    # The fixed text of standard input is written to standard output, as editors expect; the report goes to standard error.
    to_stderr = args["fix"] and session.stdin is not None
    if on_outcome is not None:
        on_outcome(outcome)
    code = report_outcome(outcome, config, targets, paths, args, to_stderr=to_stderr)
    return USAGE if unwritten else code


def check_targets(config: Config, args: dict[str, Any]) -> None:
    """Raise UserError, before anything is read, if a configuration that was found names an output file that it may not write."""
    if config.repository is None:
        return
    from afflint.config.trust import check_writable

    if args["write_baseline"]:
        from afflint.pipeline.baseline import is_baseline

        if config.baseline:
            check_writable(config, "baseline", config.baseline, is_baseline)
    elif not (args["statistics"] or args.get("diff") or args.get("show_files")):
        from afflint.report.recognition import is_report

        for target in config.output:
            if target != "-":
                check_writable(config, "output", target, is_report)


def check_report_options(args: dict[str, Any]) -> None:
    """Raise UserError, before anything is read, for report options that cannot be combined."""
    report_targets(args["formats"], args["outputs"])
    if args["statistics"] and (args["formats"] or args["outputs"]):
        raise UserError("--statistics cannot be used with --format or --output")
    options.check_choice("--color", args["color"], options.COLORS)


def report_outcome(
    outcome: Outcome, config: Config, targets: list[tuple[str, str]], paths: Sequence[str], args: dict[str, Any], *, to_stderr: bool = False
) -> int:
    """Report the outcome as the options say, and return the exit code. ``beside``: use standard error instead of standard output."""
    if args["write_baseline"]:
        return _write_baseline(config.baseline, outcome, to_stderr=to_stderr)
    if args["statistics"]:
        show(_statistics(outcome), to_stderr=to_stderr)
    else:
        report = _create_report(outcome, config, paths, quiet=args["quiet"], verbose=args["verbose"], unsafe=args["unsafe_fixes"])
        if "html" in config.format:
            from afflint.cli.page_metadata import page_metadata

            report = report._replace(made=page_metadata())
        _report(targets, report, args["color"], to_stderr=to_stderr)
    renders = outcome.summary.renders
    if (
        renders is not None
        and (renders.failed or renders.without or renders.unread)
        and not any(name in ("text", "json") for name, _ in targets)
    ):
        from afflint.report.text import rendered_lines

        for line in rendered_lines(renders, args["verbose"]):
            notify(f"afflint: {line}")
    if outcome.unused_nodes:
        notify(f"afflint: {visible(outcome.unused_nodes)}; so no nodes are used: name the nodes of one cluster with --nodes")
    if outcome.undecided:
        names = join_words(
            [*map(quoted, outcome.undecided[:_FEW]), *([f"{more} more"] if (more := len(outcome.undecided) - _FEW) > 0 else [])]
        )
        are = "is" if len(outcome.undecided) == 1 else "are"
        notify(f"afflint: no nodes are known, so {names} {are} not evaluated: name the nodes with --nodes")
    if not args["quiet"]:
        for line in outcome.unevaluated:
            notify(f"afflint: {visible(line)}")
    if outcome.gone:
        entries = (
            "1 entry of the baseline no longer occurs" if outcome.gone == 1 else f"{outcome.gone} entries of the baseline no longer occur"
        )
        notify(f"afflint: {entries}; --write-baseline removes {'it' if outcome.gone == 1 else 'them'}")
    failed = _fails(outcome, config.fail_on) or (args["fail_on_empty"] and not outcome.summary.documents)
    return FOUND if failed and not args["exit_zero"] else 0


def notes(session: Session) -> Iterator[str]:
    """Yield notices about settings of the configuration that have no effect."""
    from afflint.config import COMMAND_LINE, is_selected
    from afflint.findings.paths import field_of
    from afflint.kube import NEWEST, OLDEST

    config = session.config
    if config.policies and config.select is not None:
        idle = [each.name for each in config.policies if not is_selected(each.name, "policy", True, config)]
        if len(idle) == len(config.policies) and config.origins["select"] != COMMAND_LINE:
            yield "no policy is selected: `select` replaces all rules that are on by default; add `policy` to it or to `extend-select`"
    if len(config.policies) > 1:
        from afflint.policies.contradictions import contradictions

        for each in contradictions(policy for policy in config.policies if is_selected(policy.name, "policy", True, config)):
            yield f"{config.origins[field_of(('policies', each.policy))]}: {each.message}"
    if (config.select is not None or config.ignore) and not session.settings().rules:
        yield "no rule is selected, so nothing is checked: `afflint config` shows the values of `select` and `ignore`"
    version = tuple(map(int, config.kubernetes_version.split(".")))
    known = min(max(version, OLDEST), NEWEST)
    if version != known:
        which = "newest" if version > NEWEST else "oldest"
        yield f"the {which} supported version of Kubernetes is 1.{known[1]}: 1.{version[1]} is checked as 1.{known[1]}"


def note_unused_render(config: Config) -> None:
    """Print a notice if nothing is rendered because only a configuration that was found, and is not trusted, sets `render`."""
    if config.render and config.repository is not None:
        from afflint.config.trust import renderers

        if not renderers(config):
            notify(f"afflint: note: {config.origins['render']}: `render` needs --render on the command line, or --config with this file")


def _sources(session: Session, paths: Sequence[str], args: dict[str, Any]) -> list[Source]:
    """Return the sources of the paths, and of the kustomizations and charts that --kustomize and --helm name."""
    rendered: list[Source] = []
    if args["kustomizations"] or args["charts"] or args["values"]:
        if args["values"] and not args["charts"]:
            raise UserError("--values FILE needs --helm CHART")
        rendered = session.rendered(args["kustomizations"], args["charts"], args["values"])
    named = paths or (() if rendered else (".",))
    return session.sources(named, rendered, stdin_name=args["stdin_filename"], force_exclude=args["force_exclude"])


def _outcome(session: Session, sources: Sequence[Source], args: dict[str, Any]) -> Outcome:
    with ProgressLine(len(sources)) as progress:
        options = run_options(session.config, args, progress)
        if not args["fix"]:
            note_unused_render(session.config)
            sources, options = session.with_renders(sources, options, network=args["render_network"])
        return session.check(sources, options)


def _fix(session: Session, sources: Sequence[Source], paths: Sequence[str], args: dict[str, Any]) -> FixOutcome:
    from afflint.fix.rounds import fix_files

    with ProgressLine(len(sources)) as progress:
        options = run_options(session.config, args, progress)
        return fix_files(session, sources, options, unsafe=args["unsafe_fixes"], tops=paths or (".",))


def _show_diff(fixed: FixOutcome, args: dict[str, Any]) -> int:
    """Print the changes as a diff, and a summary on standard error; return the exit code."""
    from afflint.cli.fixes import diff, patch, would_fix

    if (color := colored(args["color"])) or (sys.stdout is not None and sys.stdout.isatty()):
        show(diff(fixed, color))
    else:
        show_bytes(b"".join(patch(fixed)))
    _notify_unchanged(fixed)
    if not args["quiet"]:
        notify(would_fix(fixed, unsafe=args["unsafe_fixes"]))
    return FOUND if fixed.changes and not args["exit_zero"] else 0


def _write_fixes(session: Session, sources: Sequence[Source], fixed: FixOutcome, args: dict[str, Any]) -> tuple[Outcome, bool]:
    """Write the fixes; return the outcome afterwards, and whether some files could not be written."""
    from afflint.cli.fixes import write_fixes

    _notify_unchanged(fixed)
    count, problems = write_fixes(fixed, session.stdin)
    for problem in problems:
        notify(f"afflint: {visible(problem)}")
    # Some files were not written: check again what is on disk.
    outcome = _outcome(session, sources, args) if problems else fixed.outcome
    return outcome._replace(summary=outcome.summary._replace(fixed=count)), bool(problems)


def _notify_unchanged(fixed: FixOutcome) -> None:
    for name, reason in fixed.skipped:
        notify(f"afflint: {visible(name)} is left unchanged: {reason}")


def run_options(config: Config, args: dict[str, Any], progress: ProgressLine) -> Options:
    """Return the options of the run. ``given["mapper"]``, if any, replaces the map step."""
    from afflint.pipeline.options import Options

    known = None
    if config.baseline and not args["write_baseline"]:
        from afflint.pipeline.baseline import of_config

        known = of_config(config)
    jobs, mapper, cache = options.jobs(config.jobs), args.get("mapper"), _cache_folder(args)
    inline, crds = not args["no_ignore"], args.get("crds")
    definitions = _definitions(crds) if crds else None
    return Options(jobs, inline=inline, progress=progress, baseline=known, mapper=mapper, cache=cache, definitions=definitions)


def _definitions(paths: Sequence[str]) -> Callable[[], Iterable[Source]]:
    """Return a function that returns the files of --crds. Raises UserError at once if a path does not exist."""
    from afflint.source.sources import discover

    files = list(discover(paths))
    return lambda: files


def _cache_folder(args: dict[str, Any]) -> str | None:
    from afflint.pipeline.mapping import DEFAULT_CACHE

    return None if args["no_cache"] else args["cache_dir"] or DEFAULT_CACHE


def _write_baseline(path: str | None, outcome: Outcome, *, to_stderr: bool = False) -> int:
    from afflint.cli.page_metadata import today
    from afflint.pipeline.baseline import DEFAULT_FILE, BaselineError, dump, load

    target = path or DEFAULT_FILE
    if path is None and os.path.islink(target):
        raise UserError(f"{target!r} is a symbolic link; name the file to write with --baseline FILE")
    before = None
    if os.path.isfile(target):
        with contextlib.suppress(BaselineError):  # An unreadable baseline is replaced.
            before = load(target)
    write(target, [dump(outcome.findings, os.path.dirname(target), today=today(), before=before)])
    count, name = len(outcome.findings), visible(target)
    show([f"Wrote {pluralize(count, 'finding')} to {name}; `--baseline {name}` leaves them out.\n"], to_stderr=to_stderr)
    return 0


def _statistics(outcome: Outcome) -> Iterator[str]:
    """Yield a line for each rule with findings, the most frequent first."""
    from collections import Counter

    counts = Counter((finding.rule, finding.category, finding.severity) for finding in outcome.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    width = max((len(str(count)) for _, count in rows), default=0)
    name_width = max((len(rule) for (rule, _, _), _ in rows), default=0)
    for (rule, category, severity), count in rows:
        yield f"{count:>{width}}  {rule:<{name_width}}  {severity:<7}  {category}\n"
    if not rows:
        yield "No findings.\n"


def _fails(outcome: Outcome, fail_on: str) -> bool:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(severity in failing for _, severity in outcome.summary.counts)


def report_targets(formats: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    """Return each report format with its output file ("-": standard output). Raises UserError if two use standard output."""
    for name in formats:
        options.check_choice("--format", name, FORMATS)
    if len(outputs) > max(len(formats), 1):
        raise UserError("more --output than --format options: each --output needs a --format")
    chosen = list(formats) or ["text"]
    targets = [(name, outputs[number] if number < len(outputs) else "-") for number, name in enumerate(chosen)]
    if sum(target == "-" for _, target in targets) > 1:
        raise UserError("only one report can be written to standard output; the others need an --output FILE")
    return targets


def _create_report(outcome: Outcome, config: Config, paths: Sequence[str], *, quiet: bool, verbose: bool, unsafe: bool) -> Report:
    from afflint.report import Report

    summary = outcome.summary._replace(empty=named_files((outcome.sources[file].name for file in outcome.empty), paths))
    return Report(outcome.findings, summary, lambda: _rule_infos(config), outcome.text, __version__, verbose, quiet, unsafe)


def _rule_infos(config: Config) -> list[Any]:
    from afflint.checks.registry import policy_rule, rules
    from afflint.report import RuleInfo

    known = [*rules().values(), *map(policy_rule, config.policies)]
    return [RuleInfo(each.name, each.category, each.severity, each.summary(), each.remedy(), each.page()) for each in known]


def _report(targets: list[tuple[str, str]], report: Report, color: str, *, to_stderr: bool) -> None:
    from afflint.report import render

    for name, target in targets:
        if target == "-":
            show(render(name, report, color=colored(color)), to_stderr=to_stderr)
        else:
            write(target, render(name, report))


_FEW = 3

_SECTIONS = {
    "Input": (
        options.nodes,
        option(
            "--render",
            metavar="[TOOLS]",
            bare_value=",".join(RENDERERS),
            completion=options.word_completion(RENDERERS),
            help_text="Check what kustomizations and charts render to.",
        ),
        flag("--render-network", help_text="Let --render fetch bases and charts over the network."),
        option(
            "--kustomize",
            dest="kustomizations",
            metavar="DIR",
            kind=MULTIPLE,
            completion=options.folder,
            help_text="Check the output of a kustomization. Repeatable.",
        ),
        option(
            "--helm",
            dest="charts",
            metavar="CHART",
            kind=MULTIPLE,
            completion=options.folder,
            help_text="Check the output of a chart. Repeatable.",
        ),
        option("--values", metavar="FILE", kind=MULTIPLE, completion=options.file, help_text="Use a values file for --helm. Repeatable."),
        option(
            "--crds",
            metavar="PATH",
            kind=MULTIPLE,
            completion=options.file,
            help_text="Read CustomResourceDefinitions. Repeatable.",
        ),
        option("--stdin-filename", metavar="NAME", completion=options.file, help_text="Name the file that standard input ('-') replaces."),
        flag("--force-exclude", help_text="Apply `exclude` to files that are named, too."),
        flag("--show-files", help_text="List the files that would be read, and exit."),
    ),
    "Rules and configuration": (
        option(
            "--select",
            metavar="NAMES",
            kind=MULTIPLE,
            completion=options.rule_names,
            help_text="Enable only these rules or categories; comma-separated.",
        ),
        option(
            "--extend-select",
            metavar="NAMES",
            kind=MULTIPLE,
            completion=options.rule_names,
            help_text="Enable these rules or categories as well.",
        ),
        option("--ignore", metavar="NAMES", kind=MULTIPLE, completion=options.rule_names, help_text="Disable these rules or categories."),
        option(
            "--kubernetes-version",
            metavar="1.N",
            completion=options.version,
            help_text="Set the Kubernetes version of the cluster. Default: the newest.",
        ),
        *options.configured,
    ),
    "Output": (
        option(
            "--format",
            dest="formats",
            metavar="FORMAT",
            kind=MULTIPLE,
            completion=options.word_completion(FORMATS),
            help_text=f"Report as {join_words(FORMATS, 'or')}.",
        ),
        option(
            "--output",
            dest="outputs",
            metavar="FILE",
            kind=MULTIPLE,
            completion=options.file,
            help_text="Write the report to a file ('-': standard output), one for each --format.",
        ),
        flag("--statistics", help_text="Count findings by rule instead of listing them."),
        option("--baseline", metavar="FILE", completion=options.file, help_text="Leave out findings that --write-baseline recorded."),
        flag("--write-baseline", help_text="Record all findings in --baseline (.afflint-baseline.json)."),
        flag("--no-ignore", help_text="Report suppressed findings, too."),
        options.color,
        flag("-q", "--quiet", help_text="Print only findings, no summary."),
        flag("-v", "--verbose", help_text="Explain each finding and list skipped files."),
    ),
    "Fixes": (
        flag("--fix", help_text="Apply safe fixes; report the remaining findings."),
        flag("--unsafe-fixes", help_text="Let --fix and --diff change the meaning of manifests."),
        flag("--diff", help_text="Show what --fix would change and write nothing; exit with 1 on changes."),
    ),
    "Exit code": (
        option(
            "--fail-on",
            metavar="SEVERITY",
            completion=options.word_completion(SEVERITIES),
            help_text="Exit with 1 for findings of at least this severity: error, warning (default) or info.",
        ),
        flag("--fail-on-empty", help_text="Exit with 1 if no manifest was found."),
        flag("--exit-zero", help_text="Exit with 0 even if there are findings."),
    ),
    "Execution": (
        option("--jobs", metavar="N", kind=NUMBER, help_text="Use N processes. Default: one per CPU."),
        flag("--no-cache", help_text="Do not read or write the cache.", envvar="AFFLINT_NO_CACHE"),
        option(
            "--cache-dir",
            metavar="DIR",
            envvar="AFFLINT_CACHE_DIR",
            completion=options.folder,
            help_text="Keep the cache in this folder.",
        ),
        option("--executor", metavar="URL", help_text="Run on a Dask cluster, dask://HOST:PORT; ?paths=shared sends no files."),
        option("--shard", metavar="I/N", help_text="Check only this share of the files, for `afflint merge`."),
        flag("--watch", help_text="Check again after each change."),
    ),
}

COMMAND = Command(check, dict, _SECTIONS, Argument("paths", "[PATHS]...", options.file))
