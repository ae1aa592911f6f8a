"""Which folders of a repository are for a cluster whose nodes a file lists."""

import pytest

from afflint.inventory.cluster_folders import ClusterFolders


@pytest.mark.parametrize(
    ("listing", "workloads", "elsewhere"),
    [
        pytest.param(("talos/talconfig.yaml", "home"), ["kubernetes/apps/a.yaml", "kubernetes/flux/b.yaml"], [], id="one cluster"),
        pytest.param(("talos/prod/talconfig.yaml", ""), ["k8s/prod/a.yaml", "k8s/lab/b.yaml"], ["k8s/lab/b.yaml"], id="its folder"),
        pytest.param(("talos/talconfig.yaml", "prod"), ["k8s/prod/a.yaml", "k8s/lab/b.yaml"], ["k8s/lab/b.yaml"], id="its own name"),
        pytest.param(
            ("kubernetes/main/talos/talconfig.yaml", ""),
            ["kubernetes/main/apps/a.yaml", "kubernetes/nas/apps/b.yaml", "kubernetes/shared/c.yaml"],
            ["kubernetes/nas/apps/b.yaml"],
            id="a folder for each cluster",
        ),
        pytest.param(
            ("talos/talconfig.yaml", ""),
            ["kubernetes/main/apps/a.yaml", "kubernetes/nas/apps/b.yaml"],
            ["kubernetes/main/apps/a.yaml", "kubernetes/nas/apps/b.yaml"],
            id="unknown which of two",
        ),
        pytest.param(("talos/talconfig.yaml", ""), ["clusters/x/a.yaml"], ["clusters/x/a.yaml"], id="below clusters"),
        pytest.param(("talos/talconfig.yaml", ""), ["apps/a.yaml", "devenv/apps/b.yaml"], ["devenv/apps/b.yaml"], id="of developers"),
    ],
)  # fmt: skip
def test_workloads_beside_the_folder_of_a_cluster_may_be_of_another(
    listing: tuple[str, str], workloads: list[str], elsewhere: list[str]
) -> None:
    folders = ClusterFolders({listing}, workloads)
    assert [file for file in workloads if folders.is_elsewhere(file)] == elsewhere


def test_without_listed_nodes_there_is_nothing_to_decide() -> None:
    assert not ClusterFolders((), ["clusters/a/b.yaml"])
