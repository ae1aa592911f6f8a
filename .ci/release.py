"""``release.py TAG``: print the changelog of a release. Fails if the tag, the version and the changelog do not agree."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"## (?:Unreleased|(?P<version>\d+\.\d+\.\d+) \((?P<date>\d{4}-\d\d-\d\d)\))")


class ReleaseError(Exception):
    """A disagreement of tag, version and changelog; the message names it."""


def version_of(package: str) -> str:
    """Return the version in the text of ``__init__.py``."""
    match = re.search(r'(?m)^__version__ = "(\d+\.\d+\.\d+)"$', package)
    if match is None:
        raise ReleaseError("src/afflint/__init__.py does not set `__version__` to a version such as 1.2.3")
    return match[1]


def sections(changelog: str) -> dict[str, str]:
    """Return the sections of the changelog by version, the newest first, including ``Unreleased``.

    Raises ReleaseError for an invalid heading.
    """
    _, *parts = re.split(r"(?m)^(?=## )", changelog)
    found: dict[str, str] = {}
    for part in parts:
        heading, _, text = part.partition("\n")
        match = HEADING.fullmatch(heading)
        if match is None:
            raise ReleaseError(f"CHANGELOG.md: {heading!r} is not a valid heading; write `## Unreleased` or `## 1.2.3 (2026-01-31)`")
        found[match["version"] or "Unreleased"] = text.strip()
    return found


def notes(tag: str, package: str, changelog: str) -> str:
    """Return the changelog of a release. Raises ReleaseError unless the tag is ``v`` and the version, and the version has a section."""
    version = version_of(package)
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag!r}, but the version in src/afflint/__init__.py is {version}: the tag must be v{version}")
    entries = sections(changelog)
    if entries.get("Unreleased"):
        raise ReleaseError("CHANGELOG.md has entries under `## Unreleased`: move them to the release")
    if not entries.get(version):
        raise ReleaseError(f"CHANGELOG.md has no entries under `## {version} (DATE)`")
    return f"{entries[version]}\n"


if __name__ == "__main__":
    try:
        (tag_argument,) = sys.argv[1:]
        texts = (path.read_text("utf-8") for path in (ROOT / "src" / "afflint" / "__init__.py", ROOT / "CHANGELOG.md"))
        print(notes(tag_argument, *texts), end="")
    except ReleaseError as error:
        sys.exit(str(error))
