"""Results that are kept from one run to the next: what is found is the same with them and without, whatever becomes of them."""

import gc
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afflint import config
from afflint.findings.finding import FileId
from afflint.pipeline import cache as keeping
from afflint.pipeline import mapping, run_cache
from afflint.pipeline import run as running
from afflint.pipeline.cache import Cache
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult, default_settings
from afflint.pipeline.options import Options
from afflint.pipeline.reduce_step import Reduction
from afflint.pipeline.results import KEY_SIZE, RESULTS, ResultEntry, checksum
from afflint.pipeline.run import Outcome
from afflint.pipeline.run_cache import CachedRun
from afflint.pipeline.session import Session
from checkout import clean_environment

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  containers: [{name: main, image: "nginx:1.27"}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: MEANT}}}
"""
TEXTS = [
    POD.replace("NAME", "a").replace("MEANT", "b"),
    POD.replace("NAME", "b").replace("MEANT", "bb"),
    POD.replace("NAME", "bb").replace("MEANT", "bb"),
    POD.replace("NAME", "c").replace("MEANT", "{{ x }}"),
    "kind: Namespace\napiVersion: v1\nmetadata: {name: shop}\n",
    "nothing: of ours\n",
    "kind: Pod\napiVersion: v1\nspec: {nodeSelector: {disk: 5}, [}\n",
    "",
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with more files than it takes to be worth a cache; the platform's folder for caches is an empty one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    folder = tmp_path / "tree"
    folder.mkdir()
    for number in range(80):
        (folder / f"{number}.yaml").write_text(TEXTS[number % len(TEXTS)] + f"# {number}\n")
    return folder


STORAGE = {"fast": config.StorageSetting("zone", default=True)}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were really looked into."""
    names: list[str] = []
    check = Checker.check

    def noted(self: Checker, name: str, data: bytes, kept: DocumentCache | None = None) -> FileResult:
        names.append(os.path.basename(name))
        return check(self, name, data, kept)

    monkeypatch.setattr(Checker, "check", noted)
    return names


def run(tree: Path, cache: Path | str | None, **options: Any) -> Outcome:
    session = Session(config.default())
    return session.check(session.sources([str(tree)]), Options(cache=None if cache is None else str(cache), **options))


def results_of(outcome: Outcome) -> tuple[object, ...]:
    return outcome.findings, outcome.summary, outcome.empty


def test_a_file_is_looked_into_again_only_when_it_has_changed(tree: Path, kept: Path, checked: list[str]) -> None:
    first = run(tree, kept)
    assert len(checked) == 80
    assert first.findings
    checked.clear()
    assert results_of(run(tree, kept)) == results_of(first)
    assert checked == []
    (tree / "8.yaml").write_text(TEXTS[2])
    assert results_of(run(tree, kept)) == results_of(run(tree, None))
    assert checked[:1] == ["8.yaml"]
    assert len(checked) == 1 + 80


@pytest.fixture
def reduced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each time that the facts of all files were taken together."""
    times: list[str] = []
    manifest_index = Reduction.manifest_index

    def noted(self: Reduction, *arguments: Any) -> Any:
        times.append("taken together")
        return manifest_index(self, *arguments)

    monkeypatch.setattr(Reduction, "manifest_index", noted)
    return times


def test_where_nothing_has_changed_facts_are_not_taken_together_again(tree: Path, kept: Path, reduced: list[str]) -> None:
    first = results_of(run(tree, kept))
    assert reduced == ["taken together"]
    assert [results_of(run(tree, kept)), results_of(run(tree, kept, inline=False))] == [first, results_of(run(tree, None, inline=False))]
    assert reduced == ["taken together"] * 2
    # Another name for the same files, and other settings.
    assert results_of(run(tree / ".." / "tree", kept)) == first
    run(tree, kept, definitions=list)
    session = Session(config.default()._replace(complete=True))
    session.check(session.sources([str(tree)]), Options(cache=str(kept)))
    assert len(reduced) == 4


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {kubernetes.io/hostname: NAME, zone: NAME}}\n"


def test_the_nodes_and_the_storage_that_the_configuration_declares_are_part_of_what_has_changed(
    tree: Path, kept: Path, reduced: list[str]
) -> None:
    """They change what is found across files, though no file has changed."""
    declared = (config.default(), config.default()._replace(complete_nodes=True), config.default()._replace(storage=STORAGE))
    for each in (*declared, *declared):
        session = Session(each)
        session.check(session.sources([str(tree)]), Options(cache=str(kept)))
    assert len(reduced) == len(declared)


def test_nodes_and_context_are_part_of_what_has_changed(tree: Path, kept: Path, tmp_path: Path, reduced: list[str]) -> None:
    nodes, context = tmp_path / "nodes.yaml", tmp_path / "context"
    nodes.write_text(NODE.replace("NAME", "one"))
    context.mkdir()
    (context / "pod.yaml").write_text(TEXTS[1])

    def found(cache: Path | None) -> tuple[object, ...]:
        session = Session(config.default()._replace(nodes=(str(nodes),), context=("context/*.yaml",), root=str(tmp_path)))
        return results_of(session.check(session.sources([str(tree)]), Options(cache=None if cache is None else str(cache))))

    assert found(kept) == found(kept) == found(None)
    assert len(reduced) == 2
    nodes.write_text(NODE.replace("NAME", "other").replace("zone: ", "zona: "))
    assert found(kept) == found(None)
    (context / "pod.yaml").write_text(TEXTS[2])
    assert found(kept) == found(None)
    assert len(reduced) == 6


def test_a_patch_of_a_kustomization_elsewhere_is_not_a_workload_though_no_file_has_changed(tree: Path, kept: Path) -> None:
    (tree / "nodes.yaml").write_text(NODE.replace("NAME", "one"))
    (tree / ".git").mkdir()
    asking = TEXTS[0].replace("affinity:", "nodeSelector: {zone: two}\n  affinity:")
    (tree / "0.yaml").write_text(asking)
    before = results_of(run(tree, kept))
    assert results_of(run(tree, kept)) == before
    beside = tree / "Kustomization"  # It has no name that is read.
    beside.write_text("patches:\n" + "".join(f"- path: {number}.yaml\n" for number in range(80)))
    assert results_of(run(tree, kept)) == results_of(run(tree, None)) != before
    beside.unlink()
    assert results_of(run(tree, kept)) == before


def test_a_kustomization_in_another_folder_uses_no_whole_object_as_a_patch_of_another_kind_with_a_cache_either(
    tree: Path, kept: Path
) -> None:
    (tree / ".git").mkdir()
    metadata = "{name: web, labels: {app: web}}"
    template = f"{{metadata: {metadata}, spec: {{containers: [{{name: a, image: b}}]}}}}"
    spec = f"  serviceName: db\n  selector: {{matchLabels: {{app: web}}}}\n  template: {template}\n"
    (tree / "0.yaml").write_text(f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {metadata}\nspec:\n{spec}")
    (tree / "overlay").mkdir()
    (tree / "overlay" / "kustomization.yaml").write_text("patches: [{path: ../0.yaml, target: {kind: StatefulSet}}]\n")
    findings = [results_of(run(tree, folder)) for folder in (None, kept, kept)]
    assert findings[0] == findings[1] == findings[2]
    assert "serviceName" in str(findings[0])


def test_a_file_that_changes_during_the_run_is_not_taken_for_what_it_was(tree: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree / "0.yaml"
    before = path.read_text()
    manifest_index = Reduction.manifest_index

    def meanwhile(self: Reduction, *arguments: Any) -> Any:
        path.write_text(f"# a line more\n{before}")
        return manifest_index(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Reduction, "manifest_index", meanwhile)
        run(tree, kept)
    path.write_text(before)
    assert results_of(run(tree, kept)) == results_of(run(tree, None))


def test_what_is_found_across_files_is_right_when_only_the_other_file_has_changed(tree: Path, kept: Path) -> None:
    run(tree, kept)
    (tree / "1.yaml").unlink()
    (tree / "new.yaml").write_text(TEXTS[0].replace("name: a", "name: other"))
    assert results_of(run(tree, kept)) == results_of(run(tree, None))


def test_few_files_are_not_worth_a_cache(tree: Path, kept: Path) -> None:
    for number in range(20, 80):
        (tree / f"{number}.yaml").unlink()
    run(tree, kept)
    assert not kept.exists()


def test_other_rules_another_target_and_another_version_have_results_of_their_own(
    tree: Path, kept: Path, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(config.default())
    sources = session.sources([str(tree)])
    some = session.settings()
    list(mapping.map_files(sources, some, cache=str(kept)))
    for other in (
        some._replace(rules=some.rules[1:]),
        some._replace(target=some.target._replace(version=(1, 20))),
        some._replace(inventory=True),
        some._replace(inventory=True, resources=True),
    ):
        checked.clear()
        list(mapping.map_files(sources, other, cache=str(kept)))
        assert len(checked) == 80
    checked.clear()
    list(mapping.map_files(sources, some, cache=str(kept)))
    assert checked == []
    monkeypatch.setattr(keeping, "__version__", "99")
    list(mapping.map_files(sources, some, cache=str(kept)))
    assert len(checked) == 80


def test_where_a_file_lies_matters_as_far_as_it_does_without_a_cache(kept: Path) -> None:
    content = checksum(b"kind: Pod\nspec: {{ include }}\n  {{- x }}\n")
    cache = Cache(str(kept), default_settings())
    assert cache.key("chart/templates/a.yaml", content) != cache.key("a.yaml", content)
    assert cache.key("b/c.yaml", content) == cache.key("a.yaml", content)


def test_several_processes_keep_and_find_the_same(tree: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES", 10)
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES_KNOWN", 20)
    alone = results_of(run(tree, None))
    assert results_of(run(tree, kept, jobs=3)) == alone
    assert entries(kept) > 20
    assert results_of(run(tree, kept, jobs=3)) == alone
    assert results_of(run(tree, kept)) == alone


def test_what_several_processes_find_again_keeps_no_process_from_writing(tree: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES", 10)
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES_KNOWN", 20)
    monkeypatch.setattr(keeping, "_PATIENCE", 0.0)
    monkeypatch.setattr(mapping, "_CHUNK", 1)  # So that this process does its share.
    run(tree, kept, jobs=2)
    before = entries(kept)
    (tree / "8.yaml").write_text(TEXTS[2] + "# another\n")
    gc.disable()  # As the command line does.
    try:
        run(tree, kept, jobs=2)
    finally:
        gc.enable()
    assert entries(kept) == before + 1


def entries(kept: Path) -> int:
    with sqlite3.connect(file(kept)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM results").fetchone()
    return int(count)


def file(kept: Path) -> Path:
    return kept / "afflint-results.sqlite"


def altered(kept: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(file(kept)) as connection:
        connection.execute(statement, values)


def of_another(kept: Path) -> None:
    """Every result has the key of another."""
    with sqlite3.connect(file(kept)) as connection:
        rows = connection.execute("SELECT key, value FROM results ORDER BY key").fetchall()
        for (key, _), (_, value) in zip(rows, rows[1:] + rows[:1], strict=True):
            connection.execute("UPDATE results SET value = ? WHERE key = ?", (value, key))


def made_up(text: bytes) -> Callable[[Path], None]:
    """Every result is this text, with a checksum as it must be."""

    def write(kept: Path) -> None:
        with sqlite3.connect(file(kept)) as connection:
            for (key,) in connection.execute("SELECT key FROM results").fetchall():
                value = keeping._checksum(key, text) + text
                connection.execute("UPDATE results SET value = ? WHERE key = ?", (value, key))

    return write


def journal_that_deletes(precious: Path, database: Path) -> None:
    """Write a journal that SQLite rolls back: it restores the first page, and then deletes the "super-journal" that it names.

    https://www.sqlite.org/fileformat.html#the_rollback_journal describes it.
    """
    precious.write_text("mine")
    magic = bytes.fromhex("d9d505f920a163d7")
    page = database.read_bytes()[: int.from_bytes(database.read_bytes()[16:18], "big")]
    size, pages = len(page), database.stat().st_size // len(page)
    name = os.fsencode(precious)
    words = [1, 0, pages, 512, size]
    header = (magic + b"".join(each.to_bytes(4, "big") for each in words)).ljust(512, b"\0")
    checksum = sum(page[at] for at in range(size - 200, 0, -200))
    record = (1).to_bytes(4, "big") + page + checksum.to_bytes(4, "big")
    named = ((1 << 30) // size + 1).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big") + magic
    Path(f"{database}-journal").write_bytes(header + record + named)


def test_the_journal_of_this_test_is_one_that_sqlite_obeys(tree: Path, kept: Path, tmp_path: Path) -> None:
    run(tree, kept)
    journal_that_deletes(tmp_path / "precious", file(kept))
    with sqlite3.connect(file(kept)) as connection:
        connection.execute("SELECT count(*) FROM results")
    assert not (tmp_path / "precious").exists()


@pytest.mark.parametrize("changed", [False, True], ids=["reading", "writing"])
def test_a_journal_is_not_rolled_back(changed: bool, tree: Path, kept: Path, tmp_path: Path) -> None:
    run(tree, kept)
    journal_that_deletes(tmp_path / "precious", file(kept))
    if changed:
        (tree / "8.yaml").write_text(TEXTS[1])
    assert results_of(run(tree, kept)) == results_of(run(tree, None))
    assert (tmp_path / "precious").read_text() == "mine"


def test_afflint_writes_no_journal(tree: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    write = Cache._write

    def watched(self: Cache, connection: sqlite3.Connection, entries: Any) -> None:
        connection.set_progress_handler(lambda: seen.append(os.listdir(kept)), 100)
        write(self, connection, entries)

    monkeypatch.setattr(Cache, "_write", watched)
    run(tree, kept)
    assert {*map(tuple, map(sorted, seen))} == {("CACHEDIR.TAG", "afflint-results.sqlite")}


def in_the_middle(kept: Path) -> None:
    data = bytearray(file(kept).read_bytes())
    data[len(data) // 2 : len(data) // 2 + 5000] = b"\xff" * 5000
    file(kept).write_bytes(data)


def another_table(kept: Path) -> None:
    altered(kept, "DROP TABLE results")
    altered(
        kept,
        "CREATE VIEW results AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS key, i AS used, i AS value FROM n",
    )


def no_text_in_the_schema(kept: Path) -> None:
    """SQLite quotes the damaged statement in its message, which Python cannot decode."""
    file(kept).write_bytes(file(kept).read_bytes().replace(b"CREATE TABLE results", b"CREATE TABLE \xff\xfe\xff\xfe\xff\xfe,"))


def a_run_of_files_that_do_not_exist(kept: Path) -> None:
    """Entries of runs begin with the checksum of their files, which a forger knows."""
    with sqlite3.connect(file(kept)) as connection:
        for key, value in connection.execute("SELECT key, value FROM results").fetchall():
            digest = value[keeping._CHECKSUM : keeping._CHECKSUM + KEY_SIZE]
            empty = run_cache._CODEC.encode(CachedRun((), ((FileId(0), 99), (FileId(4711), 0))))
            connection.execute("UPDATE results SET value = ? WHERE key = ?", (keeping._checksum(key, digest + empty) + digest + empty, key))


def a_journal(kept: Path) -> None:
    journal_that_deletes(kept / "precious", file(kept))


def journals_that_are_links(kept: Path) -> None:
    (kept / "precious").write_text("mine")
    for end in ("-journal", "-wal", "-shm"):
        Path(f"{file(kept)}{end}").symlink_to("precious")


def a_folder(kept: Path) -> None:
    file(kept).unlink()
    file(kept).mkdir()


def a_pipe(kept: Path) -> None:
    file(kept).unlink()
    os.mkfifo(file(kept))


def a_file_for_the_folder(kept: Path) -> None:
    shutil.rmtree(kept)
    kept.write_text("")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda kept: file(kept).write_bytes(b""),
    "no database": lambda kept: file(kept).write_bytes(b"hello" * 1000),
    "cut off": lambda kept: file(kept).write_bytes(file(kept).read_bytes()[:9000]),
    "overwritten in the middle": in_the_middle,
    "an endless view": another_table,
    "results under other keys": of_another,
    "a letter changed": lambda kept: altered(kept, "UPDATE results SET value = CAST(replace(value, 'app', 'apq') AS BLOB)"),
    "text for bytes": lambda kept: altered(kept, "UPDATE results SET value = 'text', used = 'now'"),
    "no JSON": made_up(b"\x80\x04cos\nsystem\n"),
    "deep": made_up(b"[" * 100_000),
    "another shape": made_up(b'[[["rule","message"]],{"a":1}]'),
    "a great number": made_up(b"[[],[],[]," + b"9" * 10_000 + b"]"),
    "no text in the schema": no_text_in_the_schema,
    "files that do not exist": a_run_of_files_that_do_not_exist,
    "a journal": a_journal,
    "journals that are links": journals_that_are_links,
    "a folder": a_folder,
    "a file for the folder": a_file_for_the_folder,
}
if hasattr(os, "mkfifo"):
    DAMAGES["a pipe"] = a_pipe


@pytest.fixture(params=["the whole run", "each file"])
def looked_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is found again: the results of the whole run or, as after a change, those of each file."""
    if request.param == "each file":
        monkeypatch.setattr(running, "_may_be_cached", lambda *_: False)
    return str(request.param)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_time_only(damage: str, looked_up: str, tree: Path, kept: Path, checked: list[str]) -> None:
    alone = results_of(run(tree, kept))
    DAMAGES[damage](kept)
    checked.clear()
    assert results_of(run(tree, kept)) == alone
    # The result of the whole run is only one entry of the cache: these two miss it.
    assert checked or (looked_up == "the whole run" and damage in ("overwritten in the middle", "a letter changed"))
    assert results_of(run(tree, kept)) == alone


@pytest.mark.parametrize(
    "damage", ["a journal", "no text in the schema", "no database", "cut off", "an endless view", "results under other keys", "empty"]
)
@pytest.mark.usefixtures("looked_up")
def test_a_damaged_cache_is_recreated(damage: str, tree: Path, kept: Path, checked: list[str]) -> None:
    run(tree, kept)
    DAMAGES[damage](kept)
    run(tree, kept)
    checked.clear()
    run(tree, kept)
    assert checked == []


def test_while_another_process_writes_nothing_is_kept_and_nothing_fails(
    tree: Path, kept: Path, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = results_of(run(tree, kept))
    monkeypatch.setattr(keeping, "_PATIENCE", 0.0)
    before = (tree / "8.yaml").read_text()
    (tree / "8.yaml").write_text(TEXTS[1])
    other = sqlite3.connect(file(kept), isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        assert results_of(run(tree, kept)) == results_of(run(tree, None))
        assert len(checked) == 3 * 80
    finally:
        other.close()
    (tree / "8.yaml").write_text(before)
    assert results_of(run(tree, kept)) == alone


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are those of POSIX")
def test_a_full_disk_keeps_nothing_and_says_nothing(tree: Path, kept: Path) -> None:
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); from afflint.__main__ import main; main()"
    command = [sys.executable, "-c", script, "check", str(tree), "--no-config", "--format", "concise", "--cache-dir", str(kept)]
    environment = clean_environment()
    del environment["AFFLINT_NO_CACHE"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, check=False)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == len(run(tree, None).findings)
    assert results_of(run(tree, kept)) == results_of(run(tree, None))


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_platforms_folder_is_not_used_where_others_can_write(tree: Path, tmp_path: Path, checked: list[str]) -> None:
    run(tree, mapping.DEFAULT_CACHE)
    folder = tmp_path / "caches" / "afflint"
    assert (folder / "CACHEDIR.TAG").is_file()
    assert folder.stat().st_mode & 0o777 == 0o700
    checked.clear()
    run(tree, mapping.DEFAULT_CACHE)
    assert checked == []
    folder.chmod(0o777)
    run(tree, mapping.DEFAULT_CACHE)
    assert len(checked) == 80


def test_it_does_not_grow_beyond_its_bound(kept: Path) -> None:
    some = default_settings()
    for batch in range(4):
        Cache(str(kept), some, most=300_000).keep([ResultEntry(b"%d.%d" % (batch, number), b"x" * 1000) for number in range(200)])
        assert file(kept).stat().st_size <= 300_000
    assert entries(kept) >= 100


def test_what_was_not_used_for_longest_goes_first(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = default_settings()
    text = RESULTS.encode(FileResult(documents=1))
    day = 100
    monkeypatch.setattr(keeping, "_today", lambda: day)
    old, used = ([ResultEntry(b"%s%d" % (name, number), text) for number in range(50)] for name in (b"old", b"used"))
    Cache(str(kept), some).keep([*old, *used])
    day = 101
    cache = Cache(str(kept), some)
    found = [cache.find(entry.key) for entry in used]
    assert [each and each.noted for each in found] == [False] * 50
    cache.keep([ResultEntry(entry.key, None) for entry in used])
    size = file(kept).stat().st_size
    Cache(str(kept), some, most=size - 1).keep([ResultEntry(b"new", text)])
    cache = Cache(str(kept), some)
    assert [entry.key for entry in old if cache.find(entry.key)] == []
    assert all(cache.find(entry.key) for entry in used)


def test_the_command_line_caches_results_by_default(tree: Path, tmp_path: Path) -> None:
    def check(*options: str, no_cache: bool = False, **settings: str) -> bytes:
        environment = clean_environment(**settings)
        if not no_cache:
            del environment["AFFLINT_NO_CACHE"]
        command = [sys.executable, "-m", "afflint", "check", str(tree), "--no-config", "--format", "json", *options]
        return subprocess.run(command, capture_output=True, env=environment, check=False).stdout

    home = {"XDG_CACHE_HOME": str(tmp_path / "caches")}
    report = check("--no-cache", **home)
    assert check(no_cache=True, **home) == report
    assert not (tmp_path / "caches").exists()
    assert [check(**home), check(**home)] == [report, report]
    assert check("--cache-dir", str(tmp_path / "one")) == report
    assert check(AFFLINT_CACHE_DIR=str(tmp_path / "two")) == report
    assert {path.name for path in tmp_path.iterdir()} == {"tree", "one", "two", *(["caches"] if sys.platform == "linux" else [])}


@pytest.fixture
def playground(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(mapping, "_WORTH_CACHE", 1)
    return tmp_path_factory.mktemp("playground")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.one_of(
            st.tuples(st.sampled_from([f"{number}.yaml" for number in range(5)]), st.sampled_from([*TEXTS, None])),
            st.tuples(st.just("nodes.yaml"), st.sampled_from([NODE.replace("NAME", "one"), None])),
            st.tuples(
                st.just("kustomization.yaml"),
                st.sampled_from(["resources: [0.yaml]\n", "patches: [{path: 1.yaml}]\n", None]),
            ),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_after_any_edits_the_same_is_found_as_without(edits: list[tuple[str, str | None]], playground: Path) -> None:
    tree, kept = playground / "tree", playground / "kept"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for name, text in edits:
        path = tree / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)
        alone = results_of(run(tree, None))
        assert [results_of(run(tree, kept)), results_of(run(tree, kept))] == [alone, alone]
