"""``afflint test``: checks that policies report what their examples expect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.cli import options
from afflint.cli.command import FOLDER, Command, argument, flag
from afflint.cli.options import ConfigOverrides
from afflint.cli.output import FOUND, colored, show
from afflint.config import find
from afflint.findings.errors import UserError
from afflint.findings.phrases import pluralize, visible

if TYPE_CHECKING:
    from afflint.compliance.policy_tests import ExampleVerdict

_FORMATS = ("text", "json")
_BOLD, _RED, _GREEN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


class PolicyTestOptions(ConfigOverrides):
    """The options of ``afflint test``."""

    paths: tuple[str, ...] = argument("PATHS...", FOLDER, required=True)
    config_file = options.CONFIG_FILE
    no_config = options.NO_CONFIG
    form: str = options.form_option(_FORMATS)
    color = options.COLOR
    quiet: bool = flag("-q", "--quiet", help_text="Print only what differs from the examples, no summary.")


def test(args: PolicyTestOptions) -> int:
    """Test that policies report what their examples expect.

    PATHS are Markdown pages with bad and good examples, YAML files named bad or good, or folders of these. The configuration is the
    nearest one in the folder of the first path or above it.

    Exits with 1 if an example does not give the expected findings or cannot be read.
    """
    from afflint.checks.registry import rules
    from afflint.compliance.policy_tests import ExampleRunner, examples_in
    from afflint.source.examples import Example

    if not os.path.exists(args.paths[0]):
        raise UserError(f"no such file or folder: {args.paths[0]!r}")
    config_file = args.config_file
    if config_file is None and not args.no_config:
        config_file = find(args.paths[0])
    runner = ExampleRunner(options.configuration(ConfigOverrides(config_file=config_file, no_config=config_file is None)))
    examples = examples_in(args.paths, {*rules(), *runner.policies})
    if not examples:
        raise UserError(
            f"no examples in {', '.join(map(repr, args.paths))}: examples are fences ```yaml bad and ```yaml good in pages, or files such "
            "as `POLICY.bad.yaml` and `POLICY.good.yaml`"
        )
    verdicts = [runner.verdict(each) if isinstance(each, Example) else each for each in examples]
    if args.form == "json":
        show([_as_json(verdicts, runner.policies)])
    else:
        show(_as_text(verdicts, runner.policies, color=colored(args.color), quiet=args.quiet))
    return 0 if all(each.passed for each in verdicts) else FOUND


def _as_text(verdicts: Sequence[ExampleVerdict], policies: Sequence[str], *, color: bool, quiet: bool) -> Iterator[str]:
    bold, red, green, plain = (_BOLD, _RED, _GREEN, _PLAIN) if color else ("", "", "", "")
    for verdict in verdicts:
        for line, column, text in _differences(verdict):
            yield f"{bold}{visible(verdict.example.file)}:{line}:{column}:{plain} {text}\n"
        for note in () if verdict.passed else verdict.notes:
            yield f"  {visible(note)}\n"
    if quiet:
        return
    failed = sum(not each.passed for each in verdicts)
    examples = pluralize(len(verdicts), "example")
    yield f"{red}{examples}, {failed} not as expected{plain}\n" if failed else f"{green}{examples}, all as expected{plain}\n"
    if policies:
        idle = _idle(verdicts, policies)
        listed = f"; no bad example violates {', '.join(f'`{name}`' for name in idle)}" if idle else ""
        yield f"{len(policies) - len(idle)} of {pluralize(len(policies), 'policy')} exercised{listed}\n"


def _idle(verdicts: Sequence[ExampleVerdict], policies: Sequence[str]) -> list[str]:
    """Return the policies that no bad example violates."""
    exercised = {name for verdict in verdicts for name in verdict.exercised}
    return [name for name in policies if name not in exercised]


def _differences(verdict: ExampleVerdict) -> list[tuple[int, int, str]]:
    """Return missing and unexpected findings of an example, or why it cannot be run, with line and column in the file."""
    if verdict.fault is not None:
        return [(verdict.fault.line, verdict.fault.column, visible(verdict.fault.message))]
    first = verdict.example.line
    lines = [
        (each.line + first, each.column, f"expected a finding of `{visible(each.rule)}`, but got none")
        if each.rule
        else (each.line + first, each.column, "expected a finding, but got none")
        for each in verdict.missing
        if each.line
    ]
    lines += [
        (max(first, 1), 1, f"bad example, but {f'`{visible(each.rule)}` reports nothing' if each.rule else 'no policy reports anything'}")
        for each in verdict.missing
        if not each.line
    ]
    lines += [
        (each.span.line + first, each.span.column, f"not expected: {visible(each.message)} [{visible(each.rule)}]")
        for each in verdict.unexpected
    ]
    return sorted(lines)


def _as_json(verdicts: Sequence[ExampleVerdict], policies: Sequence[str]) -> str:
    import json

    idle = _idle(verdicts, policies)
    examples = [
        {
            "file": verdict.example.file,
            "line": verdict.example.line or 1,
            "rule": verdict.example.rule or None,
            "bad": verdict.example.bad if verdict.fault is None else None,
            "passed": verdict.passed,
            "notes": [*verdict.notes],
            "differences": [{"line": line, "column": column, "message": text} for line, column, text in _differences(verdict)],
        }
        for verdict in verdicts
    ]
    summary = {
        "examples": len(verdicts),
        "failed": sum(not each.passed for each in verdicts),
        "policies": len(policies),
        "unexercised": idle,
    }
    return json.dumps({"version": 1, "examples": examples, "summary": summary}, indent=2) + "\n"


COMMAND = Command(test, PolicyTestOptions, "Test policies on their examples.")
