"""Text in the repository that is generated: `python -m tools.generate` writes it, and `tests/test_generated.py` compares it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from afflint.findings.namedtuples import NamedTuple

ROOT = Path(__file__).parents[2]
# The helpers of the tests run afflint, find programs and contain the samples behind the goldens.
sys.path.append(str(ROOT / "tests"))


class GeneratedFile(NamedTuple):
    """A file and the function that returns its text.

    ``missing`` names a program or data that is not available; the parts that need it stay as they are.
    """

    path: Path
    make: Callable[[], str]
    missing: str = ""

    @property
    def name(self) -> str:
        """The path from the top of the checkout."""
        return self.path.relative_to(ROOT).as_posix()

    def current(self) -> str:
        """Return the text in the checkout, which is empty if there is no such file."""
        return self.path.read_bytes().decode() if self.path.exists() else ""


def with_parts(page: str, parts: dict[str, str]) -> str:
    """Return the page with the text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` replaced, by name."""
    for name, part in parts.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
        before, rest = page.split(begin)
        page = before + begin + part + end + rest.split(end)[1]
    return page


def missing_programs(*names: str) -> str:
    """Return which of the programs are not installed, in words."""
    from rendering.real_tools import found_tool

    missing = [name for name in names if found_tool(name) is None]
    return f"{' and '.join(missing)} not found on PATH or where `.ci/tools` builds them" if missing else ""
