"""Where recorded answers and real manifests lie when they are at hand: beside the checkout, never inside it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2] / "shared"


def shared(*parts: str) -> Path:
    """A path below the shared material; skips the test, saying so, when it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared material is not beside this checkout: {'/'.join(parts)}")
    return path


def cases(name: str) -> list[dict[str, Any]]:
    """The recorded cases of one file of the conformance material."""
    with gzip.open(shared("conformance", name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
