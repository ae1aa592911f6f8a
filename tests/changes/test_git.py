"""Refs, commits and files of a Git repository, and what of its configuration has no effect."""

import os
import subprocess
from pathlib import Path

import pytest

from afflint.changes.git import Range, Repository
from afflint.findings.errors import UserError
from git_history import History


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "repository")


def test_a_folder_below_the_root_is_in_the_repository(history: History) -> None:
    history.commit({"deploy/web.yaml": "a: 1\n"})
    assert Repository(str(history.root / "deploy")).root == os.path.realpath(history.root)


def test_a_folder_without_a_repository(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not in a Git repository"):
        Repository(str(tmp_path))


def test_a_marker_that_is_not_a_repository_does_not_lead_to_the_one_above(history: History) -> None:
    history.commit({"a.yaml": "a: 1\n"})
    (history.root / "inner" / ".git").mkdir(parents=True)
    with pytest.raises(UserError, match="Git cannot read the repository"):
        Repository(str(history.root / "inner"))


class TestIndex:
    def test_it_has_what_is_staged(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n", "b.yaml": "b: 1\n"})
        history.write({"a.yaml": "a: 2\n", "b.yaml": None, "new.yaml": "c: 1\n", "untracked.yaml": "d: 1\n"})
        history.git("add", "a.yaml", "b.yaml", "new.yaml")
        history.write({"a.yaml": "a: 3\n"})
        repository = Repository(str(history.root))
        entries = repository.index_entries()
        assert [each.path for each in entries] == ["a.yaml", "new.yaml"]
        assert [*repository.blobs([each.blob for each in entries])] == [b"a: 2\n", b"c: 1\n"]

    def test_git_names_another_index_in_a_hook(self, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
        """`git commit --all` and `git commit FILE` run hooks with the index of the commit that is being made."""
        history.commit({"a.yaml": "a: 1\n"})
        (history.root / ".git" / "index").rename(history.root / ".git" / "next-index")
        monkeypatch.chdir(history.root)
        assert Repository(".").index_entries() == []
        monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index")
        assert [each.path for each in Repository(".").index_entries()] == ["a.yaml"]

    def test_a_conflict_is_an_error(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        history.git("checkout", "--quiet", "-b", "feature")
        history.commit({"a.yaml": "a: 2\n"})
        history.git("checkout", "--quiet", "main")
        history.commit({"a.yaml": "a: 3\n"})
        with pytest.raises(subprocess.CalledProcessError):
            history.git("merge", "feature")
        with pytest.raises(UserError, match=r"`a\.yaml` is not merged: resolve the conflict and add the file"):
            Repository(str(history.root)).index_entries()


class TestRefs:
    def test_a_single_ref_means_the_commit_where_the_work_tree_branched_off(self, history: History) -> None:
        first = history.commit({"a.yaml": "a: 1\n"})
        history.git("checkout", "--quiet", "-b", "feature")
        history.commit({"b.yaml": "b: 1\n"})
        history.git("checkout", "--quiet", "main")
        second = history.commit({"a.yaml": "a: 2\n"})
        history.git("checkout", "--quiet", "feature")
        repository = Repository(str(history.root))
        head = repository.commit("feature")
        assert repository.range_of("main") == Range(first, None)
        assert repository.range_of("main...") == Range(first, None)
        assert repository.range_of(None) == Range(first, None)
        assert repository.range_of("main..feature") == Range(second, head)
        assert repository.range_of("main...feature") == Range(first, head)
        assert repository.range_of("main..") == Range(second, head)
        assert repository.range_of("..main") == Range(head, second)

    @pytest.mark.parametrize("text", ["..", "..."])
    def test_a_range_without_a_ref(self, history: History, text: str) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        with pytest.raises(UserError, match="names no ref"):
            Repository(str(history.root)).range_of(text)

    def test_an_unknown_ref_is_answered_with_the_nearest(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        history.git("branch", "release-1.2")
        with pytest.raises(UserError, match=r"a commit `release-1.3`; did you mean 'release-1.2'\?"):
            Repository(str(history.root)).commit("release-1.3")

    @pytest.mark.parametrize("ref", ["--output=x", "-h", "", "a\0b"])
    def test_what_looks_like_an_option_is_not_a_ref(self, history: History, ref: str) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        assert Repository(str(history.root)).find_commit(ref) is None

    def test_a_repository_without_a_commit(self, history: History) -> None:
        with pytest.raises(UserError, match="has no commit yet"):
            Repository(str(history.root)).range_of(None)

    def test_the_default_branch_may_be_master(self, history: History) -> None:
        first = history.commit({"a.yaml": "a: 1\n"})
        history.git("branch", "--move", "master")
        assert Repository(str(history.root)).range_of(None) == Range(first, None)

    def test_the_branch_of_the_remote_comes_first(self, history: History) -> None:
        first = history.commit({"a.yaml": "a: 1\n"})
        history.git("update-ref", "refs/remotes/origin/trunk", first)
        history.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
        history.commit({"a.yaml": "a: 2\n"})
        assert Repository(str(history.root)).range_of(None) == Range(first, None)

    def test_without_a_default_branch_a_ref_has_to_be_named(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        history.git("branch", "--move", "other")
        with pytest.raises(UserError, match="name a ref"):
            Repository(str(history.root)).range_of(None)

    def test_a_shallow_clone_says_how_to_get_the_history(self, history: History, tmp_path: Path) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        history.git("checkout", "--quiet", "-b", "feature")
        history.commit({"b.yaml": "b: 1\n"})
        history.git("checkout", "--quiet", "main")
        history.commit({"a.yaml": "a: 2\n"})
        History(tmp_path / "clone").git("pull", "--quiet", "--depth=1", history.root.as_uri(), "feature")
        clone = History(tmp_path / "clone")
        clone.git("fetch", "--quiet", "--depth=1", history.root.as_uri(), "main:refs/remotes/origin/main")
        with pytest.raises(UserError, match=r"no common commit here; this clone is shallow: .*fetch-depth: 0"):
            Repository(str(clone.root)).range_of("origin/main")
        with pytest.raises(UserError, match=r"a commit `v1`; this clone is shallow: .*--unshallow"):
            Repository(str(clone.root)).commit("v1")

    def test_histories_without_a_common_commit(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        history.git("checkout", "--quiet", "--orphan", "other")
        history.commit({"b.yaml": "b: 1\n"})
        with pytest.raises(UserError, match=r"write REF..REF"):
            Repository(str(history.root)).range_of("main")


class TestFiles:
    def test_the_files_of_a_commit_and_their_content(self, history: History) -> None:
        commit = history.commit({"a.yaml": "a: 1\n", "b/ü.yaml": b"\xff\r\n", "empty.yaml": ""})
        history.write({"a.yaml": "a: 2\n"})
        repository = Repository(str(history.root))
        entries = repository.entries(commit)
        assert [each.path for each in entries] == ["a.yaml", "b/ü.yaml", "empty.yaml"]
        assert list(repository.blobs([each.blob for each in entries])) == [b"a: 1\n", b"\xff\r\n", b""]

    def test_an_object_that_a_partial_clone_lacks(self, history: History) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        entry = Repository(str(history.root)).entries("HEAD")[0]
        assert list(Repository(str(history.root)).blobs(["0" * 40, entry.blob])) == [None, b"a: 1\n"]


def test_the_configuration_of_a_hostile_repository_starts_nothing(history: History, tmp_path: Path) -> None:
    """A file system monitor, hooks, filters, a text converter, a pager, an alias, and a promisor that would be asked for objects."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\ncat\n")
    program.chmod(0o755)
    commit = history.commit({"a.yaml": "a: 1\n", ".gitattributes": "*.yaml filter=evil diff=evil\n"})
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv"):
        history.git("config", key, str(program))
    for name in ("rev-parse", "cat-file", "ls-tree", "merge-base"):
        history.git("config", f"alias.{name}", f"!{program}")
    history.git("config", "core.hooksPath", str(tmp_path))
    history.git("config", "extensions.partialClone", "evil")
    history.git("config", "core.repositoryFormatVersion", "1")
    history.git("config", "remote.evil.promisor", "true")
    history.git("config", "remote.evil.url", f"ext::{program}")
    history.git("config", "remote.evil.uploadpack", str(program))
    repository = Repository(str(history.root))
    assert repository.range_of("main") == Range(commit, None)
    entries = repository.entries(commit)
    assert list(repository.blobs([each.blob for each in entries if each.path == "a.yaml"])) == [b"a: 1\n"]
    assert list(repository.blobs(["1" * 40])) == [None]
    assert not (tmp_path / "started").exists()
