"""Commands as data: what they take, for whoever reads the words of a command line or tells what there is."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    Completion = Callable[[Context, Parameter, str], list[CompletionItem]]

FLAG, ONE, SEVERAL, NUMBER = "flag", "one", "several", "number"
"""What options take: nothing, a text, a text each time they are given, a whole number."""


class Option(NamedTuple):
    """An option of a command: how it is spelled (``-q``, ``--quiet``), what its help says, and what it takes."""

    spelled: tuple[str, ...]
    about: str
    takes: str
    metavar: str | None = None
    called: str | None = None
    """The name of its value among those given, where it is not that of the option."""
    default: str | None = None
    variable: str | None = None
    """The environment variable that gives the value where the option does not."""
    completes: Any = None
    """What completes its value: a Completion."""
    bare: str | None = None
    """What it means without a value, which is one or more of these words, with commas between them."""

    @property
    def name(self) -> str:
        """The key of its value among those given."""
        return self.called or self.spelled[-1].lstrip("-").replace("-", "_")

    @property
    def without(self) -> Any:
        """The value when the option is not given."""
        return False if self.takes == FLAG else () if self.takes == SEVERAL else self.default


def flag(*spelled: str, about: str, variable: str | None = None) -> Option:
    """An option that takes no value."""
    return Option(spelled, about, FLAG, variable=variable)


def option(
    *spelled: str,
    about: str,
    metavar: str,
    takes: str = ONE,
    called: str | None = None,
    default: str | None = None,
    variable: str | None = None,
    completes: "Completion | None" = None,
    bare: str | None = None,
) -> Option:
    """An option that takes a value: ``takes`` says how many, and of which type."""
    return Option(spelled, about, takes, metavar, called, default, variable, completes, bare)


class Argument(NamedTuple):
    """What a command takes besides options: any number of texts, at least one if it is ``required``; or at most one."""

    name: str
    metavar: str
    completes: Any = None
    required: bool = False
    several: bool = True


class Command(NamedTuple):
    """A command: what runs it, with its help as docstring, and what it takes.

    ``sections``: the options by their heading in the help, "" for none.
    """

    run: Callable[..., Any]
    sections: Mapping[str, Sequence[Option]]
    argument: Any = None
    short_help: Any = None

    @property
    def options(self) -> list[Option]:
        """All options, in the order of the help."""
        return [each for section in self.sections.values() for each in section]
