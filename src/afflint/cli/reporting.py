"""Reports the outcome of a run: in formats, as a baseline or as statistics, with notices and the exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint import __version__
from afflint.cli.command import check_choice
from afflint.cli.output import FOUND, colored, named_files, notify, page_metadata, show, today, write
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES
from afflint.findings.paths import field_of
from afflint.findings.phrases import pluralize, quoted, summarize_names, visible
from afflint.report import FORMATS, Report, RuleInfo, render

if TYPE_CHECKING:
    from afflint.cli.check_options import CheckOptions
    from afflint.config import Config
    from afflint.findings.finding import Finding
    from afflint.pipeline.run import Outcome
    from afflint.pipeline.session import Session
    from afflint.report import Report, Summary


def check_targets(config: Config, args: CheckOptions, *, writes_report: bool = True) -> None:
    """Raise UserError, before anything is read, if a configuration that was found names an output file that it may not write.

    ``writes_report``: whether the command writes a report with these options at all.
    """
    if config.repository is None:
        return
    from afflint.config.trust import check_writable

    if args.write_baseline:
        from afflint.pipeline.baseline import is_baseline

        if config.baseline:
            check_writable(config, "baseline", config.baseline, is_baseline)
    elif writes_report and not args.statistics:
        from afflint.report.recognition import is_report

        for target in config.output:
            if target != "-":
                check_writable(config, "output", target, is_report)


def report_targets(formats: Sequence[str], outputs: Sequence[str], known: Sequence[str] = FORMATS) -> list[tuple[str, str]]:
    """Return each report format with its output file ("-": standard output). Raises UserError if two use standard output."""
    for name in formats:
        check_choice("--format", name, known)
    if len(outputs) > max(len(formats), 1):
        raise UserError("more --output than --format options: each --output needs a --format")
    chosen = list(formats) or ["text"]
    targets = [(name, outputs[number] if number < len(outputs) else "-") for number, name in enumerate(chosen)]
    if sum(target == "-" for _, target in targets) > 1:
        raise UserError("only one report can be written to standard output; the others need an --output FILE")
    return targets


def report_outcome(outcome: Outcome, config: Config, targets: list[tuple[str, str]], args: CheckOptions, *, to_stderr: bool = False) -> int:
    """Report the outcome as the options say, and return the exit code. ``to_stderr``: use standard error instead of standard output."""
    if args.write_baseline:
        return _write_baseline(config.baseline, outcome, to_stderr=to_stderr)
    if config.policies:
        from afflint.findings.repetitions import without_repetitions

        outcome = _counted_again(outcome, without_repetitions(outcome.findings))
    if args.statistics:
        show(_statistics(outcome), to_stderr=to_stderr)
    else:
        report = _create_report(outcome, config, args)
        if "html" in config.format:
            report = report._replace(made=page_metadata())
        _report(targets, report, args.color, to_stderr=to_stderr)
        if _is_first_run(outcome, config, targets, args):
            notify("".join([f"\n{line}" for line in _next_steps(report.summary, args.paths)]))
    renders = outcome.summary.renders
    if renders is not None and outcome.summary.coverage.not_seen and not any(name in ("text", "json") for name, _ in targets):
        from afflint.report.coverage import coverage_lines

        for line in coverage_lines(renders, outcome.summary.coverage, args.verbose):
            notify(f"afflint: {line}")
    if outcome.unused_nodes:
        notify(f"afflint: {visible(outcome.unused_nodes)}; so no nodes are used: name the nodes of one cluster with --nodes")
    if outcome.undecided:
        names = summarize_names([*map(quoted, outcome.undecided)], most=_FEW)
        are = "is" if len(outcome.undecided) == 1 else "are"
        notify(f"afflint: no nodes are known, so {names} {are} not evaluated: name the nodes with --nodes")
    if not args.quiet:
        for line in outcome.unevaluated:
            notify(f"afflint: {visible(line)}")
    if outcome.gone:
        entries = (
            "1 entry of the baseline no longer occurs" if outcome.gone == 1 else f"{outcome.gone} entries of the baseline no longer occur"
        )
        notify(f"afflint: {entries}; --write-baseline removes {'it' if outcome.gone == 1 else 'them'}")
    failed = _fails(outcome, config.fail_on) or (args.fail_on_empty and not outcome.summary.documents)
    failed = failed or (args.fail_on_unrendered and bool(outcome.summary.coverage.not_seen))
    failed = failed or (args.fail_on_unread and outcome.summary.is_partial)
    return FOUND if failed and not args.exit_zero else 0


def _counted_again(outcome: Outcome, findings: list[Finding]) -> Outcome:
    counts = Counter(each.severity for each in findings)
    summary = outcome.summary._replace(errors=counts["error"], warnings=counts["warning"], info=counts["info"])
    return outcome._replace(findings=findings, summary=summary)


def _next_steps(summary: Summary, paths: Sequence[str]) -> list[str]:
    """Return lines with the most useful commands for a repository without configuration; none if nothing was read."""
    if not summary.documents and not summary.coverage:
        return []
    commands = list(_next_commands(summary, paths))[:_MOST_COMMANDS]
    width = max(len(command) for command, _ in commands)
    return ["Next:", *[f"  {visible(command):<{width}}  {purpose}" for command, purpose in commands]]


def _next_commands(summary: Summary, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    from shlex import join

    if summary.coverage.not_seen and summary.renders is None and not summary.missing_tools:
        yield join(["afflint", "check", "--render", *paths]), "also check what charts and kustomizations create"
    yield "afflint init", "write a configuration for this repository"
    yield (
        join(["afflint", "place", "--nodes", "nodes.yaml", *paths]),
        "show where replicas run; `kubectl get nodes -o yaml` writes nodes.yaml",
    )


_MOST_COMMANDS = 2


def _is_first_run(outcome: Outcome, config: Config, targets: Sequence[tuple[str, str]], args: CheckOptions) -> bool:
    """Return whether a person reads the report, has no findings to work on, and has not configured anything."""
    configured = any(origin.file for origin in config.origins.values())
    shown = ("text", "-") in targets and not args.quiet and sys.stdout is not None and sys.stdout.isatty()
    return shown and not configured and not outcome.findings


def notes(session: Session) -> Iterator[str]:
    """Yield notices about settings of the configuration that have no effect."""
    from afflint.config import COMMAND_LINE, is_selected
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
        from afflint.config.trust import unused_render

        if note := unused_render(config):
            notify(f"afflint: {note}")


def _write_baseline(path: str | None, outcome: Outcome, *, to_stderr: bool = False) -> int:
    from afflint.pipeline.baseline import DEFAULT_FILE, BaselineError, dump, load

    target = path or DEFAULT_FILE
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


def _create_report(outcome: Outcome, config: Config, args: CheckOptions) -> Report:
    summary = outcome.summary._replace(empty=named_files((outcome.sources[file].name for file in outcome.empty), args.paths))
    if summary.renders is None and summary.coverage.not_seen:
        summary = summary._replace(missing_tools=_missing(summary.coverage.tools))
    has_rules = bool(outcome.findings) or _selects_rules(config)
    shown = (args.verbose, args.quiet, args.unsafe_fixes)
    return Report(outcome.findings, summary, lambda: _rule_infos(config), outcome.text, __version__, *shown, has_rules)


def _missing(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the rendering tools that are not installed."""
    from afflint.rendering.programs import helm_command, kustomize_command

    commands = {"kustomize": kustomize_command, "helm": helm_command}
    return tuple([each for each in tools if commands[each]() is None])


def _selects_rules(config: Config) -> bool:
    """Return whether a configuration selects any rule or policy."""
    if config.select is None and not config.ignore:
        return True
    from afflint.checks.registry import rules
    from afflint.config import is_selected, selected

    policies = any(is_selected(each.name, "policy", True, config) for each in config.policies)
    return policies or bool(selected(((each.name, each.category, each.default) for each in rules().values()), config))


def _rule_infos(config: Config) -> list[Any]:
    from afflint.checks.registry import policy_rule, rules

    known = [*rules().values(), *map(policy_rule, config.policies)]
    return [RuleInfo(each.name, each.category, each.severity, each.summary(), each.remedy(), each.page()) for each in known]


def _report(targets: list[tuple[str, str]], report: Report, color: str, *, to_stderr: bool) -> None:
    for name, target in targets:
        if target == "-":
            show(render(name, report, color=colored(color)), to_stderr=to_stderr)
        else:
            write(target, render(name, report))


_FEW = 3
