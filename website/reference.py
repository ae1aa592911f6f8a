"""Write options and keys as Markdown, from the program and the schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from afflint.cli.click_app import SectionedCommand, cli
from afflint.config import Config
from afflint.config.validation import schema


def command_names() -> list[str]:
    """Return the commands of afflint, in the order of its help."""
    return cli.list_commands(click.Context(cli))


def about(name: str) -> str:
    """Return the description of a command."""
    return inspect.cleandoc(_command(name).help or "")


def usage(name: str) -> str:
    """Return ``afflint check [OPTIONS] [PATHS]...``."""
    context = click.Context(_command(name), info_name=f"afflint {name}")
    return f"{context.command_path} {' '.join(_command(name).collect_usage_pieces(context))}"


def options(name: str) -> Iterator[str]:
    """Yield the options of a command in tables, with the headings of its help."""
    command, context = _command(name), click.Context(cli)
    if isinstance(command, SectionedCommand):
        sections = [
            (heading, [each for each in found if "--help" not in each.opts]) for heading, found in command.options_by_section(context)
        ]
    else:
        sections = [("", [each for each in command.params if isinstance(each, click.Option)])]
    for heading, found in sections:
        yield f"\n{heading}:\n" if heading else ""
        yield "\n| option | |\n|---|---|\n"
        for option in found:
            spelled = ", ".join(f"`{each}{'' if option.is_flag else f' {option.metavar}'}`" for each in option.opts)
            yield f"| {spelled} | {cell(option.help or '')} |\n"


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


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        raise LookupError(f"afflint has no command {name!r}")
    return command
