"""Configurations of kube-scheduler in the manifests of a run: KubeSchedulerConfigurations, and the ``profile`` of OpenShift's Scheduler.

A KubeSchedulerConfiguration is a file on the disk of a control plane, or text in the ConfigMap of a second scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.finding import NO_FILE, ObjectRef, Site
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.scheduler_fields import GROUP, NAME
from afflint.manifests.manifest import reference
from afflint.manifests.reader import objects_in
from afflint.scheduler.profile import DEFAULT_SCHEDULER
from afflint.yaml.document import map_at
from afflint.yaml.documents import Document, read, split
from afflint.yaml.object_fields import api_version_of, kind_of

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
    ref: ObjectRef
    title: str
    data: dict[str, Any]


def configurations_in(document: Document) -> Iterator[SchedulerConfiguration]:
    """Yield the configurations that a document contains, as objects or as text in a ConfigMap."""
    for data, base in objects_in(document):
        kind = kind_of(data)
        site, ref = Site(NO_FILE, document.index, base), reference(data)
        if kind == NAME:
            yield from _configuration(data, site, ref, NAME)
        elif kind == "Scheduler" and api_version_of(data).startswith("config.openshift.io/"):
            profile = map_at(data, "spec").get("profile")
            if type(profile) is str and profile in _OPENSHIFT:
                given = {"schedulerName": DEFAULT_SCHEDULER, **_OPENSHIFT[profile]}
                yield SchedulerConfiguration(site, ref, f"Scheduler {ref.name}", {"profiles": [given]})
        elif type(kind) is str and kind in _TEXTS:
            for key, text in map_at(data, _TEXTS[kind]).items():
                if type(text) is str and NAME in text:
                    yield from _in_text(text, site._replace(base=(*base, _TEXTS[kind], key)), ref)


def _in_text(text: str, site: Site, ref: ObjectRef) -> Iterator[SchedulerConfiguration]:
    for piece, _, problem in split(text.encode("utf-8", "replace")):
        document = read(piece, 0, 0)
        if problem is None and document.problem is None and type(document.data) is dict and kind_of(document.data) == NAME:
            yield from _configuration(document.data, site, ref, f"{ref.kind} {ref.name}")


def _configuration(data: Mapping[str, Any], site: Site, ref: ObjectRef, title: str) -> Iterator[SchedulerConfiguration]:
    if api_version_of(data).startswith(f"{GROUP}/"):
        yield SchedulerConfiguration(site, ref, title, {field: data[field] for field in ("profiles", "extenders") if field in data})
