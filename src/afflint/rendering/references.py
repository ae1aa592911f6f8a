"""References of a kustomization to URLs, git repositories, and folders outside the repository.

kustomize has no option that disables remote resources, so all kustomizations that a build reads are searched before it starts. After
``loader.IsRemoteFile`` and ``git.NewRepoSpecFromURL`` of kustomize.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.phrases import quoted
from afflint.rendering.programs import network_reason
from afflint.rendering.roots import Kustomization, RootKustomizations
from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.kustomizations import kustomization_in
from afflint.source.repositories import is_inside, root_of
from afflint.yaml.document import list_at

_LARGEST = 1 << 20
_PLUGINS = ("generators", "transformers", "validators")
_HTTP = re.compile(r"https?:", re.IGNORECASE)
_REMOTE = re.compile(r"https?:|[a-z][a-z0-9+.-]+://|git::|gh:|git@|[\w.+-]+@[\w.-]+:|github\.com[:/]", re.IGNORECASE)
_URL = re.compile(r"https?:[^\s'\"]+|\S+://[^\s'\"]+", re.IGNORECASE)
_COPIED = "annotations commonAnnotations commonLabels data images labels literals metadata pairs patch stringData value vars"
# kustomize rejects these: afflint never starts it with --enable-helm.
_OF_HELM = "helmCharts helmChartInflationGenerator helmGlobals"
_DATA = frozenset((*_COPIED.split(), *_OF_HELM.split()))
"""Fields whose values are never loaded from a URL or path."""


def rejection_reason(known: RootKustomizations, folders: Iterable[str], *, network: bool) -> str | None:
    """Return the reason why the folders must not be built: what they, or kustomizations that they include, would load. None to allow it.

    ``folders`` must have their links resolved.
    """
    return next(_rejection_reasons(known, folders, network=network), None)


def _rejection_reasons(known: RootKustomizations, folders: Iterable[str], *, network: bool) -> Iterator[str]:
    waiting = [(folder, False) for folder in folders]
    top = root_of(waiting[0][0])
    seen = {*waiting}
    while waiting:
        folder, is_plugin = waiting.pop()
        if top is not None and not is_inside(folder, top):
            yield f"{quoted(os.path.relpath(folder, top))} is outside the repository"
            continue
        here = known.at(folder)
        if here is None:
            if kustomization_in(folder) is not None:
                yield f"the kustomization in {quoted(os.path.relpath(folder, top))} cannot be parsed"
            continue
        if not network:
            yield from map(network_reason, _remote_in(here, is_plugin=is_plugin))
        below = {(real, is_plugin) for name in here.named if os.path.isdir(real := os.path.realpath(name))}
        below |= {(real, True) for name in _plugins(here) if os.path.isdir(real := os.path.realpath(name))}
        waiting += below - seen
        seen |= below


def _remote_in(here: Kustomization, *, is_plugin: bool) -> Iterator[str]:
    """Yield the URLs and repositories in a kustomization and in the plugin configurations that it names.

    ``is_plugin``: the kustomization generates plugin configurations, so each of its files may be one.
    """
    yield from remote_texts(here.data, here.folder)
    for field in _PLUGINS:
        for each in list_at(here.data, field):
            if type(each) is str and "\n" in each:
                yield from _remote_in_documents(each.encode("utf-8", "replace"), here.folder)
    for path in (*_plugins(here), *(here.named if is_plugin else ())):
        try:
            data = read_regular(path, _LARGEST)
        except OSError:
            continue  # A folder, or a file that kustomize cannot read either.
        yield from _remote_in_documents(data, here.folder)


def _plugins(here: Kustomization) -> set[str]:
    names = [each for field in _PLUGINS for each in list_at(here.data, field) if type(each) is str]
    return {os.path.normpath(os.path.join(here.folder, name)) for name in names if name and "\0" not in name and "\n" not in name}


def _remote_in_documents(data: bytes, folder: str) -> Iterator[str]:
    for document in documents_of(data).values():
        if document.problem is not None:
            yield from _URL.findall(document.text())
        elif type(document.data) is dict and document.data.get("kind") != "HelmChartInflationGenerator":
            yield from remote_texts(document.data, folder)


def remote_texts(data: Mapping[str, Any], folder: str) -> Iterator[str]:
    """Yield the URLs and repositories in some data, except in fields that kustomize only copies. Paths are relative to ``folder``."""
    waiting: list[Any] = [data]
    seen: set[int] = set()  # Aliases can repeat one list a million times.
    while waiting:
        each = waiting.pop()
        if type(each) is str:
            # `files` of a generator takes KEY=PATH.
            for text in (each, each.partition("=")[2]):
                if _is_remote(text, folder):
                    yield text
        elif type(each) in (dict, list) and id(each) not in seen:
            seen.add(id(each))
            waiting += each if type(each) is list else [value for key, value in each.items() if key not in _DATA]


def _is_remote(text: str, folder: str) -> bool:
    if "\n" in text or "\0" in text or _REMOTE.match(text) is None:
        return False
    # kustomize prefers an existing file, except for HTTP URLs.
    return _HTTP.match(text) is not None or not os.path.isfile(os.path.join(folder, text))
