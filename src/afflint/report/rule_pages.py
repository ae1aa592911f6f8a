"""Rules in the terminal: the page of a rule, the table of all rules, and both as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afflint.checks.registry import CATEGORIES, Rule

_BOLD, _DIM, _CYAN, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"


_LABELS = {"bad": "wrong:", "good": "right:", "said": "reported as:"}
"""The label of a code block, by the word in its info string."""


def page(rule: Rule, *, color: bool, width: int | None = None) -> str:
    """Return the page of a rule for a terminal, without markup; paragraphs are at most ``width`` columns wide."""
    bold, dim, cyan, plain = (_BOLD, _DIM, _CYAN, _PLAIN) if color else ("", "", "", "")
    default = "" if rule.default else ", off by default"
    fix = "" if rule.fix == "none" else f", {rule.fix} fix"
    since = f", since afflint {rule.since}" if rule.since else ""
    lines = [f"{bold}{rule.name}{plain}  {dim}{rule.category}, {rule.severity}{default}{fix}{since}{plain}"]
    fenced = False
    # Paragraphs and list items are wrapped, never within a code span; headings, links and examples are kept.
    text = rule.page() if width is None else re.sub(_PROSE, lambda prose: _broken(prose[0], width), rule.page())
    for line in text.splitlines()[1:]:
        if line.startswith("```"):
            fenced = not fenced
            if fenced:
                kind = line[3:].split()
                lines.append(f"  {dim}{_LABELS.get(kind[-1] if kind[:1] != ['yaml'] else kind[1], '')}{plain}".rstrip())
        elif fenced:
            lines.append(f"    {line}" if line else "")
        elif line.startswith("## "):
            lines.append(f"{bold}{line[3:]}{plain}")
        elif link := re.fullmatch(r"- \[([^]]+)\]\(([^)]+)\)", line):
            lines.append(f"- {link[1]}: {link[2]}")
        else:
            lines.append(re.sub(r"`([^`]+)`", rf"{cyan}\1{plain}", line) if color else line)
    return "\n".join(lines).rstrip() + "\n"


_PROSE = re.compile(r"^```(?:.*\n)*?```$|^(?:- (?!\[)|[^\s#`-]|`[^`]).*(?:\n(?!- )(?:  )?[^\s#].*)*", re.MULTILINE)


def _broken(prose: str, width: int) -> str:
    if prose.startswith("```"):
        return prose
    import textwrap

    glued = re.sub(r"`[^`]+`", lambda span: span[0].replace(" ", "\0"), " ".join(prose.split()))
    indent = "  " if prose.startswith("- ") else ""
    lines = textwrap.wrap(glued, max(width, 40), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def table(rules: Sequence[Rule]) -> str:
    """Return a line per rule, grouped by category."""
    if not rules:
        return "No policies are configured.\n"
    width, rows = max(len(rule.name) for rule in rules), []
    for category in CATEGORIES:
        of_category = [rule for rule in rules if rule.category == category]
        rows += [f"{category}\n"] if of_category else []
        for rule in of_category:
            marks = ("" if rule.default else " (off by default)") + ("" if rule.fix == "none" else f" [{rule.fix} fix]")
            rows.append(f"  {rule.name:<{width}}  {rule.severity:<7}  {rule.summary().replace('`', '')}{marks}\n")
    return "".join(rows)


def as_json(rules: Sequence[Rule], *, single: bool) -> str:
    """Return rules as JSON: name, category, severity, default, fix, since, summary, help and the page in Markdown."""
    import json

    entries = [
        {
            "name": rule.name,
            "category": rule.category,
            "severity": rule.severity,
            "default": rule.default,
            "fix": rule.fix,
            "since": rule.since,
            "summary": rule.summary(),
            "help": rule.remedy(),
            "page": rule.page(),
        }
        for rule in rules
    ]
    return json.dumps(entries[0] if single else entries, indent=2) + "\n"
