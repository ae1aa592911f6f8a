"""What afflint reports for the bad examples on rule pages, below each of them in a fence ```` ```said ````."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tools.generate import GeneratedFile, missing_programs

import rule_pages
from afflint.source.examples import REPORT_FENCE
from rule_pages import Example


def files() -> Iterator[GeneratedFile]:
    """Yield every rule page; those of rules about charts need Helm."""
    for name in rule_pages.names():
        of_chart = rule_pages.CHECKS[name].subject == "charts"
        path = rule_pages.FOLDER / f"{name}.md"
        yield GeneratedFile(path, partial(_page, path), missing_programs("helm") if of_chart else "")


def _page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if rule_pages.CHECKS[path.stem].subject == "charts" and missing_programs("helm"):
        return text
    text = re.sub(rf"\n```{REPORT_FENCE}\n(?:.*\n)*?```\n", "", text)
    for example in reversed(rule_pages.parse(path.stem, text)):
        if example.bad:
            lines = text.splitlines(keepends=True)
            end = example.line + example.text.count("\n") + 1
            lines.insert(end, f"\n```{REPORT_FENCE}\n{_messages(example)}```\n")
            text = "".join(lines)
    return text


def _messages(example: Example) -> str:
    """Return the findings of the rule in an example, each on a line."""
    found = rule_pages.findings_in(example.text, example.rule)
    return "".join(f"{each.span.line}:{each.span.column}: {each.severity} {each.message}\n" for each in found if each.rule == example.rule)
