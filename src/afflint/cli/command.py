"""Commands as data: their options and arguments, for the parsers of the command line and for its help."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    Completion = Callable[[Context, Parameter, str], list[CompletionItem]]

FLAG, SINGLE, MULTIPLE, NUMBER = "flag", "one", "several", "number"
"""The kinds of options: without a value, with a string, with a string each time the option is repeated, with an integer."""


class Option(NamedTuple):
    """An option of a command: its spellings (``-q``, ``--quiet``), its help and its kind."""

    spellings: tuple[str, ...]
    help_text: str
    kind: str
    metavar: str | None = None
    dest: str | None = None
    """The key of its value, where it differs from the name of the option."""
    default: str | None = None
    envvar: str | None = None
    """The environment variable that sets the value if the option is not given."""
    completion: Any = None
    """The Completion of its value."""
    bare_value: str | None = None
    """The value of the option when it is given alone: all words that it accepts, comma-separated."""

    @property
    def name(self) -> str:
        """The key of its value in the arguments of the command."""
        return self.dest or self.spellings[-1].lstrip("-").replace("-", "_")

    @property
    def unset_value(self) -> Any:
        """The value when the option is not given."""
        return False if self.kind == FLAG else () if self.kind == MULTIPLE else self.default


def flag(*spellings: str, help_text: str, dest: str | None = None, envvar: str | None = None) -> Option:
    """Return an option that takes no value."""
    return Option(spellings, help_text, FLAG, dest=dest, envvar=envvar)


def option(
    *spellings: str,
    help_text: str,
    metavar: str,
    kind: str = SINGLE,
    dest: str | None = None,
    default: str | None = None,
    envvar: str | None = None,
    completion: "Completion | None" = None,
    bare_value: str | None = None,
) -> Option:
    """Return an option that takes a value; ``kind`` is its type and whether it can be repeated."""
    return Option(spellings, help_text, kind, metavar, dest, default, envvar, completion, bare_value)


def select(sections: Mapping[str, Sequence[Option]], names: Collection[str]) -> list[Option]:
    """Return the options with these names, in the order of the help."""
    return [each for section in sections.values() for each in section if each.name in names]


class Argument(NamedTuple):
    """The positional argument of a command: any number of strings, at least one if it is ``required``; or at most one."""

    name: str
    metavar: str
    completion: Any = None
    required: bool = False
    multiple: bool = True


class Command(NamedTuple):
    """A command: the function that runs it, whose docstring is its help, the type of its options, its options and its argument.

    ``sections``: the options by their heading in the help, "" for no heading.
    """

    run: Callable[[Any], int]
    """Runs the command with its options, an instance of ``options_type``, and returns the exit code."""
    options_type: Callable[..., Any]
    """A named tuple with a field for each option, and one for the argument."""
    sections: Mapping[str, Sequence[Option]]
    argument: Argument | None = None
    short_help: str | None = None

    def invoke(self, values: Mapping[str, Any]) -> int:
        """Run the command with the values that a parser found for its options and its argument, by name; return the exit code."""
        return self.run(self.options_type(**values))

    def select(self, *names: str) -> list[Option]:
        """Return the options with these names, for another command that has the same ones."""
        return select(self.sections, names)

    @property
    def options(self) -> list[Option]:
        """All options, in the order of the help."""
        return [option for section in self.sections.values() for option in section]
