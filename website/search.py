"""The words that people search for: the search of Zensical finds words that are in a page, and a title that begins with them first.

An entry of the index such as "noqa → Suppress findings" is added for each word below, because another page has the word in its title, or
no page has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

WORDS: Mapping[str, tuple[str, ...]] = {
    "agents.html": ("mcp", "ai", "llm", "claude", "copilot", "cursor"),
    "argo-cd.html": ("argocd",),
    "ci.html": ("pipeline", "jenkins"),
    "coming-from.html": ("opa",),
    "commands/check.html#fixes": ("autofix",),
    "commands/why.html": ("pending",),
    "configuration.html": (".afflint.yaml",),
    "editors.html": ("language server",),
    "install.html": ("pip", "homebrew"),
    "install.html#in-a-container": ("docker", "podman"),
    "lab.html": ("getting started", "nodeSelector", "nodeAffinity", "podAffinity", "podAntiAffinity"),
    "nodes.html": ("karpenter", "cluster api"),
    "nodes.html#simulate-failures-drains-and-removals": ("drain", "failure", "evacuate", "maintenance mode"),
    "policies.html": ("policy", "custom rule", "own rules"),
    "pre-commit.html": ("precommit",),
    "rendering.html": ("kustomization",),
    "rules/index.html": ("all rules",),
    "rules/index.html#spread": ("topologySpreadConstraints",),
    "stability.html#exit-codes": ("exit status", "return code"),
    "suppressions.html": ("ignore", "disable", "noqa", "false positive"),
}
"""Pages and sections, with the words that lead to them."""


class SearchError(Exception):
    """A word that leads to a page or section that does not exist; the message names it."""


def add_words(index: Path) -> None:
    """Add an entry for each of the words to the index of a built site, before its other entries. Raises SearchError."""
    loaded = json.loads(index.read_text(encoding="utf-8"))
    loaded["items"] = [*_entries(loaded["items"]), *loaded["items"]]
    index.write_text(json.dumps(loaded, ensure_ascii=False, separators=(",", ":")), encoding="utf-8", newline="\n")


def _entries(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    by_location = {each["location"]: each for each in items}
    # The search also finds words that begin with the typed one; of equal entries, the first one wins.
    for word, location in sorted(((word, location) for location, words in WORDS.items() for word in words), key=lambda each: len(each[0])):
        item = by_location.get(location)
        if item is None:
            raise SearchError(f"website/search.py leads to {location}, which does not exist")
        # The search compares titles, then paths, and prefers those that begin with the typed word.
        yield {**item, "text": "", "title": f"{word} → {item['title']}", "path": [word, *item["path"]]}
