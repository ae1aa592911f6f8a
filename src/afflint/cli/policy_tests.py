"""``afflint test``: whether policies find in examples what these say they find."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from afflint.cli import options
from afflint.cli.command import Argument, Command, flag
from afflint.cli.output import FOUND, colored, show, shown
from afflint.findings.errors import UserError
from afflint.findings.phrases import pluralize

if TYPE_CHECKING:
    from afflint.pipeline.policy_tests import ExampleVerdict

_FORMATS = ("text", "json")
_BOLD, _RED, _GREEN, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[0m"


def test(paths: tuple[str, ...], **given: Any) -> int:
    """Whether policies find in examples what these say they find.

    PATHS are pages and folders of them, with examples as the rules have them, or files of YAML that are called bad or good. The
    configuration is the nearest from the first of them upward.

    Exit code 1 when an example does not give what it says, or cannot be read.
    """
    from afflint.checks.registry import rules
    from afflint.pipeline.policy_tests import ExampleRunner, examples_in
    from afflint.source.examples import Example

    options.one_of("--format", given["form"], _FORMATS)
    options.one_of("--color", given["color"], options.COLORS)
    if not os.path.exists(paths[0]):
        raise UserError(f"no such file or folder: {paths[0]!r}")
    if given["config_file"] is None and not given["no_config"]:
        from afflint.config import find

        given["config_file"] = find(paths[0])
    judgement = ExampleRunner(options.configuration({**given, "no_config": given["config_file"] is None}))
    found = examples_in(paths, {*rules(), *judgement.policies})
    if not found:
        raise UserError(
            f"no example in {', '.join(map(repr, paths))}: pages with fences ```yaml bad and ```yaml good, or files such as "
            "`POLICY.bad.yaml` and `POLICY.good.yaml`"
        )
    verdicts = [judgement.verdict(each) if isinstance(each, Example) else each for each in found]
    if given["form"] == "json":
        show([_as_json(verdicts, judgement.policies)])
    else:
        show(_as_text(verdicts, judgement.policies, color=colored(given["color"]), quiet=given["quiet"]))
    return 0 if all(each.passed for each in verdicts) else FOUND


def _as_text(verdicts: Sequence[ExampleVerdict], policies: Sequence[str], *, color: bool, quiet: bool) -> Iterator[str]:
    bold, red, green, plain = (_BOLD, _RED, _GREEN, _PLAIN) if color else ("", "", "", "")
    for verdict in verdicts:
        for line, column, text in _differences(verdict):
            yield f"{bold}{shown(verdict.example.file)}:{line}:{column}:{plain} {text}\n"
        for note in () if verdict.passed else verdict.notes:
            yield f"  {shown(note)}\n"
    failed = sum(not each.passed for each in verdicts)
    if quiet:
        return
    examples = pluralize(len(verdicts), "example")
    yield f"{red}{examples}, {failed} not as expected{plain}\n" if failed else f"{green}{examples}, all as expected{plain}\n"
    if policies:
        idle = _idle(verdicts, policies)
        listed = f"; no bad example of {', '.join(f'`{name}`' for name in idle)}" if idle else ""
        yield f"{len(policies) - len(idle)} of {pluralize(len(policies), 'policy')} exercised{listed}\n"


def _idle(verdicts: Sequence[ExampleVerdict], policies: Sequence[str]) -> list[str]:
    """The policies of which no example shows that they find anything."""
    exercised = {name for verdict in verdicts for name in verdict.exercised}
    return [name for name in policies if name not in exercised]


def _differences(verdict: ExampleVerdict) -> list[tuple[int, int, str]]:
    """What an example expects and nobody found, and the other way round, or why it cannot be judged, with line and column in the file."""
    if verdict.fault is not None:
        return [(verdict.fault.line, verdict.fault.column, shown(verdict.fault.message))]
    first = verdict.example.line
    lines = [
        (each.line + first, each.column, f"expected a finding of `{shown(each.rule)}`, there is none")
        if each.rule
        else (each.line + first, each.column, "expected a finding, there is none")
        for each in verdict.missing
        if each.line
    ]
    lines += [
        (max(first, 1), 1, f"a bad example, and {f'`{shown(each.rule)}` finds' if each.rule else 'no policy finds'} nothing in it")
        for each in verdict.missing
        if not each.line
    ]
    lines += [
        (each.span.line + first, each.span.column, f"not expected: {shown(each.message)} [{shown(each.rule)}]")
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


_OPTIONS = (
    *options.configured,
    options.form(_FORMATS),
    options.color,
    flag("-q", "--quiet", about="Only what is not as expected, no summary."),
)
COMMAND = Command(
    test, {"": _OPTIONS}, Argument("paths", "PATHS...", options.folder, required=True), "Examples of policies, held to what they say."
)
