"""The plugin ImageLocality: nodes that have the images of a pod already score better.

Semantics: pkg/scheduler/framework/plugins/imagelocality (image_locality.go). A dump has the images of each node in ``status.images``, by
default the 50 largest.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from afflint.scheduler.nodes import NodeTable
from afflint.yaml.document import maps_at

IMAGE_LOCALITY = "ImageLocality"
_LEAST = 23 * 2**20
_MOST = 1000 * 2**20
"""The sizes between which scores grow, the larger one for each container."""


def read_images(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the images of all containers of a pod, with the tag ``latest`` where none is given (``normalizedImageName``)."""
    found = [each.get("image") for each in chain.from_iterable([maps_at(spec, field) for field in ("initContainers", "containers")])]
    return tuple([image if image.rfind(":") > image.rfind("/") else f"{image}:latest" for image in found if isinstance(image, str)])


def scores(images: tuple[str, ...], table: NodeTable) -> dict[int, int]:
    """Return the scores above 0 by node. An image that few nodes have counts less."""
    sums: dict[int, int] = {}
    for image in images:
        sizes = {number: size for name, size in table.images.get(image, {}).items() if (number := table.numbers.get(name)) is not None}
        for node, size in sizes.items():
            sums[node] = sums.get(node, 0) + int(size * (len(sizes) / len(table.nodes)))
    most = _MOST * len(images)
    rated = {node: 100 * (min(total, most) - _LEAST) // (most - _LEAST) for node, total in sums.items()}
    return {node: score for node, score in rated.items() if score > 0}
