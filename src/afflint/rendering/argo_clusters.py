"""The clusters of Argo CD that the files of a run declare, as Secrets.

After ``GenerateParams`` of github.com/argoproj/argo-cd/applicationset/generators (cluster.go), and Generators-Cluster.md of its manual.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.rendering.go_templates import as_name
from afflint.rendering.set_templates import Parameters, has_placeholder
from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.sources import is_template
from afflint.yaml.document import map_at, text_at
from afflint.yaml.object_fields import kind_of

_LARGEST = 1 << 20
_LABEL, _CLUSTER = "argocd.argoproj.io/secret-type", "cluster"
_LOCAL_NAME, _LOCAL_SERVER = "in-cluster", "https://kubernetes.default.svc"


class ArgoCluster(NamedTuple):
    """A cluster: the labels of its Secret, and the parameters that it gives to an Application."""

    labels: Mapping[str, str]
    parameters: Parameters


class ArgoClusters:
    """The clusters in some files, which are read when they are asked for."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._found: list[ArgoCluster] | None = None
        self._is_complete = True

    @property
    def is_known(self) -> bool:
        """Whether there are Secrets of clusters, and all of them can be read."""
        return bool(self._all()) and self._is_complete

    def of_secrets(self) -> list[ArgoCluster]:
        """Return the clusters that have a Secret."""
        return list(self._all())

    def all(self) -> list[ArgoCluster]:
        """Return all clusters: also the one that Argo CD runs in, which needs no Secret."""
        found = self.of_secrets()
        if any(each.parameters["server"] == _LOCAL_SERVER for each in found):
            return found
        return [ArgoCluster({}, _parameters(_LOCAL_NAME, _LOCAL_SERVER)), *found]

    def _all(self) -> Iterable[ArgoCluster]:
        if self._found is None:
            self._found = []
            for path in self._paths:
                if not is_template(path):
                    with suppress(OSError):
                        self._read(read_regular(os.path.realpath(path), _LARGEST))
        return self._found

    def _read(self, data: bytes) -> None:
        if self._found is None or _LABEL.encode() not in data:
            return
        for document in documents_of(data).values():
            if document.problem is not None:
                self._is_complete = False
            elif text_at(document.data, "metadata", "labels", _LABEL) == _CLUSTER and kind_of(document.data) == "Secret":
                found = _cluster(document.data)
                self._found += () if found is None else (found,)
                self._is_complete = self._is_complete and found is not None
            elif _mentions(document.data):  # Another kind creates the Secret, such as ExternalSecret.
                self._is_complete = False


def _cluster(secret: Mapping[str, Any]) -> ArgoCluster | None:
    name, server, project = (_value(secret, key) for key in ("name", "server", "project"))
    if not name or not server or project is None or has_placeholder(name + server):
        return None
    labels = {key: each for key, each in map_at(secret, "metadata", "labels").items() if type(each) is str}
    annotations = {key: each for key, each in map_at(secret, "metadata", "annotations").items() if type(each) is str}
    parameters = _parameters(name, server, project)
    parameters |= {f"metadata.labels.{key}": each for key, each in labels.items()}
    parameters |= {f"metadata.annotations.{key}": each for key, each in annotations.items()}
    return ArgoCluster(labels, parameters)


def _parameters(name: str, server: str, project: str = "") -> dict[str, str]:
    return {"name": name, "nameNormalized": as_name(name), "server": server, "project": project}


def _value(secret: Mapping[str, Any], key: str) -> str | None:
    """Return a value of a Secret, "" without one; None if it cannot be read."""
    if text_at(secret, "stringData", key):
        return text_at(secret, "stringData", key)
    try:
        return base64.b64decode(text_at(secret, "data", key), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _mentions(data: object) -> bool:
    """Return whether a map in some data has the label of the Secret of a cluster."""
    waiting: list[Any] = [data]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if type(each) in (dict, list) and id(each) not in seen:
            seen.add(id(each))
            if type(each) is dict and each.get(_LABEL) == _CLUSTER:
                return True
            waiting += each.values() if type(each) is dict else each
    return False
