"""The interface of the page to afflint: two texts in, plain data out. It runs in a web worker of the browser, and imports only afflint.

The texts are the files ``manifest.yaml`` and ``nodes.yaml`` of an otherwise empty folder, so that afflint finds the nodes in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from afflint import config
from afflint.checks.registry import rules
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.fix.fixing import apply_fixes
from afflint.fix.rounds import fix_text, fix_writer, is_safe
from afflint.pipeline.options import Options
from afflint.pipeline.place_inputs import NO_NODES
from afflint.pipeline.run import Outcome
from afflint.pipeline.session import Session
from afflint.placement.planner import DisruptionRequest, make_plan
from afflint.report.place import page
from afflint.source.sources import Source

NAMES = ("manifest.yaml", "nodes.yaml")
_NO_NODES = "there are no nodes: paste the output of `kubectl get nodes -o yaml`, or declarations of node pools, into the tab Nodes"


class Playground:
    """One page, with the result of its last check, because fixes are requested by number."""

    def __init__(self) -> None:
        self._texts: tuple[str, ...] = ("", "")
        self._outcome: Outcome | None = None

    def check(self, *texts: str) -> dict[str, Any]:
        """Return the findings in the manifest and the nodes, and the numbers of the run."""
        self._texts = texts
        self._outcome = _session().check(_sources(texts), Options())
        found, summary = self._outcome.findings, self._outcome.summary
        return {
            "findings": [_finding(number, each) for number, each in enumerate(found)],
            "safe": sum(map(is_safe, found)),
            "documents": summary.documents,
            "suppressed": summary.suppressed,
        }

    def fix(self, number: int) -> dict[str, Any]:
        """Return the text after the fix of a finding of the last check; the same text if the fix would do harm."""
        assert self._outcome is not None
        finding = self._outcome.findings[number]
        tab = NAMES.index(finding.file)
        done = apply_fixes(finding.file, self._texts[tab].encode(), [finding], fix_writer(_session().settings()))
        return {"tab": tab, "text": done.data.decode(), "made": len(done.made)}

    def fix_all(self) -> list[str]:
        """Return both texts with all safe fixes applied."""
        session, texts = _session(), list(self._texts)
        checker = fix_writer(session.settings())
        for tab, source in enumerate(_sources(texts)):

            def found(changed: Source, tab: int = tab) -> Iterator[Finding]:
                sources = _sources([text if number != tab else (changed.data or b"").decode() for number, text in enumerate(texts)])
                return (each for each in session.check(sources, Options()).findings if each.file == NAMES[tab])

            texts[tab] = fix_text(source, found, is_safe, checker).decode()
        return texts

    def place(self, manifest: str, nodes: str, disruption: str) -> dict[str, Any]:
        """Return the page of a plan, or the reason why it cannot be made.

        ``disruption`` is "", ``lose:zone``, ``drain:node`` or the like, for each one.
        """
        action, _, what = disruption.partition(":")
        given: dict[str, Any] = {action: (f"each:{what}",)} if action else {}
        asked = DisruptionRequest(**given)
        try:
            simulation_input, problems, names, notes, _, classes, *_ = _session().simulation_input(_sources((manifest, nodes)))
            plan = make_plan(
                simulation_input.inventory,
                simulation_input.pod_sources,
                asked=asked,
                name_of=names.__getitem__,
                budgets=simulation_input.budgets,
                evictions=simulation_input.evictions, classes=classes,
            )  # fmt: skip
        except UserError as error:
            return {"problem": _NO_NODES if str(error) == NO_NODES else str(error)}
        plan = plan._replace(notes=(*problems, *notes, *plan.notes))
        # The picture is complete without its script, and no script that contains text of the user runs here.
        return {"page": page.render(plan).partition("<script>")[0]}

    def page(self, rule: str) -> str:
        """Return the page of a rule, in Markdown."""
        return rules()[rule].page()


def _session() -> Session:
    return Session(config.default())


def _sources(texts: Any) -> list[Source]:
    return [Source(name, f"/playground/{name}", text.encode()) for name, text in zip(NAMES, texts, strict=True) if text.strip()]


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
        "field": finding.field,
        "tab": NAMES.index(finding.file),
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "fix": None if finding.fix is None else "safe" if finding.fix.safe else "unsafe",
        "related": [
            {"tab": NAMES.index(each.file), "line": each.span.line, "column": each.span.column, "message": each.message}
            for each in finding.related
        ],
    }


PAGE = Playground()


def answer(question: str) -> str:
    """Return the answer to a question of the page, both as JSON: the name of a method above, and its arguments."""
    name, *given = json.loads(question)
    return json.dumps(getattr(PAGE, name)(*given))
