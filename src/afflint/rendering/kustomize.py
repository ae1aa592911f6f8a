"""Builds kustomizations: as they stand, and once more under a wrapper that makes kustomize note where each object came from.

Neither kustomize nor kubectl has an option for these notes, and a kustomization that is not the outermost cannot ask for them. So the
wrapper, a kustomization in a folder of its own, lists the user's, whose files stay as they are.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afflint.rendering.programs import ProgramRunner

_NOTES = ("originAnnotations", "transformerAnnotations")
ORIGIN = "config.kubernetes.io/origin"
TRANSFORMATIONS = "alpha.config.kubernetes.io/transformations"


def build_kustomization(crew: ProgramRunner, program: Sequence[str], folder: str, more: Mapping[str, Any] | None = None) -> bytes:
    """What a kustomization renders to, with ``more`` of a kustomization around it, its folders absolute. Raises RenderError."""
    if not more:
        return crew.output([*program, folder], folder)
    with tempfile.TemporaryDirectory(prefix="afflint-") as wrapper:
        return _wrapped(crew, program, folder, os.path.realpath(wrapper), more)


def build_annotated(
    crew: ProgramRunner, program: Sequence[str], folder: str, wrapper: str, said: Iterable[Any] = (), more: Mapping[str, Any] | None = None
) -> bytes:
    """The same with the notes. ``wrapper`` is an empty folder, links resolved, which the notes are relative to.

    ``said`` is the ``buildMetadata`` of the user's own, which that of the wrapper takes the place of. Raises RenderError.
    """
    metadata = [*_NOTES, *(each for each in said if type(each) is str and each not in _NOTES)]
    return _wrapped(crew, program, folder, wrapper, {**(more or {}), "buildMetadata": metadata})


def _wrapped(crew: ProgramRunner, program: Sequence[str], folder: str, wrapper: str, more: Mapping[str, Any]) -> bytes:
    # An absolute path is refused.
    components = [os.path.relpath(each, wrapper).replace(os.sep, "/") for each in more.get("components", ())]
    around = {**more, "resources": [os.path.relpath(folder, wrapper).replace(os.sep, "/")], "components": components}
    with open(os.path.join(wrapper, "kustomization.yaml"), "w", encoding="utf-8") as file:
        json.dump(around, file)
    return crew.output([*program, wrapper], folder)
