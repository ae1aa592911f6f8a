"""Mends a manifest written in a test, as `--fix --unsafe-fixes` would."""

from __future__ import annotations

import textwrap

from afflint.checks.registry import rules
from afflint.fix.fixing import apply_fixes
from afflint.pipeline.map_step import Checker
from linting import findings_of, settings_of


def mended_by(rule: str, text: str) -> str:
    """The text with all fixes that one rule offers, one after the other."""
    data = textwrap.dedent(text).encode()
    settings = settings_of([rule])
    checker = Checker(settings_of([each.name for each in rules().values()]))
    for _ in range(20):
        offered = [finding for finding in findings_of({"a.yaml": data}, settings) if finding.fix is not None]
        result = apply_fixes("a.yaml", data, offered, checker)
        if not result.made:
            break
        data = result.data
    return data.decode()


def becomes(rule: str, before: str, after: str) -> bool:
    """Whether the fixes of a rule make the one text of the other."""
    return mended_by(rule, before) == textwrap.dedent(after)


def stays(rule: str, text: str) -> bool:
    """Whether a rule offers nothing that could be made."""
    return becomes(rule, text, text)
