"""The catalogue of charts, made by a script and never edited, and which chart a release refers to."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from afflint.charts.catalogue import VersionRange, chart_of
from afflint.charts.sources import ChartSource, chart_sources_in, major_of, merged_sources
from shared_material import shared

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "schemas" / "charts.jsonl"


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]


def test_each_chart_has_its_own_line_and_is_found() -> None:
    names = [each["chart"] for each in entries()]
    assert names == sorted(set(names))
    for name in names:
        chart = chart_of(name)
        assert chart is not None
        assert chart.name == name
        assert chart.publishers
        assert all(number < len(chart.pods) for place in chart.places for number in place.pods)
    assert chart_of("no-such-chart") is None


def test_the_catalogue_is_what_the_script_makes(tmp_path: Path) -> None:
    facts = shared("facts", "charts.jsonl.gz")
    (tmp_path / "tools").mkdir()
    (tmp_path / "schemas").mkdir()
    shutil.copy(ROOT / "tools" / "chart_facts.jsonl.gz", tmp_path / "tools")
    script = tmp_path / "tools" / "charts.py"
    script.write_text((ROOT / "tools" / "charts.py").read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([sys.executable, str(script), str(facts)], check=True, capture_output=True)
    assert (tmp_path / "schemas" / CATALOGUE.name).read_text(encoding="utf-8") == CATALOGUE.read_text(encoding="utf-8")


def test_each_line_names_its_source() -> None:
    assert all(len(each["source"].split(" ")) >= 4 for each in entries())


def test_each_dependency_has_its_own_line() -> None:
    names = {each["chart"] for each in entries()}
    for each in entries():
        members = each.get("members", "").split()
        for dependency in each.get("dependencies", ()):
            assert dependency["chart"] in names
            assert dependency["since"] < dependency["before"]
            assert dependency["chart_since"] < dependency["chart_before"]
            assert dependency.get("of") in members or not members


def test_the_versions_of_each_line_are_ranges() -> None:
    for each in entries():
        for part in (*each["places"], *each.get("pods", ()), *each.get("ignored", ())):
            assert part.get("since", 0) < part.get("before", 10_000), each["chart"]


def test_no_version_both_reads_and_ignores_a_value() -> None:
    for name in [each["chart"] for each in entries()]:
        chart = chart_of(name)
        assert chart is not None
        for ignored in chart.ignored:
            if ignored.versions.since is not None:
                versions = VersionRange(ignored.versions.since, ignored.versions.since + 1)
                known = chart.in_versions(versions)
                places = [known.place_of((*ignored.path, field)) for field in ignored.fields if not ignored.only_kubernetes]
                assert not any(place.verified for place in places if place is not None), (name, ignored)


def test_places_of_some_versions() -> None:
    chart, inner = chart_of("nextcloud"), ("cronjob", "cronjob", "affinity")
    assert chart is not None
    assert chart.in_versions(VersionRange(7, 8)).place_of(inner) is None
    for versions, verified in ((VersionRange(9, 10), True), (VersionRange(), False)):
        place = chart.in_versions(versions).place_of(inner)
        assert place is not None
        assert place.verified == verified


def test_a_place_has_its_fields_and_pods() -> None:
    chart = chart_of("ingress-nginx")
    assert chart is not None
    place = chart.place_of(("controller", "topologySpreadConstraints"))
    assert place is not None
    (number,) = place.pods
    assert dict(chart.pods[number].labels)["app.kubernetes.io/component"] == "controller"
    assert chart.place_of(("controller", "topologySpread")) is None


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("4.1.1", 4), ("v1.2.3", 1), ("3.x", 3), ("^2.0.0", 2), ("~1.2", 1), (">=4.0.0 <5.0.0", 4),
        (">=1.0.0", None), ("*", None), ("1.x || 2.x", None), (4, None), (None, None), ("", None),
    ],
)  # fmt: skip
def test_a_version_or_a_range_of_one_major_version_is_known(version: object, major: int | None) -> None:
    assert major_of(version) == major


def test_ranges_of_versions() -> None:
    four = VersionRange(4, 5)
    assert VersionRange(2).covers(four)
    assert not VersionRange(5).covers(four)
    assert not VersionRange(2).covers(VersionRange())
    assert VersionRange().covers(VersionRange())
    assert VersionRange(None, 5).overlaps(four)
    assert not VersionRange(None, 4).overlaps(four)
    assert VersionRange(4).overlaps(VersionRange())


SOURCES = b"""
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: bazarr}
spec:
  url: oci://ghcr.io/bjw-s-labs/helm/app-template
  ref: {tag: 4.1.1}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: bitnami}
spec: {url: "https://charts.bitnami.com/bitnami"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: bazarr}
spec: {chartRef: {kind: OCIRepository, name: bazarr}}
"""


def test_sources_of_flux_are_read_by_kind_and_name() -> None:
    assert list(chart_sources_in(SOURCES)) == [
        ChartSource("OCIRepository", "bazarr", "oci://ghcr.io/bjw-s-labs/helm/app-template", "app-template", 4),
        ChartSource("HelmRepository", "bitnami", "https://charts.bitnami.com/bitnami"),
    ]


def test_what_sources_of_one_name_differ_in_is_unknown() -> None:
    one = ChartSource("OCIRepository", "web", "oci://a/web", "web", 4)
    assert merged_sources([one, one]) == (one,)
    assert merged_sources([one, one._replace(major=3)]) == (one._replace(major=None),)
    assert merged_sources([one, one._replace(url="oci://b/other", chart="other")]) == (ChartSource("OCIRepository", "web", "", "?", 4),)
