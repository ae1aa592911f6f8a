"""The complete command line, built with click: help, errors, completion, and every spelling of options."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from afflint import __version__
from afflint.cli.command import FLAG, MULTIPLE, NUMBER, Argument, Command, Option
from afflint.cli.output import USAGE
from afflint.findings.errors import UserError
from afflint.findings.phrases import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_COMMANDS = {
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


def run() -> int:
    """Run the command line and return the exit code. Raises UserError for wrong usage."""
    try:
        result = cli.main(prog_name="afflint", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort as abort:
        from afflint.source.termination import exit_code

        return exit_code(abort.__cause__)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.ClickException as error:
        raise UserError(" ".join(error.format_message().split())) from None
    except SystemExit:
        return 0  # Click exits this way when the reader of its output has closed the pipe.
    return result if isinstance(result, int) else 0


class PlainCommand(click.Command):
    """A command whose options may have a value that they take when they are given alone."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[Option]], **more: Any) -> None:
        """``sections``: options by heading."""
        super().__init__(*args, **more)
        self.sections = sections

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the value of each option that is given without one, so that the next argument stays a path."""
        options = {spellings: each for section in self.sections.values() for each in section for spellings in each.spellings}
        tokens = enumerate(args)
        for number, token in tokens:
            if token == "--":
                break
            option = options.get(token)
            if option is None or option.kind == FLAG:
                continue
            value = option.bare_value
            if value is not None and not {*"".join(args[number + 1 : number + 2]).split(",")} <= {*value.split(",")}:
                args = [*args[:number], f"{token}={value}", *args[number + 1 :]]
            else:
                next(tokens, None)  # Its value, even if it looks like an option.
        return super().parse_args(ctx, args)


class SectionedCommand(PlainCommand):
    """A command whose help lists its options in sections. An option that is in none is in the last one."""

    def options_by_section(self, context: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
        """Yield each heading with its options, in the order of the sections."""
        remaining = {parameter.name: parameter for parameter in self.get_params(context) if isinstance(parameter, click.Option)}
        sections = {heading: [remaining.pop(option.name) for option in options] for heading, options in self.sections.items()}
        *_, last = sections
        sections[last] += remaining.values()
        yield from sections.items()

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections with aligned texts and without empty lines between them, so that the help fits on a screen."""
        records = [
            (heading, [record for option in options if (record := option.get_help_record(context))])
            for heading, options in self.options_by_section(context)
        ]
        width = max(len(spelling) for _, section in records for spelling, _ in section)
        formatter.write_paragraph()
        for heading, section in records:
            formatter.write_heading(heading)
            with formatter.indentation():
                formatter.write_dl([(spelling.ljust(width), text) for spelling, text in section])


def _click_command(name: str, command: Command) -> click.Command:
    params: list[click.Parameter] = [_option(each) for each in command.options]
    if command.argument is not None:
        params.insert(0, _argument(command.argument))
    more: dict[str, Any] = {"help": command.run.__doc__, "short_help": command.short_help}

    def invoke(**values: Any) -> int:
        return command.invoke(values)

    kind = PlainCommand if "" in command.sections else SectionedCommand
    return kind(name, callback=invoke, params=params, sections=command.sections, **more)


def _argument(argument: Argument) -> click.Argument:
    count = -1 if argument.multiple else 1
    return click.Argument(
        [argument.name], nargs=count, required=argument.required, metavar=argument.metavar, shell_complete=argument.completion
    )


def _option(option: Option) -> click.Option:
    common: dict[str, Any] = {"help": option.help_text, "envvar": option.envvar, "shell_complete": option.completion}
    spellings = [*option.spellings, option.name]
    if option.kind == FLAG:
        return click.Option(spellings, is_flag=True, **common)
    if option.kind == MULTIPLE:
        return click.Option(spellings, multiple=True, metavar=option.metavar, **common)
    return click.Option(spellings, type=int if option.kind == NUMBER else str, default=option.default, metavar=option.metavar, **common)


class _Commands(click.Group):
    """The group of all commands, which imports only the command that is run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Handle ``--version -v``: an eager option of click does not see the others."""
        if "--version" in args and {*args} - {"--version"} and {*args} <= {"--version", "-v", "--verbose"}:
            from afflint.cli import version

            click.echo(version.details(), nl=False)
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, _context: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            if name.startswith("-") or context.resilient_parsing:  # Completion in a shell prints no errors.
                return None
            close = "--version" if name == "version" else nearest(name, _COMMANDS)
            raise click.UsageError(f"No such command {name!r}." + (f" Did you mean {close!r}?" if close else ""))
        module, _, attribute = _COMMANDS[name].partition(":")
        return _click_command(name, getattr(import_module(module), attribute))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="afflint", help="Show the version and exit; with -v, everything a bug report needs.")
def cli() -> None:
    """Lint where Kubernetes and KubeVirt workloads are placed: labels, affinity, spread, tolerations.

    Exit codes: 0 no findings at or above --fail-on; 1 findings; 2 wrong usage or configuration; 3 a bug in afflint.
    """
