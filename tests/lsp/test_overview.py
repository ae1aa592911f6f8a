"""Runs over folders reuse results of unchanged files, and the previous facts of a document that cannot be parsed."""

import shutil
from pathlib import Path

import pytest

from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.workspace import Workspace, WorkspaceState
from checkout import ROOT


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    folder = Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))
    return Workspace(str(folder), CommandLineConfig(no_config=True), all_files=True)


def run(workspace: Workspace, *buffers: EditorBuffer, with_unopened: bool = False) -> WorkspaceState:
    workspace.run({each.path: each for each in buffers}, lambda _done, _total: None, with_unopened=with_unopened)
    assert workspace.state is not None
    return workspace.state


def test_only_what_has_changed_is_checked_again(workspace: Workspace) -> None:
    map_cache = workspace.map_cache
    run(workspace)
    assert map_cache.checked == 5
    run(workspace)
    assert map_cache.checked == 5
    path = Path(workspace.folder, "cart.yaml")
    path.write_text(f"# A cart.\n{path.read_text()}")
    run(workspace)
    assert map_cache.checked == 6
    buffer = EditorBuffer(str(path), 1, path.read_bytes() + b"# More.\n")
    run(workspace, buffer)
    run(workspace, buffer._replace(version=2))
    assert map_cache.checked == 7


def test_a_document_that_cannot_be_parsed_keeps_its_previous_facts(workspace: Workspace) -> None:
    path = Path(workspace.folder, "orders.yaml")
    whole, broken = path.read_bytes(), path.read_bytes().replace(b"spec:", b"spec: [", 1)

    def facts(data: bytes) -> int:
        reduced = run(workspace, EditorBuffer(str(path), 1, data)).reduced
        file = next(number for number, source in enumerate(reduced.files.sources) if source.path == str(path))
        return len(reduced.results[file].facts.pods)

    assert [facts(whole), facts(broken), facts(broken + b"\n"), facts(b"")] == [1, 1, 1, 0]


def test_findings_of_unopened_files_are_computed_only_on_request(workspace: Workspace) -> None:
    assert not run(workspace).findings
    assert sum(map(len, run(workspace, with_unopened=True).findings.values())) > 5
