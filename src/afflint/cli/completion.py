"""What shells complete for options and arguments: names of rules and categories, formats, files. Imported only when a shell asks."""

from __future__ import annotations

from collections.abc import Iterable

from click.shell_completion import CompletionItem


def words(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Those of the known words that begin like this."""
    return [CompletionItem(word) for word in known if word.startswith(incomplete)]


def rule_names(incomplete: str, *, several: bool) -> list[CompletionItem]:
    """Rules with their category, and categories; ``several``: the last of a list with commas, after which the list may go on."""
    from afflint.checks.registry import CATEGORIES, rules

    before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
    taken = {*before.split(",")}
    named = {**{rule.name: rule.category for rule in rules().values()}, **dict.fromkeys(CATEGORIES, "category")}
    if several:
        named["all"] = "every rule"
    return [
        CompletionItem(f"{before}{comma}{name}", help=about) for name, about in named.items() if name.startswith(last) and name not in taken
    ]


def versions(incomplete: str) -> list[CompletionItem]:
    """The versions of Kubernetes that are known, the newest first."""
    from afflint.kube import NEWEST, OLDEST

    return words((f"1.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)), incomplete)


def places(incomplete: str, kind: str) -> list[CompletionItem]:
    """Has the shell complete files (``file``) or folders (``dir``) itself."""
    return [CompletionItem(incomplete, type=kind)]
