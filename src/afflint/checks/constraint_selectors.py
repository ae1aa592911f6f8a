"""The parsed selectors of a workload's constraints, shared by several groups of checks."""

from functools import lru_cache

from afflint.constraints.nodes import node_constraints
from afflint.findings.paths import Path
from afflint.kube.selectors import Malformed, Requirement, Selector, requirement_paths
from afflint.manifests.label_places import LabelPlace, label_places
from afflint.manifests.manifest import Workload
from afflint.yaml.placeholders import is_placeholder


def node_selector(workload: Workload) -> Selector:
    """Return the nodeSelector as requirements, without placeholders; empty if it has the wrong type."""
    parsed = node_constraints(workload).selector
    if isinstance(parsed, Malformed):
        return Selector()
    return Selector(tuple(each for each in parsed.requirements if not has_placeholder(Selector((each,)))))


def requirement_places(data: object, parsed: Selector) -> list[Path]:
    """Return for each requirement of a parsed label selector the path in ``data`` of its value or operator."""
    return [
        path if path[0] == "matchLabels" else expression_place(path, requirement)
        for path, requirement in zip(requirement_paths(data), parsed.requirements, strict=False)
    ]


def expression_place(path: Path, requirement: Requirement) -> Path:
    """Return the path of the values of the match expression at ``path``: of a single value, or of the operator without values."""
    if len(requirement.values) == 1:
        return (*path, "values", 0)
    return (*path, "values" if requirement.values else "operator")


def has_placeholder(selector: Selector) -> bool:
    """Return whether a selector contains placeholders, so that nothing can be concluded from it."""
    return any(is_placeholder(text) for requirement in selector.requirements for text in (requirement.key, *requirement.values))


# Several checks need the same answer for one manifest before the next manifest is read, so the last answer is cached.
@lru_cache(maxsize=1)
def node_label_places(manifest: Workload) -> tuple[LabelPlace, ...]:
    """Return all places in the constraints of a workload that contain a node label."""
    return tuple(label_places(manifest.constraints))
