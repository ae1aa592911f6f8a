"""The fields of the kustomization that does to a folder, or to the output of a chart, what a GitOps object asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from afflint.findings.paths import Path
from afflint.rendering.boundary import usable_texts
from afflint.rendering.kustomize_origins import InlinePatches
from afflint.rendering.source_documents import SourceText, value_at
from afflint.yaml.document import list_at, map_at, maps_at
from afflint.yaml.json_text import json_text

_IMAGE = re.compile(r"(?:(?P<name>[^=]+)=)?(?P<new>[^@=]+?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?")


def added_labels(pairs: Mapping[str, Any], *, selectors: bool) -> dict[str, Any]:
    """Return the wrapper that adds labels to objects, and to their selectors and pods if ``selectors`` is set."""
    return {"labels": [{"pairs": pairs, "includeSelectors": selectors}]} if pairs else {}


def common_labels(kustomize: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper for the labels that Argo CD adds, by default to selectors, too."""
    only_objects = kustomize.get("labelWithoutSelector") is True
    wrapper = added_labels(map_at(kustomize, "commonLabels"), selectors=not only_objects)
    if wrapper and only_objects and kustomize.get("labelIncludeTemplates") is True:
        wrapper["labels"][0]["includeTemplates"] = True
    return wrapper


def added_annotations(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper that adds annotations to objects, and not to the pods that they create."""
    fields = [{"path": "metadata/annotations", "create": True}]
    transformer = {"apiVersion": "builtin", "kind": "AnnotationsTransformer", "metadata": {"name": "annotations"}}
    return {"transformers": [json_text({**transformer, "annotations": pairs, "fieldSpecs": fields})]} if pairs else {}


def images(texts: Iterable[str]) -> dict[str, Any]:
    """Return the wrapper for images, `[OLD=]NEW[:TAG][@DIGEST]` each."""
    listed = []
    for match in filter(None, map(_IMAGE.fullmatch, texts)):
        image = {"name": match["name"] or match["new"], "newName": match["new"], "newTag": match["tag"], "digest": match["digest"]}
        listed.append({key: value for key, value in image.items() if value})
    return {"images": listed} if listed else {}


def patches_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper with the patches of an object that are written in it."""
    patches = [each for each in maps_at(data, "patches") if type(each.get("patch")) is str]
    return {"patches": [{key: each[key] for key in ("patch", "target") if key in each} for each in patches]} if patches else {}


def inline_patches(text: SourceText | None, *bases: Path) -> InlinePatches | None:
    """Return where the patches at some paths of an object are written; None if the object is in no file."""
    if text is None:
        return None
    listed = ((base, number, each) for base in bases for number, each in enumerate(list_at(value_at(text.data, base), "patches")))
    return InlinePatches(
        text, tuple([(*base, "patches", number) for base, number, each in listed if type(each) is dict and type(each.get("patch")) is str])
    )


def components(data: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the wrapper with the components of a folder; with their names, if the folder is not known yet."""
    if not folder:
        return {"components": usable_texts(data, "components")} if usable_texts(data, "components") else {}
    folders = [os.path.realpath(os.path.join(folder, each)) for each in usable_texts(data, "components")]
    return {"components": [each for each in folders if os.path.isdir(each)]} if folders else {}
