"""Commits whose trees no checkout of Git would create: nothing outside the snapshot is written or read.

Each tree is made with `git hash-object --literally`. Beside the repository is a folder with canaries; after `afflint diff` and a snapshot,
it is as before, and nothing in it was quoted.
"""

import hashlib
import os
from pathlib import Path

import pytest

from afflint.changes.git import Repository
from afflint.changes.snapshot import extract
from command_line import exit_code
from git_history import History

CANARY = "OUTSIDE CANARY!"
WEB = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: nginx}]}\n"
HOSTILE = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: theirs, labels: {{a: '{CANARY}'}}}}\n"
LINK, FILE = "120000", "100644"

Entry = tuple[str, str, str]
"""The mode, the path and the content or target. A path with `//` is one name that contains a slash."""

TREES: dict[str, list[Entry]] = {
    "a link and a folder of one name": [(LINK, "x", "/proc/self/cwd/.git/hooks"), (FILE, "x/post-commit", "payload")],
    "a link through a link": [(LINK, "x", "/proc/self/cwd/.git/hooks"), (LINK, "x/post-commit", "../../payload")],
    "a relative link through a link": [(LINK, "x", "../outside"), (LINK, "x/new", "secret.yaml"), (FILE, "x/web.yaml", WEB)],
    "a folder before the link": [(FILE, "x/web.yaml", WEB), (LINK, "x", "../outside")],
    "a link below a folder": [(FILE, "a/web.yaml", WEB), (LINK, "a/x", "../../outside"), (FILE, "a/x/new.yaml", WEB)],
    "links that lead to each other": [(LINK, "a", "b"), (LINK, "b", "../outside"), (FILE, "a/new.yaml", WEB)],
    "a link that steps back through a link": [(LINK, "a", "sub"), (FILE, "sub/web.yaml", WEB), (LINK, "b", "a/../../outside")],
    "a link that steps back from nothing": [(LINK, "b", "missing/../../outside")],
    "two links, the second a step of the first": [(LINK, "d/a", "x/../../../outside"), (LINK, "d/x", "..")],
    "a link to the root": [(LINK, "x", "/"), (FILE, "x/new.yaml", WEB)],
    "a link to a device": [(LINK, "zero.yaml", "/dev/zero"), (LINK, "random.yaml", "/dev/urandom")],
    "a link to itself": [(LINK, "loop.yaml", "loop.yaml"), (FILE, "web.yaml", WEB)],
    "a link to the environment": [(LINK, "environ.yaml", "/proc/self/environ")],
    "a link to a canary": [(LINK, "secret.yaml", "../outside/secret.yaml")],
    "a link to the folder of canaries": [(LINK, "clusters", "../outside")],
    "letters of another case": [(LINK, "Docs", "../outside"), (FILE, "docs/new.yaml", WEB)],
    "letters of another case, reversed": [(FILE, "Docs/web.yaml", WEB), (LINK, "docs", "../outside")],
    "the long s": [(LINK, "re\u017fources", "../outside"), (FILE, "resources/new.yaml", WEB)],
    "the Kelvin sign": [(LINK, "\u212a", "../outside"), (FILE, "k/new.yaml", WEB)],
    "composed letters": [(LINK, "\u00e9", "../outside"), (FILE, "e\u0301/new.yaml", WEB)],
    "the sharp s": [(LINK, "stra\u00dfe", "../outside"), (FILE, "STRASSE/new.yaml", WEB)],
    "an ignored character": [(LINK, "a\u200db", "../outside"), (FILE, "ab/new.yaml", WEB)],
    "above": [(FILE, "../outside/new.yaml", WEB)],
    "above as one name": [(FILE, "..//outside//new.yaml", WEB)],
    "far above": [(FILE, "/".join([".."] * 40) + "/afflint-new.yaml", WEB)],
    "absolute as one name": [(FILE, "//afflint-new.yaml", WEB)],
    "here": [(FILE, "./web.yaml", WEB)],
    "an empty name": [(FILE, "a//", WEB), (FILE, "web.yaml", WEB)],
    "the folder of Git": [(FILE, ".git/hooks/post-commit", "payload"), (FILE, ".git/config", "[core]\n\tfsmonitor = touch ran\n")],
    "the folder of Git in capitals": [(FILE, ".GIT/hooks/post-commit", "payload")],
    "the folder of Git below": [(FILE, "sub/.Git/config", "payload")],
    "the short name of Windows": [(FILE, "GIT~1/config", "payload")],
    "an ignored character in the folder of Git": [(FILE, ".g\u200cit/config", "payload")],
    "a stream of Windows": [(FILE, ".git::$INDEX_ALLOCATION/config", "payload")],
    "a backslash": [(FILE, "a\\..\\..\\outside\\new.yaml", WEB), (FILE, ".git\\config", "payload")],
    "a dot at the end": [(FILE, ".git./config", "payload"), (FILE, "web.yaml.", WEB)],
    "a space at the end": [(FILE, ".. /outside/new.yaml", WEB)],
    "a device of Windows": [(FILE, "nul", WEB), (FILE, "con.yaml", WEB), (FILE, "aux/web.yaml", WEB)],
    "one name twice": [(FILE, "web.yaml", WEB), (FILE, "web.yaml", HOSTILE)],
    "a long name": [(FILE, f"{'n' * 4000}.yaml", WEB), (FILE, "web.yaml", WEB)],
    "deep folders": [(FILE, "/".join(["d"] * 500) + "/web.yaml", WEB)],
    "control characters": [(FILE, "a\nb\r\x1b[2J.yaml", WEB), (LINK, "\x07", "../outside")],
    "a submodule of a hostile name": [("160000", "../outside", ""), ("160000", ".git", "")],
    "a configuration that is a link": [(LINK, ".afflint.yaml", "../outside/.afflint.yaml"), (FILE, "web.yaml", WEB)],
    "a kustomization that is a link": [(LINK, "kustomization.yaml", "../outside/kustomization.yaml"), (FILE, "web.yaml", WEB)],
}


def write_object(history: History, kind: str, data: bytes) -> str:
    """Write an object that Git would not make itself, and return its name."""
    (history.root / "object").write_bytes(data)
    name = history.git("hash-object", "-t", kind, "--literally", "-w", "object")
    (history.root / "object").unlink()
    return name


def write_tree(history: History, entries: list[Entry]) -> str:
    """Write a tree with its folders in the order of the entries, and return its name."""
    data = b""
    folders: dict[str, list[Entry]] = {}
    for mode, path, text in entries:
        marked = path.replace("//", "\0")
        name, _, rest = marked.partition("/")
        if rest:
            folders.setdefault(name, []).append((mode, rest.replace("\0", "//"), text))
            continue
        blob = "1" * 40 if mode == "160000" else write_object(history, "blob", text.encode())
        data += f"{mode} ".encode() + name.replace("\0", "/").encode() + b"\0" + bytes.fromhex(blob)
    for name, below in folders.items():
        data += b"40000 " + name.replace("\0", "/").encode() + b"\0" + bytes.fromhex(write_tree(history, below))
    return write_object(history, "tree", data)


def commit(history: History, entries: list[Entry]) -> str:
    return history.git("commit-tree", write_tree(history, entries), "-m", "hostile")


def state(folder: Path) -> dict[str, str]:
    """Return the files of a folder with the checksums of their contents, and its links with their targets."""
    found = {}
    for here, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(here, name)
            if os.path.islink(path):
                found[path] = os.readlink(path)
            else:
                found[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
    return found


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A repository with one commit, beside a folder with canaries."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("secret.yaml", "web.yaml"):
        (outside / name).write_text(HOSTILE)
    (outside / "kustomization.yaml").write_text("resources: [secret.yaml]\n")
    (outside / ".afflint.yaml").write_text(f"exclude: ['{CANARY}', 5]\n")
    made = History(tmp_path / "repository")
    made.commit({"web.yaml": WEB})
    return made


@pytest.mark.parametrize("name", TREES)
def test_nothing_outside_is_written_or_read(
    name: str, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    made = commit(history, TREES[name])
    before = state(tmp_path)
    monkeypatch.chdir(history.root)
    for words in (["diff", f"{made}..HEAD"], ["diff", f"HEAD..{made}"], ["diff", f"{made}..HEAD", "--format", "json"]):
        assert exit_code(monkeypatch, *words) in (0, 1, 2)
        shown = capfd.readouterr()
        assert CANARY not in shown.out + shown.err
        assert "internal error" not in shown.err
    assert state(tmp_path) == before
    assert not Path("/afflint-new.yaml").exists()


@pytest.mark.parametrize("name", TREES)
def test_every_file_and_link_of_a_snapshot_is_inside_it(name: str, history: History, tmp_path: Path) -> None:
    repository = Repository(str(history.root))
    folder = tmp_path / "snapshot"
    folder.mkdir()
    before = state(tmp_path / "outside")
    snapshot = extract(repository, repository.entries(commit(history, TREES[name])), str(folder), lambda _: True)
    for here, folders, names in os.walk(snapshot.root):
        for each in (*folders, *names):
            path = os.path.join(here, each)
            assert f"{os.path.realpath(path)}{os.sep}".startswith(f"{snapshot.root}{os.sep}")
    assert sorted(os.listdir(os.path.join(snapshot.root, ".git"))) == ["config"]
    assert state(tmp_path / "outside") == before


def test_left_out_names_are_counted_and_named(history: History, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    made = commit(history, [(FILE, "Docs/a.yaml", WEB), (FILE, "docs/b.yaml", WEB), (FILE, ".git/config", ""), (FILE, "../a.yaml", WEB)])
    monkeypatch.chdir(history.root)
    exit_code(monkeypatch, "diff", f"{made}..HEAD")
    shown = "".join(capfd.readouterr())
    assert "not compared, because of their names: `../a.yaml`" in shown
    assert "`docs/b.yaml`" in shown


def test_a_hook_is_not_planted_through_a_link(history: History, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """`git clone` accepts this commit: one name is a link and a folder, and the folder has a link."""
    made = commit(
        history, [(LINK, "x", "/proc/self/cwd/.git/hooks"), (LINK, "x/post-commit", "../../payload"), (FILE, "payload", "#!/bin/sh\n")]
    )
    history.git("update-ref", "refs/heads/main", made)
    monkeypatch.chdir(history.root)
    for words in (["diff", "HEAD"], ["check", "--since", "HEAD"], ["diff", "HEAD", "--format", "markdown"]):
        exit_code(monkeypatch, *words)
    capfd.readouterr()
    assert not os.path.lexists(history.root / ".git" / "hooks" / "post-commit")


class TestFolders:
    """The folder in which a state works is inside its snapshot."""

    def test_a_folder_that_was_a_link_is_not_followed(
        self, history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (history.root / "sub").symlink_to(tmp_path / "outside")
        history.commit()
        (history.root / "sub").unlink()
        (history.root / "sub" / "deep" / "er").mkdir(parents=True)
        (history.root / "sub" / "web.yaml").write_text(WEB)
        before = state(tmp_path / "outside")
        for folder in ("sub", "sub/deep/er"):
            monkeypatch.chdir(history.root / folder)
            for words in (["diff", "HEAD"], ["check", "--since", "HEAD"]):
                exit_code(monkeypatch, *words)
                shown = capfd.readouterr()
                assert CANARY not in shown.out + shown.err
        assert state(tmp_path / "outside") == before


class TestLimits:
    """The reading of Git is bounded."""

    def test_a_bomb_of_folders_is_refused(
        self, history: History, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Eleven objects are 10^9 files."""
        name, mode = write_object(history, "blob", WEB.encode()), "100644"
        for _ in range(9):
            data = b"".join(f"{mode} {number}.yaml".encode() + b"\0" + bytes.fromhex(name) for number in range(10))
            name, mode = write_object(history, "tree", data), "40000"
        made = history.git("commit-tree", name, "-m", "bomb")
        monkeypatch.chdir(history.root)
        assert exit_code(monkeypatch, "diff", f"{made}..HEAD") == 2
        message = capfd.readouterr().err
        assert f"the files of {made[:10]} cannot be compared: they are more than 200,000" in message
        assert "-c" not in message

    def test_a_blob_of_many_names_is_written_once(self, history: History, tmp_path: Path) -> None:
        repository = Repository(str(history.root))
        folder = tmp_path / "snapshot"
        folder.mkdir()
        large = "a: " + "b" * 1_000_000 + "\n"
        entries = repository.entries(commit(history, [(FILE, f"{number}.yaml", large) for number in range(50)]))
        snapshot = extract(repository, entries, str(folder), lambda _: True)
        inodes = {os.stat(os.path.join(snapshot.root, f"{number}.yaml")).st_ino for number in range(50)}
        assert len(inodes) == 1
        assert len(snapshot.contents) == 50

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
    def test_a_pipe_among_the_objects_ends_at_the_time_limit(
        self, history: History, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        blob = history.git("rev-parse", "HEAD:web.yaml")
        path = history.root / ".git" / "objects" / blob[:2] / blob[2:]
        path.unlink()
        os.mkfifo(path)
        monkeypatch.setattr("afflint.changes.git._PATIENCE", 0.5)
        monkeypatch.setattr("afflint.changes.git._PATIENCE_FOR_ALL", 0.5)
        monkeypatch.chdir(history.root)
        assert exit_code(monkeypatch, "diff", "HEAD") == 2
        assert "`git cat-file` was stopped: it did not finish within 0 seconds" in capfd.readouterr().err


class TestGitFolder:
    """A `.git` that leads elsewhere counts only if that repository names this folder."""

    def refused(self, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.chdir(folder)
        assert exit_code(monkeypatch, "diff", "HEAD") == 2
        shown = capfd.readouterr()
        assert CANARY not in shown.out + shown.err
        return shown.err

    @pytest.fixture
    def private(self, tmp_path: Path) -> History:
        made = History(tmp_path / "private")
        made.commit({"secret.yaml": HOSTILE})
        return made

    @pytest.fixture
    def unpacked(self, tmp_path: Path) -> Path:
        folder = tmp_path / "unpacked"
        folder.mkdir()
        (folder / "web.yaml").write_text(WEB)
        return folder

    @pytest.mark.parametrize("target", ["../private/.git", "/proc/self/cwd/../private/.git"])
    @pytest.mark.usefixtures("private")
    def test_a_file_that_names_another_repository(
        self, target: str, unpacked: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (unpacked / ".git").write_text(f"gitdir: {target}\n")
        monkeypatch.chdir(unpacked)
        assert "has no worktree or submodule here" in self.refused(unpacked, capfd, monkeypatch)

    def test_a_link_to_another_repository(
        self, private: History, unpacked: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (unpacked / ".git").symlink_to(private.root / ".git")
        assert "has no worktree or submodule here" in self.refused(unpacked, capfd, monkeypatch)

    def test_the_worktree_of_another_folder(
        self, private: History, unpacked: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        private.git("worktree", "add", "--quiet", str(tmp_path / "worktree"))
        (unpacked / ".git").write_text((tmp_path / "worktree" / ".git").read_text())
        assert "has no worktree or submodule here" in self.refused(unpacked, capfd, monkeypatch)

    @pytest.mark.parametrize("part", ["objects", "objects/pack", "objects/info", "refs", "commondir"])
    def test_a_folder_of_its_own_with_parts_of_another(
        self, part: str, private: History, unpacked: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        History(unpacked).commit({"web.yaml": WEB})
        own = unpacked / ".git"
        if part == "commondir":
            (own / "commondir").write_text("../../private/.git\n")
        else:
            (own / part).rename(own / f"{part.replace('/', '-')}-before")
            (own / part).symlink_to(private.root / ".git" / part)
        assert "leads out of the repository" in self.refused(unpacked, capfd, monkeypatch)

    def test_a_ref_of_another_repository_whose_objects_are_borrowed(
        self, private: History, unpacked: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        History(unpacked).commit({"web.yaml": WEB})
        (unpacked / ".git" / "objects" / "info" / "alternates").write_text(f"{private.root}/.git/objects\n")
        (unpacked / ".git" / "refs" / "heads" / "main").unlink()
        (unpacked / ".git" / "refs" / "heads" / "main").symlink_to(private.root / ".git" / "refs" / "heads" / "main")
        assert "leads out of the repository" in self.refused(unpacked, capfd, monkeypatch)

    def test_a_worktree_and_a_submodule_are_compared(
        self, private: History, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        private.git("worktree", "add", "--quiet", str(tmp_path / "worktree"))
        above = History(tmp_path / "above")
        above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(private.root), "part")
        borrowing = tmp_path / "borrowing"
        private.git("clone", "--quiet", "--shared", str(private.root), str(borrowing))
        for folder in (tmp_path / "worktree", tmp_path / "above" / "part", borrowing):
            monkeypatch.chdir(folder)
            assert exit_code(monkeypatch, "diff", "HEAD") == 0, folder
        assert "internal error" not in capfd.readouterr().err
