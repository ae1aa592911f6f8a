"""The trees that the benchmark measures: the same bytes every time, of every kind, half of them constrained, and healthy."""

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from bench.clusters import CONSTRAINTS
from bench.workloads import LARGEST, SHAPES, SMALLEST, fleet_file
from bench.yaml_text import yaml_text
from click.testing import CliRunner

from afflint.cli.click_app import cli
from afflint.kube.constraints import constraints_of
from afflint.kube.kinds import KINDS, PLACEMENT_FIELDS
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.yaml.documents import read
from bench import trees
from node_text import read_nodes

FILES = 400


def workloads() -> list[Workload]:
    documents = (read(fleet_file(index, trees.SEED).text.encode(), 0, 0) for index in range(FILES))
    manifests = (manifest for document in documents for manifest in manifests_in(document))
    return [manifest for manifest in manifests if isinstance(manifest, Workload)]


def test_every_workload_kind_is_in_the_fleet() -> None:
    known = {(kind.group, kind.name) for kind in KINDS if kind.templates}
    assert {(workload.kind.group, workload.kind.name) for workload in workloads()} == known
    assert {(shape.api_version.rpartition("/")[0], shape.kind) for shape in SHAPES} == known


def test_half_of_the_workloads_are_constrained() -> None:
    constrained = Counter(bool(PLACEMENT_FIELDS & workload.pod.keys()) for workload in workloads())
    assert constrained[True] == constrained[False]


def test_all_constraints_occur() -> None:
    found = [constraints_of(workload.pod, ()) for workload in workloads()]
    assert all(any(getattr(each, field) for each in found) for field in found[0]._fields)
    terms = {term.name for each in found for term in each.pod_terms}
    assert terms == {"required podAffinity", "preferred podAffinity", "required podAntiAffinity", "preferred podAntiAffinity"}


def test_files_have_1_to_4_kb_and_unique_names() -> None:
    files = [fleet_file(index, trees.SEED) for index in range(FILES)]
    assert all(SMALLEST <= len(file.text.encode()) <= LARGEST for file in files)
    assert len({file.path for file in files}) == FILES


def test_the_seed_fixes_every_byte(tmp_path: Path) -> None:
    """On every machine and every version of Python. Who changes the generators writes the new digest here."""
    tree = trees.mixed(str(tmp_path), 100)
    digest = hashlib.sha256()
    for path in sorted(Path(tree.folder).rglob("*.yaml")):
        digest.update(path.relative_to(tree.folder).as_posix().encode() + b"\0" + path.read_bytes())
    assert digest.hexdigest()[:16] == "9f27efda04ecfda6"


def test_another_seed_gives_other_sizes() -> None:
    assert [len(fleet_file(index, 1).text) for index in range(20)] != [len(fleet_file(index, 2).text) for index in range(20)]


def test_a_tree_that_is_there_is_used_again(tmp_path: Path) -> None:
    tree = trees.fleet(str(tmp_path), 16)
    before = os.stat(tree.folder).st_mtime_ns
    assert trees.fleet(str(tmp_path), 16) == tree
    assert os.stat(tree.folder).st_mtime_ns == before


def test_nine_of_ten_bytes_in_the_mixed_tree_are_in_ignored_files(tmp_path: Path) -> None:
    tree = trees.mixed(str(tmp_path), 2000)
    fleet = sum(path.stat().st_size for path in Path(tree.folder, "manifests").rglob("*.yaml"))
    assert 0.09 < fleet / tree.size < 0.11


def test_afflint_finds_nothing_in_them(tmp_path: Path) -> None:
    for tree in (trees.fleet(str(tmp_path), FILES), trees.mixed(str(tmp_path), FILES), trees.single(str(tmp_path))):
        result = CliRunner().invoke(cli, ["check", tree.folder, "--no-config", "--jobs", "1", "--format", "json"])
        report: dict[str, Any] = json.loads(result.stdout)
        assert report["findings"] == []
        assert report["summary"]["files"] == tree.files


def test_yaml_text_survives_a_round_trip() -> None:
    data = {
        "plain": "registry.example.com/web:1.4.2",
        "quoted": ["yes", "1.5", "", "a: b", 'say "no"', "back\\slash", "- x", "#", "null"],
        "numbers": [1, -2, True, False],
        "empty": {"map": {}, "list": []},
        "items": [{"name": "a", "nested": {"list": ["x"]}}, {"text": "one\n\ntwo\n"}],
    }
    document = read(yaml_text(data).encode(), 0, 0)
    assert document.problem is None
    assert document.data == data


def test_a_cluster_holds_its_nodes_and_as_many_deployments_that_are_all_constrained(tmp_path: Path) -> None:
    for constraint, field in (("apart", "pod_terms"), ("spread", "spreads"), ("near", "pod_terms")):
        tree = trees.cluster(str(tmp_path), constraint, 6, 2, 5)
        manifests, nodes = trees.parts_of_cluster(tree)
        assert len(read_nodes(nodes, Path(nodes).read_bytes())) == 5
        texts = [path.read_bytes() for path in sorted(Path(manifests).iterdir())]
        found = [each for text in texts for each in manifests_in(read(text, 0, 0)) if isinstance(each, Workload)]
        assert [each.template_labels["app"] for each in found] == [f"app-{number:05}" for number in range(6)]
        assert all(getattr(constraints_of(each.pod, ()), field) for each in found)


def test_all_pods_of_a_cluster_can_be_scheduled(tmp_path: Path) -> None:
    for constraint in CONSTRAINTS:
        manifests, nodes = trees.parts_of_cluster(trees.cluster(str(tmp_path), constraint, 6, 2, 5))
        result = CliRunner().invoke(cli, ["place", manifests, "--nodes", nodes, "--no-config", "--format", "json"])
        summary = json.loads(result.stdout)["summary"]
        assert (summary["nodes"], summary["workloads"], summary["replicas"], summary["placed"]) == (5, 6, 12, 12)
