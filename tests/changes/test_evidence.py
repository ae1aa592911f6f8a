"""What `afflint diff` says of a change whose workloads it cannot compare: ``unchanged`` is said only of what was compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Afflint
from git_history import History
from rendering.real_tools import on_path

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1.27"}]
"""
CHART = "{apiVersion: v2, name: web, version: 1.0.0}\n"
TEMPLATE = WEB.replace("replicas: 2", "replicas: {{ .Values.replicaCount }}")
PINNED = "nodeSelector: {kubernetes.io/hostname: node1}\n"
HELMFILE = """\
releases:
- name: redis
  chart: oci://charts.example.com/redis
  values: [../config/redis.yaml]
- name: web
  chart: oci://charts.example.com/web
  values: [../config/web.yaml]
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: tunnel}
spec:
  chart: {spec: {chart: tunnel, version: 1.0.0, sourceRef: {kind: HelmRepository, name: example}}}
  values:
    image: {tag: v1}
    replicas: 1
"""
MONITORING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-monitoring-config, namespace: openshift-monitoring}
data:
  config.yaml: |
    prometheusK8s:
      retention: 1d
"""


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    found = History(tmp_path / "shop")
    monkeypatch.chdir(found.root)
    return found


def report(afflint: Afflint, *words: str) -> dict[str, Any]:
    done = afflint("diff", "--format", "json", "--exit-zero", *words)
    assert done.err == "", done.err
    result: dict[str, Any] = json.loads(done.out)
    return result


def known(data: dict[str, Any]) -> tuple[str, list[str], list[tuple[str, str]]]:
    """The verdict, the placement values that differ, and what is not compared."""
    values = [f"{each['file']}:{each['line']} {each['object']} {each['field']}: {each['change']}" for each in data["values"]]
    return data["summary"]["verdict"], values, [(each["name"], each["reason"]) for each in data["not_compared"]]


class TestValues:
    """Values of charts that are not rendered show which placement values a change sets."""

    def test_a_values_file_beside_a_chart_that_needs_it(self, history: History, afflint: Afflint) -> None:
        history.commit({"charts/web/Chart.yaml": CHART, "charts/web/templates/web.yaml": TEMPLATE, "values-prod.yaml": "image: x\n"})
        history.write({"values-prod.yaml": f"image: x\n{PINNED}"})
        assert known(report(afflint)) == ("changed", ["values-prod.yaml:2  nodeSelector: new, {kubernetes.io/hostname: node1}"], [])

    @pytest.mark.parametrize("render", [False, True])
    def test_a_values_file_that_no_render_reads(
        self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, render: bool
    ) -> None:
        """The chart is rendered with its own values; those of an environment are not among them."""
        on_path(monkeypatch, "helm")
        files = {"web/Chart.yaml": CHART, "web/templates/web.yaml": TEMPLATE, "web/values.yaml": "replicaCount: 1\n"}
        history.commit({**files, "web/values-prod.yaml": "ingress: {}\n"})
        history.write({"web/values-prod.yaml": "ingress: {class: a}\n"})
        words = ["--render"] if render else []
        assert known(report(afflint, *words)) == ("not known", [], [("web/values-prod.yaml", "values of a chart that is not rendered")])

    def test_another_image_moves_nothing(self, history: History, afflint: Afflint) -> None:
        history.commit({"values.yaml": "image: {repository: a, tag: v1} # old\nreplicaCount: 2\n"})
        history.write({"values.yaml": "replicaCount: 2\nimage:\n  repository: a\n  tag: v2\n"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_scaling_to_zero_is_a_loss(self, history: History, afflint: Afflint) -> None:
        history.commit({"values.yaml": "worker: {replicaCount: 2}\n"})
        history.write({"values.yaml": "worker: {replicaCount: 0}\n"})
        done = afflint("diff")
        assert "  - values.yaml:1: `worker.replicaCount`: 2 → 0\n" in done.out
        assert done.code == 1

    def test_the_aliases_of_an_anchor_are_one_line(self, history: History, afflint: Afflint) -> None:
        history.commit({"values.yaml": "a: {}\nb: {}\nc: {}\n"})
        history.write({"values.yaml": "a: &x\n  nodeSelector: {disk: ssd}\nb: *x\nc: *x\n"})
        assert "  ~ values.yaml:2: `a.nodeSelector` and 2 other fields: new, {disk: ssd}\n" in afflint("diff").out

    def test_many_values_are_bounded(self, history: History, afflint: Afflint) -> None:
        history.commit({"values.yaml": "".join(f"a{number}: {{replicas: 1}}\n" for number in range(30))})
        history.write({"values.yaml": "".join(f"a{number}: {{replicas: 2}}\n" for number in range(30))})
        out = afflint("diff").out
        assert out.count("`: 1 → 2\n") == 20
        assert "  10 more (`--format json` lists them)\n" in out
        assert len(report(afflint)["values"]) == 30


class TestReleases:
    def test_a_helmfile_of_any_name_and_the_files_that_it_names(self, history: History, afflint: Afflint) -> None:
        history.commit({"clusters/east.yaml": HELMFILE, "config/redis.yaml": "auth: true\n", "config/web.yaml": "tls: false\n"})
        history.write(
            {
                "clusters/east.yaml": HELMFILE.replace("- name: web\n", "- name: api\n"),
                "config/redis.yaml": f"auth: true\n{PINNED}",
                "config/web.yaml": "tls: true\n",
            }
        )
        assert known(report(afflint)) == (
            "changed",
            ["config/redis.yaml:2  nodeSelector: new, {kubernetes.io/hostname: node1}"],
            [
                ("clusters/east.yaml", "the releases of a helmfile, which are not rendered"),
                ("config/web.yaml", "values of a chart that is not rendered"),
            ],
        )

    def test_a_file_that_nothing_names_as_values(self, history: History, afflint: Afflint) -> None:
        """The settings of a documentation tool, say."""
        history.commit({"mkdocs.yml": "theme: a\nreplicas: 1\n"})
        history.write({"mkdocs.yml": "theme: b\nreplicas: 2\n"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_a_release_of_flux(self, history: History, afflint: Afflint) -> None:
        history.commit({"release.yaml": RELEASE})
        history.write({"release.yaml": RELEASE.replace("v1\n", "v2\n").replace("replicas: 1", "replicas: 2")})
        assert known(report(afflint)) == ("changed", ["release.yaml:8 HelmRelease tunnel spec.values.replicas: 1 → 2"], [])

    def test_another_version_of_its_chart(self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        on_path(monkeypatch, "helm")
        history.commit({"release.yaml": RELEASE})
        history.write({"release.yaml": RELEASE.replace("version: 1.0.0", "version: 2.0.0")})
        assert known(report(afflint))[2] == [("release.yaml", "HelmRelease tunnel; `--render` renders it")]
        reason = "HelmRelease tunnel is not rendered: the chart tunnel is not in the repository"
        assert known(report(afflint, "--render")) == ("not known", [], [("release.yaml", reason)])


class TestManifests:
    def test_the_settings_of_openshift_monitoring(self, history: History, afflint: Afflint) -> None:
        history.commit({"monitoring.yaml": MONITORING})
        history.write({"monitoring.yaml": f"{MONITORING}      nodeSelector: {{role: infra}}\n"})
        field = "ConfigMap cluster-monitoring-config data[config.yaml].prometheusK8s.nodeSelector"
        assert known(report(afflint)) == ("changed", [f"monitoring.yaml:8 {field}: new, {{role: infra}}"], [])

    def test_variables_of_flux(self, history: History, afflint: Afflint) -> None:
        apps = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\n"
        apps += "spec: {path: ./apps, postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}}\n"
        settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {ZONE: a}\n"
        history.commit({"apps.yaml": apps, "settings.yaml": settings, "other.yaml": settings.replace("settings", "other")})
        history.write(
            {"settings.yaml": settings.replace("a}", "b}"), "other.yaml": settings.replace("settings", "other").replace("a}", "b}")}
        )
        reason = "ConfigMap settings has values or variables of something that is not rendered"
        assert known(report(afflint)) == ("not known", [], [("settings.yaml", reason)])

    def test_a_definition_with_the_schema_of_a_pod(self, history: History, afflint: Afflint) -> None:
        schema = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
        history.commit({"crd.yaml": f"{schema}spec: {{properties: {{affinity: {{type: object}}}}}}\n"})
        history.write({"crd.yaml": f"{schema}spec: {{properties: {{affinity: {{type: object, description: a}}}}}}\n"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_what_the_api_server_rejects_is_not_compared(self, history: History, afflint: Afflint) -> None:
        broken = WEB.replace("      containers", "      nodeSelector: {ssd: true}\n      containers")
        history.commit({"web.yaml": broken})
        history.write({"web.yaml": broken.replace("replicas: 2", "replicas: 1")})
        verdict, values, [(name, reason)] = known(report(afflint))
        assert (verdict, values, name) == ("not known", [], "Deployment default/web")
        assert reason.startswith("the API server would reject it: ")

    def test_the_end_of_a_workload_is_a_loss(self, history: History, afflint: Afflint) -> None:
        history.commit({"web.yaml": WEB})
        history.write({"web.yaml": WEB.replace("replicas: 2", "replicas: 0")})
        assert "Deployment default/web\n  - replicas: 2 → 0\n" in afflint("diff").out
        history.write({"web.yaml": None})
        assert "Deployment default/web\n  - removed\n" in afflint("diff").out

    def test_a_workload_that_a_kustomization_creates_now(self, history: History, afflint: Afflint) -> None:
        """Without rendering, it is not known whether the object is gone."""
        history.commit({"web.yaml": WEB, "prod/kustomization.yaml": "resources: [api.yaml]\n"})
        history.write({"web.yaml": None, "prod/kustomization.yaml": "resources: [api.yaml, '../other']\n"})
        assert "  ~ gone from what is compared; what is not compared may create it\n" in afflint("diff").out

    def test_a_workload_moves_to_another_namespace(self, history: History, afflint: Afflint) -> None:
        history.commit({"web.yaml": WEB})
        history.write({"web.yaml": WEB.replace("{name: web}", "{name: web, namespace: shop}", 1)})
        done = afflint("diff")
        assert "Deployment default/web\n  ~ moved to the namespace shop\n" in done.out
        assert done.code == 0

    def test_a_language_that_afflint_does_not_read(self, history: History, afflint: Afflint) -> None:
        history.commit({"web.jsonnet": "{replicas: 1}", "other.tf": "a = 1", "README.md": "replicas"})
        history.write({"web.jsonnet": "{replicas: 2}", "other.tf": "a = 2", "README.md": "replicas 2"})
        assert known(report(afflint)) == ("not known", [], [("web.jsonnet", "afflint does not read this language")])


class TestRendered:
    """With `--render`, only what the change reaches is rendered and compared."""

    @pytest.fixture
    def charts(self, history: History, monkeypatch: pytest.MonkeyPatch) -> History:
        """Two charts that create an object of one name, and one that cannot be rendered without values."""
        on_path(monkeypatch, "helm")
        files: dict[str, str | bytes | None] = {}
        for name in ("east", "west", "broken"):
            files |= {f"{name}/Chart.yaml": CHART, f"{name}/templates/web.yaml": TEMPLATE, f"{name}/values.yaml": "replicaCount: 1\n"}
        files["broken/templates/web.yaml"] = f'{TEMPLATE}{{{{ required "host" .Values.host }}}}\n'
        history.commit(files)
        return history

    def test_unrelated_charts_neither_stop_the_comparison_nor_are_named(self, charts: History, afflint: Afflint) -> None:
        charts.write({"east/values.yaml": "replicaCount: 3\n"})
        data = report(afflint, "--render")
        assert [(each["workload"], each["changes"]) for each in data["placement"]] == [("Deployment default/web", ["replicas: 1 → 3"])]
        assert (data["not_compared"], data["summary"]["notes"]) == ([], [])

    def test_objects_that_two_charts_create(self, charts: History, afflint: Afflint) -> None:
        charts.write({"east/values.yaml": "replicaCount: 3\n", "west/values.yaml": "replicaCount: 2\n"})
        changes = {each["workload"]: each["changes"] for each in report(afflint, "--render")["placement"]}
        assert changes == {
            "Deployment default/web (east)": ["replicas: 1 → 3"],
            "Deployment default/web (west)": ["replicas: 1 → 2"],
        }

    def test_a_reason_is_given_once(self, charts: History, afflint: Afflint) -> None:
        for number in range(8):
            name = f"app-{number}"
            files = {f"{name}/Chart.yaml": CHART, f"{name}/templates/web.yaml": '{{ fail "no host" }}\n', f"{name}/values.yaml": "a: 1\n"}
            charts.write(files)
        out = afflint("diff", "--render").out
        assert out.count("no host") == 1
        assert "`app-0`, `app-1`, `app-2`, `app-3`, `app-4` and 3 more: helm cannot render it in work tree" in out


def test_a_clone_that_lacks_a_file(history: History, afflint: Afflint) -> None:
    """A partial clone: the file is named if it is a manifest, and stops nothing."""
    head = history.commit({"web.yaml": WEB, "gone.yaml": "a: 1\n", "large.bin": "x\n"})
    history.commit({"web.yaml": WEB.replace("replicas: 2", "replicas: 3")})
    for name in ("gone.yaml", "large.bin"):
        blob = history.git("rev-parse", f"{head}:{name}")
        (history.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    data = report(afflint, f"{head}..HEAD")
    assert [each["changes"] for each in data["placement"]] == [["replicas: 2 → 3"]]
    (note,) = data["summary"]["notes"]
    assert note.endswith("what a partial clone lacks): `gone.yaml`")


class TestWhatIsRenderedOnlyInPart:
    """A file that a kustomization lists is rendered; what a release in it creates is not."""

    @pytest.mark.parametrize(("old", "new"), [("replicas: 1", "replicas: 0"), ("version: 1.0.0", "version: 2.0.0")])
    def test_a_release_in_a_kustomization(
        self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, old: str, new: str
    ) -> None:
        on_path(monkeypatch, "kustomize")
        history.commit({"kustomization.yaml": "resources: [release.yaml]\n", "release.yaml": RELEASE})
        history.write({"release.yaml": RELEASE.replace(old, new)})
        verdict, values, others = known(report(afflint, "--render=kustomize"))
        assert verdict == ("changed" if values else "not known")
        assert bool(values) != bool(others)

    def test_a_file_beside_what_is_rendered(self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        on_path(monkeypatch, "kustomize")
        history.commit({"kustomization.yaml": "resources: [web.yaml]\n", "web.yaml": WEB, "prod.yaml": "worker: {nodeSelector: {a: b}}\n"})
        history.write({"prod.yaml": "worker: {nodeSelector: {a: c}}\n"})
        assert known(report(afflint, "--render=kustomize"))[:2] == ("changed", ["prod.yaml:1  worker.nodeSelector: {a: b} → {a: c}"])

    def test_a_base_in_another_place(self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is left out of what is rendered, so that another version of it is not seen."""
        on_path(monkeypatch, "kustomize")
        remote = "https://github.com/example/base//web?ref="
        history.commit({"web.yaml": WEB, "kustomization.yaml": f"resources: [web.yaml, '{remote}v1']\n"})
        history.write({"kustomization.yaml": f"resources: [web.yaml, '{remote}v2']\n"})
        verdict, values, [(name, reason)] = known(report(afflint, "--render=kustomize"))
        assert (verdict, values, name) == ("not known", [], "kustomization.yaml")
        assert reason.startswith("it is rendered without ")

    def test_another_tag_of_the_source_of_a_chart(self, history: History, afflint: Afflint) -> None:
        source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: web}\nspec: {ref: {tag: 1.0.0}}\n"
        history.commit({"source.yaml": source})
        history.write({"source.yaml": source.replace("1.0.0", "2.0.0")})
        reason = "OCIRepository web is the source of something that is not rendered"
        assert known(report(afflint)) == ("not known", [], [("source.yaml", reason)])

    def test_a_chart_in_another_folder(self, history: History, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        """A kustomization renders it with values of its own."""
        on_path(monkeypatch, "kustomize")
        on_path(monkeypatch, "helm")
        template = f"{{{{ if .Values.enabled }}}}\n{WEB}{{{{ end }}}}\n"
        history.commit(
            {
                "charts/web/Chart.yaml": CHART,
                "charts/web/values.yaml": "enabled: false\n",
                "charts/web/templates/web.yaml": template,
                "prod/kustomization.yaml": (
                    "helmGlobals: {chartHome: ../charts}\nhelmCharts: [{name: web, releaseName: w, valuesInline: {enabled: true}}]\n"
                ),
            }
        )
        history.write({"charts/web/templates/web.yaml": template.replace("replicas: 2", "replicas: 0")})
        assert [each["changes"] for each in report(afflint, "--render")["placement"]] == [["replicas: 2 → 0"]]


def test_one_object_in_two_files(history: History, afflint: Afflint) -> None:
    """Both are compared, although they are for different clusters."""
    history.commit({"east.yaml": WEB, "west.yaml": WEB})
    history.write({"east.yaml": WEB.replace("replicas: 2", "replicas: 0")})
    assert "Deployment default/web (east.yaml)\n  - replicas: 2 → 0\n" in afflint("diff").out


def test_maps_in_maps_hundreds_of_times(history: History, afflint: Afflint) -> None:
    deep = f"nodeSelector: {'{a: ' * 400}2{'}' * 400}\n"
    history.commit({"values.yaml": deep})
    history.write({"values.yaml": deep.replace("2", "3")})
    assert known(report(afflint))[2] == [("values.yaml", "it cannot be read as YAML")]
