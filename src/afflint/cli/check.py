"""``afflint check``: lint manifests and report what is found."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint import __version__
from afflint.cli import options
from afflint.cli.command import NUMBER, SEVERAL, Argument, Command, flag, option
from afflint.cli.output import FOUND, USAGE, ProgressLine, among, colored, say, show, show_bytes, shown, write
from afflint.config import RENDERERS
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES
from afflint.findings.phrases import pluralize
from afflint.report import FORMATS

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.fix.rounds import FixOutcome
    from afflint.pipeline.run import Options, Outcome
    from afflint.pipeline.session import Session
    from afflint.report import Report
    from afflint.source.sources import Source


def check(paths: tuple[str, ...], **given: Any) -> int:
    """Lint manifests: files, folders, globs or '-'. Default: the current folder."""
    if given["shard"] is not None:
        from afflint.cli.shards import write_share

        return write_share(paths, given)
    if given["executor"] is None:
        return _once_or_watched(paths, given)
    from afflint.pipeline.dask_executor import DaskMapper, address

    cluster = DaskMapper(address(given["executor"]), _cache_folder(given))
    try:
        return _once_or_watched(paths, {**given, "mapper": cluster})
    finally:
        cluster.close()


def _once_or_watched(paths: tuple[str, ...], given: dict[str, Any]) -> int:
    if not given["watch"]:
        return _checked(paths, given)
    from afflint.cli.watch import watched

    return watched(paths, given, lambda seen: _checked(paths, given, seen))


def _checked(paths: tuple[str, ...], given: dict[str, Any], seen: Callable[[Outcome], None] | None = None) -> int:
    from afflint.pipeline.session import Session

    see_that_reports_go_together(given)
    if given["diff"] and any(given[each] for each in ("formats", "outputs", "statistics", "write_baseline")):
        raise UserError("--diff is all that is shown, and goes without --format, --output, --statistics and --write-baseline")
    config = options.configuration(given)
    targets = targets_of(config.format, config.output)
    check_targets(config, given)
    if given["render"] and (given["fix"] or given["diff"]):
        raise UserError("--fix and --diff mend manifests as they stand, and go without --render")
    session = Session(config)
    sources = _sources(session, paths, given)
    if given["show_files"]:
        show(f"{shown(source.name)}\n" for source in sources)
        return 0
    for note in notes(session):
        say(f"afflint: {note}")
    if given["fix"] or given["diff"]:
        fixed = _fixed(session, sources, paths, given)
        if given["diff"]:
            return _differences(fixed, given)
        outcome, unwritten = _made(session, sources, fixed, given)
    else:
        outcome, unwritten = _outcome(session, sources, given), False
    # What is mended of standard input goes to standard output, as editors expect it.
    beside = given["fix"] and session.stdin is not None
    if seen is not None:
        seen(outcome)
    code = reported(outcome, config, targets, paths, given, beside=beside)
    return USAGE if unwritten else code


def check_targets(config: Config, given: dict[str, Any]) -> None:
    """Refuse, before anything is read, files to write that a configuration which was found names and may not write. Raises UserError."""
    if config.repository is None:
        return
    from afflint.config.trust import check_writable

    if given["write_baseline"]:
        from afflint.pipeline.baseline import is_baseline

        if config.baseline:
            check_writable(config, "baseline", config.baseline, is_baseline)
    elif not (given["statistics"] or given.get("diff") or given.get("show_files")):
        from afflint.report.recognition import is_report

        for target in config.output:
            if target != "-":
                check_writable(config, "output", target, is_report)


def see_that_reports_go_together(given: dict[str, Any]) -> None:
    """Refuse what is wrong with the options of reports, before anything is read."""
    targets_of(given["formats"], given["outputs"])
    if given["statistics"] and (given["formats"] or given["outputs"]):
        raise UserError("--statistics is a report of its own and goes without --format and --output")
    options.one_of("--color", given["color"], options.COLORS)


def reported(
    outcome: Outcome, config: Config, targets: list[tuple[str, str]], paths: Sequence[str], given: dict[str, Any], *, beside: bool = False
) -> int:
    """Report what was found in whichever way is asked for; the exit code. ``beside``: standard output is taken."""
    if given["write_baseline"]:
        return _write_baseline(config.baseline, outcome, beside=beside)
    if given["statistics"]:
        show(_statistics(outcome), beside=beside)
    else:
        report = _report_of(outcome, config, paths, quiet=given["quiet"], verbose=given["verbose"], unsafe=given["unsafe_fixes"])
        if "html" in config.format:
            from afflint.cli.page_metadata import page_metadata

            report = report._replace(made=page_metadata())
        _report(targets, report, given["color"], beside=beside)
    renders = outcome.summary.renders
    if (
        renders is not None
        and (renders.failed or renders.without or renders.unread)
        and not any(name in ("text", "json") for name, _ in targets)
    ):
        from afflint.report.text import rendered_lines

        for line in rendered_lines(renders, given["verbose"]):
            say(f"afflint: {line}")
    if outcome.unused_nodes:
        say(f"afflint: {shown(outcome.unused_nodes)}; so no nodes are taken into account: name those of one cluster with --nodes")
    if outcome.undecided:
        from afflint.findings.phrases import join_words, quoted

        names = join_words(
            [*map(quoted, outcome.undecided[:_FEW]), *([f"{more} more"] if (more := len(outcome.undecided) - _FEW) > 0 else [])]
        )
        decides = "decides" if len(outcome.undecided) == 1 else "decide"
        say(f"afflint: no nodes are known, so {names} {decides} nothing: name the nodes with --nodes")
    if not given["quiet"]:
        for line in outcome.unevaluated:
            say(f"afflint: {shown(line)}")
    if outcome.gone:
        entries = (
            "1 entry of the baseline no longer occurs" if outcome.gone == 1 else f"{outcome.gone} entries of the baseline no longer occur"
        )
        say(f"afflint: {entries}; --write-baseline prunes")
    failed = _fails(outcome, config.fail_on) or (given["fail_on_empty"] and not outcome.summary.documents)
    return FOUND if failed and not given["exit_zero"] else 0


def notes(session: Session) -> Iterator[str]:
    """What the configuration asks for and does not get."""
    from afflint.config import COMMAND_LINE, is_selected
    from afflint.findings.finding import field_of
    from afflint.kube import NEWEST, OLDEST

    config = session.config
    if config.policies and config.select is not None:
        idle = [each.name for each in config.policies if not is_selected(each.name, "policy", True, config)]
        if len(idle) == len(config.policies) and config.origins["select"] != COMMAND_LINE:
            yield "no policy is selected: `select` stands in place of all that is on by default; name `policy` in it, or in `extend-select`"
    if len(config.policies) > 1:
        from afflint.policies.contradictions import contradictions

        for each in contradictions(policy for policy in config.policies if is_selected(policy.name, "policy", True, config)):
            yield f"{config.origins[field_of(('policies', each.policy))]}: {each.message}"
    if (config.select is not None or config.ignore) and not session.settings().rules:
        yield "no rule is selected, so nothing can be found: `afflint config` shows what `select` and `ignore` say"
    version = tuple(map(int, config.kubernetes_version.split(".")))
    known = min(max(version, OLDEST), NEWEST)
    if version != known:
        which = "newest" if version > NEWEST else "oldest"
        yield f"the {which} Kubernetes that is known here is 1.{known[1]}: 1.{version[1]} is taken to be like it"


def note_unused_render(config: Config) -> None:
    """Say that nothing is rendered where only a configuration that was found asks for it."""
    if config.render and config.repository is not None:
        from afflint.config.trust import renderers

        if not renderers(config):
            say(f"afflint: note: {config.origins['render']}: `render` needs --render on the command line, or --config with this file")


def _sources(session: Session, paths: Sequence[str], given: dict[str, Any]) -> list[Source]:
    """What is to be checked: the paths that are named, and what kustomize and helm make of theirs."""
    rendered: list[Source] = []
    if given["kustomizations"] or given["charts"] or given["values"]:
        if given["values"] and not given["charts"]:
            raise UserError("--values FILE goes with --helm CHART, and no chart is named")
        rendered = session.rendered(given["kustomizations"], given["charts"], given["values"])
    named = paths or (() if rendered else (".",))
    return session.sources(named, rendered, stdin_name=given["stdin_filename"], force_exclude=given["force_exclude"])


def _outcome(session: Session, sources: Sequence[Source], given: dict[str, Any]) -> Outcome:
    with ProgressLine(len(sources)) as progress:
        options = run_options(session.config, given, progress)
        if not given["fix"]:
            note_unused_render(session.config)
            sources, options = session.with_renders(sources, options, network=given["render_network"])
        return session.check(sources, options)


def _fixed(session: Session, sources: Sequence[Source], paths: Sequence[str], given: dict[str, Any]) -> FixOutcome:
    from afflint.fix.rounds import fix_files

    with ProgressLine(len(sources)) as progress:
        options = run_options(session.config, given, progress)
        return fix_files(session, sources, options, unsafe=given["unsafe_fixes"], tops=paths or (".",))


def _differences(fixed: FixOutcome, given: dict[str, Any]) -> int:
    """Show what would be changed, and say on standard error how much that is."""
    from afflint.cli.fixes import diff, patch, would_fix

    if (color := colored(given["color"])) or (sys.stdout is not None and sys.stdout.isatty()):
        show(diff(fixed, color))
    else:
        show_bytes(b"".join(patch(fixed)))
    _say_left_alone(fixed)
    if not given["quiet"]:
        say(would_fix(fixed, unsafe=given["unsafe_fixes"]))
    return FOUND if fixed.changes and not given["exit_zero"] else 0


def _made(session: Session, sources: Sequence[Source], fixed: FixOutcome, given: dict[str, Any]) -> tuple[Outcome, bool]:
    """What is found once the fixes are written; and whether some could not be, which is said."""
    from afflint.cli.fixes import write_fixes

    _say_left_alone(fixed)
    count, problems = write_fixes(fixed, session.stdin)
    for problem in problems:
        say(f"afflint: {shown(problem)}")
    # Then the files are partly as they were.
    outcome = _outcome(session, sources, given) if problems else fixed.outcome
    return outcome._replace(summary=outcome.summary._replace(fixed=count)), bool(problems)


def _say_left_alone(fixed: FixOutcome) -> None:
    for name, reason in fixed.left_alone:
        say(f"afflint: {shown(name)} is left as it is: {reason}")


def run_options(config: Config, given: dict[str, Any], progress: ProgressLine) -> Options:
    """How to run. ``given["mapper"]``, if any, takes the place of the map step."""
    from afflint.pipeline.run import Options

    known = None
    if config.baseline and not given["write_baseline"]:
        from afflint.pipeline.baseline import of_config

        known = of_config(config)
    jobs, mapper, cache = options.jobs(config.jobs), given.get("mapper"), _cache_folder(given)
    inline, crds = not given["no_ignore"], given.get("crds")
    definitions = _definitions(crds) if crds else None
    return Options(jobs, inline=inline, progress=progress, baseline=known, mapper=mapper, cache=cache, definitions=definitions)


def _definitions(paths: Sequence[str]) -> Callable[[], Iterable[Source]]:
    """What gives the files of definitions. That they are there is seen to at once, whether or not anybody asks for them."""
    from afflint.source.sources import discover

    found = list(discover(paths))
    return lambda: found


def _cache_folder(given: dict[str, Any]) -> str | None:
    from afflint.pipeline.mapping import DEFAULT_CACHE

    return None if given["no_cache"] else given["cache_dir"] or DEFAULT_CACHE


def _write_baseline(path: str | None, outcome: Outcome, *, beside: bool = False) -> int:
    from afflint.cli.page_metadata import today
    from afflint.pipeline.baseline import DEFAULT_FILE, BaselineError, dump, load

    target = path or DEFAULT_FILE
    if path is None and os.path.islink(target):
        raise UserError(f"{target!r} is a link; name the file to write with --baseline FILE")
    before = None
    if os.path.isfile(target):
        with contextlib.suppress(BaselineError):  # What nobody can read, this takes the place of.
            before = load(target)
    write(target, [dump(outcome.findings, os.path.dirname(target), today=today(), before=before)])
    count, name = len(outcome.findings), shown(target)
    show([f"Wrote {pluralize(count, 'finding')} to {name}; `--baseline {name}` keeps them silent.\n"], beside=beside)
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


def _fails(outcome: Outcome, fail_on: str) -> bool:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(severity in failing for _, severity in outcome.summary.counts)


def targets_of(formats: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    """Each report format with where it goes. Only one may go to standard output."""
    for name in formats:
        options.one_of("--format", name, FORMATS)
    if len(outputs) > max(len(formats), 1):
        raise UserError("there are more --output FILE than --format: name a format for each of them")
    chosen = list(formats) or ["text"]
    targets = [(name, outputs[number] if number < len(outputs) else "-") for number, name in enumerate(chosen)]
    if sum(target == "-" for _, target in targets) > 1:
        raise UserError("only one report can go to standard output; give the others an --output FILE")
    return targets


def _report_of(outcome: Outcome, config: Config, paths: Sequence[str], *, quiet: bool, verbose: bool, unsafe: bool) -> Report:
    from afflint.report import Report

    summary = outcome.summary._replace(empty=among((outcome.sources[file].name for file in outcome.empty), paths))
    return Report(outcome.findings, summary, lambda: _rule_infos(config), outcome.text, __version__, verbose, quiet, unsafe)


def _rule_infos(config: Config) -> list[Any]:
    from afflint.checks.registry import policy_rule, rules
    from afflint.report import RuleInfo

    known = [*rules().values(), *map(policy_rule, config.policies)]
    return [RuleInfo(each.name, each.category, each.severity, each.summary(), each.remedy(), each.page()) for each in known]


def _report(targets: list[tuple[str, str]], report: Report, color: str, *, beside: bool) -> None:
    from afflint.report import render

    for name, target in targets:
        if target == "-":
            show(render(name, report, color=colored(color)), beside=beside)
        else:
            write(target, render(name, report))


_FEW = 3

_SECTIONS = {
    "What is read": (
        options.nodes,
        option(
            "--render",
            metavar="[TOOLS]",
            bare=",".join(RENDERERS),
            completes=options.one_word(RENDERERS),
            about="Check kustomizations and charts as rendered.",
        ),
        flag("--render-network", about="Let --render fetch what is not in the repository."),
        option(
            "--kustomize",
            called="kustomizations",
            metavar="DIR",
            takes=SEVERAL,
            completes=options.folder,
            about="Check a kustomization as it is built. Repeatable.",
        ),
        option(
            "--helm",
            called="charts",
            metavar="CHART",
            takes=SEVERAL,
            completes=options.folder,
            about="Check a chart as it is rendered. Repeatable.",
        ),
        option("--values", metavar="FILE", takes=SEVERAL, completes=options.file, about="A values file for --helm. Repeatable."),
        option(
            "--crds",
            metavar="PATH",
            takes=SEVERAL,
            completes=options.file,
            about="Definitions of custom resources. Repeatable.",
        ),
        option("--stdin-filename", metavar="NAME", completes=options.file, about="The file that standard input ('-') stands in for."),
        flag("--force-exclude", about="Let `exclude` hold for files that are named, too."),
        flag("--show-files", about="List the files that would be read, and stop."),
    ),
    "What is looked for": (
        option(
            "--select",
            metavar="NAMES",
            takes=SEVERAL,
            completes=options.rule_names,
            about="Only these rules or categories; comma-separated.",
        ),
        option("--extend-select", metavar="NAMES", takes=SEVERAL, completes=options.rule_names, about="These rules or categories as well."),
        option("--ignore", metavar="NAMES", takes=SEVERAL, completes=options.rule_names, about="Not these rules or categories."),
        option("--kubernetes-version", metavar="1.N", completes=options.version, about="The cluster's version. Default: the newest known."),
        *options.configured,
    ),
    "What is reported": (
        option(
            "--format",
            called="formats",
            metavar="FORMAT",
            takes=SEVERAL,
            completes=options.one_word(FORMATS),
            about=f"{', '.join(FORMATS)}.",
        ),
        option(
            "--output",
            called="outputs",
            metavar="FILE",
            takes=SEVERAL,
            completes=options.file,
            about="Where each --format goes, in that order; '-': standard output.",
        ),
        flag("--statistics", about="Count findings by rule instead of listing them."),
        option("--baseline", metavar="FILE", completes=options.file, about="Leave out what --write-baseline has recorded."),
        flag("--write-baseline", about="Record what is found in --baseline (.afflint-baseline.json)."),
        flag("--no-ignore", about="Report what comments and annotations silence, too."),
        options.color,
        flag("-q", "--quiet", about="Only findings, no summary."),
        flag("-v", "--verbose", about="More about each finding and what was skipped."),
    ),
    "What is mended": (
        flag("--fix", about="Mend what keeps its meaning; report the rest."),
        flag("--unsafe-fixes", about="With --fix, --diff: also what may alter meaning."),
        flag("--diff", about="Show what --fix would change, write nothing; exit 1 if anything."),
    ),
    "When it fails": (
        option(
            "--fail-on",
            metavar="SEVERITY",
            completes=options.one_word(SEVERITIES),
            about="Exit with 1 from this severity on: error, warning (default), info.",
        ),
        flag("--fail-on-empty", about="Exit with 1 if no manifest was found."),
        flag("--exit-zero", about="Exit with 0 even if there are findings."),
    ),
    "How it runs": (
        option("--jobs", metavar="N", takes=NUMBER, about="How many processes. Default: as many as cores."),
        flag("--no-cache", about="Neither use nor keep results of earlier runs.", variable="AFFLINT_NO_CACHE"),
        option(
            "--cache-dir",
            metavar="DIR",
            variable="AFFLINT_CACHE_DIR",
            completes=options.folder,
            about="Where results are kept, not the platform's folder.",
        ),
        option("--executor", metavar="URL", about="A Dask cluster: dask://HOST:PORT; ?paths=shared sends no files."),
        option("--shard", metavar="I/N", about="Only this share of the files, for `afflint merge`."),
        flag("--watch", about="Check again whenever something changes."),
    ),
}

COMMAND = Command(check, _SECTIONS, Argument("paths", "[PATHS]...", options.file))
