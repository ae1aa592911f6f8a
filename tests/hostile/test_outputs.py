"""What afflint writes by name goes where the user says, whatever the names of a tree lead to."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from under_limits import Afflint

from afflint.source import folders
from afflint.source.atomic_write import WriteError, replace_file, write_file, write_new_file
from afflint.source.folders import Folder, open_folder

FAULTY = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {disktype: 1}, containers: [{name: c, image: i}]}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: one, labels: {kubernetes.io/hostname: one}}\n"
LINK = "it is a symbolic link; name the file to write"
OUT = "is a symbolic link that leads out of the repository; name what it leads to"


@pytest.fixture(params=["with descriptors", "with paths"])
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A repository with a manifest, which is the working directory. Systems without `dir_fd` use paths."""
    if request.param == "with paths":
        monkeypatch.setattr(folders, "_BY_DESCRIPTOR", False)
    top = tmp_path / "tree"
    (top / ".git").mkdir(parents=True)
    (top / ".git" / "config").write_text("[core]\n")
    (top / "web.yaml").write_text(FAULTY)
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(top)
    return top


def write(path: str, text: bytes = b"ours") -> None:
    write_file(path, lambda file: file.write(text))


def everything(folder: Path) -> dict[str, bytes | str]:
    """All files and links below a folder."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found


class TestTheFileItself:
    """The last part of a path."""

    @pytest.mark.parametrize(
        "target", [".git/config", "../outside/new", "/etc/hostname", "web.yaml", "report.txt", "/dev/stdout", "/dev/null"]
    )
    def test_is_never_a_link(self, tree: Path, target: str) -> None:
        (tree / "report.txt").symlink_to(target)
        before = everything(tree.parent)
        for call in (write, lambda path: replace_file(path + "x", b"", b""), lambda path: write_new_file(path, b"ours")):
            with pytest.raises((OSError, WriteError)):
                call("report.txt")
        with pytest.raises(OSError, match=LINK):
            write("report.txt")
        assert everything(tree.parent) == before

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_is_not_a_named_pipe_without_a_reader(self, tree: Path) -> None:
        os.mkfifo("report.txt")
        with pytest.raises(OSError, match=r"it is a named pipe \(FIFO\)"):
            write("report.txt")
        assert (tree / "report.txt").is_fifo()

    @pytest.mark.usefixtures("tree")
    def test_is_not_a_folder(self) -> None:
        for name in (".", "..", ".git", "/"):
            with pytest.raises(IsADirectoryError):
                write(name)

    def test_keeps_its_mode_and_its_other_names_keep_the_content(self, tree: Path) -> None:
        (tree / "report.txt").write_text("theirs")
        (tree / "report.txt").chmod(0o640)
        os.link("report.txt", "other")
        write("report.txt")
        assert ((tree / "report.txt").read_text(), (tree / "other").read_text()) == ("ours", "theirs")
        assert (tree / "report.txt").stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize("name", ["report.txt", "new.txt"])
    def test_stays_as_it_is_if_the_disk_is_full(self, tree: Path, name: str) -> None:
        (tree / "report.txt").write_text("theirs")
        before = everything(tree)

        def half(file: object) -> None:
            file.write(b"half")  # type: ignore[attr-defined]
            raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="No space"):
            write_file(name, half)
        assert everything(tree) == before


class TestItsFolder:
    """Each part of a path but the last."""

    @pytest.mark.parametrize(
        ("link", "target", "path"),
        [
            ("reports", "../outside", "reports/x"),
            ("reports", "/tmp", "reports/x"),
            ("reports", "..", "reports/outside/x"),
            ("a", ".", "a/a/a/../outside/x"),
            ("deep/reports", "../../outside", "deep/reports/x"),
            ("deep/reports", "../../tree/../outside", "deep/reports/x"),
            ("reports", "../outside", "./deep/../reports/../outside/x"),
        ],
    )
    def test_is_not_a_link_out_of_the_repository(self, tree: Path, link: str, target: str, path: str) -> None:
        (tree / "deep").mkdir()
        (tree / link).symlink_to(target)
        before = everything(tree.parent)
        with pytest.raises(OSError, match=OUT):
            write(path)
        assert everything(tree.parent) == before

    def test_is_not_a_chain_of_links_out_of_it(self, tree: Path) -> None:
        (tree / "one").symlink_to("two")
        (tree / "two").symlink_to("../outside")
        with pytest.raises(OSError, match=OUT):
            write("one/x")
        (tree / "loop").symlink_to("loop")
        with pytest.raises(OSError, match="symbolic links"):
            write("loop/x")

    @pytest.mark.parametrize("target", [".git", ".git/hooks", "deep/../.git", "sub/.git"])
    def test_is_not_a_link_into_the_folder_of_version_control(self, tree: Path, target: str) -> None:
        for folder in ("deep", ".git/hooks", "sub/.git"):
            (tree / folder).mkdir(parents=True)
        (tree / "reports").symlink_to(target)
        with pytest.raises(OSError, match="into the folder of version control"):
            write("reports/config")

    def test_is_not_a_link_into_it_in_another_spelling(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if str(tree) != str(tree).lower():
            pytest.skip("the folder of the test has capital letters")
        name_of = Folder.name_of
        monkeypatch.setattr(Folder, "name_of", lambda self, name: name_of(self, name.lower()))  # As a file system without case does.
        (tree / "reports").symlink_to(".GIT")
        with pytest.raises(OSError, match="into the folder of version control"):
            write("reports/config")

    def test_may_be_a_link_inside_the_repository(self, tree: Path) -> None:
        (tree / "deep").mkdir()
        (tree / "relative").symlink_to("deep")
        (tree / "absolute").symlink_to(tree / "deep")
        write("relative/one")
        write("absolute/two")
        assert sorted(os.listdir("deep")) == ["one", "two"]

    def test_may_be_a_link_that_is_in_no_tree(self, tree: Path) -> None:
        (tree.parent / "other").symlink_to("outside")
        write(str(tree.parent / "other" / "report.txt"))
        write("../other/other.txt")
        assert sorted(os.listdir(tree.parent / "outside")) == ["other.txt", "report.txt"]

    def test_without_a_repository_the_working_directory_is_the_tree(self, tree: Path) -> None:
        shutil.rmtree(tree / ".git")
        (tree / "reports").symlink_to("../outside")
        with pytest.raises(OSError, match=OUT):
            write("reports/x")
        (tree / "sub").mkdir()
        os.chdir("sub")
        write("../reports/x")  # The folder above is the user's own.
        assert os.listdir(tree.parent / "outside") == ["x"]

    def test_is_the_folder_that_was_opened_whatever_replaces_it(self, tree: Path) -> None:
        if not folders._BY_DESCRIPTOR:
            pytest.skip("only descriptors are safe from this")
        (tree / "reports").mkdir()

        def replaced(file: object) -> None:
            os.rename("reports", "moved")
            os.symlink("../outside", "reports")
            file.write(b"ours")  # type: ignore[attr-defined]

        write_file("reports/x", replaced)
        assert os.listdir(tree.parent / "outside") == []
        assert (tree / "moved" / "x").read_bytes() == b"ours"

    def test_is_not_followed_if_a_link_takes_its_place_between_two_looks(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if not folders._BY_DESCRIPTOR:
            pytest.skip("only descriptors are safe from this")
        (tree / "reports").mkdir()
        enter = Folder.folder

        def replaced(self: Folder, name: str, *, make: bool = False) -> Folder:
            if name == "reports":
                os.rmdir("reports")
                os.symlink("../outside", "reports")
                monkeypatch.setattr(folders, "is_link", lambda _: False)
            return enter(self, name, make=make)

        monkeypatch.setattr(Folder, "folder", replaced)
        with pytest.raises(NotADirectoryError):
            write("reports/x")
        assert os.listdir(tree.parent / "outside") == []


class TestFixes:
    """``--fix`` writes through links, but only inside a tree."""

    def test_through_a_link_inside_the_tree(self, tree: Path) -> None:
        (tree / "link.yaml").symlink_to("web.yaml")
        replace_file("link.yaml", FAULTY.encode(), b"fixed")
        assert ((tree / "web.yaml").read_text(), os.readlink("link.yaml")) == ("fixed", "web.yaml")

    @pytest.mark.parametrize("target", ["../outside/web.yaml", ".git/web.yaml"])
    def test_not_through_a_link_that_leaves_it(self, tree: Path, target: str) -> None:
        shutil.copy("web.yaml", target)
        (tree / "link.yaml").symlink_to(target)
        with pytest.raises(WriteError, match=OUT if "outside" in target else "into the folder of version control"):
            replace_file("link.yaml", FAULTY.encode(), b"fixed")
        assert (tree / target).read_text() == FAULTY


class TestFolders:
    """Folders that are made."""

    def test_are_not_made_through_a_link_that_leads_out(self, tree: Path) -> None:
        (tree / "cache").symlink_to("../outside/new")
        with pytest.raises(OSError, match=OUT):
            open_folder("cache/charts", make=True)
        assert os.listdir(tree.parent / "outside") == []

    def test_are_private(self, tree: Path) -> None:
        open_folder("cache/charts", make=True).close()
        assert (tree / "cache" / "charts").stat().st_mode & 0o77 == 0


def test_no_descriptor_is_left_open(tree: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    (tree / "reports").symlink_to("../outside")
    (tree / "report.txt").symlink_to("web.yaml")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("reports/x", "report.txt", "new", "gone/x", ".", "/dev/null", "web.yaml/x"):
        for call in (write, lambda path: replace_file(path, b"", b""), lambda path: write_new_file(path, b"")):
            with suppress(OSError, WriteError):
                call(path)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="this system has no /dev/stdout")
@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("--output /dev/stdout >>log", "log"),
        ("--output /dev/stderr 2>>log", "log"),
        ("--output /dev/fd/3 3>>log", "log"),
        ("--output >(cat >>log)", "log"),
        ("--output /dev/stdout | cat >>log", "log"),
        ("--output /dev/null", None),
    ],
)
def test_open_files_of_the_user_are_written_to_where_they_are(words: str, where: str | None, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    (tmp_path / "web.yaml").write_text(FAULTY)
    command = f"{sys.executable} -I -m afflint check --no-config --format concise web.yaml {words}; wait"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False, capture_output=True)
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0] == "before"
    assert len(lines) == (2 if where else 1)


# The commands.

COMMANDS = {
    "check": ("check", "--no-config", "web.yaml", "--output"),
    "check sarif": ("check", "--no-config", "--format", "sarif", "web.yaml", "--output"),
    "check baseline": ("check", "--no-config", "web.yaml", "--write-baseline", "--baseline"),
    "place": ("place", "--no-config", "--nodes", "nodes.yaml", "web.yaml", "--output"),
    "why": ("why", "--no-config", "--nodes", "nodes.yaml", "web", "web.yaml", "--output"),
    "report": ("report", "--config", "policies.yaml", "web.yaml", "--output"),
    "diff": ("diff", "HEAD", "--output"),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "web.yaml").write_text(FAULTY)
    (tmp_path / "nodes.yaml").write_text(NODE)
    (tmp_path / "policies.yaml").write_text("extends: ['afflint:strict']\n")
    for words in (["init", "-q"], ["add", "web.yaml"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def linked(folder: Path) -> str:
    (folder / "report.txt").symlink_to(".git/config")
    return "report.txt"


def below_a_link(folder: Path) -> str:
    (folder / "reports").symlink_to(".git")
    return "reports/config"


def piped(folder: Path) -> str:
    os.mkfifo(folder / "report.txt")
    return "report.txt"


@pytest.mark.parametrize("lay", [linked, below_a_link, piped])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_to_the_configuration_of_git(
    command: str, lay: Callable[[Path], str], afflint: Afflint, repository: Path
) -> None:
    """A line of a report begins with the name of a file, such as `[core]fsmonitor=touch PWNED #.yaml`: Git would run it."""
    config = (repository / ".git" / "config").read_bytes()
    ended = afflint(*COMMANDS[command], (name := lay(repository)))
    reason = {linked: LINK, below_a_link: "is a symbolic link into the folder of version control", piped: "a named pipe (FIFO)"}[lay]
    assert ended.code == 2
    assert f"{name}': " in ended.err
    assert reason in ended.err
    assert ended.err.splitlines()[-1].startswith("afflint: cannot write ")
    assert "Traceback" not in ended.err
    assert (repository / ".git" / "config").read_bytes() == config


def test_nor_does_init(afflint: Afflint, repository: Path) -> None:
    (repository / "sub").symlink_to(".git")
    ended = afflint("init", "sub")
    assert (ended.code, ".afflint.yaml" in os.listdir(repository / ".git")) == (2, False)
    (repository / "pyproject.toml").symlink_to(".git/config")
    config = (repository / ".git" / "config").read_bytes()
    assert afflint("init", "--pyproject").code == 2
    assert (repository / ".git" / "config").read_bytes() == config


def test_nor_does_fix(afflint: Afflint, repository: Path) -> None:
    (repository / ".git" / "web.yaml").write_text(FAULTY)
    (repository / "link.yaml").symlink_to(".git/web.yaml")
    ended = afflint("check", "--no-config", "--fix", "link.yaml")
    assert ended.code == 2
    assert "'link.yaml' is a symbolic link into the folder of version control" in ended.err
    assert (repository / ".git" / "web.yaml").read_text() == FAULTY
