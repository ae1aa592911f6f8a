"""The constraints in the values of a chart that the chart certainly writes into pods."""

from __future__ import annotations

from afflint.charts.releases import release_of
from afflint.checks.match import Target
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.manifests.custom_resources import CustomWorkload, value_at
from afflint.manifests.manifest import Workload
from afflint.yaml.document import map_at


class VerifiedPlaces(NamedTuple):
    """The paths of constraints that certainly reach pods. ``unchanged``: the chart adds nothing to them.

    ``extended`` are the paths of the lists to which the chart adds tolerations of control planes.
    """

    paths: frozenset[Path]
    unchanged: bool
    extended: frozenset[Path]

    def cover(self, path: Path) -> bool:
        """Return whether the value at a path of the document is in one of these constraints."""
        return is_in(path, self.paths)


def is_in(path: Path, places: frozenset[Path]) -> bool:
    """Return whether a path leads to one of some places, or below it."""
    return any(path[: len(each)] == each for each in places)


def verified_places(workload: Workload, target: Target) -> VerifiedPlaces | None:
    """Return the constraints of a workload that a chart certainly writes into pods; None if there are none, or no chart has them."""
    if not isinstance(workload, CustomWorkload) or workload.known != "shape":
        return None
    release = release_of(workload, target.chart_sources)
    if release is None:
        return None
    depth = len(release.path)
    fields = [(*workload.pod_path, name) for name in map_at(value_at(workload, workload.pod_path))]
    places = frozenset(path for path in fields if release.is_verified(path[depth:]))
    extended = frozenset(path for path in places if release.chart.adds_to(path[depth:]))
    return VerifiedPlaces(places, release.adds_nothing, extended) if places else None
