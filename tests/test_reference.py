"""The help of each command is complete, and short enough to read."""

import sys

import click
import pytest
from tools.generate.reference import COMMANDS

from afflint.cli.click_app import ClickCommand, cli
from afflint.cli.command import load_command, sections_of
from checkout import ROOT, clean_environment, run


def test_every_option_explains_itself() -> None:
    for name in COMMANDS:
        for option in load_command(name).options:
            assert option.help_text.endswith("."), option.spellings


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
    for name in COMMANDS:
        sections = sections_of(load_command(name).options_type)
        assert {title: len(options) for title, options in sections.items() if len(options) > 12} == {}, name


def test_each_option_is_in_the_help_once() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert isinstance(command, ClickCommand)
        shown = [spelling for options in command.options_by_section(context).values() for each in options for spelling in each.opts]
        assert sorted(shown) == sorted(["--help", *(spelling for each in load_command(name).options for spelling in each.spellings)])
