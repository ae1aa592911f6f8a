"""Objects of Argo CD and Flux that are rendered themselves name more roots, until nothing new is rendered."""

import pytest

from deployment_text import deployment
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")

TEMPLATE = deployment(
    '{{- if eq .Values.arch "arm64" }}',
    "tolerations:",
    "- key: arch",
    "  operator: Equals",
    "  value: arm64",
    "{{- end }}",
    "nodeSelector: {{ toYaml .Values.nodeSelector | nindent 8 }}",
    "containers: [{name: web, image: nginx}]",
)
WEB = {
    ".git/HEAD": "",
    "charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "charts/web/values.yaml": "arch: amd64\nnodeSelector: {}\n",
    "charts/web/templates/web.yaml": TEMPLATE,
}
SOUND = {**WEB, "charts/web/templates/web.yaml": TEMPLATE.replace("Equals", "Equal")}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME}
spec:
  source: {path: PATH, helm: HELM}
"""


def application(name: str, path: str, helm: str = "{}") -> str:
    return APPLICATION.replace("NAME", name).replace("PATH", path).replace("HELM", helm)


def test_applications_that_a_chart_renders_are_followed(checking: Checking) -> None:
    """An Application renders a chart of Applications, and one of these sets a value that reaches a mistake."""
    apps = (
        "{{- range .Values.apps }}\n---\n"
        + application("'{{ .name }}'", "charts/web", "{valuesObject: {arch: '{{ .arch }}'}}")
        + "{{- end }}\n"
    )
    write(
        {
            **WEB,
            "root.yaml": application("root", "charts/apps"),
            "charts/apps/Chart.yaml": "{apiVersion: v2, name: apps, version: 1.0.0}\n",
            "charts/apps/values.yaml": "apps: [{name: one, arch: arm64}, {name: two, arch: amd64}]\n",
            "charts/apps/templates/apps.yaml": apps,
        }
    )
    assert checking.messages() == [
        (
            "charts/web/templates/web.yaml:12:19 unknown-operator spec.template.spec.tolerations[0].operator "
            "['charts/web (Application one of charts/apps)']"
        )
    ]


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}
  values:
    nodeSelector:
      disk: ssd
"""


def test_values_that_an_overlay_sets_are_reported_in_its_patch(checking: Checking) -> None:
    patch = RELEASE.replace("disk: ssd", "disk: -ssd").replace(
        "  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}\n", ""
    )
    write(
        {
            **SOUND,
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "base/web.yaml": RELEASE,
            "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
            "prod/patch.yaml": patch,
        }
    )
    report = checking.report()
    assert [(each["file"], each["line"], each["rule"], each["rendered_in"]) for each in report["findings"]] == [
        ("prod/patch.yaml", 7, "invalid-label-value", ["charts/web (HelmRelease web of prod)", "prod"])
    ]


def test_values_are_found_if_a_later_round_renders_their_object_in_another_way(checking: Checking) -> None:
    folder = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ./apps}\n"
    spec = "targetNamespace: shop, postBuild: {substitute: {a: b}}"
    patch = f"{{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {{name: apps}}, spec: {{{spec}}}}}"
    write(
        {
            **SOUND,
            "apps/kustomization.yaml": "resources: [web.yaml]\n",
            "apps/web.yaml": RELEASE.replace("disk: ssd", "disk: -ssd"),
            "cluster/kustomization.yaml": f"resources: [apps.yaml]\npatches: [{{patch: '{patch}'}}]\n",
            "cluster/apps.yaml": folder.replace("path: ./apps", "path: ./apps, targetNamespace: shop"),
        }
    )
    report = checking.report()
    assert [(each["file"], each["line"], each["rule"]) for each in report["findings"]] == [("apps/web.yaml", 8, "invalid-label-value")]


def test_an_application_that_renders_itself_ends(checking: Checking) -> None:
    root = application("root", "apps")
    write({".git/HEAD": "", "apps/kustomization.yaml": "resources: [root.yaml]\n", "apps/root.yaml": root})
    rendered = checking.report()["summary"]["rendered"]
    assert (rendered["kustomizations"], rendered["failed"]) == (1, [])


def test_a_placeholder_in_the_name_of_a_values_file_is_replaced_for_each_environment(checking: Checking) -> None:
    write(
        {
            **WEB,
            "charts/web/values-production.yaml": "arch: arm64\n",
            "charts/web/values-test.yaml": "arch: amd64\n",
            "charts/root/Chart.yaml": "{apiVersion: v2, name: root, version: 1.0.0}\n",
            "charts/root/values.yaml": "environment: unknown\n",
            "charts/root/templates/web.yaml": application("web", "charts/web", "{valueFiles: ['values-{{ .Values.environment }}.yaml']}"),
        }
    )
    report = checking.report()
    assert [(each["file"], each["line"], each["rule"]) for each in report["findings"]] == [
        ("charts/web/templates/web.yaml", 12, "unknown-operator")
    ]
    assert report["summary"]["rendered"]["charts"] >= 3
