"""Each run says which sources of workloads it has seen, and which it has not and why."""

import pytest

from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: nginx}]}\n"
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME}
spec:
  chartRef: {kind: OCIRepository, name: app-template}
"""
TREE = {
    ".git/HEAD": "",
    "pod.yaml": POD,
    "apps/releases.yaml": RELEASE.replace("NAME", "one") + "---\n" + RELEASE.replace("NAME", "two"),
    "apps/kustomization.yaml": "resources: [releases.yaml]\n",
    "chart/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "chart/templates/web.yaml": POD.replace("name: web}", "name: '{{ .Release.Name }}'}"),
    "wrapper/Chart.yaml": "apiVersion: v2\nname: w\nversion: 1.0.0\ndependencies:\n- {name: redis, version: 1.x.x, repository: 'https://x'}\n",
    "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: db}\nspec: {source: {chart: redis, repoURL: 'https://x'}}\n",
}


def test_a_run_without_rendering_says_what_it_has_not_seen(checking: Checking) -> None:
    write(TREE)
    shown = checking(code=0)
    assert "No findings in what was read: " in shown
    assert "Not rendered: 2 HelmReleases, 2 charts, 1 Application and 1 kustomization; `--render` checks what they create." in shown


def test_a_run_without_the_tools_says_what_to_install(checking: Checking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    write({"chart/Chart.yaml": TREE["chart/Chart.yaml"], "chart/templates/web.yaml": POD})
    assert "`--render` checks what they create (install `helm` first: it is not on PATH)." in checking()
    write({"apps/releases.yaml": TREE["apps/releases.yaml"], "apps/kustomization.yaml": TREE["apps/kustomization.yaml"]})
    assert "(install `kustomize` and `helm` first: they are not on PATH)." in checking()


def test_a_rendered_run_says_what_is_not_in_the_repository(checking: Checking) -> None:
    write(TREE)
    report = checking.report()
    assert [(each["kind"], each["name"], each["file"]) for each in report["coverage"]["seen"]] == [
        ("kustomization", "apps", "apps/kustomization.yaml"),
        ("chart", "chart", "chart/Chart.yaml"),
    ]
    assert [(each["kind"], each["name"], each["reason"]) for each in report["coverage"]["not_seen"]] == [
        ("chart", "wrapper", "it only contains charts that are not in the repository: `redis`"),
        ("Application", "db", "the chart redis is not in the repository"),
        ("HelmRelease", "one", "the chart app-template is not in the repository"),
        ("HelmRelease", "two", "the chart app-template is not in the repository"),
    ]
    shown = checking("--render", code=0)
    assert "Rendered 1 of 1 kustomization and 1 of 2 charts." in shown
    missing = "Not in the repository: chart app-template (2), chart redis. `--render-network` fetches charts."
    assert f"Not rendered: 2 HelmReleases and 1 Application. {missing}" in shown


def test_what_was_not_rendered_can_fail_the_run(checking: Checking) -> None:
    write(TREE)
    checking("--fail-on-unrendered", code=1)
    checking("--render", "--fail-on-unrendered", code=1)
    checking("--render", "--fail-on-unrendered", "chart", "pod.yaml", code=0)


def test_a_tree_of_plain_manifests_has_no_such_sources(checking: Checking) -> None:
    write({"pod.yaml": POD})
    assert checking.report("--fail-on-unrendered")["coverage"] == {"seen": [], "not_seen": []}
    assert "No findings. Read 1 document in 1 file." in checking(code=0)


def test_a_chart_is_named_by_its_address_not_by_its_source(checking: Checking) -> None:
    source = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web}
spec: {url: 'oci://ghcr.io/charts/app-template', ref: {tag: 4.0.0}}
"""
    write({".git/HEAD": "", "web.yaml": RELEASE.replace("NAME", "web").replace("app-template", "web") + "---\n" + source})
    (not_seen,) = checking.report()["coverage"]["not_seen"]
    assert not_seen["reason"] == "the chart app-template is not in the repository"


K3S = """\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: web, namespace: kube-system}
spec: SPEC
"""


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("{chart: redis, repo: 'https://x', version: 1.0.0}", "the chart redis is not in the repository"),
        ("{chart: 'oci://ghcr.io/charts/redis'}", "the chart redis is not in the repository"),
        ("{chartContent: H4sI}", "its chart is in `chartContent`, which is not supported"),
    ],
)
def test_a_helm_chart_of_k3s_is_named(checking: Checking, spec: str, reason: str) -> None:
    write({".git/HEAD": "", "web.yaml": K3S.replace("SPEC", spec)})
    assert [(each["kind"], each["name"], each["reason"]) for each in checking.report()["coverage"]["not_seen"]] == [
        ("HelmChart", "web", reason)
    ]
