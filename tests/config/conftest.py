"""A scratch project to configure, and the rules that its configurations may name."""

from pathlib import Path
from textwrap import dedent

import pytest
from configured import CATEGORIES, RULES, Load, Mistakes, Write

from afflint import config
from afflint.config import Config, ConfigError


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file of the project; the working directory is the project's root."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def load(write: Write) -> Load:
    """Loads a configuration, from its text or from the name of a file."""

    def load(source: str) -> Config:
        name = source
        if "\n" in source or ":" in source:
            write(name := ".afflint.yaml", source)
        return config.load(name, rule_names=RULES, categories=CATEGORIES)

    return load


@pytest.fixture
def mistakes(load: Load) -> Mistakes:
    """What is wrong with a configuration, as a user reads it."""

    def mistakes(source: str) -> str:
        with pytest.raises(ConfigError) as caught:
            load(source)
        return str(caught.value)

    return mistakes
