"""Parses the command line of a command. The rules are those of click, whose import would add a third to a run over one file."""

import os
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from afflint.cli.command import FLAG, MULTIPLE, NUMBER, Argument, Command, Option, check_choice
from afflint.findings.errors import UserError
from afflint.findings.phrases import nearest

_HELP = Option(("-h", "--help"), "Show this message and exit.", FLAG, name="help")
_BOOLEANS = {
    **dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("", "0", "f", "false", "n", "no", "off"), False),
}


class HelpRequested(Exception):  # noqa: N818 (not an error)
    """The command line asks for the help of the command."""


def parse(command: Command, tokens: Sequence[str]) -> dict[str, Any]:
    """Return the values of a command's options and argument by name. Raises UserError, and HelpRequested."""
    options = {spelling: option for option in (*command.options, _HELP) for spelling in option.spellings}
    given: dict[str, list[str]] = {}
    arguments: list[str] = []
    remaining = deque(tokens)
    while remaining:
        token = remaining.popleft()
        if token == "--":
            arguments += remaining
            break
        if token == "-" or not token.startswith("-"):
            arguments.append(token)
            continue
        spelling, equals, value = token.partition("=")
        if not token.startswith("--"):
            spelling, equals = token[:2], ""
        option = options.get(spelling)
        if option is None:
            raise _no_such_option(spelling, options)
        if spelling != token and not token.startswith("--"):
            # A token may contain several short options: all of them are flags.
            if token[2] == "-":
                raise UserError("No such option '--'.")
            remaining.appendleft("-" + token[2:])
        if option.kind == FLAG and equals:
            raise UserError(f"Option {spelling!r} does not take a value.")
        given.setdefault(option.name, []).append(value if equals or option.kind == FLAG else _next_value(option, spelling, remaining))
    if _HELP.name in given:
        raise HelpRequested
    values = {option.name: _value(option, given.get(option.name)) for option in command.options}
    return values | _argument_value(command.argument, arguments)


def _no_such_option(spelling: str, known: Iterable[str]) -> UserError:
    long = [each for each in known if each.startswith("--")]
    begun = [each for each in long if each.startswith(spelling)]
    close = begun[0] if len(begun) == 1 else nearest(spelling, long) if spelling.startswith("--") else None
    return UserError(f"No such option {spelling!r}." + (f" Did you mean {close!r}?" if close else ""))


def _next_value(option: Option, spelling: str, remaining: deque[str]) -> str:
    """Return the value of an option: the next token, even if it looks like an option. One with a ``bare_value`` may be alone."""
    if option.bare_value is not None and not (remaining and {*remaining[0].split(",")} <= {*option.bare_value.split(",")}):
        return option.bare_value
    if not remaining:
        raise UserError(f"Option {spelling!r} requires an argument.")
    return remaining.popleft()


def _value(option: Option, given: list[str] | None) -> Any:
    """Return the value of an option: as given, as its environment variable sets it, or its default. Raises UserError."""
    if given is None:
        return value_unless_given(option)
    if option.kind == FLAG:
        return True
    if option.kind == NUMBER:
        try:
            return int(given[-1])
        except ValueError:
            raise UserError(f"Invalid value for {option.spellings[-1]!r}: {given[-1]!r} is not a valid integer.") from None
    if option.choices:
        check_choice(option.spellings[-1], given[-1], option.choices)
    return tuple(given) if option.kind == MULTIPLE else given[-1]


def value_unless_given(option: Option) -> Any:
    """Return the value of an option that the command line does not have: that of its environment variable, or its default.

    Raises UserError.
    """
    setting = os.environ.get(option.envvar) if option.envvar is not None else None
    if not setting:
        return option.unset_value
    if option.kind != FLAG:
        return setting
    if setting.strip().lower() not in _BOOLEANS:
        raise UserError(f"Invalid value for {option.spellings[-1]!r} (env var: {option.envvar!r}): {setting!r} is not a valid boolean.")
    return _BOOLEANS[setting.strip().lower()]


def _argument_value(argument: Argument | None, given: Sequence[str]) -> dict[str, Any]:
    if argument is not None and argument.required and not given:
        raise UserError(f"Missing argument {argument.metavar!r}.")
    most = 0 if argument is None else len(given) if argument.multiple else 1
    if len(given) > most:
        raise UserError(f"Got unexpected extra argument{'s' if len(given) > most + 1 else ''} ({' '.join(given[most:])})")
    if argument is None:
        return {}
    return {argument.name: tuple(given) if argument.multiple else given[0] if given else None}
