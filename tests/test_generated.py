"""What is generated is up to date: rule pages, docs, the README, the schema and the goldens."""

from __future__ import annotations

import pytest
from tools.generate import GeneratedFile
from tools.generate.generators import GENERATORS

FILES = [(name, file) for name, generator in GENERATORS.items() for file in generator()]


@pytest.mark.parametrize("name, file", FILES, ids=[f"{name}-{file.name}" for name, file in FILES])
def test_a_file_has_the_text_that_its_generator_makes(name: str, file: GeneratedFile) -> None:
    assert file.current() == file.make(), f"`python -m tools.generate {name}` rewrites it"
    if file.missing:
        pytest.skip(file.missing)
