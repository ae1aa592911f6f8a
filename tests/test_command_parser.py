"""The parser of the command line reads tokens as click does, without importing it."""

import contextlib
import typing
from importlib import metadata
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afflint.cli.check import COMMAND
from afflint.cli.command import COMMANDS, FLAG, MULTIPLE, NUMBER, SINGLE, load_command
from afflint.cli.parser import HelpRequested, parse
from afflint.findings.errors import UserError
from afflint.findings.finding import SEVERITIES, Severity

OPTIONS = [option for option in COMMAND.options if option.bare_value is None]
SPELLINGS = [spellings for option in OPTIONS for spellings in option.spellings]
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
    """Return what click makes of the tokens; None if it reports an error or shows the help."""
    params: list[click.Parameter] = [click.Argument(["paths"], nargs=-1)]
    for option in OPTIONS:
        words = [*option.spellings, option.name]
        if option.kind == FLAG:
            params.append(click.Option(words, is_flag=True, envvar=option.envvar))
        else:
            kind = click.Choice(option.choices) if option.choices else int if option.kind == NUMBER else str
            multiple = option.kind == MULTIPLE
            params.append(
                click.Option(words, type=kind, multiple=multiple, default=None if multiple else option.default, envvar=option.envvar)
            )
    command = click.Command("check", params=params, context_settings={"help_option_names": ["-h", "--help"]})
    with contextlib.suppress(click.ClickException, click.exceptions.Exit), contextlib.redirect_stdout(None):
        return command.make_context("check", list(tokens)).params
    return None


def parsed(tokens: list[str]) -> dict[str, Any] | None:
    with contextlib.suppress(UserError, HelpRequested):
        values = parse(COMMAND, tokens)
        del values["render"]
        return values
    return None


@given(st.lists(TOKENS, max_size=6))
@example(["--jobs", "2", "--jobs", "3", "--select", "a", "--select=b", "x", "--", "--fix"])
@example(["--output", "-", "-"])
@example(["--jobs=-1"])
@example(["-q-"])
@example(["-v-", "--help"])
@example(["--jobs", "+2"])
@example(["--nodes", "--show-files"])
@example(["-vqv", "-qh"])
@example(["--select", "-h"])
def test_it_parses_as_click_does(tokens: list[str]) -> None:
    assert parsed(tokens) == by_click(tokens)


@pytest.mark.parametrize("value", ["", "0", "1", "true", "Yes", "a", "/a/b"])
@pytest.mark.parametrize("envvar", ["AFFLINT_NO_CACHE", "AFFLINT_CACHE_DIR"])
@pytest.mark.parametrize("tokens", [[], ["--no-cache"], ["--cache-dir", "c"]])
def test_environment_variables(monkeypatch: pytest.MonkeyPatch, envvar: str, value: str, tokens: list[str]) -> None:
    if envvar == "AFFLINT_NO_CACHE" and value and tuple(map(int, metadata.version("click").split(".")[:2])) < (8, 3):
        pytest.skip("click 8.2.0 sets a flag for any value of its environment variable")
    monkeypatch.setenv(envvar, value)
    assert parsed(tokens) == by_click(tokens)


@pytest.mark.parametrize("value, is_set", [("", False), ("0", False), ("1", True), ("true", True), ("Yes", True)])
def test_the_variable_of_a_flag_has_a_truth_value(monkeypatch: pytest.MonkeyPatch, value: str, is_set: bool) -> None:
    monkeypatch.setenv("AFFLINT_NO_CACHE", value)
    values = parsed([])
    assert values is not None
    assert values["no_cache"] is is_set


@pytest.mark.parametrize(
    "tokens, render, paths",
    [
        ("--render", "kustomize,helm", ()),
        ("--render a.yaml", "kustomize,helm", ("a.yaml",)),
        ("--render helm a.yaml", "helm", ("a.yaml",)),
        ("--render helm,kustomize -q", "helm,kustomize", ()),
        ("--render=a.yaml", "a.yaml", ()),
        ("--render --", "kustomize,helm", ()),
    ],
)
def test_an_option_may_have_a_value_when_it_is_alone(tokens: str, render: str, paths: tuple[str, ...]) -> None:
    values = parse(COMMAND, tokens.split())
    assert (values["render"], values["paths"]) == (render, paths)


@pytest.mark.parametrize(
    "command, tokens, message",
    [
        ("check", "--fixx", "No such option '--fixx'. Did you mean '--fix'?"),
        ("check", "--zzzzzz", "No such option '--zzzzzz'."),
        ("check", "-qx", "No such option '-x'."),
        ("check", "-q- a.yaml", "No such option '--'."),
        ("check", "-q-jobs 1 a.yaml", "No such option '--'."),
        ("check", "--write", "No such option '--write'. Did you mean '--write-baseline'?"),
        ("place", "--no-res", "No such option '--no-res'. Did you mean '--no-resources'?"),
        ("check", "--fix=yes", "Option '--fix' does not take a value."),
        ("check", "--jobs", "Option '--jobs' requires an argument."),
        ("check", "--jobs many", "Invalid value for '--jobs': 'many' is not a valid integer."),
        ("why", "", "Missing argument 'NAME [PATHS]...'."),
        ("init", "a b", "Got unexpected extra argument (b)"),
        ("config", "x y", "Got unexpected extra arguments (x y)"),
    ],
)
def test_a_mistake_is_explained(command: str, tokens: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse(load_command(command), tokens.split())
    assert str(error.value) == message


@pytest.mark.parametrize("given, number", [("+2", 2), (" 3 ", 3), ("1_0", 10), ("4294967295", 4294967295), ("-1", -1)])
def test_an_integer_may_be_written_as_in_python(given: str, number: int) -> None:
    assert parse(COMMAND, ["--jobs", given])["jobs"] == number


TYPES: dict[str, Any] = {FLAG: bool, SINGLE: str, MULTIPLE: tuple[str, ...], NUMBER: int}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_attributes_of_the_options_have_the_types_of_the_values(name: str) -> None:
    command = load_command(name)
    declared = typing.get_type_hints(command.options_type)
    if command.argument is not None:
        assert declared[command.argument.name] == (tuple[str, ...] if command.argument.multiple else str | None)
    for option in command.options:
        kind = TYPES[option.kind] if option.choices != SEVERITIES else Severity
        expected = kind | None if option.kind in (SINGLE, NUMBER) and option.default is None else kind
        # An option that several commands have is declared once, and the attribute gets its type from there.
        assert declared.get(option.name, expected) == expected
    assert command.run.__annotations__ == {"args": command.options_type.__name__, "return": "int"}
