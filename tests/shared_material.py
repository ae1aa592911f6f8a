"""The paths of recorded answers and real manifests next to the checkout, and of the sample of the answers inside it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2] / "shared"
SAMPLE = Path(__file__).parent / "conformance" / "sample"


def shared(*parts: str) -> Path:
    """A path below the shared material; skips the test, saying so, when it is not there."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared material is not beside this checkout: {'/'.join(parts)}")
    return path


def cases(name: str) -> list[dict[str, Any]]:
    """The recorded cases of one file of the conformance material: all of them, or the sample if they are not available."""
    sample = SAMPLE / name
    whole = SHARED / "conformance" / name
    return recorded(whole if whole.exists() or not sample.exists() else sample)


def recorded(path: Path) -> list[dict[str, Any]]:
    """Gzipped JSON lines; skips the test where there is no such file."""
    if not path.exists():
        pytest.skip(f"recorded cases are not available: {path.name}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
