"""Completion of options and arguments in a shell. Imported only when a shell asks for completions."""

from __future__ import annotations

from collections.abc import Sequence

from click.shell_completion import CompletionItem

from afflint.cli.command import FILE, FOLDER, RULE, RULES


def completions(kind: str | Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Return the completions of a word: FILE, FOLDER, RULE and RULES are kinds of words, anything else lists the words."""
    if kind in (FILE, FOLDER):
        return [CompletionItem(incomplete, type=str(kind))]  # The shell completes these itself.
    if kind in (RULE, RULES):
        return _rule_names(incomplete, multiple=kind == RULES)
    return [CompletionItem(word) for word in kind if word.startswith(incomplete)]


def _rule_names(incomplete: str, *, multiple: bool) -> list[CompletionItem]:
    """Return the rules, described by their category, and the categories.

    ``multiple``: ``incomplete`` is a comma-separated list, and its last name is completed.
    """
    from afflint.checks.registry import CATEGORIES, rules

    before, comma, last = incomplete.rpartition(",") if multiple else ("", "", incomplete)
    taken = {*before.split(",")}
    named = {**{rule.name: rule.category for rule in rules().values()}, **dict.fromkeys(CATEGORIES, "category")}
    if multiple:
        named["all"] = "all rules"
    return [
        CompletionItem(f"{before}{comma}{name}", help=help_text)
        for name, help_text in named.items()
        if name.startswith(last) and name not in taken
    ]
