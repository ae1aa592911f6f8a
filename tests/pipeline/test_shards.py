"""A run in shares: what `afflint merge` reports of all shards is what one run reports, to the byte."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from afflint.pipeline import cache as keeping
from afflint.pipeline import mapping, shards
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult
from afflint.report import FORMATS
from checkout import ROOT
from command_line import Afflint

SEEKER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers: [{name: main, image: "nginx:1.27"}]
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: MEANT}}}
"""
NODES = """\
nodes:
- {name: one, labels: {kubernetes.io/hostname: one, disk: ssd}}
- {name: two, labels: {kubernetes.io/hostname: two, disk: hdd}}
"""


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")


@pytest.fixture
def fleet(project: Path) -> Path:
    """Manifests with findings that depend on the others: selectors that miss, labels that are nearly right."""
    folder = project / "fleet"
    for number, (name, meant) in enumerate([("web", "cart"), ("cart", "wbe"), ("db", "db"), ("queue", "cart"), ("cache", "quee")]):
        below = folder / f"team-{number % 2}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"{name}.yaml").write_text(SEEKER.replace("NAME", name).replace("MEANT", meant))
    (folder / "silenced.yaml").write_text("# afflint: ignore-file -- an example\n" + SEEKER.replace("NAME", "old").replace("MEANT", "odl"))
    (folder / "useless.yaml").write_text(
        "# afflint: ignore-file[wrong-type] -- no such\n" + SEEKER.replace("NAME", "x").replace("MEANT", "x")
    )
    (folder / "typed.yaml").write_text(
        SEEKER.replace("NAME", "typed")
        .replace("MEANT", "db")
        .replace("      affinity:", "      nodeSelector: {disk: 1, dsik: ssd}\n      affinity:")
    )
    (folder / "broken.yaml").write_text("kind: Pod\napiVersion: v1\nspec: {nodeSelector: {disk: 5}, [}\n")
    (folder / "chart.yaml").write_text("kind: Pod\nspec: {{ include }}\n  {{- x }}\n")
    (folder / "values.yaml").write_text("a: 1\n")
    (folder / "utf-16.yaml").write_bytes(b"\xff\xfek")
    return folder


def sharded(afflint: Afflint, of: int, *words: str) -> list[str]:
    """The files of results of all shards of a run."""
    files = []
    for number in range(1, of + 1):
        files.append(f"shard-{number}.jsonl")
        assert afflint("check", *words, "--shard", f"{number}/{of}", "--output", files[-1]) == (0, "", "")
    return files


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "html"])  # A page names the command that made it.
@pytest.mark.parametrize("of", [1, 3])
def test_the_report_is_that_of_one_run(fleet: Path, afflint: Afflint, form: str, of: int) -> None:
    assert fleet.is_dir()
    one = afflint("check", "fleet", "--format", form)
    assert one.code == 1
    assert afflint("merge", *sharded(afflint, of, "fleet"), "--format", form) == one


@pytest.mark.parametrize("example", ["shop", "fixed", "customapp", "customapp-typo"])
@pytest.mark.parametrize("of", [2, 7])
def test_so_it_is_for_the_examples(project: Path, afflint: Afflint, example: str, of: int) -> None:
    shutil.copytree(ROOT / "examples" / example, project / "deploy")
    one = afflint("check", "--format", "json")
    merged = afflint("merge", *sharded(afflint, of), "--format", "json")
    assert (merged.code, merged.out) == (one.code, one.out)


WORDS = [
    ("--statistics",),
    ("--no-ignore", "-v"),
    ("--fail-on", "error", "-q"),
    ("--exit-zero",),
    ("--baseline", "old.json"),
    ("--format", "concise", "--format", "json", "--output", "-", "--output", "report.json"),
]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words[0])
def test_so_is_what_the_options_of_reports_make_of_it(fleet: Path, afflint: Afflint, words: tuple[str, ...]) -> None:
    assert fleet.is_dir()
    afflint("check", "fleet/team-0", "--write-baseline", "--baseline", "old.json")
    one = afflint("check", "fleet", *words)
    assert afflint("merge", *sharded(afflint, 2, "fleet"), *words) == one


DECIDING = [
    ("--select", "admission"),
    ("--ignore", "admission,labels", "--extend-select", "wrong-type"),
    ("--kubernetes-version", "1.25"),
    ("--nodes", "nodes.yaml"),
    ("--nodes", "fleet/nodes.yaml"),
]


@pytest.mark.parametrize("words", DECIDING, ids=lambda words: " ".join(words))
def test_so_it_is_for_what_decides_what_is_found(fleet: Path, afflint: Afflint, words: tuple[str, ...]) -> None:
    Path("nodes.yaml").write_text(NODES)
    (fleet / "nodes.yaml").write_text(NODES)
    one = afflint("check", "fleet/team-0", "fleet/typed.yaml", *words, "--format", "json")
    assert one.code == 1
    assert afflint("merge", *sharded(afflint, 3, "fleet/team-0", "fleet/typed.yaml", *words), "--format", "json") == one


def test_nothing_is_looked_into_again(fleet: Path, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything that is only context, or holds the nodes."""
    assert fleet.is_dir()
    Path("nodes.yaml").write_text(NODES)
    Path(".afflint.yaml").write_text("context: ['fleet/**']\nnodes: [nodes.yaml]\n")
    files = sharded(afflint, 2, "fleet/team-1")
    one = afflint("check", "fleet/team-1", "--format", "json")
    looked: list[str] = []

    def noted(_: Checker, name: str, _data: bytes, _kept: DocumentCache | None) -> FileResult:
        looked.append(name)
        return FileResult()

    monkeypatch.setattr(Checker, "check", noted)
    assert afflint("merge", *files, "--format", "json") == one
    assert looked == []


def test_nodes_among_the_files_are_found_where_all_files_are(fleet: Path, afflint: Afflint) -> None:
    (fleet / "nodes.yaml").write_text(
        NODES.replace("nodes:", "kind: List\napiVersion: v1\nitems:")
        .replace("- {name", "- {kind: Node, apiVersion: v1, metadata: {name")
        .replace("}}", "}}}")
    )
    one = afflint("check", "fleet")
    assert "dsik" in one.out
    merged = afflint("merge", *sharded(afflint, 2, "fleet"))
    assert (merged.code, merged.out, merged.err) == (one.code, one.out, "")


def test_nodes_that_are_added_after_the_shards_are_used(fleet: Path, afflint: Afflint) -> None:
    shards = sharded(afflint, 2, "fleet")
    (fleet / "nodes.yaml").write_text(NODES)
    one = afflint("check", "fleet")
    assert "dsik" in one.out
    merged = afflint("merge", *shards)
    assert (merged.code, merged.out) == (one.code, one.out)
    assert merged.err == (
        "afflint: the nodes, node pools or custom resources that the files define have changed since the shards ran, "
        "so all files were checked again\n"
    )


def test_several_processes_tell_the_same(fleet: Path, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fleet.is_dir()
    afflint("check", "fleet", "--shard", "1/1", "--output", "alone", "--jobs", "1")
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES", 2)
    afflint("check", "fleet", "--shard", "1/1", "--output", "together", "--jobs", "3")
    assert Path("alone").read_bytes() == Path("together").read_bytes()


def test_the_results_do_not_depend_on_the_machine(fleet: Path, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fleet.is_dir()
    files = sharded(afflint, 1, "fleet")
    before = Path(files[0]).read_bytes()
    monkeypatch.setattr(sys, "version_info", (3, 99, 9))
    monkeypatch.setattr(sys, "platform", "elsewhere")
    monkeypatch.setattr(keeping, "_modules", lambda: [("other.py", 1, 1)])
    sharded(afflint, 1, "fleet")
    assert Path(files[0]).read_bytes() == before


def test_what_has_changed_since_is_checked_again_and_reported(fleet: Path, afflint: Afflint) -> None:
    files = sharded(afflint, 2, "fleet")
    (fleet / "team-0" / "db.yaml").write_text(SEEKER.replace("NAME", "wbe").replace("MEANT", "wbe"))
    (fleet / "broken.yaml").unlink()
    one = afflint("check", "fleet")
    merged = afflint("merge", *files)
    assert (merged.code, merged.out) == (one.code, one.out)
    assert merged.err == f"afflint: 1 file has changed since the shards ran, and was checked again: {Path('fleet/team-0/db.yaml')}\n"


def test_a_shard_may_have_nothing_to_do(project: Path, afflint: Afflint) -> None:
    (project / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    assert afflint("merge", *sharded(afflint, 3)) == (0, "No findings. Read 1 document in 1 file.\n", "")


class TestWhatCannotBeMerged:
    @pytest.fixture
    def files(self, fleet: Path, afflint: Afflint) -> list[str]:
        assert fleet.is_dir()
        return sharded(afflint, 4, "fleet")

    def test_a_shard_that_is_missing(self, files: list[str], afflint: Afflint) -> None:
        assert afflint("merge", *files[:2], files[3]) == (2, "", "afflint: shard 3 of 4 is missing\n")
        assert afflint("merge", files[1]) == (2, "", "afflint: shards 1, 3, 4 of 4 are missing\n")

    def test_two_results_of_one_shard(self, files: list[str], afflint: Afflint) -> None:
        shutil.copy(files[0], "again")
        assert afflint("merge", *files, "again") == (2, "", "afflint: 'shard-1.jsonl' and 'again' are both shard 1 of 4\n")

    @pytest.mark.parametrize(
        ("words", "what"),
        [
            (("fleet", "--shard", "2/5"), "the number of shards differ"),
            (("fleet/team-0", "--shard", "2/4"), "the arguments differ"),
            (("fleet", "--select", "labels", "--shard", "2/4"), "the arguments differ"),
        ],
    )
    def test_shards_of_different_runs(self, files: list[str], afflint: Afflint, words: tuple[str, ...], what: str) -> None:
        afflint("check", *words, "--output", files[1])
        assert afflint("merge", *files) == (2, "", f"afflint: 'shard-1.jsonl' and 'shard-2.jsonl' are from different runs: {what}\n")

    def test_another_configuration(self, fleet: Path, afflint: Afflint) -> None:
        assert fleet.is_dir()
        Path(".afflint.yaml").write_text("ignore: [labels]\n")
        files = sharded(afflint, 2, "fleet")
        Path(".afflint.yaml").write_text("ignore: [admission]\n")
        assert afflint("merge", *files).err == (
            "afflint: the configuration differs from that of the shards; run `afflint merge` in the same checkout\n"
        )
        Path(".afflint.yaml").unlink()
        assert afflint("merge", *files) == (2, "", "afflint: no such configuration file: '.afflint.yaml'\n")

    def test_another_version(self, files: list[str], afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shards, "__version__", "99")
        assert afflint("merge", *files).err == (
            "afflint: 'shard-1.jsonl' was written by afflint 0.1.0, but this is 99: use the same version for all shards\n"
        )

    @pytest.mark.parametrize("text", ["", "{}\n", "[]\n", "null\n", "kind: Pod\n", "\0" * 99, "[" * 100_000, '{"afflint": "0.1.0"}'])
    def test_files_of_another_kind(self, files: list[str], afflint: Afflint, text: str) -> None:
        Path(files[2]).write_text(text)
        assert afflint("merge", *files) == (2, "", "afflint: 'shard-3.jsonl' contains no results of `afflint check --shard`\n")

    def test_no_file(self, afflint: Afflint) -> None:
        assert afflint("merge", "nowhere") == (2, "", "afflint: 'nowhere' cannot be read: No such file or directory\n")

    @pytest.mark.parametrize("line", [0, 1, 2])
    def test_a_letter_that_has_changed(self, files: list[str], afflint: Afflint, line: int) -> None:
        lines = Path(files[0]).read_text().splitlines(keepends=True)
        assert len(lines) == 4
        lines[line] = lines[line].replace("fleet", "fleat", 1)
        Path(files[0]).write_text("".join(lines))
        assert afflint("merge", *files) == (2, "", f"afflint: shard-1.jsonl:{line + 1}: damaged; run the shard again\n")

    def test_a_file_that_was_cut_off(self, files: list[str], afflint: Afflint) -> None:
        data = Path(files[0]).read_bytes()
        Path(files[0]).write_bytes(data[:-100])
        assert afflint("merge", *files).err == "afflint: shard-1.jsonl:4: damaged; run the shard again\n"
        Path(files[0]).write_bytes(data[: data[:-1].rindex(b"\n") + 1])
        message = "afflint: shard-1.jsonl:4: 3 results were written, but 2 are in the file; run the shard again\n"
        assert afflint("merge", *files).err == message

    @pytest.mark.parametrize(
        "rest",
        ["", "null", "[]]", "[" * 100_000, '"k","f",[]]', '"00","f",[]]', f'"{"00" * 20}","f",[[["rule"]]]]', f'"{"00" * 20}",1,[]]'],
    )
    def test_lines_that_were_made_up(self, files: list[str], afflint: Afflint, rest: str) -> None:
        """With a checksum as it must be: nothing but a result is taken for one."""
        lines = Path(files[0]).read_text().splitlines(keepends=True)
        lines[2] = f'["{shards._checksum(rest)}",{rest}\n'
        Path(files[0]).write_text("".join(lines))
        assert afflint("merge", *files) == (2, "", "afflint: shard-1.jsonl:3: damaged; run the shard again\n")

    @pytest.mark.parametrize("shard", [0, 1, 2, 3])
    def test_results_that_were_made_up(self, files: list[str], afflint: Afflint, shard: int) -> None:
        """With a checksum as it must be, in the right shape, but of no rule, no file, no document and no line."""
        original = Path(files[shard]).read_text()
        lines = original.splitlines(keepends=True)
        ended = []
        for number, line in enumerate(lines[1:], 1):
            for pattern, made_up in ((r'"[a-z]+(-[a-z]+)+"', '"no-such-rule"'), (r"\b\d\b", "99999"), (r"\b\d\b", "-7")):
                rest = re.sub(pattern, made_up, line[shards._START :].removesuffix("\n"))
                changed = [*lines[:number], f'["{shards._checksum(rest)}",{rest}\n', *lines[number + 1 :]]
                Path(files[shard]).write_text("".join(changed))
                done = afflint("merge", *files)
                ended.append(done.code)
                assert done.code in (0, 1) or (done.code, done.err.count("\n")) == (2, 1)
        assert 2 in ended

    def test_a_header_that_was_made_up(self, files: list[str], afflint: Afflint) -> None:
        lines = Path(files[0]).read_text().splitlines(keepends=True)
        header = json.loads(lines[0])
        for share in ([0, 4], [5, 4], [1], ["1", 4], [True, 4], [1, 99_999_999_999]):
            header["run"][0] = share
            header["checksum"] = shards._checksum(json.dumps(header["run"], separators=(",", ":")))
            Path(files[0]).write_text("".join([json.dumps(header) + "\n", *lines[1:]]))
            assert afflint("merge", *files) == (2, "", "afflint: shard-1.jsonl:1: damaged; run the shard again\n")


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                "--shard 9/8 --output x",
                "--shard takes a share and the number of shares, such as 1/8, not '9/8'",
            ),
            (
                "--shard 0/8 --output x",
                "--shard takes a share and the number of shares, such as 1/8, not '0/8'",
            ),
            ("--shard 2 --output x", "--shard takes a share and the number of shares, such as 1/8, not '2'"),
            (
                "--shard -1/2 --output x",
                "--shard takes a share and the number of shares, such as 1/8, not '-1/2'",
            ),
            ("--shard 1/2", "--shard needs one --output FILE for its results; `afflint merge` reads those of all shards"),
            (
                "--shard 1/2 --output x --output y",
                "--shard needs one --output FILE for its results; `afflint merge` reads those of all shards",
            ),
            ("--shard 1/2 --output x --format json", "--shard writes no report: use --format with `afflint merge`"),
            ("--shard 1/2 --output x --exit-zero", "--shard writes no report: use --exit-zero with `afflint merge`"),
            ("--shard 1/2 --output x --write-baseline", "--shard writes no report: use --write-baseline with `afflint merge`"),
            ("--shard 1/2 --output x --fix", "--shard cannot be used with --fix"),
            ("--shard 1/2 --output x --kustomize .", "--shard cannot be used with --kustomize"),
            ("--shard 1/2 --output x --render --offline", "--shard renders nothing: use --offline with `afflint merge`"),
            ("--shard 1/2 --output x --fail-on-unrendered", "--shard writes no report: use --fail-on-unrendered with `afflint merge`"),
            ("--shard 1/2 --output x -", "--shard checks files, not standard input"),
        ],
    )
    def test_a_mistake_is_reported_in_one_line(self, afflint: Afflint, words: str, message: str) -> None:
        assert afflint("check", *words.split()) == (2, "", f"afflint: {message}\n")
        assert not Path("x").exists()

    def test_a_place_that_cannot_be_written(self, afflint: Afflint) -> None:
        assert afflint("check", "--shard", "1/2", "--output", "no/x").err == "afflint: cannot write 'no/x': No such file or directory\n"

    def test_results_on_standard_output(self, fleet: Path, afflint: Afflint) -> None:
        assert fleet.is_dir()
        sharded(afflint, 1, "fleet")
        assert afflint("check", "fleet", "--shard", "1/1", "--output", "-").out == Path("shard-1.jsonl").read_text()
