"""How findings about selectors of pods describe them, and the places that they point to."""

from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace
from afflint.findings.paths import Path
from afflint.index.facts import Pods, SelectorRef
from afflint.kube.selectors import Selector, describe

MOST_TARGETS = 20
"""If a selector matches more workloads than this, the properties of each are not compared."""


def at_selector(ref: SelectorRef, match: Match) -> CrossManifestMatch:
    """Return a match in the object that has the selector."""
    return CrossManifestMatch(ref.site, ref.ref, match)


def describe_labels(selector: Selector) -> str:
    """Describe a selector like labels where possible: ``app: fedora``."""
    parts = [
        f"{each.key}: {each.values[0]}" if each.operator == "In" and len(each.values) == 1 else describe(each)
        for each in selector.requirements[:3]
    ]
    return ", ".join(parts)


def placed(pods: Pods, message: str) -> RelatedPlace:
    """Return the place of the name of a workload."""
    return label_place(pods, (*pods.site.base, "metadata", "name"), message)._replace(key=False)


def label_place(pods: Pods, path: Path, message: str) -> RelatedPlace:
    """Return the place of a label of a workload, by its path."""
    return RelatedPlace(pods.site.file, pods.site.document, path, True, message)


def term_place(ref: SelectorRef) -> RelatedPlace:
    """Return the place of the term that has the selector."""
    return RelatedPlace(ref.site.file, ref.site.document, ref.path, True, f"the {ref.what} of {ref.title}")
