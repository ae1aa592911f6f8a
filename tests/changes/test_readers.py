"""What reads a file decides whether a change of it counts: a chart, a kustomization, an object of Argo CD or Flux."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from changes.test_evidence import CHART, RELEASE, TEMPLATE, WEB, history, known, report
from command_line import Afflint
from git_history import History
from rendering.real_tools import on_path

__all__ = ["history"]
APPLICATIONS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web}
spec:
  generators: [{git: {repoURL: https://git.example.com/shop, files: [{path: "clusters/**/config.json"}]}}]
  template:
    metadata: {name: web}
    spec:
      source: {repoURL: https://charts.example.com, chart: web, helm: {valueFiles: ["$values/env/{{ .env }}.yaml"]}}
"""
BASE = {"base/web.yaml": WEB, "base/kustomization.yaml": "resources: [web.yaml]\n"}
WEB_CHART = {"web/Chart.yaml": CHART, "web/values.yaml": "replicaCount: 1\n", "web/templates/web.yaml": TEMPLATE}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "helm")
    on_path(monkeypatch, "kustomize")


def effects(afflint: Afflint, *words: str) -> list[list[str]]:
    return [each["changes"] for each in report(afflint, *words)["placement"]]


class TestKustomizations:
    def test_a_file_of_variables(self, history: History, afflint: Afflint) -> None:
        """A replacement takes the number of replicas from a ConfigMap that is made from the file."""
        kustomization = """\
resources: [web.yaml]
configMapGenerator: [{name: sizes, envs: [sizes.env]}]
replacements:
- source: {kind: ConfigMap, name: sizes, fieldPath: data.WEB}
  targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]
"""
        history.commit({"web.yaml": WEB, "sizes.env": "WEB=3\n", "other.env": "A=1\n", "kustomization.yaml": kustomization})
        history.write({"sizes.env": "WEB=0\n", "other.env": "A=2\n"})
        reason = "`kustomization.yaml` reads it; `--render` renders it"
        assert known(report(afflint)) == ("not known", [], [("sizes.env", reason)])
        assert effects(afflint, "--render") == [["replicas: 3 → 0"]]

    def test_a_file_that_only_a_config_map_has(self, history: History, afflint: Afflint) -> None:
        kustomization = "resources: [web.yaml]\nconfigMapGenerator: [{name: web, files: [web.ini]}]\n"
        history.commit({"web.yaml": WEB, "web.ini": "a", "kustomization.yaml": kustomization})
        history.write({"web.ini": "b"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_a_json_patch_in_a_file(self, history: History, afflint: Afflint) -> None:
        overlay = "resources: [../base]\npatches: [{path: patch.yaml, target: {kind: Deployment}}]\n"
        patch = "- {op: replace, path: /spec/replicas, value: 3}\n"
        history.commit({**BASE, "prod/kustomization.yaml": overlay, "prod/patch.yaml": patch})
        history.write({"prod/patch.yaml": patch.replace("3", "0")})
        assert known(report(afflint)) == ("changed", ["prod/patch.yaml:1  spec.replicas: 3 → 0"], [])
        assert effects(afflint, "--render") == [["replicas: 3 → 0"]]
        history.write({"prod/patch.yaml": "- {op: add, path: /spec/template/spec/priorityClassName, value: high}\n"})
        assert known(report(afflint))[2] == [("prod/patch.yaml", "`prod/kustomization.yaml` reads it; `--render` renders it")]

    def test_a_base_outside_the_paths(self, history: History, afflint: Afflint) -> None:
        history.commit({**BASE, "prod/kustomization.yaml": "resources: [../base]\n", "other/web.yaml": WEB})
        history.write({"base/web.yaml": WEB.replace("replicas: 2", "replicas: 0"), "other/web.yaml": WEB.replace("2", "3")})
        reason = "`prod/kustomization.yaml` reads it; `--render` renders it"
        assert known(report(afflint, "prod")) == ("not known", [], [("base/web.yaml", reason)])
        assert effects(afflint, "--render", "prod") == [["replicas: 2 → 0"]]

    def test_values_under_another_name(self, history: History, afflint: Afflint) -> None:
        """A HelmRelease takes them from the ConfigMap."""
        generator = "resources: [release.yaml]\nconfigMapGenerator: [{name: tunnel, files: [values.yaml=prod.yaml]}]\n"
        release = RELEASE.replace("  values:\n", "  valuesFrom: [{kind: ConfigMap, name: tunnel}]\n  values:\n")
        history.commit({"kustomization.yaml": generator, "release.yaml": release, "prod.yaml": "worker: {enabled: true}\n"})
        history.write({"prod.yaml": "worker: {enabled: false}\n"})
        for words in ((), ("--render",)):
            assert known(report(afflint, *words)) == ("not known", [], [("prod.yaml", "values of a chart that is not rendered")])

    def test_values_of_a_chart_that_is_left_out(self, history: History, afflint: Afflint) -> None:
        """The kustomization is rendered without the chart, which is in another place."""
        chart = '{name: web, repo: "https://charts.example.com", version: 1.0.0, releaseName: web, valuesFile: prod.yaml}'
        service = "{apiVersion: v1, kind: Service, metadata: {name: a}}\n"
        history.commit({"kustomization.yaml": f"resources: [a.yaml]\nhelmCharts: [{chart}]\n", "a.yaml": service})
        history.commit({"prod.yaml": "worker: {enabled: true}\n"})
        history.write({"prod.yaml": "worker: {enabled: false}\n"})
        assert known(report(afflint, "--render")) == ("not known", [], [("prod.yaml", "values of a chart that is not rendered")])

    def test_a_chart_of_a_generator(self, history: History, afflint: Afflint) -> None:
        generator = """\
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: web}
name: web
releaseName: web
valuesFile: prod.yaml
chartHome: ../
"""
        files = {
            "prod/kustomization.yaml": "generators: [chart.yaml]\n",
            "prod/chart.yaml": generator,
            "prod/prod.yaml": "replicaCount: 3\n",
        }
        history.commit({**WEB_CHART, **files})
        history.write({"prod/prod.yaml": "replicaCount: 0\n"})
        assert known(report(afflint, "--render"))[1:] == ([], [])
        assert effects(afflint, "--render") == [["replicas: 3 → 0"]]

    @pytest.mark.skipif(os.name == "nt", reason="needs links")
    def test_a_link_that_leads_elsewhere(self, history: History, afflint: Afflint) -> None:
        (history.root / "web.yaml").symlink_to("web.3")
        history.commit({"web.3": WEB, "web.0": WEB.replace("replicas: 2", "replicas: 0"), "kustomization.yaml": "resources: [web.yaml]\n"})
        (history.root / "web.yaml").unlink()
        (history.root / "web.yaml").symlink_to("web.0")
        assert effects(afflint, "--render") == [["replicas: 2 → 0"]]
        history.commit({})
        assert known(report(afflint, "HEAD~1..HEAD")) == (
            "not known",
            [],
            [("web.yaml", "`kustomization.yaml` reads it; `--render` renders it")],
        )

    def test_a_patch_without_the_name_of_a_yaml_file(self, history: History, afflint: Afflint) -> None:
        overlay = "resources: [../base]\npatches: [{path: size.patch, target: {kind: Deployment}}]\n"
        patch = "- {op: replace, path: /spec/replicas, value: 3}\n"
        history.commit({**BASE, "prod/kustomization.yaml": overlay, "prod/size.patch": patch})
        history.write({"prod/size.patch": patch.replace("3", "4")})
        assert known(report(afflint)) == ("changed", ["prod/size.patch:1  spec.replicas: 3 → 4"], [])

    def test_two_operations_at_one_path(self, history: History, afflint: Afflint) -> None:
        overlay = "resources: [../base]\npatches: [{path: patch.yaml, target: {kind: Deployment}}]\n"
        patch = "".join(f"- {{op: add, path: /spec/template/spec/tolerations/-, value: {{key: {key}}}}}\n" for key in ("gpu", "spot"))
        history.commit({**BASE, "prod/kustomization.yaml": overlay, "prod/patch.yaml": patch})
        history.write({"prod/patch.yaml": patch.replace("gpu", "tpu")})
        assert known(report(afflint))[2] == [("prod/patch.yaml", "`prod/kustomization.yaml` reads it; `--render` renders it")]

    def test_a_custom_resource_that_is_rendered(self, history: History, afflint: Afflint) -> None:
        database = "apiVersion: db.example.com/v1\nkind: Database\nmetadata: {name: a}\nspec: {plan: small}\n"
        history.commit({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": database})
        history.write({"a.yaml": database.replace("small", "large")})
        reason = "Database a: afflint does not know which pods its operator makes"
        assert known(report(afflint, "--render")) == ("not known", [], [("a.yaml", reason)])

    def test_a_kustomization_in_a_folder_of_tools(self, history: History, afflint: Afflint) -> None:
        sizes = "resources: [web.yaml]\nreplicas: [{name: web, count: 2}]\n"
        history.commit(
            {"kustomization.yaml": "resources: [.github/k8s]\n", ".github/k8s/kustomization.yaml": sizes, ".github/k8s/web.yaml": WEB}
        )
        history.write({".github/k8s/kustomization.yaml": sizes.replace("count: 2", "count: 5")})
        assert effects(afflint, "--render") == [["replicas: 2 → 5"]]


class TestCharts:
    def test_a_branch_that_other_values_switch_on(self, history: History, afflint: Afflint) -> None:
        template = f"{WEB}{{{{ if .Values.ha }}}}# {{{{ .Values.ha }}}}\n{{{{ end }}}}"
        history.commit({"web/Chart.yaml": CHART, "web/values.yaml": "ha: false\n", "web/values-prod.yaml": "ha: true\n"})
        history.commit({"web/templates/web.yaml": template})
        history.write({"web/templates/web.yaml": template.replace("# {{", "kind: {{")})
        reason = "a template that changes nothing with the values that were rendered"
        assert known(report(afflint, "--render")) == ("not known", [], [("web/templates/web.yaml", reason)])

    @pytest.mark.skipif(os.name == "nt", reason="needs links")
    def test_values_behind_a_link(self, history: History, afflint: Afflint) -> None:
        (history.root / "web").mkdir()
        (history.root / "web" / "values.yaml").symlink_to("../config/web.yaml")
        files = {name: text for name, text in WEB_CHART.items() if "values" not in name}
        history.commit({**files, "config/web.yaml": "replicaCount: 2\n"})
        history.write({"config/web.yaml": "replicaCount: 3\n"})
        assert effects(afflint, "--render") == [["replicas: 2 → 3"]]

    def test_a_packed_chart(self, history: History, afflint: Afflint, tmp_path: Path) -> None:
        def packed(replicas: int) -> bytes:
            (tmp_path / "sub" / "templates").mkdir(parents=True, exist_ok=True)
            (tmp_path / "sub" / "Chart.yaml").write_text(CHART.replace("web", "sub"))
            (tmp_path / "sub" / "templates" / "web.yaml").write_text(WEB.replace("replicas: 2", f"replicas: {replicas}"))
            return subprocess.run(["tar", "cz", "sub"], cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout

        history.commit({"web/Chart.yaml": CHART, "web/charts/sub-1.0.0.tgz": packed(3)})
        history.write({"web/charts/sub-1.0.0.tgz": packed(0)})
        assert known(report(afflint))[2] == [("web/charts/sub-1.0.0.tgz", "a packed chart; `--render` renders it")]
        assert effects(afflint, "--render") == [["replicas: 3 → 0"]]

    def test_a_template_that_is_ignored_now(self, history: History, afflint: Afflint) -> None:
        history.commit(WEB_CHART)
        history.write({"web/.helmignore": "templates/web.yaml\n"})
        assert known(report(afflint))[2] == [("web/.helmignore", "which files a chart has; `--render` renders it")]
        assert effects(afflint, "--render") == [["removed"]]

    def test_a_file_that_a_template_reads(self, history: History, afflint: Afflint) -> None:
        template = WEB.replace("replicas: 2", 'replicas: {{ .Files.Get "size.md" }}')
        history.commit({"web/Chart.yaml": CHART, "web/templates/web.yaml": template, "web/size.md": "3"})
        history.write({"web/size.md": "0"})
        assert known(report(afflint))[2] == [("web/size.md", "templates of the chart read files; `--render` renders it")]
        assert effects(afflint, "--render") == [["replicas: 3 → 0"]]

    def test_documentation(self, history: History, afflint: Afflint) -> None:
        history.commit({**WEB_CHART, "web/README.md": "a"})
        history.write({"web/README.md": "replicas: 3"})
        assert known(report(afflint)) == ("unchanged", [], [])

    @pytest.mark.parametrize(
        ("template", "verdict"),
        [
            ("# The replicas.\nkind: {{ .Values.kind }}\n", "unchanged"),
            ("kind: {{ .Values.other }}\n", "not known"),
            ("apiVersion: cert-manager.io/v1\nkind: Certificate\n", "unchanged"),
            ("apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\n", "not known"),
        ],
    )
    def test_what_a_template_may_create(self, history: History, afflint: Afflint, template: str, verdict: str) -> None:
        """Comments create nothing; of a Certificate, no controller makes pods."""
        before = "kind: {{ .Values.kind }}\n" if ".Values" in template else f"{template}spec: {{a: {{{{ .Values.a }}}}}}\n"
        history.commit({"web/Chart.yaml": CHART, "web/templates/a.yaml": before})
        history.write({"web/templates/a.yaml": template})
        assert known(report(afflint))[0] == verdict

    def test_a_template_is_not_compared_as_a_workload(self, history: History, afflint: Afflint) -> None:
        """Its number of replicas is not known."""
        history.commit(WEB_CHART)
        history.write({"web/templates/web.yaml": WEB})
        assert known(report(afflint)) == ("not known", [], [("web/templates/web.yaml", "a template of a chart; `--render` renders it")])
        assert effects(afflint) == []

    def test_a_release_that_a_chart_creates(self, history: History, afflint: Afflint) -> None:
        release = RELEASE.replace("replicas: 1", "replicas: {{ .Values.tunnels }}")
        history.commit({"apps/Chart.yaml": CHART, "apps/values.yaml": "tunnels: 2\n", "apps/templates/release.yaml": release})
        history.write({"apps/values.yaml": "tunnels: 0\n"})
        reason = "HelmRelease tunnel, which it creates, is not rendered"
        assert known(report(afflint, "--render")) == ("not known", [], [("apps", reason)])


class TestNames:
    """Files that objects of Argo CD and Flux name."""

    def test_names_with_variables(self, history: History, afflint: Afflint) -> None:
        history.commit({"apps.yaml": APPLICATIONS, "env/prod.yaml": "worker: {on: 1}\n", "other/prod.yaml": "worker: {on: 1}\n"})
        history.write({"env/prod.yaml": "worker: {on: 2}\n", "other/prod.yaml": "worker: {on: 2}\n"})
        assert known(report(afflint)) == ("not known", [], [("env/prod.yaml", "values of a chart that is not rendered")])

    def test_files_of_a_generator(self, history: History, afflint: Afflint) -> None:
        history.commit({"apps.yaml": APPLICATIONS, "clusters/eu/east/config.json": '{"zone": "a"}'})
        history.write({"clusters/eu/east/config.json": '{"zone": "b"}'})
        assert known(report(afflint))[2] == [("clusters/eu/east/config.json", "values of a chart that is not rendered")]

    @pytest.mark.parametrize("name", ["values-prod.yaml", "ci/prod.yaml"])
    def test_values_in_a_folder_for_tests(self, history: History, afflint: Afflint, name: str) -> None:
        application = (
            f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {{source: {{path: web, helm: {{valueFiles: [{name}]}}}}}}\n"
        )
        history.commit({**WEB_CHART, "app.yaml": application, f"web/{name}": "replicaCount: 3\n"})
        history.write({f"web/{name}": "replicaCount: 0\n"})
        assert known(report(afflint)) == ("changed", [f"web/{name}:1  replicaCount: 3 → 0"], [])

    def test_values_that_have_moved(self, history: History, afflint: Afflint) -> None:
        history.commit({"values-prod.yaml": "replicaCount: 3\n"})
        (history.root / "values-prod.yaml").unlink()
        history.write({"env/values-prod.yaml": "replicaCount: 3\n"})
        assert known(report(afflint)) == ("not known", [], [("env/values-prod.yaml", "values that were in `values-prod.yaml`")])

    def test_encrypted_values(self, history: History, afflint: Afflint) -> None:
        history.commit({"values-prod.yaml": b"\0GITCRYPT\0a", "other.yaml": b"\0GITCRYPT\0a"})
        history.write({"values-prod.yaml": b"\0GITCRYPT\0b", "other.yaml": b"\0GITCRYPT\0b"})
        assert known(report(afflint)) == ("not known", [], [("values-prod.yaml", "encrypted values")])

    def test_empty_values(self, history: History, afflint: Afflint) -> None:
        """They replace what the chart sets."""
        history.commit({"values-prod.yaml": "a: 1\n"})
        history.write({"values-prod.yaml": "a: 1\ntolerations: []\n"})
        assert known(report(afflint)) == ("changed", ["values-prod.yaml:2  tolerations: new, []"], [])

    def test_names_in_a_kustomization_with_variables(self, history: History, afflint: Afflint) -> None:
        """A dashboard has no values."""
        kustomization = "configMapGenerator: [{name: d, files: [dash.json]}]\nvars: [{name: A, objref: {kind: ConfigMap, name: z}}]\n"
        history.commit({"kustomization.yaml": kustomization, "dash.json": '{"panels": 1}'})
        history.write({"dash.json": '{"panels": 2}'})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_what_argo_cd_adds_to_a_source(self, history: History, afflint: Afflint) -> None:
        history.commit({".argocd-source-web.yaml": "kustomize: {images: [a]}\n"})
        history.write({".argocd-source-web.yaml": "kustomize: {images: [b]}\n"})
        assert known(report(afflint))[2] == [(".argocd-source-web.yaml", "what a tool adds to the manifests beside it")]


class TestCheckouts:
    """What Git writes into a work tree is not always what a commit has."""

    def test_windows_line_ends(self, history: History, afflint: Afflint) -> None:
        history.commit({"a.env": "A=1\n", "kustomization.yaml": "configMapGenerator: [{name: a, envs: [a.env]}]\nvars: []\n"})
        history.write({"a.env": "A=1\r\n"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_the_content_of_a_pointer(self, history: History, afflint: Afflint) -> None:
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(b'packed').hexdigest()}\nsize 6\n"
        history.commit({"web/Chart.yaml": CHART, "web/charts/sub.tgz": pointer})
        history.write({"web/charts/sub.tgz": b"packed"})
        assert known(report(afflint)) == ("unchanged", [], [])

    def test_a_tracked_file_that_git_ignores(self, history: History, afflint: Afflint) -> None:
        history.commit({".gitignore": "build/\n", "build/web.yaml": WEB})
        history.git("add", "--force", "build/web.yaml")
        history.commit({})
        assert known(report(afflint, "HEAD~1..HEAD"))[2] == [("build/web.yaml", "it is not among the files that are read")]

    def test_a_path_with_a_thousand_folders(self, history: History, afflint: Afflint) -> None:
        history.commit({"a.yaml": "a: 1\n"})
        blob = history.git("rev-parse", "HEAD:a.yaml")
        history.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{'a/' * 1200}x.env")
        history.git("commit", "--quiet", "--message", "deep")
        assert known(report(afflint, "HEAD~1..HEAD"))[0] == "unchanged"


class TestObjects:
    def test_a_virtual_machine_that_no_longer_starts(self, history: History, afflint: Afflint) -> None:
        machine = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: db}
spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}}}}
"""
        history.commit({"db.yaml": machine})
        history.write({"db.yaml": machine.replace("Always", "Halted")})
        assert effects(afflint) == [["runStrategy Halted: it no longer starts by itself"]]
        assert afflint("diff").code == 1

    def test_the_size_of_a_custom_resource(self, history: History, afflint: Afflint) -> None:
        tenant = "apiVersion: minio.min.io/v2\nkind: Tenant\nmetadata: {name: a}\nspec: {pools: [{name: p, servers: 4}]}\n"
        history.commit({"a.yaml": tenant})
        history.write({"a.yaml": tenant.replace("4", "1")})
        assert known(report(afflint)) == ("changed", ["a.yaml:4 Tenant a spec.pools[p].servers: 4 → 1"], [])

    def test_an_operator_that_is_not_known(self, history: History, afflint: Afflint) -> None:
        database = "apiVersion: db.example.com/v1\nkind: Database\nmetadata: {name: a}\nspec: {plan: small}\n"
        certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {secretName: a}\n"
        history.commit({"a.yaml": database, "b.yaml": certificate})
        history.write({"a.yaml": database.replace("small", "large"), "b.yaml": certificate.replace("secretName: a", "secretName: b")})
        reason = "Database a: afflint does not know which pods its operator makes"
        assert known(report(afflint)) == ("not known", [], [("a.yaml", reason)])

    def test_a_file_that_is_excluded_now(self, history: History, afflint: Afflint) -> None:
        history.commit({"gen/web.yaml": WEB, ".afflint.yaml": "{}\n"})
        base = history.git("rev-parse", "--short=10", "HEAD")
        history.write({".afflint.yaml": "exclude: [gen/]\n"})
        assert known(report(afflint))[2] == [("gen/web.yaml", f"only {base} reads it, by its configuration")]
        assert effects(afflint) == [["gone from what is compared; what is not compared may create it"]]


class TestClusters:
    NODES = """\
apiVersion: v1
kind: Node
metadata: {name: node1, labels: {kubernetes.io/hostname: node1}}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}
"""

    def test_workloads_of_one_cluster_are_gone(self, history: History, afflint: Afflint) -> None:
        """Both clusters have a node of the same name."""
        history.commit({f"{name}/{file}": text for name in ("east", "west") for file, text in (("n.yaml", self.NODES), ("w.yaml", WEB))})
        (history.root / "west" / "w.yaml").unlink()
        assert [(each["workload"], each["changes"]) for each in report(afflint)["placement"]] == [
            ("west: Deployment default/web", ["removed"])
        ]

    def test_folders_of_nodes_without_workloads(self, history: History, afflint: Afflint) -> None:
        """Whose nodes they are is not known, so that the manifests alone are compared."""
        history.commit({"east/nodes.yaml": self.NODES, "west/nodes.yaml": self.NODES, "base/web.yaml": WEB})
        history.write({"base/web.yaml": WEB.replace("replicas: 2", "replicas: 3")})
        data = report(afflint)
        assert [each["changes"] for each in data["placement"]] == [["replicas: 2 → 3"]]
        (note,) = data["summary"]["notes"]
        assert note.startswith("the nodes are not used: west/nodes.yaml:3:18: duplicate node 'node1'")


def test_a_submodule(history: History, afflint: Afflint) -> None:
    for commit in ("1" * 40, "2" * 40):
        history.git("update-index", "--add", "--cacheinfo", f"160000,{commit},base")
        history.git("commit", "--quiet", "--message", "next")
    assert known(report(afflint, "HEAD~1..HEAD")) == ("not known", [], [("base", "a submodule, whose files are not read")])
