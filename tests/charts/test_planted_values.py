"""Mistakes in values, custom resources, node pools and patches are found at the line to edit, without a chart being rendered.

After the edit there, nothing is reported. The folders are named after the kinds of mistakes that a study of fixes found: values that
reach no pod (r4), files of values with any name (m2), charts in other places (m3), facts of the repository (m4), selectors that miss
their own pods (m5), places that a custom resource does not have (m6), copies (m7), misspellings (m8), tolerations (m9), and others (m10).
"""

from pathlib import Path

import pytest

from afflint import config
from afflint.pipeline.options import Options
from afflint.pipeline.session import Session
from rendering.planted_mistakes import PlantedTree, names, tree
from rendering.rendered_trees import write

FOLDER = Path(__file__).parent / "planted_values"


def places_in(planted: PlantedTree) -> list[str]:
    """`file:line:column rule` of each finding."""
    write({".git/HEAD": "", **planted.files})
    session = Session(config.default())
    findings = session.check(session.sources(["."]), Options(inline=True)).findings
    return sorted(f"{each.file}:{each.span.line}:{each.span.column} {each.rule}" for each in findings)


@pytest.mark.parametrize("name", names(FOLDER))
def test_a_planted_mistake_is_found_without_rendering(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planted = tree(name, FOLDER)
    found = places_in(planted)
    assert found == sorted(each.place for each in planted.mistakes) != []
    for place in found:
        planted = planted.with_correction(place)
    assert places_in(planted) == []
