"""Runs over whole folders give way to whoever waits for an answer, and remember what has not changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from queue import SimpleQueue

import pytest

from afflint.lsp.memory import Buffer
from afflint.lsp.project import Chosen, Project
from afflint.lsp.runs import Progress, Ran, Runs
from checkout import ROOT

PATIENCE = 60


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = Path(shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop"))
    return Project(str(folder), Chosen(no_config=True), whole=True)


def ended(told: SimpleQueue[Ran | Progress]) -> Ran:
    message = told.get(timeout=PATIENCE)
    assert isinstance(message, Ran)
    assert not message.fault
    return message


def test_a_run_ends_though_somebody_is_answered_all_the_time(project: Project) -> None:
    """Whoever answers may wait for something that the run holds, such as a module that both import."""
    told: SimpleQueue[Ran | Progress] = SimpleQueue()
    runs = Runs(told.put)
    runs.busy(True)
    runs.start(project, {})
    state = ended(told).state
    assert state is not None
    assert sum(map(len, state.findings.values())) > 5


def test_only_what_has_changed_is_checked_again(project: Project) -> None:
    memory = project._memory
    project.run({}, lambda _done, _total: None)
    assert memory.checked == 5
    project.run({}, lambda _done, _total: None)
    assert memory.checked == 5
    path = Path(project.folder, "cart.yaml")
    path.write_text(f"# A cart.\n{path.read_text()}")
    project.run({}, lambda _done, _total: None)
    assert memory.checked == 6
    # What an editor has checked already is taken from there.
    buffer = project.checked(Buffer(str(path), 1, path.read_bytes() + b"# More.\n"))
    project.run({str(path): buffer}, lambda _done, _total: None)
    assert memory.checked == 6


def test_facts_of_a_document_that_cannot_be_read_are_those_from_before(project: Project) -> None:
    path = Path(project.folder, "orders.yaml")
    whole, broken = path.read_bytes(), path.read_bytes().replace(b"spec:", b"spec: [", 1)

    def facts(data: bytes) -> int:
        state = project.run({str(path): Buffer(str(path), 1, data)}, lambda _done, _total: None)[0]
        files = state.gathered.files
        file = next(number for number, source in enumerate(files.sources) if source.path == str(path))
        return len(state.gathered.told[file].facts.pods)

    assert [facts(whole), facts(broken), facts(broken + b"\n"), facts(b"")] == [1, 1, 1, 0]


def test_a_suppression_is_unused_only_when_all_has_been_read(project: Project) -> None:
    path = Path(project.folder, "orders.yaml")
    data = b"# afflint: ignore-file -- a test\n" + path.read_bytes()
    buffer = project.checked(Buffer(str(path), 1, data))
    assert buffer.result is not None
    assert project.remaining(buffer, buffer.result, None, ()) == []
    project.state = project.run({str(path): buffer}, lambda _done, _total: None)[0]
    file = next(number for number, source in enumerate(project.state.gathered.files.sources) if source.path == str(path))
    assert [each.rule for each in project.remaining(buffer, buffer.result, file, ())] == ["unused-suppression"]
