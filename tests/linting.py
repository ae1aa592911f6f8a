"""Lints manifests written in a test: a run over a few files, with what it finds as short lines."""

from __future__ import annotations

import textwrap

from afflint import rules
from afflint.checks.match import NEWEST, Target
from afflint.engine import Checker, Settings
from afflint.findings import Finding, sort_key

ON_BY_DEFAULT = frozenset(rule.name for rule in rules.rules().values() if rule.default)


def lint(files: dict[str, str] | str, *, also: str | None = None, target: Target | None = None) -> list[Finding]:
    """The findings of all rules that are on by default (``also`` one that is not), over files by name or the text of one."""
    named = {"a.yaml": files} if isinstance(files, str) else files
    data = {name: textwrap.dedent(text).encode() for name, text in named.items()}
    checker = Checker(Settings(ON_BY_DEFAULT | ({also} if also else frozenset()), target=target or Target(NEWEST)))
    results = [checker.check(name, content) for name, content in data.items()]
    across = checker.check_fleet([result.facts for result in results], data.__getitem__, lambda _: True)
    return sorted([*(finding for result in results for finding in result.findings), *across], key=sort_key)


def places(findings: list[Finding]) -> list[str]:
    """``a.yaml:12:5 warning rule`` for each finding."""
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.severity} {each.rule}" for each in findings]


def said(files: dict[str, str] | str, rule: str, *, target: Target | None = None) -> list[str]:
    """``12:5 message`` for each finding of one rule."""
    found = [each for each in lint(files, also=rule, target=target) if each.rule == rule]
    return [f"{each.span.line}:{each.span.column} {each.message}" for each in found]
