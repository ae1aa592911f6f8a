"""The command line in click: the help, the completion in shells, and the choice of the command. ``cli.parser`` parses its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from afflint import __version__
from afflint.cli.command import COMMANDS, FILE, FLAG, FOLDER, MULTIPLE, RULE, RULES, Command, Option, load_command, sections_of
from afflint.cli.output import USAGE
from afflint.cli.parser import HelpRequested, parse
from afflint.findings.errors import UserError
from afflint.findings.phrases import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.shell_completion import CompletionItem


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


class ClickCommand(click.Command):
    """A command whose help lists its options in sections."""

    def __init__(self, name: str, command: Command) -> None:
        params: list[click.Parameter] = [_option(each) for each in command.options]
        argument = command.argument
        if argument is not None:
            nargs, complete = -1 if argument.multiple else 1, _completion(argument.completion)
            params.insert(0, click.Argument([argument.name], nargs=nargs, metavar=argument.metavar, shell_complete=complete))
        super().__init__(name, params=params, help=command.run.__doc__, short_help=command.short_help)
        self.command = command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options as ``cli.parser`` does; click itself parses only what a shell completes."""
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        try:
            ctx.params = parse(self.command, args)
        except HelpRequested:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return []

    def invoke(self, ctx: click.Context) -> int:
        """Run the command and return the exit code."""
        return self.command.invoke(ctx.params)

    def options_by_section(self, context: click.Context) -> dict[str, list[click.Option]]:
        """Return the options by their headings, in the order of the help. ``--help`` is in the last section."""
        options = {parameter.name: parameter for parameter in self.get_params(context) if isinstance(parameter, click.Option)}
        sections = {
            heading: [options.pop(each.name) for each in section] for heading, section in sections_of(self.command.options_type).items()
        }
        *_, last = sections.values()
        last += options.values()
        return sections

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections with aligned texts and without empty lines between them, so that the help fits on a screen."""
        records = {
            heading: [record for option in options if (record := option.get_help_record(context))]
            for heading, options in self.options_by_section(context).items()
        }
        width = max(len(spelling) for section in records.values() for spelling, _ in section)
        formatter.write_paragraph()
        for heading, section in records.items():
            formatter.write_heading(heading or "Options")
            with formatter.indentation():
                formatter.write_dl([(spelling.ljust(width), text) for spelling, text in section])


def _option(option: Option) -> click.Option:
    common: dict[str, Any] = {"help": option.help_text, "shell_complete": _completion(option.completion)}
    spellings = [*option.spellings, option.name]
    if option.kind == FLAG:
        return click.Option(spellings, is_flag=True, **common)
    return click.Option(spellings, multiple=option.kind == MULTIPLE, metavar=option.metavar, **common)


def _completion(kind: str | Sequence[str]) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    return lambda _context, _parameter, incomplete: _completions(kind, incomplete)


def _completions(kind: str | Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Return the completions of a word: FILE, FOLDER, RULE and RULES are kinds of words, anything else lists the words."""
    from click.shell_completion import CompletionItem

    if kind in (FILE, FOLDER):
        return [CompletionItem(incomplete, type=str(kind))]  # The shell completes these itself.
    if kind in (RULE, RULES):
        return _rule_names(incomplete, multiple=kind == RULES)
    return [CompletionItem(word) for word in kind if word.startswith(incomplete)]


def _rule_names(incomplete: str, *, multiple: bool) -> list[CompletionItem]:
    """Return the rules, described by their category, and the categories.

    ``multiple``: ``incomplete`` is a comma-separated list, and its last name is completed.
    """
    from click.shell_completion import CompletionItem

    from afflint.checks.registry import CATEGORIES, rules

    before, comma, last = incomplete.rpartition(",") if multiple else ("", "", incomplete)
    taken = {*before.split(",")}
    named = {**{rule.name: rule.category for rule in rules().values()}, **dict.fromkeys(CATEGORIES, "category")}
    if multiple:
        named["all"] = "all rules"
    return [
        CompletionItem(f"{before}{comma}{name}", help=help_text)
        for name, help_text in named.items()
        if name.startswith(last) and name not in taken
    ]


_ELSEWHERE = {"version": "--version", "simulate": "place", "fail": "place --lose"}
_ELSEWHERE |= {each: f"place --{each}" for each in ("deschedule", "drain", "lose", "remove", "roll", "upgrade")}
"""What users mean by the names of options, and by other words, that they take for commands."""


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
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> ClickCommand | None:
        if name not in COMMANDS:
            if name.startswith("-") or context.resilient_parsing:  # Completion in a shell prints no errors.
                return None
            close = _ELSEWHERE.get(name) or nearest(name, COMMANDS)
            raise click.UsageError(f"No such command {name!r}." + (f" Did you mean {close!r}?" if close else ""))
        return ClickCommand(name, load_command(name))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="afflint", help="Show the version and exit; with -v, everything a bug report needs.")
def cli() -> None:
    """Lint where Kubernetes and KubeVirt workloads are placed: labels, affinity, spread, tolerations.

    Exit codes: 0 no findings at or above --fail-on; 1 findings; 2 wrong usage or configuration; 3 a bug in afflint.
    """
