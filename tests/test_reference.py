"""The help of each command is complete, and short enough to read."""

from __future__ import annotations

import sys

import click
import pytest
from tools.generate.reference import COMMANDS

from afflint.cli.click_app import SectionedCommand, cli
from checkout import ROOT, clean_environment, run


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


def test_each_option_is_in_one_section_of_the_help() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, SectionedCommand):
            named = [each.name for options in command.sections.values() for each in options]
            assert sorted(named) == sorted(each.name or "" for each in command.params if isinstance(each, click.Option))
