"""The interface of the page to afflint: files in, plain data out. It runs in a web worker of the browser, and imports only afflint.

It writes the files to the working directory, which is a folder in memory, and runs afflint there: as on a disk, their names decide
which file is the configuration and which files are read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from afflint import config
from afflint.checks.registry import CATEGORIES, rules
from afflint.config import ConfigError, ConfigProblem
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.findings.phrases import join_words, quoted
from afflint.findings.repetitions import without_repetitions
from afflint.fix.rounds import fix_files, is_safe
from afflint.pipeline.fixing import apply_fixes
from afflint.pipeline.map_step import fix_checker
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome
from afflint.pipeline.session import Session
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.report.coverage import coverage_lines
from afflint.report.model import Report
from afflint.report.place import page
from afflint.report.text import summary_lines
from afflint.simulation.inputs import NO_NODES, inputs_of

Files = Mapping[str, str]
"""The texts of the files by their names: relative paths with slashes."""

_NAME = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[\w.-]+(?:/[\w.-]+)*", re.ASCII)
_ROLL = "roll"


class Playground:
    """The files of one page, and the result of their last check: the page asks for a fix by the number of its finding."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._findings: list[Finding] = []

    def check(self, files: Files) -> dict[str, Any]:
        """Return the findings in the files, the number of safe fixes, a summary, and notes about what was not checked.

        Mistakes in the configuration are findings too. Nothing else is checked until they are fixed, as on the command line.
        """
        self._write(files)
        try:
            session = _session()
            outcome = session.check(session.sources((".",)), Options())
        except ConfigError as error:
            found = [_problem(number, each) for number, each in enumerate(error.problems)]
            return {"findings": found, "safe": 0, "summary": "The configuration is invalid; nothing was checked.", "notes": []}
        except UserError as error:
            return {"findings": [], "safe": 0, "summary": "Nothing was checked.", "notes": [str(error)]}
        self._findings = without_repetitions(outcome.findings)
        summary, *notes = _summary(session, outcome, self._findings)
        return {
            "findings": [_finding(number, each) for number, each in enumerate(self._findings)],
            "safe": sum(map(is_safe, self._findings)),
            "summary": summary,
            "notes": [*notes, *_notes(files, session, outcome)],
        }

    def fix(self, files: Files, number: int) -> dict[str, Any]:
        """Return the file of a finding after its fix, by the number of the finding in a check of the same files.

        The text is the same if the fix would do harm.
        """
        if files != self._files or number >= len(self._findings):
            self.check(files)
        finding = self._findings[number]
        done = apply_fixes(finding.file, files[finding.file].encode(), [finding], fix_checker(_session().settings()))
        return {"file": finding.file, "text": done.data.decode(), "made": len(done.made)}

    def fix_all(self, files: Files) -> dict[str, str]:
        """Return the files with all safe fixes applied."""
        self._write(files)
        session = _session()
        changes = fix_files(session, session.sources((".",)), Options(), unsafe=False).changes
        return {**files, **{each.source.name: each.after.decode() for each in changes}}

    def place(self, files: Files, disruption: str) -> dict[str, Any]:
        """Return the page of a plan, or the reason why it cannot be made.

        ``disruption`` is "", ``roll`` for a rollout of each workload, or ``lose:zone``, ``drain:node`` or the like for each one.
        """
        self._write(files)
        action, _, what = disruption.partition(":")
        given: dict[str, Any] = {action: (f"each:{what}",)} if what else {}
        asked = DisruptionRequest(**given)
        try:
            session = _session()
            inputs = inputs_of(session, session.sources((".",)))
            plan = make_plan(
                inputs.simulation_input.inventory,
                inputs.simulation_input.pod_sources,
                asked=asked,
                name_of=inputs.names.__getitem__,
                budgets=inputs.simulation_input.budgets,
                evictions=inputs.simulation_input.evictions,
                classes=inputs.classes,
                roll=("each",) if action == _ROLL else (),
            )
        except UserError as error:
            missing = str(error) == NO_NODES
            return {"problem": "the files have no nodes" if missing else str(error), "needsNodes": missing}
        unseen = [line.removesuffix(".") for line in coverage_lines(None, inputs.coverage, verbose=False, reads="places")]
        plan = plan._replace(notes=(*inputs.problems, *unseen, *inputs.notes, *plan.notes))
        # The picture is complete without its script, and no script that contains text of the user runs here.
        return {"page": page.render(plan).partition("<script>")[0]}

    def page(self, rule: str) -> str:
        """Return the page of a rule, in Markdown."""
        return rules()[rule].page()

    def _write(self, files: Files) -> None:
        """Write the files to the working directory, and delete those of the previous call that are no longer there."""
        for name in files:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a file below the working directory")
        self._findings = []
        for name in self._files:
            os.remove(name)
            with contextlib.suppress(OSError):  # Other files are in its folder.
                os.removedirs(os.path.dirname(name))
        self._files = {}
        for name, text in files.items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            with open(name, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            self._files[name] = text


def _session() -> Session:
    """Return a session with the configuration in the working directory. Raises ConfigError."""
    path = config.find(".")
    return Session(config.load(path, rule_names=tuple(rules()), categories=CATEGORIES, was_found=True) if path else config.default())


def _summary(session: Session, outcome: Outcome, findings: Sequence[Finding]) -> list[str]:
    """Return the summary of the text report, and its sentences about what was not rendered."""
    counts = Counter(each.severity for each in findings)
    summary = outcome.summary._replace(errors=counts["error"], warnings=counts["warning"], info=counts["info"])
    # Without findings, it does not name the options that fix them.
    report = Report((), summary, tuple, outcome.text, "", verbose=False, quiet=False, has_rules=bool(session.settings().rules))
    return list(summary_lines(report))


def _notes(files: Files, session: Session, outcome: Outcome) -> list[str]:
    """Return sentences about what was not checked."""
    read = {source.name for source in outcome.sources} | {config.find(".")}
    unread = [quoted(name) for name, text in files.items() if name not in read and text.strip()]
    notes = [f"Not checked, because of the name or the configuration: {join_words(unread)}."] if unread else []
    if outcome.unused_nodes:
        notes.append(f"{outcome.unused_nodes}; so no nodes are used.")
    if outcome.undecided:
        notes.append(f"Not evaluated, because no nodes are known: {join_words(map(quoted, outcome.undecided))}.")
    if session.config.baseline:
        notes.append("The `baseline` of the configuration is not applied here.")
    return [*notes, *outcome.unevaluated]


def _problem(number: int, problem: ConfigProblem) -> dict[str, Any]:
    """Return a mistake in the configuration in the form of a finding."""
    span = problem.span
    return {
        "number": number,
        "rule": "configuration",
        "hasPage": False,
        "severity": "error",
        "message": problem.message,
        "help": "",
        "object": "",
        "file": problem.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "fix": None,
        "related": [],
    }


def _finding(number: int, finding: Finding) -> dict[str, Any]:
    span = finding.span
    return {
        "number": number,
        "rule": finding.rule,
        "hasPage": finding.rule in rules(),
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "object": " ".join(part for part in (finding.object.kind, finding.object.name) if part),
        "file": finding.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "fix": None if finding.fix is None else "safe" if finding.fix.safe else "unsafe",
        "related": [
            {"file": each.file, "line": each.span.line, "column": each.span.column, "message": each.message} for each in finding.related
        ],
    }


PAGE = Playground()


def answer(question: str) -> str:
    """Return the answer to a question of the page, both as JSON: the name of a method above, and its arguments."""
    name, *given = json.loads(question)
    return json.dumps(getattr(PAGE, name)(*given))
