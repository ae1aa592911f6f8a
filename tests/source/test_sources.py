"""The files that are read, their names in reports, and unusual file systems."""

import errno
import io
import ntpath
import os
import posixpath
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afflint.source import sources as module
from afflint.source.sources import STDIN, Source, SourceError, discover, read_bytes, standard_input

Tree = Callable[..., None]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Makes files (with a text, if one is given by name) below the working directory, which is outside any repository."""
    monkeypatch.chdir(tmp_path)

    def make(*names: str, **texts: str) -> None:
        for name in names:
            path = tmp_path / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(texts.get(name, "a: 1\n"))

    return make


def ignore(folder: str, *lines: str) -> None:
    Path(folder, ".gitignore").write_text("\n".join(lines) + "\n")


def names(*paths: str, **options: Any) -> list[str]:
    return [source.name for source in discover(paths or (".",), **options)]


# What is named.


def test_a_file_is_read_whatever_it_is_called(tree: Tree) -> None:
    tree("notes.txt", "sub/a.yaml")
    assert list(discover(["notes.txt", "./sub/../sub/a.yaml"])) == [
        Source("notes.txt", "notes.txt"),
        Source("sub/a.yaml", "./sub/../sub/a.yaml"),
    ]


def test_each_file_is_read_once_under_its_first_name(tree: Tree, tmp_path: Path) -> None:
    tree("a.yaml", "b/c.yaml")
    assert names("a.yaml", "./a.yaml", "b/../a.yaml", str(tmp_path / "a.yaml"), ".", "b", "b/*.yaml") == ["a.yaml", "b/c.yaml"]
    assert names("-", "-") == ["<stdin>"]


def test_where_capitals_do_not_matter_a_file_is_read_once_whichever_it_is_named_with(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.yaml", "A.yaml", "k/b.yaml", "K/b.yaml")
    assert names("a.yaml", "A.yaml", "K/b.yaml", "k/b.yaml") == ["a.yaml", "A.yaml", "K/b.yaml", "k/b.yaml"]
    monkeypatch.setattr(os.path, "normcase", str.lower)
    assert names("a.yaml", "A.yaml", "K/b.yaml", "k/b.yaml") == ["a.yaml", "K/b.yaml"]


def test_an_absolute_path_stays_one(tree: Tree, tmp_path: Path) -> None:
    tree("b/a.yaml")
    assert names(str(tmp_path / "b")) == [str(tmp_path / "b" / "a.yaml")]


def test_a_path_that_is_not_there_is_an_error_with_the_nearest(tree: Tree) -> None:
    tree("deploy/web.yaml")
    with pytest.raises(SourceError, match=r"no such file or folder: 'deploy/wed\.yaml'; did you mean 'deploy/web\.yaml'"):
        names("deploy/wed.yaml")
    with pytest.raises(SourceError, match=r"no such file or folder: 'nowhere/x'$"):
        names("nowhere/x")
    with pytest.raises(SourceError, match="''"):
        names("")
    with pytest.raises(SourceError, match=r"no file matches 'x\*\.yaml'"):
        names("x*.yaml")


def test_a_control_character_in_a_path_is_shown_escaped(tree: Tree) -> None:
    tree()
    with pytest.raises(SourceError, match=r"'a\\x1b\[31m'"):
        names("a\x1b[31m")


# Folders.


def test_a_folder_gives_its_manifests_in_order(tree: Tree) -> None:
    tree(
        "b.yml",
        "a.yaml",
        "C.YAML",
        "d.json",
        "e.Json",
        "notes.txt",
        "yaml",
        "z/b.yaml",
        "z/a.yaml",
        "k/a.yaml",
        "k/m/a.yaml",
        ".hidden.yaml",
    )
    assert names() == [
        ".hidden.yaml", "C.YAML", "a.yaml", "b.yml", "d.json", "e.Json", "k/a.yaml", "k/m/a.yaml", "z/a.yaml", "z/b.yaml",
    ]  # fmt: skip
    assert names("k") == names("./k/") == ["k/a.yaml", "k/m/a.yaml"]


def test_a_folder_gives_its_templates(tree: Tree) -> None:
    templates = [
        "a.tmpl",
        "b.yaml.tpl",
        "c.gotmpl",
        "d.yml.j2",
        "e.jinja",
        "f.jinja2",
        "g.yaml.template",
        "h.YML.Template",
        "i.json.template",
    ]
    tree(*templates, "j.template", "k.j2.bak", "tmpl")
    assert names() == templates
    assert names(".", included=lambda path: path.endswith(".yaml.tpl")) == ["b.yaml.tpl"]
    assert names(".", excluded=lambda path: "yaml" in path) == [each for each in templates if "yaml" not in each]


def test_folders_that_hold_no_manifests_of_anybody_are_skipped(tree: Tree) -> None:
    skipped = [".git", ".hg", ".svn", ".tox", ".nox", ".venv", "node_modules", "__pycache__", ".terraform"]
    tree("a.yaml", ".github/b.yaml", *(f"{folder}/x.yaml" for folder in skipped), "deep/node_modules/x/y.yaml")
    assert names() == ["a.yaml", ".github/b.yaml"]
    # Unless they are named.
    assert names("node_modules") == ["node_modules/x.yaml"]


def test_a_folder_called_like_a_file_is_a_folder(tree: Tree) -> None:
    tree("x.yaml/a.yaml")
    assert names() == ["x.yaml/a.yaml"]


def test_an_empty_folder_gives_nothing(tree: Tree) -> None:
    tree("a/")
    assert names() == []


def test_exclusion_and_inclusion_are_asked_about_absolute_paths(tree: Tree, tmp_path: Path) -> None:
    tree("a.yaml", "vendor/b.yaml", "deploy/c.txt", "deploy/d.yaml")
    asked: list[str] = []

    def excluded(path: str) -> bool:
        asked.append(os.path.relpath(path, tmp_path) + ("/" if path.endswith("/") else ""))
        return path.endswith(("/vendor/", "/d.yaml"))

    assert names(".", excluded=excluded) == ["a.yaml"]
    assert sorted(asked) == ["./", "a.yaml", "deploy/", "deploy/d.yaml", "vendor/"]
    assert names(".", included=lambda path: path.endswith(".txt")) == ["deploy/c.txt"]
    # What is named stays, a folder too.
    assert names("deploy/d.yaml", "vendor/b.yaml", excluded=lambda _: True) == ["deploy/d.yaml", "vendor/b.yaml"]
    assert names("vendor", excluded=excluded) == ["vendor/b.yaml"]


# Globs, in case the user quotes them.


def test_globs_expand_as_in_a_shell(tree: Tree, tmp_path: Path) -> None:
    tree("a.yaml", "b.yaml", "b.txt", ".c.yaml", "k/a.yaml", "k/l/m.yaml", "k/.h/n.yaml", "[x]/a.yaml")
    assert names("*.yaml") == ["a.yaml", "b.yaml"]
    assert names("[ab].txt") == ["b.txt"]
    assert names("?.yaml") == ["a.yaml", "b.yaml"]
    assert names(".*.yaml") == [".c.yaml"]
    assert names("*/a.yaml") == ["[x]/a.yaml", "k/a.yaml"]
    assert names("**/*.yaml") == ["[x]/a.yaml", "a.yaml", "b.yaml", "k/a.yaml", "k/l/m.yaml"]
    assert names("k/**/m.yaml") == ["k/l/m.yaml"]
    assert names("**/l/**/*.yaml") == ["k/l/m.yaml"]
    assert names("k/**") == ["k/a.yaml", "k/l/m.yaml"]
    assert names(f"{tmp_path}/?.yaml") == [str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")]
    # A star at the end takes manifests only, and a folder gives its own.
    assert names("b*") == ["b.yaml"]
    assert names("k*") == ["k/a.yaml", "k/.h/n.yaml", "k/l/m.yaml"]


@pytest.mark.parametrize(
    ("pattern", "top", "parts"),
    [
        ("deploy\\*.yaml", "", ["deploy", "*.yaml"]),
        ("deploy/**\\*.yaml", "", ["deploy", "**", "*.yaml"]),
        ("C:\\deploy\\*.yaml", "C:\\", ["", "deploy", "*.yaml"]),
        ("C:*.yaml", "C:", ["*.yaml"]),
        ("\\\\host\\share\\*.yaml", "\\\\host\\share\\", ["", "*.yaml"]),
    ],
)
def test_globs_may_be_written_as_windows_has_them(pattern: str, top: str, parts: list[str]) -> None:
    assert module._split_glob(pattern, ntpath) == (top, parts)
    assert module._split_glob("a\\*/b", posixpath) == ("", ["a\\*", "b"])


def test_a_name_with_wildcards_in_it_is_a_name(tree: Tree) -> None:
    tree("[a].yaml", "a.yaml")
    assert names("[a].yaml") == ["[a].yaml"]


# Links and other entries that are not files.


def test_links_to_files_are_read_and_links_to_folders_are_not_followed(tree: Tree) -> None:
    tree("real/a.yaml", "b/")
    os.symlink("../real/a.yaml", "b/link.yaml")
    os.symlink("real", "linked")
    assert names() == ["b/link.yaml", "real/a.yaml"]
    assert names("linked") == ["linked/a.yaml"]


def test_a_link_out_of_the_repository_is_not_read_unless_it_is_named(tree: Tree) -> None:
    tree("repository/.git/HEAD", "repository/a.yaml", "secret.yaml")
    os.symlink("../secret.yaml", "repository/out.yaml")
    os.symlink("a.yaml", "repository/in.yaml")
    assert names("repository") == ["repository/a.yaml", "repository/in.yaml"]
    assert names("repository/out.yaml") == ["repository/out.yaml"]
    os.chdir("repository")
    assert names() == ["a.yaml", "in.yaml"]


def test_loops_of_links_end(tree: Tree) -> None:
    tree("a/b.yaml")
    os.symlink(".", "a/self")
    os.symlink("..", "a/up")
    os.symlink("x.yaml", "a/x.yaml")
    assert names() == ["a/b.yaml"]
    assert names("**/*.yaml") == ["a/b.yaml"]
    assert names("a/self") == ["a/self/b.yaml"]
    assert names("a/x.yaml") == ["a/x.yaml"]
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(Source("a/x.yaml", "a/x.yaml"))


def test_broken_links_are_skipped_unless_they_are_named(tree: Tree) -> None:
    tree("a/")
    os.symlink("nowhere", "a/b.yaml")
    assert names() == []
    [source] = discover(["a/b.yaml"])
    with pytest.raises(FileNotFoundError):
        read_bytes(source)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_skipped_in_a_folder_and_rejected_if_it_is_named(tree: Tree) -> None:
    tree("a.yaml")
    os.mkfifo("pipe.yaml")
    os.symlink("pipe.yaml", "link.yaml")
    assert names() == ["a.yaml"]
    for name in ("pipe.yaml", "link.yaml"):
        with pytest.raises(SourceError, match="a named pipe"):
            list(discover([name]))


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="this system has no /dev/fd")
def test_a_pipe_of_the_shell_is_read_once() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"b: 2\n")
    os.close(writing)
    [source] = discover([f"/dev/fd/{reading}"])
    os.close(reading)
    # Nothing writes to it any more, and yet the bytes can be read again.
    assert read_bytes(source) == read_bytes(source) == b"b: 2\n"


def test_a_device_behind_a_link_is_left_alone(tree: Tree) -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("this system has no /dev/zero")
    tree()
    os.symlink("/dev/zero", "endless.yaml")
    assert names() == []


def test_folders_nested_beyond_the_longest_path_do_not_end_the_run(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tree("z.yaml")
    try:
        for _ in range(1200):
            os.mkdir("dir")
            os.chdir("dir")
        monkeypatch.chdir(tmp_path)
        found = names()
        assert "z.yaml" in found
        # The folder that cannot be opened is in the list: reading it shows why.
        with pytest.raises(OSError):
            read_bytes(Source("", found[-1]))
        assert names("**/z.yaml") == ["z.yaml"]
    finally:
        # pytest's own cleaning up gives up on a tree like this, and then on every later run.
        subprocess.run(["rm", "-rf", str(tmp_path / "dir")], check=True)


def test_names_in_no_encoding_survive(tree: Tree) -> None:
    tree()
    name = os.fsdecode(b"caf\xe9.yaml")
    try:
        Path(name).write_text("a: 1\n")
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    Path("line\nbreak.yaml").write_text("a: 1\n")
    assert names() == sorted([name, "line\nbreak.yaml"])


# What cannot be read.


def test_a_folder_that_cannot_be_listed_is_a_source_that_cannot_be_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.yaml", "secret/b.yaml", "z/c.yaml")
    if os.geteuid() == 0:  # Nothing is forbidden to root, so it has to be feigned.
        scandir = os.scandir

        def forbidding(path: str) -> Any:
            if path == "secret":
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", forbidding)
    else:
        os.chmod("secret", 0)
    try:
        assert names() == ["a.yaml", "secret", "z/c.yaml"]
        with pytest.raises(OSError):
            read_bytes(Source("secret", "secret"))
    finally:
        os.chmod("secret", 0o700)


def test_a_file_that_cannot_be_opened_is_reported(tree: Tree) -> None:
    tree("a.yaml")
    os.chmod("a.yaml", 0)
    if os.geteuid() == 0:
        pytest.skip("nothing is forbidden to root")
    with pytest.raises(PermissionError):
        read_bytes(Source("a.yaml", "a.yaml"))


def test_a_file_that_is_too_large_is_not_read(tree: Tree) -> None:
    tree("a.yaml")
    with open("a.yaml", "wb") as file:
        file.truncate(module.LARGEST + 1)  # A hole: it takes no room.
    with pytest.raises(OSError, match="larger than 256 MB"):
        read_bytes(Source("a.yaml", "a.yaml"))


def test_a_stream_that_does_not_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("this system has no /dev/zero")
    monkeypatch.setattr(module, "LARGEST", 3_000_000)
    with pytest.raises(SourceError, match="'/dev/zero' cannot be read: larger than"):
        list(discover(["/dev/zero"]))


def test_a_file_may_grow_or_shrink_while_it_is_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.yaml")
    fstat = os.fstat
    for size in (0, 1, 3, 5, 100):

        def remembered(number: int, size: int = size) -> os.stat_result:
            fields = list(fstat(number))
            fields[6] = size
            return os.stat_result(fields)

        monkeypatch.setattr(os, "fstat", remembered)
        assert read_bytes(Source("a.yaml", "a.yaml")) == b"a: 1\n"


# Standard input.


class _Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes | None], None]:
    return lambda data: monkeypatch.setattr("sys.stdin", None if data is None else _Input(data))


def test_standard_input_can_be_asked_for_again(stdin: Callable[[bytes | None], None]) -> None:
    stdin(b"a: \xff\n")
    [source] = discover(["-"])
    assert source == Source("<stdin>", STDIN)
    kept = standard_input()
    assert kept == Source("<stdin>", STDIN, b"a: \xff\n")
    assert read_bytes(kept) == read_bytes(kept) == b"a: \xff\n"


def test_standard_input_with_a_name_replaces_the_file_of_that_name(stdin: Callable[[bytes | None], None]) -> None:
    stdin(b"a: 1\n")
    assert standard_input("a.yaml") == Source("a.yaml", "a.yaml", b"a: 1\n")


def test_closed_standard_input_is_an_input_that_cannot_be_read(stdin: Callable[[bytes | None], None]) -> None:
    stdin(None)
    with pytest.raises(OSError, match="closed"):
        read_bytes(standard_input())


# What git ignores.


def test_ignored_files_and_folders_are_not_read(tree: Tree) -> None:
    tree("a.yaml", "b.yaml", "build/c.yaml", "deep/build/d.yaml", "out/e.yaml", "sub/out/f.yaml", "x.gen.yaml", "sub/y.gen.yaml")
    ignore(".", "# made", "build/", "/out", "*.gen.yaml", "b.yaml")
    assert names() == ["a.yaml", "sub/out/f.yaml"]


def test_what_is_ignored_and_named_is_read(tree: Tree) -> None:
    tree(".git/", "a.yaml", "build/c.yaml", "build/deep/d.yaml", "build/e.gen.yaml")
    ignore(".", "build/", "a.yaml")
    ignore("build", "*.gen.yaml")
    assert names("a.yaml", "build/c.yaml") == ["a.yaml", "build/c.yaml"]
    # In a folder that is ignored itself only its own rules count.
    assert names("build") == ["build/c.yaml", "build/deep/d.yaml"]
    assert names("build/deep") == ["build/deep/d.yaml"]


def test_a_file_may_be_let_in_again(tree: Tree) -> None:
    tree("a.yaml", "keep.yaml", "sub/b.yaml", "sub/c.yaml", "gone/d.yaml")
    ignore(".", "*.yaml", "!keep.yaml", "gone/", "!gone/d.yaml")
    ignore("sub", "!c.yaml")
    # Not from a folder that is ignored.
    assert names() == ["keep.yaml", "sub/c.yaml"]


def test_the_repository_above_has_its_say(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tree("repo/.git/", "repo/k8s/app/a.yaml", "repo/k8s/app/b.gen.yaml", "repo/k8s/app/c.yaml")
    ignore("repo", "*.gen.yaml")
    ignore("repo/k8s", "/app/c.yaml")
    ignore(".", "*.yaml")  # Outside of the repository.
    assert names("repo/k8s/app") == ["repo/k8s/app/a.yaml"]
    monkeypatch.chdir(tmp_path / "repo" / "k8s" / "app")
    assert names() == ["a.yaml"]


def test_without_a_repository_folders_above_have_no_say(tree: Tree) -> None:
    tree("k8s/a.yaml")
    ignore(".", "*.yaml")
    assert names("k8s") == ["k8s/a.yaml"]


@pytest.mark.parametrize("nonsense", ["!", "\\", "x\\", "[z-a]", "[[:alpha:]", "//", "***", "\udcff", "a**b", "[", "\x00"])
def test_an_invalid_pattern_matches_nothing(tree: Tree, nonsense: str) -> None:
    tree("a.yaml", "b.yaml")
    Path(".gitignore").write_bytes(f"b.yaml\n{nonsense}\n".encode("utf-8", "surrogateescape"))
    assert names() == (["a.yaml"] if nonsense != "***" else [])


def test_a_byte_order_mark_and_carriage_returns_belong_to_no_pattern(tree: Tree) -> None:
    tree("a.yaml", "b.yaml", "c.yaml")
    Path(".gitignore").write_bytes(b"\xef\xbb\xbfa.yaml\r\nb.yaml\r\n")
    assert names() == ["c.yaml"]


def test_a_gitignore_that_is_not_a_file_is_skipped(tree: Tree) -> None:
    tree("a.yaml", ".gitignore/b.yaml", "sub/c.yaml", "link/d.yaml")
    if hasattr(os, "mkfifo"):
        os.mkfifo("sub/.gitignore")
    os.symlink("nowhere", "link/.gitignore")
    assert names() == ["a.yaml", ".gitignore/b.yaml", "link/d.yaml", "sub/c.yaml"]
