"""Generated pages of the site: commands, configuration, custom resources."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from afflint.config.validation import schema
from website import reference

_ROOT = Path(__file__).parents[1]
_SEE = {
    "diff": "[What a change does](../diff.md)",
    "check": "[CI](../ci.md), [rendering](../rendering.md), [baselines](../baselines.md), [large repositories](../large-repositories.md)",
    "place": "[Nodes and pools](../nodes.md), [placement in ten minutes](../lab.md)",
    "why": "[Why does it not run?](../nodes.md#why-does-it-not-run)",
    "rule": "[All rules](../rules/index.md)",
    "config": "[Configuration](../configuration.md)",
    "lsp": "[Editors](../editors.md)",
    "mcp": "[Coding agents](../agents.md)",
    "init": "[Configuration](../configuration.md)",
    "test": "[Policies](../policies.md)",
    "report": "[Policies](../policies.md)",
}
_CONFIGURATION = """\
# Configuration

afflint reads `.afflint.yaml`, or the table `[tool.afflint]` of `pyproject.toml`, in the working directory or the nearest directory above
it. Every key is optional. Options on the command line take precedence.

- [`afflint init`](commands/init.md) writes a first configuration from what it finds in your repository.
- [`afflint config`](commands/config.md) shows the settings in effect and where each is set.
- A mistake in the configuration is reported at its line, or by its key in `pyproject.toml`, with the word that was probably meant.

{example}

To ignore single findings, see [Suppress findings](suppressions.md). To start in a repository that has findings already, see
[Baselines](baselines.md).

## Keys

Globs work as in a `.gitignore` and are relative to the folder of the configuration. Paths are relative to the file that contains them.
This table is generated from [the schema](schemas/config.schema.json). Editors use the schema for completion, and `afflint config --schema`
prints it.

"""
_CATALOGUE = """\
# Catalogue of custom resources

afflint knows where {kinds} kinds of {groups} API groups keep placement constraints. For some of them it also knows the labels that the
operator sets on the pods. [Custom resources](custom-resources.md) explains how afflint uses this catalogue, and how it handles kinds that
are not in it.

<input class="filter" type="search" placeholder="Filter: a kind, a group or a path" aria-label="Filter the catalogue">

"""


def command_page(name: str) -> str:
    """Return the page of a command, generated from its help."""
    see = f"\nSee also: {_SEE[name]}.\n" if name in _SEE else ""
    return (
        f"# afflint {name}\n\n```text\n{reference.usage(name)}\n```\n\n{_code_spans(reference.about(name))}\n{see}\n"
        f"{''.join(_as_headings(reference.options(name)))}"
    )


def _as_headings(parts: Iterator[str]) -> Iterator[str]:
    for part in parts:
        yield f"\n## {part.strip().removesuffix(':')}\n" if part.endswith(":\n") else part


def _code_spans(text: str) -> str:
    """Mark words such as ``--lose`` and FILE as code."""
    return "".join(
        part if number % 2 else re.sub(r"(?<![\w`-])(--[a-z][a-z-]+|[A-Z]{3,}(?:\.\.\.)?)(?![\w`])", r"`\1`", part).replace("*", "\\*")
        for number, part in enumerate(re.split(r"(`[^`]*`)", text))
    )


def configuration_page() -> str:
    """Return the page about the configuration: the example of the README and every key of the schema."""
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"^```yaml\n# \.afflint\.yaml.*?^```$", readme, re.MULTILINE | re.DOTALL)
    assert example is not None
    return "".join(_configuration(example[0]))


def _configuration(example: str) -> Iterator[str]:
    yield _CONFIGURATION.format(example=example)
    yield from reference.keys()
    for key, part in schema()["properties"].items():
        if inner := dict(_inner(part)):
            yield f"\n### Keys of `{key}`\n\n| key | takes | |\n|---|---|---|\n"
            for name, definition in inner.items():
                cells = (reference.cell(definition.get(each, "")) for each in ("title", "description"))
                yield f"| `{name}` | {' | '.join(cells)} |\n"


def _inner(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the keys of the maps inside a key."""
    definitions = schema()["$defs"]
    part = {**definitions.get(part.get("$ref", "").removeprefix("#/$defs/"), {}), **part}
    for name, definition in part.get("properties", {}).items():
        yield name, {**definitions.get(definition.get("$ref", "").removeprefix("#/$defs/"), {}), **definition}
    if isinstance(part.get("items"), dict):
        yield from _inner(part["items"])


def catalogue_page() -> str:
    """Return the custom resources of the catalogue, in a table with a filter."""
    lines = (_ROOT / "schemas" / "custom-resources.jsonl").read_text(encoding="utf-8").splitlines()
    return "".join(_catalogue(list(map(json.loads, lines))))


def _catalogue(kinds: list[dict[str, Any]]) -> Iterator[str]:
    groups = {each["group"] for each in kinds}
    yield _CATALOGUE.format(kinds=len(kinds), groups=len(groups))
    yield '<table class="catalogue">\n<thead><tr><th>kind</th><th>where</th><th>labels of its pods</th></tr></thead>\n<tbody>\n'
    for each in sorted(kinds, key=lambda kind: (kind["group"], kind["kind"])):
        where = "<br>".join(f"<code>{html.escape(place['path'])}</code> {html.escape(_shown(place['shape']))}" for place in each["places"])
        labels = "<br>".join(f"<code>{html.escape(label)}</code>" for label in _labels(each.get("labels", ())))
        yield f"<tr><td><b>{each['kind']}</b><br>{each['group']}</td><td>{where}</td><td>{labels}</td></tr>\n"
    yield "</tbody>\n</table>\n"


_FORMS = {"spec": "a pod spec", "template": "a pod template", "opaque": "no schema; recognised by shape"}


def _shown(shape: str) -> str:
    return _FORMS.get(shape) or ", ".join(word.partition("=")[0] for word in shape.split())


def _labels(labels: Any) -> list[str]:
    return [f"{key}: {value}" for key, value in labels.items()] if isinstance(labels, dict) else [str(each) for each in labels]
