"""Helm writes each value into the fields that the reading of the templates names, and into no others."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from afflint.charts.chart_files import files_of_chart, merged_values, parts_of_chart
from afflint.charts.chart_table import ChartTable
from afflint.charts.symbols import holds
from afflint.findings.paths import Path as ValuePath
from afflint.kube.kinds import EACH
from afflint.rendering.chart_probes import PROBE_VALUES
from afflint.rendering.chart_trials import set_value
from afflint.yaml.documents import read, split
from charts.test_template_reading import HELPERS, POD, REACHING
from rendering.real_tools import tool
from rendering.rendered_trees import write
from shared_material import shared

VALUES = {**PROBE_VALUES, "podLabels": lambda marker: {marker: "x"}, "podAnnotations": lambda marker: {marker: "x"}}
MARKER = re.compile(r"zzmark\d{4}")
CHARTS = [
    "NVIDIA+gpu-operator/deployments/gpu-operator",
    "NVIDIA+gpu-operator/deployments/gpu-operator/charts/node-feature-discovery",
    "kubernetes-sigs+scheduler-plugins/manifests/install/charts/as-a-second-scheduler",
]
Arrival = tuple[str, ValuePath]
"""The kind of an object, and the path of a field in it; items of lists are EACH."""


def markers_in(data: Any, path: ValuePath = ()) -> Iterator[tuple[str, ValuePath]]:
    """The markers in some data, each with the path of the field that it is in."""
    if isinstance(data, dict):
        for key, each in data.items():
            if MARKER.fullmatch(str(key)):
                yield str(key), path
            yield from markers_in(each, (*path, str(key)))
    elif isinstance(data, list):
        for each in data:
            yield from markers_in(each, (*path, EACH))
    elif isinstance(data, str) and MARKER.fullmatch(data):
        yield data, path


def arrivals(output: bytes) -> dict[str, set[Arrival]]:
    """Where markers are in the objects that Helm renders."""
    found: dict[str, set[Arrival]] = {}
    for piece, _, _ in split(output):
        data = read(piece, 0, 0).data
        for marker, path in markers_in(data):
            found.setdefault(marker, set()).add((data.get("kind"), path))
    return found


def rendered(folder: str, values: Mapping[str, Any], tmp_path: Path) -> bytes:
    (tmp_path / "values.json").write_text(json.dumps(values), encoding="utf-8")
    words = [tool("helm"), "template", "--kube-version", "1.34.0", "release", folder, "-f", str(tmp_path / "values.json")]
    return subprocess.run(words, check=True, capture_output=True).stdout


def named(table: ChartTable, path: ValuePath, marked: ValuePath, values: Mapping[str, Any]) -> tuple[set[Arrival], set[Arrival]]:
    """Where a value may arrive as the templates say, and where it must; ``marked`` is the path of the marker in it."""
    possible: set[Arrival] = set()
    certain: set[Arrival] = set()
    for landing, field in table.at(path):
        places = {(kind, (*field, *marked)) for kind in landing.kinds}
        possible |= places
        if len(places) == 1 and not landing.is_part and holds(landing.condition, values):
            certain |= places
    return possible, certain


def compare(folder: str, tmp_path: Path, *wanted: ValuePath) -> int:
    """Set placement values of a chart, all without ``wanted``, compare where each arrives, and return the number of arrivals."""
    table = ChartTable(parts_of_chart(files_of_chart(folder)))
    paths = wanted or [path for path in table.paths if path[-1] in VALUES and EACH not in path]
    given: dict[str, Any] = {}
    for number, path in enumerate(paths):
        set_value(given, [str(step) for step in path], VALUES[str(path[-1])](f"zzmark{number:04}"))
    found, values = arrivals(rendered(folder, given, tmp_path)), merged_values(table.chart.defaults, given)
    places: dict[str, tuple[set[Arrival], set[Arrival]]] = {}
    for number, path in enumerate(paths):
        marker = f"zzmark{number:04}"
        marked = {inside for key, inside in markers_in(VALUES[str(path[-1])](marker)) if key == marker}
        found_for = [named(table, path, each, values) for each in marked]
        places[marker] = {place for each, _ in found_for for place in each}, {place for _, each in found_for for place in each}
    # A chart that writes a field twice shows the second value.
    taken = Counter(place for _, certain in places.values() for place in certain)
    for marker, (possible, certain) in places.items():
        assert {each for each in certain if taken[each] == 1} <= found.get(marker, set()) <= possible, paths[int(marker[-4:])]
    return sum(map(len, found.values()))


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_of_the_corpus(name: str, tmp_path: Path) -> None:
    assert compare(str(shared("corpus", "whole", *name.split("/"))), tmp_path) > 3


@pytest.mark.parametrize(
    "template", [each for each in REACHING.values() if "range" not in each and "{{ template" not in each and "with .Values.b" not in each]
)
def test_each_way_to_write_a_value(template: str, tmp_path: Path) -> None:
    files = {
        "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "templates/_helpers.tpl": HELPERS,
        "templates/web.yaml": POD + template,
    }
    write({**files, "values.yaml": "a: {nodeSelector: {}}\nb: {}\nc: true\n"}, tmp_path / "web")
    assert compare(str(tmp_path / "web"), tmp_path, ("a", "nodeSelector")) == 1
