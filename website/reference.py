"""Write options and keys as Markdown, from the program and the schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from afflint.cli.command import COMMANDS, load_command, sections_of
from afflint.config import Config
from afflint.config.validation import schema


def command_names() -> list[str]:
    """Return the commands of afflint, in the order of its help."""
    return sorted(COMMANDS)


def about(name: str) -> str:
    """Return the description of a command."""
    return inspect.cleandoc(load_command(name).run.__doc__ or "")


def usage(name: str) -> str:
    """Return ``afflint check [OPTIONS] [PATHS]...``."""
    argument = load_command(name).argument
    return f"afflint {name} [OPTIONS]{f' {argument.metavar}' if argument else ''}"


def options(name: str) -> Iterator[str]:
    """Yield the options of a command in tables, with the headings of its help."""
    for heading, section in sections_of(load_command(name).options_type).items():
        yield f"\n{heading}:\n" if heading else ""
        yield "\n| option | |\n|---|---|\n"
        for option in section:
            spelled = ", ".join(f"`{each}{f' {option.metavar}' if option.metavar else ''}`" for each in option.spellings)
            yield f"| {spelled} | {cell(option.help_text)} |\n"


def keys() -> Iterator[str]:
    """Yield the keys of the configuration as a table."""
    yield "| key | takes | without it | |\n|---|---|---|---|\n"
    definitions = schema()["$defs"]
    for key, part in schema()["properties"].items():
        definition = {**definitions.get(part.get("$ref", "").removeprefix("#/$defs/"), {}), **part}
        default = Config._field_defaults[key.replace("-", "_")]
        shown = "" if default in (None, (), {}) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        yield f"| `{key}` | {cell(definition['title'])} | {shown} | {cell(definition['description'])} |\n"


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*")
