"""An ordinary command line is read as click reads it, or left to click."""

from __future__ import annotations

import contextlib
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from afflint.cli import fast_parser
from afflint.cli.check import COMMAND
from afflint.cli.click_app import cli

SPELLED = [spelled for option in COMMAND.options for spelled in option.spelled]
WORDS = st.one_of(
    st.sampled_from(SPELLED),
    st.builds("{}={}".format, st.sampled_from(SPELLED), st.sampled_from(["", "text", "a=b", "-q", "2"])),
    st.sampled_from(["", "-", "--", "a.yaml", "-x", "-qv", "-h", "--help", "--nothing", "--form", "2", "02", "-2", "2.0", "²", "concise"]),
    st.text(max_size=4),
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a shell in which nothing is set up."""
    for option in COMMAND.options:
        if option.variable is not None:
            monkeypatch.delenv(option.variable, raising=False)


def by_click(words: list[str]) -> dict[str, Any] | None:
    """What click gives to the command; None where it refuses the words or answers them itself."""
    with click.Context(cli) as context:
        command = cli.get_command(context, "check")
        assert command is not None
        with contextlib.suppress(click.ClickException, click.exceptions.Exit), contextlib.redirect_stdout(None):
            return command.make_context("check", list(words)).params
    return None


@given(st.lists(WORDS, max_size=6))
@example(["--jobs", "2", "--jobs", "3", "--select", "a", "--select=b", "x", "--", "--fix"])
@example(["--output", "-", "-"])
@example(["--jobs=-1"])
@example(["--nodes", "--render"])
def test_what_is_read_is_what_click_reads(words: list[str]) -> None:
    read = fast_parser.read(COMMAND, words)
    assert read is None or read == by_click(words)


@pytest.mark.parametrize(
    "words",
    ["", "a.yaml b", "--format concise --force-exclude a.yaml", "-q --fix .", "--nodes=n.yaml --jobs 2 -v", "- --stdin-filename a.yaml"],
)
def test_ordinary_command_lines_need_no_click(words: str) -> None:
    assert fast_parser.read(COMMAND, words.split()) is not None


@pytest.mark.parametrize("words", ["--help", "-qv", "--jobs many", "--jobs", "--fromat json", "--fix=yes", "-q=1"])
def test_what_is_wrong_or_seldom_is_left_to_click(words: str) -> None:
    assert fast_parser.read(COMMAND, words.split()) is None


@pytest.mark.parametrize("value", ["", "0", "1", "true", "a", "/a/b"])
@pytest.mark.parametrize("variable", ["AFFLINT_NO_CACHE", "AFFLINT_CACHE_DIR"])
@pytest.mark.parametrize("words", [[], ["--no-cache"], ["--cache-dir", "c"]])
def test_environment_variables(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: list[str]) -> None:
    monkeypatch.setenv(variable, value)
    read = fast_parser.read(COMMAND, words)
    assert read is None or read == by_click(words)


def test_the_usual_ones_need_no_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")
    monkeypatch.setenv("AFFLINT_CACHE_DIR", "/srv/cache")
    read = fast_parser.read(COMMAND, ["a.yaml"])
    assert read is not None
    assert (read["no_cache"], read["cache_dir"]) == (True, "/srv/cache")


def test_a_shell_that_completes_asks_click(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_AFFLINT_COMPLETE", "bash_complete")
    assert fast_parser.read(COMMAND, ["a.yaml"]) is None
