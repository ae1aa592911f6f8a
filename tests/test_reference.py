"""docs/reference.md names every option and every key, in the words of the program and of the schema.

``python tests/test_reference.py`` rewrites what is generated.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import click
import pytest

from afflint.cli.through_click import Sectioned, cli
from afflint.config import Config
from afflint.config.mistakes import schema
from checkout import ROOT, clean_environment, run

REFERENCE = ROOT / "docs" / "reference.md"
COMMANDS = ("check", "merge", "place", "init", "rule", "config", "test", "lsp")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _options(name: str) -> Iterator[str]:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    about = inspect.cleandoc(command.help or "")
    yield f"## `afflint {name}`\n\n{about}\n"
    if isinstance(command, Sectioned):
        sections = [(heading, [each for each in found if "--help" not in each.opts]) for heading, found in command.sectioned(context)]
    else:
        sections = [("", [each for each in command.params if isinstance(each, click.Option)])]
    for heading, found in sections:
        yield f"\n{heading}:\n" if heading else ""
        yield "\n| option | |\n|---|---|\n"
        for option in found:
            spelled = ", ".join(f"`{each}{'' if option.is_flag else f' {option.metavar}'}`" for each in option.opts)
            yield f"| {spelled} | {_cell(option.help or '')} |\n"


def _keys() -> Iterator[str]:
    yield "| key | takes | without it | |\n|---|---|---|---|\n"
    definitions = schema()["$defs"]
    for key, part in schema()["properties"].items():
        meant = {**definitions.get(part.get("$ref", "").removeprefix("#/$defs/"), {}), **part}
        default = Config._field_defaults[key.replace("-", "_")]
        shown = "" if default in (None, (), {}) else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        yield f"| `{key}` | {_cell(meant['title'])} | {shown} | {_cell(meant['description'])} |\n"


def with_generated(page: str) -> str:
    """The page with its generated parts made anew."""
    parts = {"options": "\n".join("".join(_options(name)) for name in COMMANDS), "keys": "".join(_keys())}
    for name, part in parts.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{part}\n{end}{rest.split(end)[1]}"
    return page


def test_it_says_what_the_program_says() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    assert page == with_generated(page), "python tests/test_reference.py rewrites it"


def test_every_option_explains_itself() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help
                assert option.help.endswith("."), option.opts


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("width, height", [(100, 48), (80, 56)])
def test_the_help_of_a_command_fits_on_a_screen(name: str, width: int, height: int) -> None:
    command = [sys.executable, "-m", "afflint", *([name] if name else []), "--help"]
    lines = run(command, ROOT, environment=clean_environment(COLUMNS=str(width))).splitlines()
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == [], "nothing is cut short"


def test_each_option_stands_in_one_section_of_the_help() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, Sectioned):
            named = [each.name for options in command.sections.values() for each in options]
            assert sorted(named) == sorted(each.name or "" for each in command.params if isinstance(each, click.Option))


if __name__ == "__main__":
    REFERENCE.write_text(with_generated(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")
