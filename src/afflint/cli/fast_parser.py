"""The words of an ordinary command line, read without click, whose import takes a quarter of a run over one file.

What is not surely read as click would read it, click reads: this decides nothing about what is right or wrong.
"""

import os
import re
from collections.abc import Sequence
from typing import Any

from afflint.cli.command import FLAG, NUMBER, ONE, SEVERAL, Command


def read(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The values of a command's options and argument by name, as click gives them; None for words that click has to read.

    The argument of the command has to take any number of words.
    """
    options = {spelled: option for option in command.options for spelled in option.spelled}
    # Click expands wildcards on Windows, and completes where a shell asks for it.
    if os.name == "nt" or "_AFFLINT_COMPLETE" in os.environ:
        return None
    given: dict[str, Any] = {option.name: option.without for option in command.options}
    for option in command.options:
        said = os.environ.get(option.variable) if option.variable is not None else None
        if said is not None:
            if not said or option.takes not in (FLAG, ONE) or (option.takes == FLAG and said != "1"):
                return None
            given[option.name] = True if option.takes == FLAG else said
    named: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            named += rest
        elif word == "-" or not word.startswith("-"):
            named.append(word)
        else:
            spelled, equals, attached = word.partition("=")
            found = options.get(spelled)
            # Of short options several may stand in one word, or a value behind one.
            if found is None or (equals and (found.takes == FLAG or not spelled.startswith("--"))):
                return None
            if found.bare is not None and not equals:
                return None
            value: Any = True if found.takes == FLAG else attached if equals else next(rest, None)
            if found.takes == NUMBER and value is not None:
                value = int(value) if re.fullmatch("[0-9]{1,8}", value) else None
            if value is None:
                return None
            given[found.name] = (*given[found.name], value) if found.takes == SEVERAL else value
    given[command.argument.name] = tuple(named)
    return given
