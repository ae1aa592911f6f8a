"""Configurations of kube-scheduler in the manifests of a run: KubeSchedulerConfigurations, and the ``profile`` of OpenShift's Scheduler.

A KubeSchedulerConfiguration is a file on the disk of a control plane, or text in the ConfigMap of a second scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.finding import NO_FILE, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifest_reader import objects_in
from afflint.scheduler.profile import DEFAULT_SCHEDULER
from afflint.yaml.document import map_at
from afflint.yaml.documents import Document, read, split

KIND = "KubeSchedulerConfiguration"
MARKS = (KIND.encode(), b"config.openshift.io/")
"""The texts of which each document with a configuration contains one."""
_GROUP = "kubescheduler.config.k8s.io"
_TEXTS = {"ConfigMap": "data", "Secret": "stringData"}

# The configuration for each profile of OpenShift (bindata/assets/config of openshift/cluster-kube-scheduler-operator).
_PACKING: dict[str, Any] = {
    "plugins": {
        "score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]}
    },
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
}
_NO_SCORES: dict[str, Any] = {"plugins": {point: {"disabled": [{"name": "*"}]} for point in ("preScore", "score")}}
_OPENSHIFT: dict[str, dict[str, Any]] = {"LowNodeUtilization": {}, "HighNodeUtilization": _PACKING, "NoScoring": _NO_SCORES}


class SchedulerConfiguration(NamedTuple):
    """A configuration: its object, and the fields ``profiles`` and ``extenders`` of a KubeSchedulerConfiguration."""

    site: Site
    title: str
    data: dict[str, Any]


def configurations_in(document: Document) -> Iterator[SchedulerConfiguration]:
    """Yield the configurations that a document contains, as objects or as text in a ConfigMap."""
    for data, base in objects_in(document):
        kind = data.get("kind")
        site = Site(NO_FILE, document.index, base)
        if kind == KIND:
            yield from _configuration(data, site, KIND)
        elif kind == "Scheduler" and str(data.get("apiVersion")).startswith("config.openshift.io/"):
            profile = map_at(data, "spec").get("profile")
            if type(profile) is str and profile in _OPENSHIFT:
                name = map_at(data, "metadata").get("name")
                given = {"schedulerName": DEFAULT_SCHEDULER, **_OPENSHIFT[profile]}
                yield SchedulerConfiguration(site, f"Scheduler {name}", {"profiles": [given]})
        elif type(kind) is str and kind in _TEXTS:
            title = f"{kind} {map_at(data, 'metadata').get('name')}"
            for key, text in map_at(data, _TEXTS[kind]).items():
                if type(text) is str and KIND in text:
                    yield from _in_text(text, site._replace(base=(*base, _TEXTS[kind], key)), title)


def _in_text(text: str, site: Site, title: str) -> Iterator[SchedulerConfiguration]:
    for piece, _, problem in split(text.encode("utf-8", "replace")):
        document = read(piece, 0, 0)
        if problem is None and document.problem is None and type(document.data) is dict and document.data.get("kind") == KIND:
            yield from _configuration(document.data, site, title)


def _configuration(data: Mapping[str, Any], site: Site, title: str) -> Iterator[SchedulerConfiguration]:
    if str(data.get("apiVersion")).startswith(f"{_GROUP}/"):
        yield SchedulerConfiguration(site, title, {field: data[field] for field in ("profiles", "extenders") if field in data})
