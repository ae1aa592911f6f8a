"""The whole command line, by click: help, errors, completion, and every way of spelling options."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from afflint import __version__
from afflint.cli.command import FLAG, NUMBER, SEVERAL, Argument, Command, Option
from afflint.cli.output import USAGE
from afflint.findings.errors import UserError
from afflint.findings.phrases import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_COMMANDS = {
    "check": "afflint.cli.check:COMMAND",
    "merge": "afflint.cli.shards:MERGE",
    "place": "afflint.cli.place:COMMAND",
    "report": "afflint.cli.report:COMMAND",
    "rule": "afflint.cli.info:RULE",
    "config": "afflint.cli.info:CONFIG",
    "init": "afflint.cli.init:COMMAND",
    "test": "afflint.cli.policy_tests:COMMAND",
    "lsp": "afflint.cli.lsp:COMMAND",
}


def run() -> int:
    """Run what the words of the command line ask for; the exit code. Raises UserError for what cannot be understood."""
    try:
        result = cli.main(prog_name="afflint", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.ClickException as error:
        raise UserError(" ".join(error.format_message().split())) from None
    except SystemExit:
        return 0  # Click's way out when whoever reads its output has gone.
    return result if isinstance(result, int) else 0


class Sectioned(click.Command):
    """A command whose help gives its options in sections, one line after the other."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[Option]], **more: Any) -> None:
        """``sections``: options by heading. Any other option stands in the last section."""
        super().__init__(*args, **more)
        self.sections = sections

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give options that may do without a value what they mean then, so that what follows them stays a path."""
        options = {spelled: each for section in self.sections.values() for each in section for spelled in each.spelled}
        words = enumerate(args)
        for number, word in words:
            if word == "--":
                break
            option = options.get(word)
            if option is None or option.takes == FLAG:
                continue
            meant = option.bare
            if meant is not None and not {*"".join(args[number + 1 : number + 2]).split(",")} <= {*meant.split(",")}:
                args = [*args[:number], f"{word}={meant}", *args[number + 1 :]]
            else:
                next(words, None)  # Its value, whatever it looks like.
        return super().parse_args(ctx, args)

    def sectioned(self, context: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
        """Each heading with its options, in the order of the sections."""
        given = {parameter.name: parameter for parameter in self.get_params(context) if isinstance(parameter, click.Option)}
        named = {heading: [given.pop(each.name) for each in options] for heading, options in self.sections.items()}
        *_, last = named
        named[last] += given.values()
        yield from named.items()

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections, their texts below one another, and no empty lines between them: the help is to fit on a screen."""
        records = [
            (heading, [record for option in found if (record := option.get_help_record(context))])
            for heading, found in self.sectioned(context)
        ]
        width = max(len(spelled) for _, found in records for spelled, _ in found)
        formatter.write_paragraph()
        for heading, found in records:
            formatter.write_heading(heading)
            with formatter.indentation():
                formatter.write_dl([(spelled.ljust(width), text) for spelled, text in found])


def _made(name: str, command: Command) -> click.Command:
    """A command as click knows it."""
    params: list[click.Parameter] = [_option(each) for each in command.options]
    if command.argument is not None:
        params.insert(0, _argument(command.argument))
    more: dict[str, Any] = {"help": command.run.__doc__, "short_help": command.short_help}
    if "" in command.sections:
        return click.Command(name, callback=command.run, params=params, **more)
    return Sectioned(name, callback=command.run, params=params, sections=command.sections, **more)


def _argument(given: Argument) -> click.Argument:
    count = -1 if given.several else 1
    return click.Argument([given.name], nargs=count, required=given.required, metavar=given.metavar, shell_complete=given.completes)


def _option(given: Option) -> click.Option:
    common: dict[str, Any] = {"help": given.about, "envvar": given.variable, "shell_complete": given.completes}
    spelled = [*given.spelled, given.name]
    if given.takes == FLAG:
        return click.Option(spelled, is_flag=True, **common)
    if given.takes == SEVERAL:
        return click.Option(spelled, multiple=True, metavar=given.metavar, **common)
    return click.Option(spelled, type=int if given.takes == NUMBER else str, default=given.default, metavar=given.metavar, **common)


class _Commands(click.Group):
    """Imports of its commands only the one that is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer ``--version -v``: of click's options none can see the others."""
        if "--version" in args and {*args} - {"--version"} and {*args} <= {"--version", "-v", "--verbose"}:
            from afflint.cli import version

            click.echo(version.details(), nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            if name.startswith("-") or context.resilient_parsing:  # A shell that completes hears no errors.
                return None
            close = "--version" if name == "version" else nearest(name, _COMMANDS)
            raise click.UsageError(f"No such command {name!r}." + (f" Did you mean {close!r}?" if close else ""))
        module, _, attribute = _COMMANDS[name].partition(":")
        return _made(name, getattr(import_module(module), attribute))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="afflint", help="Show the version and exit; with -v all that a report of a fault needs.")
def cli() -> None:
    """Lint where Kubernetes and KubeVirt workloads are placed: labels, affinity, spread, tolerations.

    Exit codes: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage or configuration; 3 a fault of afflint.
    """
