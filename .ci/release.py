"""``release.py TAG``: prints what the changelog says of a release; refuses a tag that version and changelog do not bear out."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"## (?:Unreleased|(?P<version>\d+\.\d+\.\d+) \((?P<date>\d{4}-\d\d-\d\d)\))")


class ReleaseError(Exception):
    """A tag, a version or a changelog that do not agree; the message says which."""


def version_of(package: str) -> str:
    """The version that afflint gives itself, out of the text of its ``__init__.py``."""
    match = re.search(r'(?m)^__version__ = "(\d+\.\d+\.\d+)"$', package)
    if match is None:
        raise ReleaseError("src/afflint/__init__.py says no version such as 1.2.3")
    return match[1]


def sections(changelog: str) -> dict[str, str]:
    """What the changelog says, by version, the newest first; ``Unreleased`` is one. Raises ReleaseError for a heading of another form."""
    _, *parts = re.split(r"(?m)^(?=## )", changelog)
    found: dict[str, str] = {}
    for part in parts:
        heading, _, text = part.partition("\n")
        match = HEADING.fullmatch(heading)
        if match is None:
            raise ReleaseError(f"CHANGELOG.md: a heading reads `## Unreleased` or `## 1.2.3 (2026-01-31)`, not {heading!r}")
        found[match["version"] or "Unreleased"] = text.strip()
    return found


def notes(tag: str, package: str, changelog: str) -> str:
    """The section of a release. Raises ReleaseError when the tag is not ``v`` and the version, or when that has no section of its own."""
    version = version_of(package)
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag!r}, and src/afflint/__init__.py says {version}: tag v{version}")
    told = sections(changelog)
    if told.get("Unreleased"):
        raise ReleaseError("CHANGELOG.md has entries under Unreleased: they belong to a release")
    if not told.get(version):
        raise ReleaseError(f"CHANGELOG.md says nothing under `## {version} (DATE)`")
    return f"{told[version]}\n"


if __name__ == "__main__":
    try:
        (named,) = sys.argv[1:]
        texts = (path.read_text("utf-8") for path in (ROOT / "src" / "afflint" / "__init__.py", ROOT / "CHANGELOG.md"))
        print(notes(named, *texts), end="")
    except ReleaseError as error:
        sys.exit(str(error))
