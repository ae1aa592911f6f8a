"""The table of docs/exactness.md, held by the tests that compare: each says what it counted, and the table has to say the same.

With ``AFFLINT_WRITE_FIGURES=1`` they write it. The last column but one is that of all recorded answers, the last that of the sample.
"""

import os
import re

from checkout import ROOT
from shared_material import SHARED

PAGE = ROOT / "docs" / "exactness.md"


def counted(row: str, agree: int, total: int) -> None:
    """Compare a row of the table with what was counted: in the column of all answers if they are available."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(row)} \|(?P<all>[^|]*)\|(?P<sample>[^|]*)\|$", text, re.MULTILINE)
    assert found is not None, f"docs/exactness.md has no row {row!r}"
    column = "all" if (SHARED / "conformance").exists() else "sample"
    share = f"{agree:,} of {total:,}"
    if os.environ.get("AFFLINT_WRITE_FIGURES") == "1":
        PAGE.write_text(f"{text[: found.start(column)]} {share} {text[found.end(column) :]}", encoding="utf-8")
    else:
        assert found[column].strip() == share, f"docs/exactness.md, {row!r}"
