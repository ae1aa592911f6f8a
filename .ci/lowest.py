"""Prints pip constraints: each dependency of pyproject.toml at the lowest version that it allows, ``click==8.2`` for ``click>=8.2``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
# A name, its lowest version, and the environment that it is for.
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)(\s*;.*)?")


def lowest(requirement: str) -> str:
    """The constraint of one requirement. Raises ValueError where no lowest version is stated: a bound nobody tests is none."""
    match = REQUIREMENT.fullmatch(requirement.strip())
    if match is None:
        raise ValueError(f"{requirement!r} in pyproject.toml does not say `name>=version`")
    name, version, environment = match.groups()
    return f"{name}=={version}{environment or ''}"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    # What builds the site is pinned, and no part of what is tested.
    extras = [extra for name, extra in project["optional-dependencies"].items() if name != "docs"]
    stated = [*project["dependencies"], *(each for extra in extras for each in extra if each != "afflint[docs]")]
    # What is needed in one environment and in all of them is pinned once.
    print("\n".join(dict.fromkeys(map(lowest, stated))))
