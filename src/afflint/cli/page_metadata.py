"""The metadata of a report page: when it was created, and by which command line."""

from __future__ import annotations

import os
import shlex
import sys
from datetime import datetime, timezone

from afflint.findings.errors import UserError
from afflint.findings.phrases import visible
from afflint.report.html_page import PageMetadata


def page_metadata() -> PageMetadata:
    """Return the current time, and the command line of this process, quoted for a shell."""
    return PageMetadata(f"{_now():%Y-%m-%d %H:%M} UTC", shlex.join(["afflint", *sys.argv[1:]]))


def today() -> str:
    """Return the current day in UTC as YYYY-MM-DD, the format of baselines."""
    return f"{_now():%Y-%m-%d}"


def _now() -> datetime:
    """Return the time in UTC: SOURCE_DATE_EPOCH if it is set, for reproducible output. Raises UserError."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise UserError(f"SOURCE_DATE_EPOCH takes a number of seconds, not {visible(epoch)!r}") from None
