"""Runs over whole folders remember what has not changed, and know what a document that is half written said before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from afflint.lsp.folder_config import CommandLineConfig
from afflint.lsp.indexer.map_cache import EditorBuffer
from afflint.lsp.indexer.workspace import Workspace, WorkspaceState
from checkout import ROOT


@pytest.fixture
def overview(tmp_path: Path) -> Workspace:
    folder = Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))
    return Workspace(str(folder), CommandLineConfig(no_config=True), whole=True)


def run(overview: Workspace, *buffers: EditorBuffer, everything: bool = False) -> WorkspaceState:
    overview.run({each.path: each for each in buffers}, lambda _done, _total: None, everything=everything)
    assert overview.state is not None
    return overview.state


def test_only_what_has_changed_is_checked_again(overview: Workspace) -> None:
    memory = overview.memory
    run(overview)
    assert memory.checked == 5
    run(overview)
    assert memory.checked == 5
    path = Path(overview.folder, "cart.yaml")
    path.write_text(f"# A cart.\n{path.read_text()}")
    run(overview)
    assert memory.checked == 6
    buffer = EditorBuffer(str(path), 1, path.read_bytes() + b"# More.\n")
    run(overview, buffer)
    run(overview, buffer._replace(version=2))
    assert memory.checked == 7


def test_facts_of_a_document_that_cannot_be_read_are_those_from_before(overview: Workspace) -> None:
    path = Path(overview.folder, "orders.yaml")
    whole, broken = path.read_bytes(), path.read_bytes().replace(b"spec:", b"spec: [", 1)

    def facts(data: bytes) -> int:
        gathered = run(overview, EditorBuffer(str(path), 1, data)).gathered
        file = next(number for number, source in enumerate(gathered.files.sources) if source.path == str(path))
        return len(gathered.told[file].facts.pods)

    assert [facts(whole), facts(broken), facts(broken + b"\n"), facts(b"")] == [1, 1, 1, 0]


def test_findings_of_all_files_are_made_only_for_whoever_wants_them(overview: Workspace) -> None:
    assert not run(overview).findings
    assert sum(map(len, run(overview, everything=True).findings.values())) > 5
