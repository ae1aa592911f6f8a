"""Commands as data: their options, for the parser of the command line, the help, the completion and the reference.

The options of a command are a class with an attribute for each. The class has the declarations, an instance has the values. A command is
composed of groups, its base classes, each with the heading of its options in the help.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar, cast

from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple

_T = TypeVar("_T")

COMMANDS = {
    "check": "afflint.cli.check:COMMAND",
    "diff": "afflint.cli.diff:COMMAND",
    "place": "afflint.cli.place:COMMAND",
    "why": "afflint.cli.why:COMMAND",
    "report": "afflint.cli.report:COMMAND",
    "rule": "afflint.cli.info:RULE",
    "config": "afflint.cli.info:CONFIG",
    "init": "afflint.cli.init:COMMAND",
    "test": "afflint.cli.policy_tests:COMMAND",
    "lsp": "afflint.cli.lsp:COMMAND",
    "mcp": "afflint.cli.mcp:COMMAND",
}
"""The module and the name of each command, so that only the command that is run is imported."""

FLAG, SINGLE, MULTIPLE, NUMBER = "flag", "one", "several", "number"
"""The kinds of options: without a value, with a string, with a string each time the option is repeated, with an integer."""

FILE, FOLDER, RULE, RULES = "file", "dir", "rule", "rules"
"""What a shell completes besides fixed words: a file, a folder, a rule or category, several of these separated by commas."""


class Option(NamedTuple):
    """An option of a command: its spellings (``-q``, ``--quiet``), its help and its kind."""

    spellings: tuple[str, ...]
    help_text: str
    kind: str
    metavar: str | None = None
    default: str | None = None
    envvar: str | None = None
    """The environment variable that sets the value if the option is not given."""
    completion: str | Sequence[str] = ()
    """FILE, FOLDER, RULE or RULES, or words that it takes."""
    choices: Sequence[str] = ()
    """All words that it takes; empty if others are possible, too."""
    bare_value: str | None = None
    """The value of the option when it is given alone: all words that it accepts, comma-separated."""
    name: str = ""
    """The name of the attribute that holds its value."""

    @property
    def unset_value(self) -> Any:
        """The value when the option is not given."""
        return False if self.kind == FLAG else () if self.kind == MULTIPLE else self.default


class Argument(NamedTuple):
    """The positional argument of a command: any number of strings, at least one if it is ``required``; or at most one."""

    metavar: str
    completion: str | Sequence[str] = ()
    required: bool = False
    multiple: bool = True
    name: str = ""
    """The name of the attribute that holds its value."""


def flag(*spellings: str, help_text: str, envvar: str | None = None) -> Any:
    """Declare an option that takes no value."""
    return Option(spellings, help_text, FLAG, envvar=envvar)


def option(
    *spellings: str,
    help_text: str,
    metavar: str,
    kind: str = SINGLE,
    default: str | None = None,
    envvar: str | None = None,
    completion: str | Sequence[str] = (),
    choices: Sequence[str] = (),
    bare_value: str | None = None,
) -> Any:
    """Declare an option that takes a value; ``kind`` is its type and whether it can be repeated."""
    return Option(spellings, help_text, kind, metavar, default, envvar, completion or choices, choices, bare_value)


def check_choice(option: str, value: str, known: Collection[str], listing: str = "") -> None:
    """Raise UserError for a value that is not known; the message names the nearest known one, or how to list them."""
    if value in known:
        return
    from afflint.findings.phrases import nearest

    close = nearest(value, known)
    hint = f"; did you mean {close!r}?" if close else f"; {listing}" if listing else f"; use one of {', '.join(known)}"
    raise UserError(f"{option}: unknown value {value!r}{hint}")


def argument(metavar: str, completion: str = "", *, required: bool = False, multiple: bool = True) -> Any:
    """Declare the positional argument of a command."""
    return Argument(metavar, completion, required, multiple)


def with_help(declared: _T, help_text: str) -> _T:
    """Return an option with another help text, for a command where the option has another scope."""
    return cast(_T, cast(Option, declared)._replace(help_text=help_text))


class CommandOptions:
    """The options of a command, or a group of options below one ``heading`` of the help."""

    heading = ""

    def __init_subclass__(cls, heading: str = "") -> None:
        cls.heading = heading

    def __init__(self, **values: Any) -> None:
        """Set the attributes; those without a value get their defaults."""
        vars(self).update({each.name: each.unset_value for section in sections_of(type(self)).values() for each in section} | values)


def sections_of(group: type) -> dict[str, list[Option]]:
    """Return the options of a class and of the groups that it consists of, by their headings, in the order of the help."""
    sections: dict[str, list[Option]] = {}
    for base in group.__bases__:
        for heading, options in sections_of(base).items():
            sections.setdefault(heading, []).extend(options)
    own = [each._replace(name=name) for name, each in vars(group).items() if isinstance(each, Option)]
    if own:
        sections.setdefault(vars(group)["heading"], []).extend(own)
    return sections


class Command(NamedTuple):
    """A command: the function that runs it, whose docstring is its help, and the class of its options."""

    run: Callable[[Any], int]
    """Runs the command with its options, an instance of ``options_type``, and returns the exit code."""
    options_type: type[CommandOptions]
    short_help: str | None = None

    @property
    def options(self) -> list[Option]:
        """All options, in the order of the help."""
        return [option for section in sections_of(self.options_type).values() for option in section]

    @property
    def argument(self) -> Argument | None:
        """The positional argument, if the command takes one."""
        found = ((name, value) for name, value in vars(self.options_type).items() if isinstance(value, Argument))
        return next((value._replace(name=name) for name, value in found), None)

    def invoke(self, values: Mapping[str, Any]) -> int:
        """Run the command with the values of its options and its argument, by name; return the exit code."""
        return self.run(self.options_type(**values))


def load_command(name: str) -> Command:
    """Import the command with a name."""
    module, _, attribute = COMMANDS[name].partition(":")
    command: Command = getattr(import_module(module), attribute)
    return command
