"""docs/reference.md names every option and every key, in the words of the program and of the schema.

``python tests/test_reference.py`` rewrites what is generated.
"""

from __future__ import annotations

import sys

import click
import pytest

from afflint.cli.click_app import SectionedCommand, cli
from checkout import ROOT, clean_environment, run
from pages import with_parts

REFERENCE = ROOT / "docs" / "reference.md"
COMMANDS = ("check", "merge", "place", "why", "report", "init", "rule", "config", "test", "lsp", "mcp")


def _command(name: str) -> str:
    from website import reference

    return f"## `afflint {name}`\n\n{reference.about(name)}\n{''.join(reference.options(name))}"


def with_generated(page: str) -> str:
    """The page with its generated parts regenerated."""
    from website import reference

    options = "\n".join(map(_command, COMMANDS))
    return with_parts(page, {"options": f"\n{options}\n", "keys": f"\n{''.join(reference.keys())}\n"})


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
@pytest.mark.parametrize("width, most", [(100, 3), (80, 4)])
def test_the_help_of_each_option_is_short(name: str, width: int, most: int) -> None:
    """How many lines an option takes, however many options there are: a new one never has to take the lines of another."""
    command = [sys.executable, "-m", "afflint", *([name] if name else []), "--help"]
    lines = run(command, ROOT, environment=clean_environment(COLUMNS=str(width))).splitlines()
    assert all(len(line) <= width for line in lines)
    assert [line for line in lines if line.endswith("...") and not line.startswith("Usage:")] == [], "nothing is cut short"
    assert {option: count for option, count in lines_by_option(lines).items() if count > most} == {}


def lines_by_option(lines: list[str]) -> dict[str, int]:
    """How many lines of a help each option takes: its own, and those below it that are indented deeper."""
    counts: dict[str, int] = {}
    option = ""
    for line in lines:
        if line.startswith("  -"):
            option = line.split()[0]
        elif not line.startswith("   "):
            option = ""
        if option:
            counts[option] = counts.get(option, 0) + 1
    return counts


def test_no_section_of_a_help_is_too_long_to_look_through() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, SectionedCommand):
            assert {title: len(options) for title, options in command.sections.items() if len(options) > 12} == {}, name


def test_each_option_stands_in_one_section_of_the_help() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, SectionedCommand):
            named = [each.name for options in command.sections.values() for each in options]
            assert sorted(named) == sorted(each.name or "" for each in command.params if isinstance(each, click.Option))


if __name__ == "__main__":
    sys.path.append(str(ROOT))
    REFERENCE.write_text(with_generated(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")
