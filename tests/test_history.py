"""Commits that fixed a placement mistake in public repositories: found before, gone after. Needs manifests next to the checkout.

Every commit of the collection is in one of the tables, with the reason where there is nothing to find.
"""

from pathlib import Path

import pytest

from afflint.findings.finding import Finding
from afflint.pipeline.map_step import default_settings
from linting import findings_of
from shared_material import shared

# What was wrong: the commit, the file below before/ (or in the blob), each rule with its line. Blobs have no after.
FIXED = [
    (
        "NVIDIA+gpu-operator/2d3c35448",
        "deployments/gpu-operator/values.yaml",
        [("deprecated-node-label", 97), ("legacy-control-plane-toleration", 464)],
    ),
    ("NVIDIA+gpu-operator/blob-170ee14277", "driver-additional-configs.yaml", [("selector-template-mismatch", 132)]),
    (
        "kubevirt+project-infra/879008ffa",
        "github/ci/prow/files/jobs/kubevirt/kubevirt-presubmits.yaml",
        [("misplaced-constraint", 301)],
    ),
    ("aws-samples+eks-workshop-v2/blob-919ce884a1", "nodeselector-w-toleration-deployment.yaml", [("wrong-type", 13)]),
]

# Here the fix brought the mistake in: anti-affinity over a label that is in metadata.labels only.
BROUGHT_IN = "argoproj+argo-cd/59443ad185"

# And here there are two: a term without topologyKey, and two values that one label was to have at once.
TWO_MISTAKES = "rook+rook/blob-97bc0319a1"

# Two releases of ingress-nginx whose spread constraints ask for the wrong one; the commit corrected one and copied its name to the other.
TWO_RELEASES = "bjw-s-labs+home-ops/79204764f5"

# Pods in jobs of Prow. Two commits overlooked one of the mistakes, and one brought them in. Each rule with its lines before and after.
OF_PROW = {
    "kubevirt+project-infra/216af8f25": {"misplaced-constraint": ([163, 217, 261], [261])},
    "kubevirt+project-infra/743e6d899": {"misplaced-constraint": ([134], []), "empty-topology-key": ([137], [138])},
    "kubevirt+project-infra/d30c255cf": {"missing-term-wrapper": ([], [108, 129, 131, 138, 207, 464])},
}

NOTHING_TO_FIND = {
    "NVIDIA+gpu-operator/e1863f270": "a toleration is missing for a taint of the GPU nodes: the manifests do not show the taint",
    "aws-samples+eks-workshop-v2/4306eaea": "a patch: its anti-affinity catches others only together with the manifests it patches",
    "bjw-s-labs+home-ops/1ebf2418d0": "a HelmRelease, whose values only its chart can read",
    "bjw-s-labs+home-ops/60bc2cd04e": "a HelmRelease",
    "bjw-s-labs+home-ops/a752ac7bbf": "a HelmRelease",
}


def lint(folder: Path) -> list[Finding]:
    """What a run over a folder finds by default, with file names below the folder."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.yaml"))}
    return findings_of(files, default_settings())


@pytest.mark.parametrize("commit, file, mistakes", FIXED)
def test_the_mistake_is_found_before_and_gone_after(commit: str, file: str, mistakes: list[tuple[str, int]]) -> None:
    folder = shared("corpus", "history", *commit.split("/"))
    before, after = folder / "before", folder / "after"
    found = lint(before if before.exists() else folder)
    assert [(each.file, each.rule, each.span.line) for each in found] == [(file, *each) for each in mistakes]
    if after.exists():
        assert {each.rule for each in lint(after)}.isdisjoint(rule for rule, _ in mistakes)


def test_a_fix_that_brought_a_mistake_in() -> None:
    folder = shared("corpus", "history", *BROUGHT_IN.split("/"))
    assert lint(folder / "before") == []
    found = sorted((each.file.rpartition("/")[2], each.rule, each.span.line) for each in lint(folder / "after"))
    names = ("dex-server", "redis", "repo-server", "server")
    assert found == [(f"argocd-{name}-deployment.yaml", "label-not-on-template", 6) for name in names]


def test_two_mistakes_in_a_custom_resource() -> None:
    found = lint(shared("corpus", "history", *TWO_MISTAKES.split("/")))
    assert [(each.rule, each.span.line) for each in found] == [("empty-topology-key", 200), ("contradictory-selector", 210)]


def test_two_releases_of_a_chart_and_one_was_corrected() -> None:
    folder = shared("corpus", "history", *TWO_RELEASES.split("/"))
    found = {when: [(each.file.split("/")[-2], each.rule, each.span.line) for each in lint(folder / when)] for when in ("before", "after")}
    external, internal = (("external", "spread-misses-itself", 87), ("internal", "spread-misses-itself", 87))
    assert found == {"before": [external, internal], "after": [external]}


@pytest.mark.parametrize("commit", OF_PROW)
def test_commits_that_left_a_mistake_or_brought_one_in(commit: str) -> None:
    folder = shared("corpus", "history", *commit.split("/"))
    for index, when in enumerate(("before", "after")):
        found = sorted((each.rule, each.span.line) for each in lint(folder / when))
        assert found == sorted((rule, line) for rule, lines in OF_PROW[commit].items() for line in lines[index])


@pytest.mark.parametrize("commit", NOTHING_TO_FIND)
def test_where_the_manifests_do_not_show_it_nothing_is_found(commit: str) -> None:
    folder = shared("corpus", "history", *commit.split("/"))
    assert lint(folder) == [], NOTHING_TO_FIND[commit]


def test_every_commit_of_the_collection_is_accounted_for() -> None:
    folder = shared("corpus", "history")
    there = {path.relative_to(folder).as_posix() for path in folder.glob("*/*")}
    assert there == {*(commit for commit, *_ in FIXED), *OF_PROW, BROUGHT_IN, TWO_MISTAKES, TWO_RELEASES, *NOTHING_TO_FIND}
