"""Fixes a manifest written in a test, as `--fix --unsafe-fixes` would."""

import textwrap

from afflint.checks.registry import rules
from afflint.pipeline.fixing import apply_fixes
from afflint.pipeline.map_step import Checker
from linting import findings_of, settings_of


def fix_by_rule(rule: str, text: str) -> str:
    """Return the text after all fixes of one rule, applied in rounds."""
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
    """Return whether the fixes of a rule turn one text into the other."""
    return fix_by_rule(rule, before) == textwrap.dedent(after)


def stays(rule: str, text: str) -> bool:
    """Whether a rule offers nothing that could be made."""
    return becomes(rule, text, text)
