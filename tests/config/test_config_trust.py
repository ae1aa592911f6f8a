"""A configuration that was found only affects the report about its own repository."""

import os
from pathlib import Path

import pytest

from afflint.report import FORMATS
from command_line import Afflint

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {disk: 5}}\n"
FINDING = "pod.yaml:4:29: error the value of `disk` must be a string, but unquoted `5` is a number [wrong-type]\n"
NODES = "nodes:\n- {name: one, labels: {disk: ssd}}\n"
POLICIES = "policies:\n- {name: own, check: no-pinning}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a cloned repository with one faulty pod, in a home folder with files of the user; it is the working directory."""
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n")
    root = tmp_path / "src" / "clone"
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "pod.yaml").write_text(POD)
    monkeypatch.chdir(root)
    return root


def configure(folder: Path, text: str) -> None:
    (folder / ".afflint.yaml").write_text(text)


def everything_below(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestOutput:
    @pytest.mark.parametrize(
        ("output", "reason"),
        [
            ("../../.bashrc", "is outside the folder of the configuration"),
            ("../../new.txt", "is outside the folder of the configuration"),
            (".", "is outside the folder of the configuration"),
            (".git/hooks/pre-commit", "is a hidden file or in a hidden folder"),
            (".envrc", "is a hidden file or in a hidden folder"),
            ("pod.yaml", "exists and was not written by afflint"),
            ("notes.txt", "exists and was not written by afflint"),
            ("folder", "cannot be overwritten"),
            ("link-out", "is outside the folder of the configuration"),
            ("link-in", "is a symbolic link or below one"),
            ("linked-folder/report.txt", "is a symbolic link or below one"),
            ("dangling", "is outside the folder of the configuration"),
        ],
    )
    @pytest.mark.parametrize("words", [("check",), ("check", "--fix")])
    def test_a_report_is_not_written_over_other_files(
        self, output: str, reason: str, words: tuple[str, ...], afflint: Afflint, repository: Path, tmp_path: Path
    ) -> None:
        (repository / "notes.txt").write_text("to do\n")
        (repository / "folder").mkdir()
        (repository / "link-out").symlink_to("../../.bashrc")
        (repository / "dangling").symlink_to("../../.profile")
        (repository / "link-in").symlink_to("report.txt")
        (repository / "linked-folder").symlink_to("folder")
        configure(repository, f"format: concise\noutput: {output}\n")
        before = everything_below(tmp_path)
        done = afflint(*words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"afflint: .afflint.yaml:2:1: `output`: `{output}` {reason}")
        assert everything_below(tmp_path) == before

    def test_an_absolute_path_is_rejected(self, afflint: Afflint, repository: Path, tmp_path: Path) -> None:
        configure(repository, f"format: concise\noutput: {tmp_path}/report.txt\n")
        assert afflint("check").code == 2

    def test_neither_does_pyproject_toml_nor_a_configuration_that_is_extended(self, afflint: Afflint, repository: Path) -> None:
        (repository / "pyproject.toml").write_text('[tool.afflint]\noutput = "../../.bashrc"\n')
        done = afflint("check")
        assert (done.code, done.err.startswith("afflint: pyproject.toml:1:1: `output`")) == (2, True)
        (repository / "base.yaml").write_text("output: ../../.bashrc\n")
        configure(repository, "extends: base.yaml\n")
        done = afflint("check")
        assert (done.code, done.err.startswith("afflint: base.yaml:1:1: `output`")) == (2, True)

    def test_a_new_file_in_the_folder_is_written(self, afflint: Afflint, repository: Path) -> None:
        (repository / "reports").mkdir()
        configure(repository, "format: concise\noutput: reports/afflint.txt\n")
        assert afflint("check").code == 1
        assert (repository / "reports" / "afflint.txt").read_text() == FINDING

    @pytest.mark.parametrize("manifest", [POD, POD.replace("5", "ssd")], ids=["with findings", "without"])
    @pytest.mark.parametrize("earlier", FORMATS)
    def test_an_earlier_report_of_any_format_is_replaced(self, earlier: str, manifest: str, afflint: Afflint, repository: Path) -> None:
        (repository / "pod.yaml").write_text(manifest)
        configure(repository, f"format: {earlier}\noutput: report\n")
        first = afflint("check").code
        assert afflint("check").code == first
        configure(repository, "format: json\noutput: report\n")
        assert afflint("check").code == first
        assert (repository / "report").read_text().startswith('{\n  "version": 1')

    @pytest.mark.parametrize("words", [("--config", ".afflint.yaml"), ("--format", "concise", "--output", "../../report.txt")])
    def test_what_the_command_line_names_is_written(
        self, words: tuple[str, ...], afflint: Afflint, repository: Path, tmp_path: Path
    ) -> None:
        configure(repository, "format: concise\noutput: ../../report.txt\n")
        assert afflint("check", *words).code == 1
        assert (tmp_path / "report.txt").read_text() == FINDING


class TestBaseline:
    @pytest.mark.parametrize("baseline", ["../../.bashrc", "../../known.json", "link", "package.json", ".git/config"])
    def test_it_is_not_written_over_other_files(self, baseline: str, afflint: Afflint, repository: Path, tmp_path: Path) -> None:
        (repository / "link").symlink_to("known.json")
        (repository / "package.json").write_text("{}\n")
        configure(repository, f"baseline: {baseline}\n")
        before = everything_below(tmp_path)
        done = afflint("check", "--write-baseline")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"afflint: .afflint.yaml:1:1: `baseline`: `{baseline}` ")
        assert everything_below(tmp_path) == before

    @pytest.mark.parametrize("baseline", [".afflint-baseline.json", "known.json"])
    def test_it_is_written_and_renewed_in_the_folder(self, baseline: str, afflint: Afflint, repository: Path) -> None:
        configure(repository, f"baseline: {baseline}\n")
        for _ in range(2):
            assert afflint("check", "--write-baseline").code == 0
            assert afflint("check").code == 0

    @pytest.mark.usefixtures("repository")
    def test_the_user_may_name_any(self, afflint: Afflint) -> None:
        assert afflint("check", "--write-baseline", "--baseline", "../../known.json").code == 0
        assert afflint("check", "--baseline", "../../known.json").code == 0


class TestReading:
    """Nothing outside the repository is read because a configuration that was found says so."""

    @pytest.mark.parametrize("path", ["../../outside.yaml", "link.yaml", "linked/outside.yaml"])
    @pytest.mark.parametrize("key", ["extends", "nodes", "policies", "baseline"])
    def test_files_outside_are_rejected(self, key: str, path: str, afflint: Afflint, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "outside.yaml").write_text(NODES if key == "nodes" else POLICIES)
        (repository / "link.yaml").symlink_to("../../outside.yaml")
        (repository / "linked").symlink_to("../..")
        configure(repository, f"{key}: {path if key == 'baseline' else f'[{path}]'}\n")
        done = afflint("check")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert done.err.startswith("afflint: .afflint.yaml:1:")
        assert f"`{path}` is outside the repository; only a configuration named with --config may use it" in done.err

    def test_whether_a_file_outside_exists_is_not_reported(self, afflint: Afflint, repository: Path) -> None:
        configure(repository, "nodes: ../../missing.yaml\n")
        assert "is outside the repository" in afflint("check").err

    @pytest.mark.parametrize("glob", ["/**/*.yaml", "../../**/*.yaml", "../*/*.yaml", "linked/*.yaml", "link*/*.yaml"])
    def test_a_glob_does_not_leave_the_repository(self, glob: str, afflint: Afflint, repository: Path, tmp_path: Path) -> None:
        (tmp_path / "outside.yaml").write_text(POLICIES)
        (repository / "linked").symlink_to("../..")
        configure(repository, f"policies: ['{glob}']\n")
        done = afflint("check")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert f".afflint.yaml:1:12: `{glob}` leads outside the repository" in done.err

    def test_a_configuration_that_is_a_link_out_of_the_repository_is_rejected(
        self, afflint: Afflint, repository: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "secret.yaml").write_text("password: hunter2\n")
        (repository / ".afflint.yaml").symlink_to("../../secret.yaml")
        done = afflint("check")
        assert (done.code, "is a link that leads outside the repository" in done.err, "password" in done.err) == (2, True, False)

    def test_in_a_repository_a_configuration_may_look_upward(
        self, afflint: Afflint, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (repository / "base.yaml").write_text("ignore: [wrong-type]\n")
        (repository / "nodes.yaml").write_text(NODES)
        (repository / "shared").mkdir()
        (repository / "shared" / "policies.yaml").write_text(POLICIES)
        team = repository / "team"
        team.mkdir()
        (team / "pod.yaml").write_text(POD)
        configure(team, "extends: ../base.yaml\nnodes: ../nodes.yaml\npolicies: ['../shared/*.yaml']\n")
        monkeypatch.chdir(team)
        assert afflint("check", "--format", "concise").code == 0

    def test_without_a_repository_the_folder_is_the_bound(self, afflint: Afflint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tmp_path / "unpacked"
        folder.mkdir()
        (tmp_path / "base.yaml").write_text("ignore: [wrong-type]\n")
        (folder / "pod.yaml").write_text(POD)
        configure(folder, "extends: ../base.yaml\n")
        monkeypatch.chdir(folder)
        assert "`../base.yaml` is outside the repository" in afflint("check").err
        assert afflint("check", "--config", ".afflint.yaml").code == 0


class TestRender:
    """Only the user starts helm and kustomize."""

    NOTE = "afflint: note: .afflint.yaml:1:1: `render` needs --render on the command line, or --config with this file\n"

    @pytest.fixture
    def started(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The log of a kustomize that only notes its arguments, in a repository with a kustomization and `render: true`."""
        log = repository.parent / "started"
        tools = repository.parent / "tools"
        tools.mkdir()
        (tools / "kustomize").write_text(f"#!/bin/sh\necho $* >> '{log}'\n")
        (tools / "kustomize").chmod(0o755)
        monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
        (repository / "kustomization.yaml").write_text("resources: [pod.yaml]\n")
        configure(repository, "render: true\n")
        return log

    def test_a_configuration_that_was_found_does_not(self, afflint: Afflint, started: Path) -> None:
        done = afflint("check", "--format", "concise")
        assert (done.code, done.out, done.err) == (1, FINDING, self.NOTE)
        assert not started.exists()

    def test_neither_for_a_report_on_policies(self, afflint: Afflint, repository: Path, started: Path) -> None:
        configure(repository, f"render: true\n{POLICIES}")
        assert afflint("report").err == self.NOTE
        assert not started.exists()

    def test_init_starts_nothing(self, afflint: Afflint, repository: Path, started: Path) -> None:
        (repository / "team").mkdir()
        (repository / "team" / "kustomization.yaml").write_text("resources: []\n")
        assert afflint("init", "--baseline", "team").code == 0
        assert not started.exists()

    @pytest.mark.parametrize("words", [("--render",), ("--config", ".afflint.yaml")])
    def test_the_command_line_does(self, words: tuple[str, ...], afflint: Afflint, started: Path) -> None:
        assert "note:" not in afflint("check", *words).err
        assert started.exists()
