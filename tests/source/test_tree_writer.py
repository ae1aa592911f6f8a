"""Trees that are written from hostile names: what is created, what is left out, and that nothing outside changes."""

import os
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.source import trees
from afflint.source.trees import TreeError, TreeLimits, writing


def contents(folder: Path) -> dict[str, str]:
    """Return the files of a tree with their texts, and its links with their targets."""
    found = {}
    for here, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(here, name)
            if path.is_symlink():
                found[path.relative_to(folder).as_posix()] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[path.relative_to(folder).as_posix()] = path.read_text()
    return found


def test_files_and_the_folders_above_them_are_created(tmp_path: Path) -> None:
    with writing(str(tmp_path)) as tree:
        assert tree.write("a/b/c.yaml", b"1")
        assert tree.write("a/d.yaml", b"2")
        assert tree.write("e.yaml", b"3")
    assert contents(tmp_path) == {"a/b/c.yaml": "1", "a/d.yaml": "2", "e.yaml": "3"}
    assert tree.left_out == {}


@pytest.mark.parametrize(
    "name",
    [
        "../outside.yaml",
        "a/../../outside.yaml",
        "/etc/passwd",
        "a//b",
        "a/./b",
        "",
        "a/",
        ".git/config",
        ".GIT/config",
        ".Git",
        "sub/.git/hooks/post-commit",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".git\\config",
        "a\\.git\\config",
        "GIT~1/config",
        ".g\u200cit/config",
        "\ufeff.git/config",
        "NUL",
        "aux.yaml",
        "con/web.yaml",
        "COM¹.txt",
        "web.yaml.",
        "web ",
        "folder./web.yaml",
        "a\0b",
        "/".join("d" * 101) + "/web.yaml",
        "n" * 300,
    ],
)
def test_a_name_that_is_not_safe_everywhere_is_left_out_and_named(tmp_path: Path, name: str) -> None:
    tree_folder = tmp_path / "tree"
    tree_folder.mkdir()
    with writing(str(tree_folder)) as tree:
        assert not tree.write(name, b"hostile")
        tree.link(f"{name}", "web.yaml")
        assert tree.write("web.yaml", b"")
    assert list(tree.left_out) == [name]
    assert contents(tree_folder) == {"web.yaml": ""}
    assert os.listdir(tmp_path) == ["tree"]


@pytest.mark.parametrize("name", [".gitignore", ".github/web.yaml", "digit/web.yaml", "git", "a b/c.d", "console.yaml", "nullable", "ä/ß"])
def test_a_usual_name_is_written(tmp_path: Path, name: str) -> None:
    with writing(str(tmp_path)) as tree:
        assert tree.write(name, b"")
    assert contents(tmp_path) == {name: ""}


@pytest.mark.parametrize(
    "first,second",
    [
        ("web.yaml", "web.yaml"),
        ("web.yaml", "WEB.yaml"),
        ("straße", "STRASSE"),
        ("re\u017fource", "resource"),
        (unicodedata.normalize("NFC", "é.yaml"), unicodedata.normalize("NFD", "É.yaml")),
        ("docs/a.yaml", "Docs/b.yaml"),
        ("x", "x/y.yaml"),
        ("x/y.yaml", "X"),
        ("a/b/c.yaml", "a/B/d.yaml"),
    ],
)
def test_of_two_names_that_some_system_does_not_distinguish_the_second_is_left_out(tmp_path: Path, first: str, second: str) -> None:
    with writing(str(tmp_path)) as tree:
        assert tree.write(first, b"first")
        assert not tree.write(second, b"second")
    assert contents(tmp_path) == {first: "first"}
    assert second in tree.left_out


def test_no_file_is_written_through_a_link_and_no_link_through_a_link(tmp_path: Path) -> None:
    """A tree of Git may have one name twice: as a link and as a folder."""
    outside, folder = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    folder.mkdir()
    with writing(str(folder)) as tree:
        tree.link("x", "../outside")
        tree.link("x/post-commit", "../../payload")
        tree.link("y", "sub")
        assert tree.write("y/web.yaml", b"in the folder")
        assert tree.write("sub/web.yaml", b"")
    assert os.listdir(outside) == []
    assert contents(folder) == {"y/web.yaml": "in the folder", "sub/web.yaml": ""}


@pytest.mark.parametrize(
    "links",
    [
        {"out": "/etc"},
        {"out": ".."},
        {"out": "sub/../../x"},
        {"sub/out": "../.."},
        {"step": "sub", "out": "step/../.."},
        {"step": "..", "out": "step/x"},
        {"Step": "../..", "out": "STEP/x"},
        {"one": "two", "two": "three", "three": "/etc"},
        {"loop": "loop"},
        {"one": "two", "two": "one"},
        {"out": "/proc/self/cwd/.git"},
    ],
)
def test_no_link_that_leads_out_is_created(tmp_path: Path, links: dict[str, str]) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    with writing(str(folder)) as tree:
        assert tree.write("sub/web.yaml", b"")
        for name, target in links.items():
            tree.link(name, target)
    for here, folders, names in os.walk(folder):
        for name in (*names, *folders):
            assert os.path.realpath(os.path.join(here, name)).startswith(f"{folder.resolve()}{os.sep}")
    assert "out" not in contents(folder)


def test_links_inside_the_tree_are_created(tmp_path: Path) -> None:
    with writing(str(tmp_path)) as tree:
        tree.link("latest", "v2")
        tree.link("v1/web.yaml", "../latest/web.yaml")
        assert tree.write("v2/web.yaml", b"2")
    assert contents(tmp_path) == {"latest": "-> v2", "v1/web.yaml": "-> ../latest/web.yaml", "v2/web.yaml": "2"}
    assert (tmp_path / "v1/web.yaml").read_text() == "2"


names = st.text(alphabet="ab.\\/ :~gitGIT\u200c\u017fßéE", min_size=1, max_size=12)
targets = st.lists(st.sampled_from(["..", ".", "a", "b", "A", "a/b", "/", "~"]), min_size=1, max_size=5).map("/".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.booleans(), names, targets), max_size=12))
def test_whatever_the_names_are_everything_stays_inside(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[bool, str, str]]
) -> None:
    top = tmp_path_factory.mktemp("top")
    folder = top / "inner" / "tree"
    folder.mkdir(parents=True)
    with writing(str(folder)) as tree:
        for is_link, name, target in entries:
            if is_link:
                tree.link(name, target)
            else:
                tree.write(name, b"x")
    assert [each.name for each in top.iterdir()] == ["inner"]
    assert [each.name for each in (top / "inner").iterdir()] == ["tree"]
    for here, folders, found in os.walk(folder):
        for name in (*found, *folders):
            assert name.casefold() != ".git"
            assert f"{os.path.realpath(os.path.join(here, name))}{os.sep}".startswith(f"{folder.resolve()}{os.sep}")


# Limits.


def test_a_tree_has_a_limited_number_of_entries(tmp_path: Path) -> None:
    with writing(str(tmp_path), TreeLimits("the commit", entries=3)) as tree:
        assert all(tree.write(f"{number}.yaml", b"") for number in range(3))
        with pytest.raises(TreeError, match="the commit has more than 3 files"):
            tree.write("3.yaml", b"")


def test_folders_count_as_entries(tmp_path: Path) -> None:
    with writing(str(tmp_path), TreeLimits(entries=6)) as tree, pytest.raises(TreeError):
        tree.write("a/b/c/d/e/f/web.yaml", b"")


def test_bytes_count_each_time_they_are_written_and_once_if_they_are_linked(tmp_path: Path) -> None:
    with writing(str(tmp_path), TreeLimits(size=25)) as tree:
        assert tree.write("a.yaml", b"0123456789")
        for number in range(10):
            assert tree.repeat(f"{number}/same.yaml", str(tmp_path / "a.yaml"))
        assert tree.write("b.yaml", b"0123456789")
        with pytest.raises(TreeError, match="more than 0 MB"):
            tree.write("c.yaml", b"0123456789")
    assert len(contents(tmp_path)) == 12


def test_a_link_is_not_given_a_further_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "known").symlink_to("secret")
    folder = tmp_path / "tree"
    folder.mkdir()
    with writing(str(folder)) as tree:
        tree.repeat("web.yaml", str(tmp_path / "known"))
    assert not os.path.isfile(folder / "web.yaml") or os.path.islink(folder / "web.yaml")


# A file system that does not distinguish case, as on macOS and Windows.


@pytest.fixture
def one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the file system take each name for one in lower case."""
    for name in ("open", "mkdir", "symlink", "link"):
        real = getattr(os, name)
        position = 1 if name in ("symlink", "link") else 0

        def folded(*arguments: object, real=real, position: int = position, **more: object) -> object:  # type: ignore[no-untyped-def]
            words = list(arguments)
            if more.get("dir_fd", more.get("dst_dir_fd")) is not None:
                words[position] = str(words[position]).lower()
            return real(*words, **more)

        monkeypatch.setattr(os, name, folded)
    monkeypatch.setattr(trees, "_fold", lambda name: name)  # As if the rule of the file system were not known.


@pytest.mark.usefixtures("one_case")
def test_a_folder_that_exists_under_another_name_is_not_used(tmp_path: Path) -> None:
    with writing(str(tmp_path)) as tree:
        assert tree.write("Docs/a.yaml", b"first")
        assert not tree.write("docs/b.yaml", b"second")
        assert not tree.write("docs/a.yaml", b"second")
        tree.link("DOCS", "/etc")
    assert contents(tmp_path) == {"docs/a.yaml": "first"}
    assert set(tree.left_out) == {"docs/b.yaml", "docs/a.yaml"}


def test_a_folder_is_not_opened_again_for_each_file_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand folders in a hundred others took half a minute: each way began at the top."""
    above = "/".join(["a"] * 90)
    opened = 0
    original = trees.Folder.folder

    def folder(self: trees.Folder, name: str, *, make: bool = False) -> trees.Folder:
        nonlocal opened
        opened += 1
        return original(self, name, make=make)

    monkeypatch.setattr(trees.Folder, "folder", folder)
    with writing(str(tmp_path)) as tree:
        for number in range(50):
            assert tree.write(f"{above}/{number}/b.yaml", b"1")
    assert opened < 300


def test_the_folders_that_are_opened_are_limited(tmp_path: Path) -> None:
    deep = "/".join(["a"] * 90)
    with suppress(TreeError), writing(str(tmp_path), TreeLimits("the tree", 300)) as tree:
        for number in range(100):
            tree.write(f"{'bc'[number % 2]}/{deep}/{number}", b"1")
    assert 50 < len(contents(tmp_path)) < 100


def test_a_tree_keeps_few_descriptors(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("only Linux lists the descriptors of a process")
    before = len(os.listdir("/proc/self/fd"))
    with writing(str(tmp_path)) as tree:
        assert tree.write("a/b/c/d/e.yaml", b"1")
        tree.create_links()
        assert len(os.listdir("/proc/self/fd")) == before + 1
    assert len(os.listdir("/proc/self/fd")) == before
