"""Builds kustomizations, with or without annotations of the origin of each object.

Neither kustomize nor kubectl has an option for these annotations: ``buildMetadata`` of the outermost kustomization enables them. So they
are enabled in a wrapper, a kustomization in a temporary folder that includes the user's kustomization.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afflint.rendering.programs import ProgramRunner
from afflint.source.temporary_folders import temporary_folder
from afflint.yaml.json_text import json_text

UNRESTRICTED = ("--load-restrictor", "LoadRestrictionsNone")
"""Options that let a build read files outside its folder, as Flux does. afflint keeps it inside the repository."""
_ANNOTATIONS = ("originAnnotations", "transformerAnnotations")
WRAPPER = "kustomization.yaml"
"""The file of the wrapper."""
ORIGIN = "config.kubernetes.io/origin"
TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"


def build_kustomization(runner: ProgramRunner, program: Sequence[str], folder: str, more: Mapping[str, Any] | None = None) -> bytes:
    """Build a kustomization; ``more`` are fields of a wrapper around it, with absolute folders. Raises RenderError."""
    if not more:
        return runner.output([*program, folder], folder)
    with temporary_folder() as wrapper:
        return _wrapped(runner, program, folder, wrapper, more)


def build_annotated(
    runner: ProgramRunner,
    program: Sequence[str],
    folder: str,
    wrapper: str,
    metadata: Iterable[Any] = (),
    more: Mapping[str, Any] | None = None,
) -> bytes:
    """Build a kustomization with annotations of origins. ``wrapper`` is an empty folder, links resolved; paths in annotations start there.

    ``metadata`` is ``buildMetadata`` of the user's kustomization, which the wrapper overrides. Raises RenderError.
    """
    build_metadata = [*_ANNOTATIONS, *(each for each in metadata if type(each) is str and each not in _ANNOTATIONS)]
    return _wrapped(runner, program, folder, wrapper, {**(more or {}), "buildMetadata": build_metadata})


def _wrapped(runner: ProgramRunner, program: Sequence[str], folder: str, wrapper: str, more: Mapping[str, Any]) -> bytes:
    # kustomize rejects absolute paths.
    components = [os.path.relpath(each, wrapper).replace(os.sep, "/") for each in more.get("components", ())]
    kustomization = {**more, "resources": [os.path.relpath(folder, wrapper).replace(os.sep, "/")], "components": components}
    with open(os.path.join(wrapper, WRAPPER), "w", encoding="utf-8") as file:
        file.write(json_text(kustomization))
    return runner.output([*program, wrapper], folder)
