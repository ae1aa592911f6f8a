"""What a page says about its making: when, and by which command line."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import datetime, timezone

from afflint.cli.output import shown
from afflint.findings.errors import UserError
from afflint.report.html_page import PageMetadata


def page_metadata() -> PageMetadata:
    """The time to be shown, and the command line that is being run, as it can be typed again in a shell."""
    return PageMetadata(f"{_now():%Y-%m-%d %H:%M} UTC", shlex.join(["afflint", *sys.argv[1:]]))


def today() -> str:
    """The day, in UTC, as baselines have it."""
    return f"{_now():%Y-%m-%d}"


def _now() -> datetime:
    """The time, in UTC: that of SOURCE_DATE_EPOCH where it is set, for output that can be made again byte by byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise UserError(f"SOURCE_DATE_EPOCH takes a number of seconds, not {shown(epoch)!r}") from None
