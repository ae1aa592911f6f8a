"""What the files of a run contain, before suppressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afflint.findings.namedtuples import NamedTuple

if TYPE_CHECKING:
    from afflint.findings.finding import FileId, Finding, Found
    from afflint.index.manifest_index import ManifestIndex
    from afflint.index.mutating_policies import MutatingPolicy
    from afflint.inventory.node_files import NodeFact
    from afflint.pipeline.files import Files
    from afflint.pipeline.map_step import FileResult, MapSettings
    from afflint.pipeline.policy_evaluation import UnevaluatedPolicy
    from afflint.pipeline.suppression_filter import SuppressionFilter
    from afflint.pools.references import Pools


class ReducedRun(NamedTuple):
    """What the files of a run contain, each alone and all together, before suppressions.

    ``results`` are those of the checked files, ``all_results`` also those of the context. ``manifest_index`` is None if no rule needs it.
    """

    files: Files
    results: dict[FileId, FileResult]
    all_results: dict[FileId, FileResult]
    manifest_index: ManifestIndex | None
    nodes: list[NodeFact]
    across: dict[FileId, list[Found]]
    """The findings across manifests, by file."""
    suppression_filter: SuppressionFilter
    settings: MapSettings
    """The settings of the map step, with the definitions of the files."""
    unused_nodes: str | None
    pools: Pools | None = None
    undecided: tuple[str, ...] = ()
    """The policies that need nodes, if the run has none."""
    unevaluated: tuple[UnevaluatedPolicy, ...] = ()
    mutating: tuple[MutatingPolicy, ...] = ()
    """The mutating policies among the files."""
    faults: tuple[Finding, ...] = ()
    """Findings in the manifests of policies, which need not be files of the run."""
