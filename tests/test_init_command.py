"""`afflint init`: what a first configuration says of a repository, that it is valid, and that nothing is overwritten."""

import os
import stat
import sys
from pathlib import Path

import pytest

from afflint import config as settings
from afflint.checks.registry import CATEGORIES, rules
from afflint.source import atomic_write
from command_line import Afflint

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {ssd: true}, containers: [{name: web, image: "nginx:1.27"}]}}
"""
ORDERS = WEB.replace("web", "orders").replace("true", '"true"')
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: w1, labels: {ssd: "true"}}
status: {nodeInfo: {kubeletVersion: v1.33.4}}
"""
RUN = """\
apiVersion: batch.example.com/v1
kind: NightlyRun
metadata: {name: report}
spec: {step: {template: {spec: {nodeSelector: {ssd: "true"}, containers: [{name: report, image: "report:1"}]}}}}
"""
KARPENTER = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: general}}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, with no tools but ours on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")


def put(**files: str) -> None:
    """Write files by names that are paths: ``a__b`` is a/b.yaml."""
    for name, text in files.items():
        path = Path(*f"{name}.yaml".split("__"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def loaded(path: str = ".afflint.yaml") -> settings.Config:
    """What a configuration file sets. Fails for one with mistakes."""
    return settings.load(path, rule_names=tuple(rules()), categories=CATEGORIES)


def test_it_says_what_the_repository_shows(afflint: Afflint) -> None:
    put(apps__web=WEB, apps__orders=ORDERS, nodes=NODES)
    done = afflint("init")
    assert done.code == 0
    assert done.out.startswith("Wrote .afflint.yaml, which sets context, nodes, kubernetes-version.\n")
    assert Path(".afflint.yaml").read_text(encoding="utf-8") == (
        "# Settings of `afflint check` and of editors. `afflint config` shows all settings in effect. `afflint init`\n"
        "# found 2 workloads (2 Deployment), in the namespace shop.\n"
        "\n"
        "# Files that rules across manifests can read when only some files are checked, as in a hook or an editor.\n"
        "context: [/apps/**/*.yaml]\n"
        "\n"
        "# The nodes of the cluster (1). `kubectl get nodes -o yaml` writes such a file.\n"
        "nodes: [nodes.yaml]\n"
        "\n"
        "# The Kubernetes version of the cluster, according to nodes.yaml.\n"
        'kubernetes-version: "1.33"\n'
        "\n"
        "# Set this if all objects in the namespace shop are in this repository. Selectors without a match are then\n"
        "# reported.\n"
        "# complete: true\n"
        "\n"
        "# Set this if these are all nodes of the cluster. A pod that none of them matches is then an error.\n"
        "# complete-nodes: true\n"
        "\n"
        "# Findings in this file are not reported. `afflint check --write-baseline` adds the current findings.\n"
        '# baseline: ".afflint-baseline.json"\n'
    )
    config = loaded()
    assert (config.context, config.nodes, config.kubernetes_version) == (("/apps/**/*.yaml",), ("nodes.yaml",), "1.33")
    # The context lets one file alone be checked as all together are.
    assert afflint("check", "--format", "concise", "apps").code == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are UTF-8 there")
def test_names_that_are_not_utf8_are_not_named(afflint: Afflint, tmp_path: Path) -> None:
    for name in (os.fsdecode(b"\xff"), "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "web.yaml").write_text(WEB)
    assert afflint("init").code == 0
    assert "context: ['**/*.yaml']" in (tmp_path / ".afflint.yaml").read_text().replace('"', "'")


def test_a_patch_is_not_one_more_workload(afflint: Afflint) -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeSelector: {disk: ssd}}}}\n"
    put(apps__web=WEB, prod__patch=patch, prod__kustomization="resources: [../apps/web.yaml]\npatches: [{path: patch.yaml}]\n")
    assert afflint("init").code == 0
    assert "1 workload (1 Deployment)" in Path(".afflint.yaml").read_text(encoding="utf-8")


def test_every_offer_can_be_taken_up(afflint: Afflint) -> None:
    put(apps__web=WEB, apps__orders=ORDERS, vendor__chart=WEB, runs__report=RUN)
    assert afflint("init").code == 0
    text = Path(".afflint.yaml").read_text(encoding="utf-8")
    offered = [line for line in text.splitlines() if line.startswith("# ") and line[2:].partition(":")[0] in settings.KEYS]
    assert offered == ["# nodes: [nodes.yaml]", "# complete: true", '# baseline: ".afflint-baseline.json"']
    for line in offered:
        text = text.replace(line, line[2:])
    Path(".afflint.yaml").write_text(text, encoding="utf-8")
    assert loaded().complete


def test_nothing_to_see_is_a_configuration_too(afflint: Afflint) -> None:
    done = afflint("init")
    assert (done.code, done.out.splitlines()[0]) == (0, "Wrote .afflint.yaml, with all settings as comments.")
    assert "found no workloads" in Path(".afflint.yaml").read_text(encoding="utf-8")
    assert loaded() == loaded()._replace(context=(), nodes=())
    assert afflint("check").code == 0


def test_what_is_there_stays(afflint: Afflint) -> None:
    for name in (".afflint.yaml", ".afflint.yml"):
        Path(name).write_text("jobs: 3\n", encoding="utf-8")
        done = afflint("init")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"afflint: '{name}' already configures afflint")
        assert Path(name).read_text(encoding="utf-8") == "jobs: 3\n"
        Path(name).unlink()
    Path("pyproject.toml").write_text("[tool.afflint]\njobs = 3\n", encoding="utf-8")
    assert afflint("init").code == 2
    assert not Path(".afflint.yaml").exists()


def test_a_link_that_leads_nowhere_stays(afflint: Afflint) -> None:
    os.symlink("gone.yaml", ".afflint.yaml")
    assert afflint("init").code == 2
    assert os.readlink(".afflint.yaml") == "gone.yaml"


def test_what_turns_up_meanwhile_stays(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("theirs", encoding="utf-8")
    with pytest.raises(FileExistsError):
        atomic_write.write_new_file(str(target), b"ours")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert target.read_text(encoding="utf-8") == "theirs"


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(PermissionError):
        atomic_write.write_new_file(str(tmp_path / "file"), b"ours")
    assert [*tmp_path.iterdir()] == []


def test_dry_run_prints_and_writes_nothing(afflint: Afflint) -> None:
    put(web=WEB, orders=ORDERS)
    done = afflint("init", "--dry-run", "--baseline")
    assert (done.code, done.err, sorted(os.listdir())) == (0, "", ["orders.yaml", "web.yaml"])
    Path("copy.yaml").write_text(done.out, encoding="utf-8")
    assert loaded("copy.yaml").context == ("/*.yaml",)
    # An existing configuration does not prevent the output.
    afflint("init")
    assert afflint("init", "--dry-run").code == 0


def test_the_baseline_holds_what_is_found_under_the_configuration(afflint: Afflint) -> None:
    put(web=WEB, testdata__web=WEB)
    done = afflint("init", "--baseline")
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            "Wrote .afflint.yaml, which sets exclude, baseline.",
            "Wrote 1 finding to .afflint-baseline.json, which afflint no longer reports.",
        ],
    )
    assert '"file": "web.yaml"' in Path(".afflint-baseline.json").read_text(encoding="utf-8")
    assert afflint("check").code == 0


def test_a_baseline_that_is_there_is_named_and_stays(afflint: Afflint) -> None:
    put(web=WEB)
    Path(".afflint-baseline.json").write_text('{"version": 1, "findings": []}', encoding="utf-8")
    done = afflint("init", "--baseline")
    assert "already exists and is left unchanged" in done.out
    assert loaded().baseline == ".afflint-baseline.json"
    assert afflint("check").code == 1


def test_without_findings_there_is_no_baseline(afflint: Afflint) -> None:
    put(orders=ORDERS)
    done = afflint("init", "--baseline")
    assert done.out.endswith("There are no findings today.\n")
    assert not Path(".afflint-baseline.json").exists()
    assert loaded().baseline is None


def test_pyproject_gets_a_table_at_its_end(afflint: Afflint) -> None:
    put(web=WEB, orders=ORDERS, runs__report=RUN)
    before = b'[project]\r\nname = "shop"'
    Path("pyproject.toml").write_bytes(before)
    Path("pyproject.toml").chmod(0o640)
    assert afflint("init", "--pyproject").code == 0
    after = Path("pyproject.toml").read_bytes()
    assert after.startswith(before + b"\r\n\r\n[tool.afflint]\r\n")
    assert after.count(b"\n") == after.count(b"\r\n")
    assert stat.S_IMODE(Path("pyproject.toml").stat().st_mode) == 0o640
    config = loaded("pyproject.toml")
    assert config.workloads == (settings.CustomWorkloadSetting("batch.example.com/v1", "NightlyRun", ("spec", "step", "template")),)
    assert afflint("init", "--pyproject").code == 2


def test_pyproject_that_cannot_take_a_table(afflint: Afflint) -> None:
    assert afflint("init", "--pyproject").err.startswith("afflint: 'pyproject.toml' does not exist")
    Path("pyproject.toml").write_text("[project\n", encoding="utf-8")
    done = afflint("init", "--pyproject")
    assert (done.code, Path("pyproject.toml").read_text(encoding="utf-8")) == (2, "[project\n")
    assert done.err.startswith("afflint: a table cannot be added to 'pyproject.toml'")


def test_a_configuration_above_goes_on_to_hold(afflint: Afflint) -> None:
    put(apps__web=WEB)
    Path(".afflint.yaml").write_text("jobs: 3\n", encoding="utf-8")
    assert afflint("init", "apps").code == 0
    config = loaded("apps/.afflint.yaml")
    assert (config.extends, config.jobs) == ((".afflint.yaml",), 3)


def test_one_above_the_repository_is_of_this_machine_only(afflint: Afflint) -> None:
    put(clone__apps__web=WEB)
    Path("clone", ".git").mkdir()
    Path(".afflint.yaml").write_text("jobs: 3\n", encoding="utf-8")
    for folder in ("clone", "clone/apps"):
        assert afflint("init", folder).code == 0
        assert loaded(f"{folder}/.afflint.yaml").jobs is None
    assert loaded("clone/.afflint.yaml").extends == ()
    assert loaded("clone/apps/.afflint.yaml").extends == ("clone/.afflint.yaml",)


def test_custom_resources_whose_template_is_always_at_one_place(afflint: Afflint) -> None:
    put(report=RUN, other=RUN.replace("report", "other"))
    assert afflint("init").code == 0
    assert loaded().workloads == (settings.CustomWorkloadSetting("batch.example.com/v1", "NightlyRun", ("spec", "step", "template")),)


def test_custom_resources_that_a_definition_describes_or_that_differ(afflint: Afflint) -> None:
    put(report=RUN, other=RUN.replace("report", "other").replace("step", "task"))
    assert afflint("init").code == 0
    assert loaded().workloads == ()


def test_pools_count_by_themselves(afflint: Afflint) -> None:
    put(web=WEB, pools=KARPENTER)
    assert afflint("init").code == 0
    text = Path(".afflint.yaml").read_text(encoding="utf-8")
    assert "the node pools in this repository: NodePool general." in text
    assert "\nnodes: auto\n" in text
    # What knows the pools has to be there when one file is checked.
    assert loaded().context == ("/*.yaml",)


def test_nodes_that_may_be_of_another_cluster_are_only_offered(afflint: Afflint) -> None:
    put(a__web=WEB, b__nodes=NODES)
    assert afflint("init").code == 0
    assert "\n# nodes: [b/nodes.yaml]\n" in Path(".afflint.yaml").read_text(encoding="utf-8")
    assert loaded().nodes == ()


def test_versions_that_contradict_each_other_are_only_offered(afflint: Afflint) -> None:
    put(web=WEB, nodes=NODES + "---\n" + NODES.replace("w1", "w2").replace("1.33", "1.32"))
    assert afflint("init").code == 0
    text = Path(".afflint.yaml").read_text(encoding="utf-8")
    assert "1.32 in nodes.yaml and 1.33 in nodes.yaml" in text
    assert '\n# kubernetes-version: "1.33"\n' in text


KUBEADM = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.34.1
"""
EKSCTL = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: shop, region: eu-1, version: "1.34"}
managedNodeGroups: [{name: general, labels: {pool: general}}]
"""
TKG = """\
apiVersion: run.tanzu.vmware.com/v1alpha3
kind: TanzuKubernetesCluster
metadata: {name: shop}
spec:
  topology:
    controlPlane: {replicas: 3, tkr: {reference: {name: v1.34.2---vmware.1-tkg.2}}}
    nodePools: [{name: general, replicas: 3, labels: {pool: general}}]
"""


@pytest.mark.parametrize("manifest", [KUBEADM, EKSCTL], ids=["kubeadm", "eksctl"])
def test_what_declares_nodes_says_the_version(afflint: Afflint, manifest: str) -> None:
    put(web=WEB, cluster=manifest)
    assert afflint("init").code == 0
    assert loaded().kubernetes_version == "1.34"


def test_a_cluster_that_is_kept_from_another_one_is_only_offered(afflint: Afflint) -> None:
    put(web=WEB, cluster=TKG)
    assert afflint("init").code == 0
    text = Path(".afflint.yaml").read_text(encoding="utf-8")
    assert "\n# nodes: [cluster.yaml]\n" in text
    assert '\n# kubernetes-version: "1.34"\n' in text
    assert (loaded().nodes, loaded().kubernetes_version) == ((), settings.default().kubernetes_version)


def test_sets_of_policies_are_offered_for_what_is_there(afflint: Afflint) -> None:
    def offered() -> str:
        [line] = [line for line in afflint("init", "--dry-run").out.splitlines() if line.startswith("# extends: ")]
        return line

    put(web=WEB, pools=KARPENTER)
    assert offered() == '# extends: ["afflint:karpenter"]'
    put(machine="apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: db}\nspec: {template: {spec: {domain: {}}}}\n")
    put(cluster=TKG)
    Path("pools.yaml").unlink()
    assert offered() == '# extends: ["afflint:tkg-vsphere", "afflint:openshift-virtualization"]'
    zones = [NODES.replace("w1", f"w{zone}").replace("labels: {", f"labels: {{topology.kubernetes.io/zone: {zone}, ") for zone in "ab"]
    put(nodes="---\n".join(zones))
    assert offered().endswith('"afflint:high-availability"]')
    # It can be taken up.
    Path(".afflint.yaml").write_text(offered()[2:] + "\n", encoding="utf-8")
    assert len(loaded().policies) == 10


def test_rendering_is_offered_with_the_tools_that_are_there(afflint: Afflint) -> None:
    put(apps__web=WEB, apps__kustomization="resources: [web.yaml]\n", chart__Chart="apiVersion: v2\nname: a\nversion: 1.0.0\n")
    Path("tools").mkdir()
    for tool, offered in ((None, "true"), ("kustomize", "[kustomize]"), ("helm", "true")):
        if tool is not None:
            Path("tools", tool).write_text("#!/bin/sh\n", encoding="utf-8")
            Path("tools", tool).chmod(0o755)
        assert afflint("init").code == 0
        assert f"\n# render: {offered}\n" in Path(".afflint.yaml").read_text(encoding="utf-8")
        assert loaded().render == ()  # Only the command line starts programs.
        Path(".afflint.yaml").unlink()


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec: {chartRef: {kind: OCIRepository, name: runners}, values: {template: {spec: {containers: [{name: web, image: "nginx:1.27"}]}}}}
"""


def test_values_of_a_chart_are_not_the_template_of_a_custom_resource(afflint: Afflint) -> None:
    put(apps__one=RELEASE, apps__two=RELEASE.replace("name: web, namespace", "name: two, namespace"))
    assert afflint("init").code == 0
    written = Path(".afflint.yaml").read_text(encoding="utf-8")
    assert loaded().workloads == ()
    assert "found 2 HelmReleases, whose workloads" in " ".join(written.replace("\n#", "").split())
    assert "\n# render: [helm]\n" in written


def test_a_folder_is_asked_for(afflint: Afflint) -> None:
    put(web=WEB)
    assert afflint("init", "web.yaml").err == "afflint: 'web.yaml' is not a folder; init takes the folder that the configuration is for\n"
    assert afflint("init", "nowhere").code == 2


def test_a_folder_that_cannot_be_written_to(afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fsync", refuse)
    done = afflint("init")
    assert (done.code, done.err) == (2, "afflint: cannot write '.afflint.yaml': Permission denied\n")


@pytest.mark.parametrize(("setting", "is_kept"), [("0", True), ("no", True), ("1", False)])
def test_the_variable_for_the_cache_is_read_as_check_reads_it(
    afflint: Afflint, monkeypatch: pytest.MonkeyPatch, setting: str, is_kept: bool
) -> None:
    put(**{f"apps__web{number}": WEB.replace("web", f"web{number}") for number in range(70)})
    monkeypatch.setenv("AFFLINT_NO_CACHE", setting)
    monkeypatch.setenv("AFFLINT_CACHE_DIR", "kept")
    assert afflint("init", "--dry-run").code == 0
    assert Path("kept").exists() == is_kept


def test_a_variable_that_is_neither_true_nor_false(afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    put(apps__web=WEB)
    monkeypatch.setenv("AFFLINT_NO_CACHE", "maybe")
    assert afflint("init").code == afflint("check").code == 2
    assert not Path(".afflint.yaml").exists()
