"""docs/wild.md quotes findings, and links to the commits of the public manifests that it quotes."""

import re

import pytest
from tools.generate.wild import Place, places, quoted

from shared_material import shared


def test_everything_quoted_is_a_finding() -> None:
    assert len(quoted()) == len(places())
    assert all(re.match(r"(error|warning)\[[a-z-]+\]: ", each) for each in quoted())


@pytest.mark.parametrize("place", places(), ids=lambda place: place.file)
def test_repository_and_commit_are_those_of_the_collection(place: Place) -> None:
    sources = shared("corpus", "nodepools/SOURCES.md" if place.folder.startswith("nodepools") else "SOURCES.md")
    rows = sources.read_text(encoding="utf-8").splitlines()
    assert any(f"{place.repository} " in row and f"| {place.commit}" in row for row in rows)
