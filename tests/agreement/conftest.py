"""Plans of files, as `afflint place` makes them."""

from pathlib import Path

import pytest
from plans import Plans


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    """Makes plans of files in a repository of their own."""
    folder: Path = tmp_path_factory.mktemp("repository")
    (folder / ".git").mkdir()
    return Plans(folder)
