"""The fast parser parses a command line as click does, or leaves it to click."""

from __future__ import annotations

import contextlib
import typing
from importlib import import_module
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afflint.cli import fast_parser
from afflint.cli.check import COMMAND
from afflint.cli.click_app import _COMMANDS, cli
from afflint.cli.command import FLAG, MULTIPLE, NUMBER, SINGLE, Command

SPELLINGS = [spellings for option in COMMAND.options for spellings in option.spellings]
TOKENS = st.one_of(
    st.sampled_from(SPELLINGS),
    st.builds("{}={}".format, st.sampled_from(SPELLINGS), st.sampled_from(["", "text", "a=b", "-q", "2"])),
    st.sampled_from(["", "-", "--", "a.yaml", "-x", "-qv", "-h", "--help", "--nothing", "--form", "2", "02", "-2", "2.0", "²", "concise"]),
    st.text(max_size=4),
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the environment variables of the options."""
    for option in COMMAND.options:
        if option.envvar is not None:
            monkeypatch.delenv(option.envvar, raising=False)


def by_click(tokens: list[str]) -> dict[str, Any] | None:
    """Return what click passes to the command; None if it reports an error or handles the tokens itself."""
    with click.Context(cli) as context:
        command = cli.get_command(context, "check")
        assert command is not None
        with contextlib.suppress(click.ClickException, click.exceptions.Exit), contextlib.redirect_stdout(None):
            return command.make_context("check", list(tokens)).params
    return None


@given(st.lists(TOKENS, max_size=6))
@example(["--jobs", "2", "--jobs", "3", "--select", "a", "--select=b", "x", "--", "--fix"])
@example(["--output", "-", "-"])
@example(["--jobs=-1"])
@example(["--nodes", "--render"])
def test_it_parses_as_click_does(tokens: list[str]) -> None:
    values = fast_parser.parse(COMMAND, tokens)
    assert values is None or values == by_click(tokens)


@pytest.mark.parametrize(
    "tokens",
    ["", "a.yaml b", "--format concise --force-exclude a.yaml", "-q --fix .", "--nodes=n.yaml --jobs 2 -v", "- --stdin-filename a.yaml"],
)
def test_ordinary_command_lines_do_not_need_click(tokens: str) -> None:
    assert fast_parser.parse(COMMAND, tokens.split()) is not None


@pytest.mark.parametrize("tokens", ["--help", "-qv", "--jobs many", "--jobs", "--fromat json", "--fix=yes", "-q=1"])
def test_wrong_and_unusual_command_lines_are_left_to_click(tokens: str) -> None:
    assert fast_parser.parse(COMMAND, tokens.split()) is None


@pytest.mark.parametrize("value", ["", "0", "1", "true", "a", "/a/b"])
@pytest.mark.parametrize("envvar", ["AFFLINT_NO_CACHE", "AFFLINT_CACHE_DIR"])
@pytest.mark.parametrize("tokens", [[], ["--no-cache"], ["--cache-dir", "c"]])
def test_environment_variables(monkeypatch: pytest.MonkeyPatch, envvar: str, value: str, tokens: list[str]) -> None:
    monkeypatch.setenv(envvar, value)
    values = fast_parser.parse(COMMAND, tokens)
    assert values is None or values == by_click(tokens)


def test_usual_environment_variables_do_not_need_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")
    monkeypatch.setenv("AFFLINT_CACHE_DIR", "/srv/cache")
    values = fast_parser.parse(COMMAND, ["a.yaml"])
    assert values is not None
    assert (values["no_cache"], values["cache_dir"]) == (True, "/srv/cache")


def test_completion_in_a_shell_is_left_to_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_AFFLINT_COMPLETE", "bash_complete")
    assert fast_parser.parse(COMMAND, ["a.yaml"]) is None


TYPES: dict[str, Any] = {FLAG: bool, SINGLE: str, MULTIPLE: tuple[str, ...], NUMBER: int}


@pytest.mark.parametrize("place", _COMMANDS.values())
def test_the_fields_of_the_options_have_the_types_of_the_values(place: str) -> None:
    module, _, name = place.partition(":")
    command: Command = getattr(import_module(module), name)
    expected: dict[str, Any] = {}
    if command.argument is not None:
        expected[command.argument.name] = tuple[str, ...] if command.argument.multiple else str | None
    for option in command.options:
        kind = TYPES[option.kind]
        expected[option.name] = kind | None if option.kind in (SINGLE, NUMBER) and option.default is None else kind
    assert typing.get_type_hints(command.options_type) == expected
    assert [*expected] == [*command.options_type._fields]  # type: ignore[attr-defined]
    assert command.run.__annotations__ == {"args": command.options_type.__name__, "return": "int"}
