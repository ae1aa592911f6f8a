"""Print pip constraints: each dependency of pyproject.toml at its lowest allowed version, ``click==8.2`` for ``click>=8.2``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
# A name, its lowest version, the version that is too new, and its environment marker.
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)(?:,<[0-9.]+)?(\s*;.*)?")


def lowest(requirement: str) -> str:
    """Return the constraint for a requirement. Raises ValueError without a lowest version, because only stated bounds are tested."""
    match = REQUIREMENT.fullmatch(requirement.strip())
    if match is None:
        raise ValueError(f"{requirement!r} in pyproject.toml is not of the form `name>=version` or `name>=version,<version`")
    name, version, environment = match.groups()
    return f"{name}=={version}{environment or ''}"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    # The tools that build the site are pinned and not tested.
    extras = [extra for name, extra in project["optional-dependencies"].items() if name != "docs"]
    stated = [*project["dependencies"], *(each for extra in extras for each in extra if not each.startswith("afflint["))]
    # A requirement of several extras is pinned once.
    print("\n".join(dict.fromkeys(map(lowest, stated))))
