"""What is generated is up to date: rule pages, docs, the README, the schema and the goldens."""

from pathlib import Path

import pytest
from tools.generate import GeneratedFile
from tools.generate.__main__ import main
from tools.generate.generators import GENERATORS

FILES = [(name, file) for name, generator in GENERATORS.items() for file in generator()]


@pytest.mark.parametrize("name, file", FILES, ids=[f"{name}-{file.name}" for name, file in FILES])
def test_a_file_has_the_text_that_its_generator_makes(name: str, file: GeneratedFile) -> None:
    assert file.current() == file.make(), f"`python -m tools.generate {name}` rewrites it"
    if file.missing:
        pytest.skip(file.missing)


def test_the_program_writes_what_it_can_and_names_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [GeneratedFile(tmp_path / "a.md", lambda: "new"), GeneratedFile(tmp_path / "b.md", lambda: "", "helm not found")]
    monkeypatch.setattr("tools.generate.ROOT", tmp_path)
    monkeypatch.setitem(GENERATORS, "docs", lambda: iter(files))
    monkeypatch.setattr("sys.argv", ["generate", "docs"])
    assert main() == 1
    assert capsys.readouterr() == ("wrote a.md\n", "b.md is not up to date in every part: helm not found\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
