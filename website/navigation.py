"""The navigation of the site: its pages in order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from afflint.checks.registry import CATEGORIES, Rule
from website import profile_pages, reference

Entry = dict[str, Any]


def navigation(pages: Path, known: Mapping[str, Rule]) -> list[Entry]:
    """Return titles with their page or their entries. Missing pages are left out; pages without an entry are added to the guide."""
    by_category = {category: [each.name for each in known.values() if each.category == category] for category in CATEGORIES}
    rules: list[Any] = ["rules/index.md"]
    rules += [{category: [{name: f"rules/{name}.md"} for name in names]} for category, names in by_category.items() if names]
    sets: list[Any] = ["rules/profiles/index.md", *({name: f"rules/profiles/{name}.md"} for name in profile_pages.profile_names())]
    entries: list[Entry] = [
        {
            "Start": [
                {"Overview": "index.md"},
                {"Install": "install.md"},
                {"Placement in ten minutes": "lab.md"},
                {"Playground": "playground.md"},
                {"Mistakes in public manifests": "wild.md"},
                {"Compared with other tools": "comparison.md"},
            ]
        },
        {
            "Guide": [
                {"Configuration": "configuration.md"},
                {"Suppress findings": "suppressions.md"},
                {"Baselines": "baselines.md"},
                {"pre-commit": "pre-commit.md"},
                {"CI": "ci.md"},
                {"What a change does": "diff.md"},
                {"Editors": "editors.md"},
                {"Coding agents": "agents.md"},
                {"Nodes and pools": "nodes.md"},
                {"Helm and kustomize": "rendering.md"},
                {"Argo CD": "argo-cd.md"},
                {"Flux": "flux.md"},
                {"Custom resources": "custom-resources.md"},
                {"Catalogue of custom resources": "catalogue.md"},
                {"Policies": "policies.md"},
                {"Policy sets": sets},
                {"Policies in CEL": "policies-in-cel.md"},
                {"Coming from Kyverno, Gatekeeper and others": "coming-from.md"},
                {"What the summary says": "summary.md"},
                {"Several clusters": "monorepo.md"},
                {"Large repositories": "large-repositories.md"},
            ]
        },
        {"Rules": rules},
        {"Commands": [{f"afflint {name}": f"commands/{name}.md"} for name in reference.command_names()]},
        {
            "About": [
                {"Accuracy": "exactness.md"},
                {"Evidence": "evidence.md"},
                {"Architecture": "architecture.md"},
                {"Where facts are kept": "facts.md"},
                {"Glossary": "glossary.md"},
                {"Compatibility": "stability.md"},
                {"Effects of each command": "security-effects.md"},
                {"Reference": "reference.md"},
                {"Contributing": "contributing.md"},
                {"Security": "security.md"},
                {"Report a vulnerability": "vulnerabilities.md"},
                {"Changes": "changelog.md"},
            ]
        },
    ]
    named = pages_in(entries)
    (guide,) = (entry["Guide"] for entry in entries if "Guide" in entry)
    guide += [{_title(path): path.name} for path in sorted(pages.glob("*.md")) if path.name not in named]
    return _existing(entries, pages)


def _title(page: Path) -> str:
    """Return the heading of a page."""
    return next((line[2:] for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# ")), page.stem)


def _existing(entries: list[Any], pages: Path) -> list[Any]:
    """Return the entries whose pages exist."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            found.append(entry)
            continue
        ((title, below),) = entry.items()
        kept = _existing(below, pages) if isinstance(below, list) else below
        if kept and (isinstance(kept, list) or (pages / kept).exists()):
            found.append({title: kept})
    return found


def pages_in(entries: list[Any]) -> set[str]:
    """Return all pages of the entries, at any depth."""
    found: set[str] = set()
    for entry in entries:
        below = [entry] if isinstance(entry, str) else list(entry.values())
        found |= {each for each in below if isinstance(each, str)}
        for each in below:
            found |= pages_in(each) if isinstance(each, list) else set()
    return found


def as_toml(entries: list[Any]) -> str:
    """Return the navigation as a TOML value."""
    shown = ((f"{{ {json.dumps(title)} = {_value(below)} }}") for entry in entries for title, below in entry.items())
    return "[\n" + "".join(f"  {each},\n" for each in shown) + "]"


def _value(below: Any) -> str:
    if isinstance(below, str):
        return json.dumps(below)
    return "[" + ", ".join(json.dumps(each) if isinstance(each, str) else _table(each) for each in below) + "]"


def _table(entry: Entry) -> str:
    ((title, below),) = entry.items()
    return f"{{ {json.dumps(title)} = {_value(below)} }}"
