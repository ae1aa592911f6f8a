"""Which manifests a kustomization makes whole, so that nothing is said about what they lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from afflint.reading import kustomizations as module
from afflint.reading.kustomizations import Kustomizations


def write(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "resources: [ns.yaml, web/dep.yaml]",
        "resources: [./web/../web/dep.yaml]",
        "patchesStrategicMerge: [web/dep.yaml]",
        "patches: [{path: web/dep.yaml}]",
    ],
)
def test_a_file_that_is_listed_in_a_folder_above_is_made_whole(text: str, tmp_path: Path) -> None:
    write(tmp_path / "kustomization.yaml", text)
    assert Kustomizations().made_whole(write(tmp_path / "web" / "dep.yaml"))
    assert not Kustomizations().made_whole(write(tmp_path / "web" / "other.yaml"))
    assert not Kustomizations().made_whole(write(tmp_path / "dep.yaml"))
    assert not Kustomizations().made_whole(write(tmp_path / "deep" / "web" / "dep.yaml"))


def test_one_beside_it_that_does_not_list_it_does_not_hide_the_one_above(tmp_path: Path) -> None:
    write(tmp_path / "kustomization.yaml", "resources: [web/dep.yaml]")
    write(tmp_path / "web" / "kustomization.yaml", "resources: [svc.yaml]")
    assert Kustomizations().made_whole(write(tmp_path / "web" / "dep.yaml"))
    assert Kustomizations().made_whole(write(tmp_path / "web" / "svc.yaml"))


def test_what_lies_above_the_repository_says_nothing_about_it(tmp_path: Path) -> None:
    write(tmp_path / "kustomization.yaml", "resources: [repo/web/dep.yaml, repo/dep.yaml]")
    write(tmp_path / "repo" / ".git", "gitdir: elsewhere")
    write(tmp_path / "repo" / "kustomization.yaml", "resources: [dep.yaml]")
    assert not Kustomizations().made_whole(write(tmp_path / "repo" / "web" / "dep.yaml"))
    assert Kustomizations().made_whole(write(tmp_path / "repo" / "dep.yaml"))


def test_each_kustomization_is_read_once_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / ".git")
    write(tmp_path / "kustomization.yaml", "resources: [a/b/web0.yaml]")
    read: list[str] = []
    regular = module.read_regular

    def counted(path: str, most: int) -> bytes:
        read.append(path)
        return regular(path, most)

    monkeypatch.setattr(module, "read_regular", counted)
    run = Kustomizations()
    assert [run.made_whole(str(tmp_path / "a" / "b" / f"web{number}.yaml")) for number in range(20)] == [True] + 19 * [False]
    assert len(read) == len(set(read)) == 7
