"""The catalogue of custom resources: looked into by kind, made by a script and never edited."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from afflint.kube.kinds import part_types
from afflint.manifests.catalogue import CatalogueField, custom_kind_of, groups_without_words, parse_path
from shared_material import shared

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "schemas" / "custom-resources.jsonl"


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]


def test_each_kind_has_its_own_line_and_is_found() -> None:
    names = [(each["kind"], each["group"]) for each in entries()]
    assert names == sorted(set(names))
    for name, group in names:
        kind = custom_kind_of(group, name)
        assert kind is not None
        assert (kind.name, kind.group) == (name, group)
        assert all(place.path for place in kind.places)
        assert {field.shape for place in kind.places for field in place.fields} <= part_types().keys()


def test_the_catalogue_is_what_the_script_makes(tmp_path: Path) -> None:
    facts = shared("facts", "custom_resources.json")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "schemas").mkdir()
    script = tools / "custom_resources.py"
    for name in (script.name, "operator_labels.json"):
        (tools / name).write_text((ROOT / "tools" / name).read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, str(script), str(facts)], check=True, capture_output=True)
    assert (tmp_path / "schemas" / CATALOGUE.name).read_text(encoding="utf-8") == CATALOGUE.read_text(encoding="utf-8")


def test_a_place_has_its_shape_its_replicas_and_its_versions() -> None:
    kafka = custom_kind_of("kafka.strimzi.io", "Kafka")
    assert kafka is not None
    (zookeeper,) = [place for place in kafka.places if "zookeeper" in place.path]
    assert zookeeper.path == ("spec", "zookeeper", "template", "pod")
    assert zookeeper.replicas == ("spec", "zookeeper", "replicas")
    assert zookeeper not in kafka.places_in("v1")
    assert zookeeper in kafka.places_in("v1beta2")
    assert kafka.lenient


def test_fields_may_have_other_names() -> None:
    cluster = custom_kind_of("postgresql.cnpg.io", "Cluster")
    assert cluster is not None
    assert CatalogueField("additionalPodAffinity", "podAffinity") in cluster.places[1].fields
    vitess = custom_kind_of("planetscale.com", "VitessCluster")
    assert vitess is not None
    assert CatalogueField("affinity", "affinity", opened=True) in vitess.places[0].fields


def test_other_groups_and_kinds_are_not_in_it() -> None:
    assert custom_kind_of("example.com", "Kafka") is None
    assert custom_kind_of("kafka.strimzi.io", "kafka") is None
    assert custom_kind_of("kafka.strimzi.io", 'Kafka","group":"') is None


def test_the_groups_of_kinds_whose_labels_of_pods_are_known() -> None:
    assert groups_without_words(b"Kafka") == {b"kafka.strimzi.io"}
    assert b"postgresql.cnpg.io" in groups_without_words(b"Cluster")
    assert not groups_without_words(b"AAQ")
    assert not groups_without_words(b"Deployment")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.pools[*].pod", ("spec", "pools", "*", "pod")),
        ("spec.groups.{}", ("spec", "groups", "*")),
        ("spec.a.{}.b[*]", ("spec", "a", "*", "b", "*")),
    ],
)
def test_paths_go_through_lists_and_maps(text: str, path: tuple[str, ...]) -> None:
    assert parse_path(text) == path
