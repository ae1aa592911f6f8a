"""Configurations of kube-scheduler among the manifests: where they are found, which are used, and pods of schedulers without any."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from afflint.controllers.pod_source import PodSource
from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.scheduler_profiles import Profiles, profiles_of
from afflint.inventory.simulation_input import undecidable_workloads
from afflint.pipeline.map_step import Checker, default_settings
from cluster_objects import HOST, ZONE
from command_line import Afflint
from on_nodes import apart, messages_of, workload

CHECKER = Checker(default_settings()._replace(inventory=True))
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packing
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [general]}]}]
"""
DEFAULT = CONFIGURATION.replace("packing", "default-scheduler")
COACHED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: packing, plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}}]
"""
VOLCANO = "schedulerName: volcano"
NODES = f"""\
- name: n1
  labels: {{{HOST}: n1, {ZONE}: a, pool: general}}
- name: n2
  labels: {{{HOST}: n2, {ZONE}: b}}
"""


def in_config_map(configuration: str) -> str:
    """A ConfigMap with a configuration as text."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second-scheduler, namespace: kube-system}\ndata:\n  config.yaml: |\n"
    return head + textwrap.indent(configuration, "    ")


def index_of(*texts: str) -> ManifestIndex:
    return ManifestIndex([CHECKER.check("a.yaml", text.encode()).facts.of_file(number, ()) for number, text in enumerate(texts)])


def profiles(*texts: str) -> Profiles:
    return profiles_of(index_of(*texts).facts.schedulers)


def of(found: Profiles, scheduler: str) -> str:
    """Why the profile of a scheduler is unknown."""
    return found.of(PodSource("Deployment", "apps", "shop", "web", 1, pod={"schedulerName": scheduler})).unknown


class TestWhereConfigurationsAre:
    @pytest.mark.parametrize(
        "text",
        [
            CONFIGURATION,
            in_config_map(CONFIGURATION),
            json.dumps(
                {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": CONFIGURATION}}]}
            ),
        ],
    )
    def test_as_an_object_and_as_text(self, text: str) -> None:
        assert list(profiles(text).by_name) == ["packing"]

    @pytest.mark.parametrize(
        "text",
        [
            CONFIGURATION.replace("kubescheduler.config.k8s.io", "example.com"),
            in_config_map(CONFIGURATION.replace("kind: Kube", "kind: Cube")),
            in_config_map("KubeSchedulerConfiguration: [\n"),
        ],
    )
    def test_what_is_none(self, text: str) -> None:
        assert profiles(text) == ({}, {})

    def test_the_profile_of_openshift(self) -> None:
        text = "apiVersion: config.openshift.io/v1\nkind: Scheduler\nmetadata: {name: cluster}\nspec: {profile: PROFILE}\n"
        weights = {
            name: profiles(text.replace("PROFILE", name)).by_name["default-scheduler"].weights
            for name in ("LowNodeUtilization", "HighNodeUtilization", "NoScoring")
        }
        assert weights["NoScoring"] == {}
        assert weights["LowNodeUtilization"] is not None
        expected = {**weights["LowNodeUtilization"], "NodeResourcesFit": 5}
        del expected["NodeResourcesBalancedAllocation"]
        assert weights["HighNodeUtilization"] == expected
        assert profiles(text.replace("PROFILE", "Other")).by_name == {}


class TestWhichAreUsed:
    def test_configurations_of_several_schedulers_add_up(self) -> None:
        found = profiles(DEFAULT, in_config_map(CONFIGURATION))
        assert (list(found.by_name), found.ambiguous) == (["default-scheduler", "packing"], {})

    def test_the_same_profile_twice_counts_once(self) -> None:
        assert list(profiles(CONFIGURATION, in_config_map(CONFIGURATION)).by_name) == ["packing"]

    def test_different_definitions_of_a_profile_are_not_used(self) -> None:
        found = profiles(CONFIGURATION, in_config_map(COACHED))
        assert found.by_name == {}
        (note,) = found.notes(lambda file: f"{file}.yaml")
        places = "KubeSchedulerConfiguration in 0.yaml and ConfigMap second-scheduler in 1.yaml"
        assert note == f"the scheduler profile packing is defined differently by {places}: its pods are not evaluated"

    def test_then_the_default_scheduler_has_its_default_profile(self) -> None:
        found = profiles(DEFAULT, COACHED.replace("packing", "default-scheduler"))
        assert of(found, "default-scheduler") == ""
        assert [note.rpartition(": ")[2] for note in found.notes(str)] == ["the simulation uses the default profile"]

    def test_a_placeholder_makes_a_profile_unknown(self) -> None:
        text = CONFIGURATION.replace("[general]", '["${POOL}"]')
        assert of(profiles(text), "packing") == "the configuration of the scheduler packing contains the placeholder `${POOL}`"

    def test_a_scheduler_without_a_configuration(self) -> None:
        assert of(profiles(CONFIGURATION), "volcano") == "the configuration of the scheduler volcano is not known"
        assert of(profiles(COACHED), "packing") == "profile packing enables the plugin Coscheduling"


class TestProofs:
    def test_nothing_is_proved_about_pods_of_unknown_schedulers(self) -> None:
        assert messages_of("unschedulable", NODES, workload("nodeSelector: {pool: gone}")) != []
        assert messages_of("unschedulable", NODES, workload(f"nodeSelector: {{pool: gone}}\n{VOLCANO}")) == []

    def test_nor_about_those_that_must_run_near_them(self) -> None:
        index = index_of(workload(VOLCANO, name="cache"), workload(VOLCANO + "\nnodeName: n1", name="pinned"))
        names = {pods.key: pods.ref.name for pods in index.pods}
        assert [names[key] for key in undecidable_workloads(index)] == ["cache"]

    def test_a_known_profile_is_used_for_proofs(self) -> None:
        manifests = "---\n".join([CONFIGURATION, workload(f"schedulerName: packing\n{apart(HOST, 'web')}", replicas=2)])
        (found,) = messages_of("too-few-domains", NODES, manifests)
        assert "2 replicas, 1 node: 1 node lacks pool=general (required by the scheduler's addedAffinity)" in found

    def test_its_added_affinity_is_named(self) -> None:
        manifests = "---\n".join([CONFIGURATION.replace("general", "gone"), workload("schedulerName: packing")])
        found = messages_of("unschedulable", NODES, manifests)
        assert any("2 nodes lack pool=gone (required by the scheduler's addedAffinity)" in each for each in found)


def place(afflint: Afflint, tmp_path: Path, manifests: str, *words: str, **files: str) -> tuple[int, dict[str, Any]]:
    """Runs ``afflint place`` on two nodes, and returns its exit code and its report."""
    (tmp_path / "nodes.yaml").write_text(f"nodes:\n{NODES}")
    (tmp_path / "web.yaml").write_text(manifests)
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    done = afflint("place", str(tmp_path), "--nodes", str(tmp_path / "nodes.yaml"), "--format", "json", *words)
    return done.code, json.loads(done.out)


class TestPlace:
    def test_pods_of_an_unknown_scheduler_are_not_evaluated(self, afflint: Afflint, tmp_path: Path) -> None:
        code, plan = place(afflint, tmp_path, workload(VOLCANO, replicas=2))
        (found,) = plan["workloads"]
        assert (code, found["unjudged"], found["verdicts"]) == (1, "the configuration of the scheduler volcano is not known", [])
        assert {replica["node"] for replica in found["replicas"]} == {None}
        assert found["notes"] == []

    def test_a_configuration_in_a_config_map_is_used(self, afflint: Afflint, tmp_path: Path) -> None:
        code, plan = place(afflint, tmp_path, workload("schedulerName: packing"), scheduler=in_config_map(CONFIGURATION))
        (found,) = plan["workloads"]
        assert (code, found.get("unjudged"), {replica["node"] for replica in found["replicas"]}) == (0, None, {"n1"})

    def test_unused_configurations_are_named(self, afflint: Afflint, tmp_path: Path) -> None:
        _, plan = place(afflint, tmp_path, workload(), one=DEFAULT, two=COACHED.replace("packing", "default-scheduler"))
        assert any("profile default-scheduler is defined differently by" in note for note in plan["notes"])

    def test_text_lists_them(self, afflint: Afflint, tmp_path: Path) -> None:
        place(afflint, tmp_path, f"{workload(VOLCANO, replicas=2)}---\n{workload(name='api', replicas=1)}")
        done = afflint("place", str(tmp_path), "--nodes", str(tmp_path / "nodes.yaml"), "--lose", "n1")
        assert (
            "0 of 2 replicas scheduled\n  2 replicas are not evaluated: the configuration of the scheduler volcano is not known\n"
            in done.out
        )
        assert "1 of 3 replicas of 2 workloads scheduled on 2 nodes. 2 replicas are not evaluated.\n" in done.out
        assert "every evaluated workload" in done.out or "an evaluated workload" in done.out
        assert "Pending" not in done.out

    def test_their_rollouts_are_not_evaluated(self, afflint: Afflint, tmp_path: Path) -> None:
        code, plan = place(afflint, tmp_path, workload(VOLCANO), "--roll", "each")
        (rollout,) = plan["rollouts"]
        assert (code, rollout["result"], rollout["why"]) == (1, "unjudged", "the configuration of the scheduler volcano is not known")


class TestRunningPods:
    PODS = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-1-x
  namespace: shop
  labels: {app: web, pod-template-hash: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true, uid: "1"}]
spec: {nodeName: n1, schedulerName: volcano, containers: [{name: web, image: web}]}
status: {phase: Running}
"""

    def test_they_stay_and_count_for_others_and_disruptions_of_them_are_not_evaluated(self, afflint: Afflint, tmp_path: Path) -> None:
        other = workload(apart(HOST, "web"), name="api", replicas=1)
        (tmp_path / "pods.yml").write_text(self.PODS)
        pods = ("--pods", str(tmp_path / "pods.yml"), "--lose", "n1", "--drain", "n1")
        code, plan = place(afflint, tmp_path, f"{workload(VOLCANO, replicas=2)}---\n{other}", *pods)
        web, api = plan["workloads"]
        assert [replica["node"] for replica in web["replicas"]] == ["n1", None]
        assert [replica["node"] for replica in api["replicas"]] == ["n2"]
        assert [(loss["worst"], loss["unjudgedPods"], loss["moves"], loss["blocked"]) for loss in plan["losses"]] == [
            ("unjudged", ["shop/web-1-x"], [], [])
        ] * 2
        assert code == 1

    def test_a_budget_over_them_does_not_block_a_drain_in_the_simulation(self, afflint: Afflint, tmp_path: Path) -> None:
        budget = (
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n"
            "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n"
        )
        second = self.PODS.replace("web-1-x", "web-1-y")
        (tmp_path / "pods.yml").write_text(f"{self.PODS}---\n{second}")
        pods = ("--pods", str(tmp_path / "pods.yml"), "--drain", "n1")
        _, plan = place(afflint, tmp_path, f"{workload(VOLCANO, replicas=2)}---\n{budget}", *pods)
        assert (plan["losses"][0]["result"], plan["losses"][0]["unjudged"]) == ("ends", 2)

    def test_why_says_that_they_are_not_evaluated_and_names_no_remedy(self, afflint: Afflint, tmp_path: Path) -> None:
        """All replicas run, and none of their failures is simulated."""
        (tmp_path / "nodes.yaml").write_text(f"nodes:\n{NODES}")
        (tmp_path / "web.yaml").write_text(workload(VOLCANO, replicas=1))
        (tmp_path / "pods.yml").write_text(self.PODS)
        asked = ("why", "web", str(tmp_path / "web.yaml"), "--nodes", str(tmp_path / "nodes.yaml"))
        for pods, counted, running in (((), "its pod is not evaluated.", 0), (("--pods", str(tmp_path / "pods.yml")), "its pod runs.", 1)):
            done = afflint(*asked, *pods)
            assert (done.code, counted in " ".join(done.out.split())) == (1, True)
            assert "Why it is not evaluated\n  the configuration of the scheduler volcano is not known\n" in done.out
            assert "What would help" not in done.out
            found = json.loads(afflint(*asked, *pods, "--format", "json").out)
            assert (found["running"], found["survives"], found["failures"]) == (running, False, [])
            assert found["why"] == "the configuration of the scheduler volcano is not known"

    def test_a_disruption_without_evaluated_workloads_is_not_evaluated(self, afflint: Afflint, tmp_path: Path) -> None:
        """Also on a node where none of them runs; pods of an unknown scheduler may move there."""
        (tmp_path / "pods.yml").write_text(self.PODS)
        pods = ("--pods", str(tmp_path / "pods.yml"), "--drain", "n2")
        code, plan = place(afflint, tmp_path, workload(VOLCANO, replicas=1), *pods)
        assert (code, plan["losses"][0]["worst"], plan["losses"][0]["unjudgedPods"]) == (1, "unjudged", [])
        text = afflint("place", str(tmp_path / "web.yaml"), "--nodes", str(tmp_path / "nodes.yaml"), *pods).out
        assert "node n2  not evaluated  no replica runs there\n" in text
        assert "\n1 drain: 1 is not evaluated.\n" in text
        many = afflint("place", str(tmp_path / "web.yaml"), "--nodes", str(tmp_path / "nodes.yaml"), *pods[:2], "--drain", "each:node").out
        assert "survive" not in many

    def test_why_names_other_workloads_that_are_not_evaluated(self, afflint: Afflint, tmp_path: Path) -> None:
        (tmp_path / "nodes.yaml").write_text(f"nodes:\n{NODES}")
        (tmp_path / "web.yaml").write_text(f"{workload(VOLCANO)}---\n{workload(name='api', replicas=1)}")
        done = afflint("why", "api", str(tmp_path / "web.yaml"), "--nodes", str(tmp_path / "nodes.yaml"))
        assert "another workload is not evaluated: Deployment shop/web\n" in done.out

    def test_why_counts_those_that_run_and_has_no_note_about_columns_of_place(self, afflint: Afflint, tmp_path: Path) -> None:
        for name, text in (("nodes.yaml", f"nodes:\n{NODES}"), ("web.yaml", workload(VOLCANO, replicas=2)), ("pods.yml", self.PODS)):
            (tmp_path / name).write_text(text)
        files = (str(tmp_path / "web.yaml"), "--nodes", str(tmp_path / "nodes.yaml"), "--pods", str(tmp_path / "pods.yml"))
        text = " ".join(afflint("why", "web", *files).out.split())
        assert "1 of 2 replicas runs, 1 is not evaluated." in text
        assert ("FITS" in text, "FITS is for the first replica" in afflint("place", *files).out) == (False, True)
