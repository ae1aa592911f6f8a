"""A parser of ordinary command lines without click, whose import adds a third to the instructions of a run over one file.

It leaves every command line that click might read differently to click, so it never decides what is valid.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

from afflint.cli.command import FLAG, MULTIPLE, NUMBER, SINGLE, Command


def parse(command: Command, tokens: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a command's options and argument by name, as click does; None if click has to parse the command line."""
    if command.argument is None or not command.argument.multiple:
        return None
    options = {spelling: option for option in command.options for spelling in option.spellings}
    # Click expands wildcards on Windows, and answers a shell that asks for completions.
    if os.name == "nt" or "_AFFLINT_COMPLETE" in os.environ:
        return None
    values: dict[str, Any] = {option.name: option.unset_value for option in command.options}
    for option in command.options:
        setting = os.environ.get(option.envvar) if option.envvar is not None else None
        if setting is not None:
            if not setting or option.kind not in (FLAG, SINGLE) or (option.kind == FLAG and setting != "1"):
                return None
            values[option.name] = True if option.kind == FLAG else setting
    arguments: list[str] = []
    remaining = iter(tokens)
    for token in remaining:
        if token == "--":
            arguments += remaining
        elif token == "-" or not token.startswith("-"):
            arguments.append(token)
        else:
            spelling, equals, attached = token.partition("=")
            match = options.get(spelling)
            # One token may contain several short options, or a short option and its value.
            if match is None or (equals and (match.kind == FLAG or not spelling.startswith("--"))):
                return None
            if match.bare_value is not None and not equals:
                return None
            value: Any = True if match.kind == FLAG else attached if equals else next(remaining, None)
            if match.kind == NUMBER and value is not None:
                value = int(value) if re.fullmatch("[0-9]{1,8}", value) else None
            if value is None:
                return None
            values[match.name] = (*values[match.name], value) if match.kind == MULTIPLE else value
    values[command.argument.name] = tuple(arguments)
    return values
