"""What a page says about its making: when, and by which command line."""

from __future__ import annotations

import os
import shlex
from datetime import datetime, timezone

import click

from afflint.cli.output import shown
from afflint.report.page import Made


def made() -> Made:
    """The time to be shown, and the command line that is being run."""
    return Made(_now(), _command_line())


def _now() -> str:
    """The time to be shown, in UTC: that of SOURCE_DATE_EPOCH where it is set, for output that can be made again byte by byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        when = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise click.UsageError(f"SOURCE_DATE_EPOCH takes a number of seconds, not {shown(epoch)!r}") from None
    return f"{when:%Y-%m-%d %H:%M} UTC"


def _command_line() -> str:
    """The command line, of what was given: as it can be typed again in a shell."""
    context = click.get_current_context()
    words = ["afflint", context.info_name or ""]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if value == parameter.get_default(context) or value is None or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            words += values
        else:
            for each in values:
                words += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
    return shlex.join(words)
