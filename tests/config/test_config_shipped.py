"""Data directories: the installed copy first, then the checkout, and a clear error without either."""

import os
from pathlib import Path

import pytest

from afflint import resources


def test_a_checkout_has_its_schemas_at_the_top() -> None:
    assert os.path.isfile(os.path.join(resources.directory("schemas"), "config.schema.json"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree laid out as src/afflint, with the module in it."""
    package = tmp_path / "src" / "afflint"
    package.mkdir(parents=True)
    monkeypatch.setattr(resources, "__file__", str(package / "resources.py"))
    return package


def test_the_installed_copy_comes_first(package: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    assert resources.directory("rules") == str(tmp_path / "rules")
    (package / "rules").mkdir()
    assert resources.directory("rules") == str(package / "rules")


def test_a_missing_directory_is_an_error_with_both_paths(package: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        resources.directory("rules")
    assert str(caught.value) == (f"afflint is not installed completely: neither {package / 'rules'} nor {tmp_path / 'rules'} exists")
