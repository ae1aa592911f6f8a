"""Shell completion of options and arguments: names of rules and categories, formats, files.

Imported only when a shell asks for completions.
"""

from __future__ import annotations

from collections.abc import Iterable

from click.shell_completion import CompletionItem


def words(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the known words that begin with `incomplete`."""
    return [CompletionItem(word) for word in known if word.startswith(incomplete)]


def rule_names(incomplete: str, *, multiple: bool) -> list[CompletionItem]:
    """Return the rules, described by their category, and the categories.

    ``several``: ``incomplete`` is a comma-separated list, and its last name is completed.
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


def versions(incomplete: str) -> list[CompletionItem]:
    """Return the known versions of Kubernetes, the newest first."""
    from afflint.kube import NEWEST, OLDEST

    return words((f"1.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)), incomplete)


def complete_paths(incomplete: str, kind: str) -> list[CompletionItem]:
    """Let the shell complete files (``file``) or folders (``dir``) itself."""
    return [CompletionItem(incomplete, type=kind)]
