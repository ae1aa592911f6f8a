"""The checks of replicas, budgets, autoscalers, priority classes, tolerations and node constraints."""

from pathlib import Path

import pytest

from afflint import config as configuration
from policies.test_simple_checks import DEPLOYMENT, deployment
from policing import configured, findings_of, messages_of, policy

NAMED = DEPLOYMENT.replace("{name: web}", "{name: web, namespace: shop}")
BUDGET = """\
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {minReplicas: LOW, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""


class TestMinimumReplicas:
    POLICY = policy("minimum-replicas", "{replicas: 3}")

    @pytest.mark.parametrize("replicas, amount", [("replicas: 2", "2 replicas"), ("replicas: 1", "1 replica")])
    def test_fewer_replicas(self, tmp_path: Path, replicas: str, amount: str) -> None:
        found = messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", replicas))
        assert found == [f"5:13 Deployment web has {amount}; the policy requires at least 3"]

    def test_without_the_field_there_is_one(self, tmp_path: Path) -> None:
        found = messages_of(tmp_path, self.POLICY, NAMED.replace("  replicas: 3\n", ""))
        assert found == ["3:18 Deployment web has 1 replica; the policy requires at least 3"]

    @pytest.mark.parametrize("replicas", ["replicas: 3", "replicas: 0", "replicas: ${REPLICAS}", "replicas: 4"])
    def test_enough_replicas_or_none(self, tmp_path: Path, replicas: str) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", replicas)) == []

    def test_the_minimum_of_an_autoscaler_counts(self, tmp_path: Path) -> None:
        few = "3:18 HorizontalPodAutoscaler web may scale Deployment web to 2 replicas; the policy requires at least 3"
        assert messages_of(tmp_path, self.POLICY, NAMED + SCALER.replace("LOW", "2")) == [few]
        assert messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", "replicas: 1") + SCALER.replace("LOW", "3")) == []

    @pytest.mark.parametrize("kind", ["DaemonSet", "Job", "Pod"])
    def test_other_kinds_have_no_replicas(self, tmp_path: Path, kind: str) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED.replace("Deployment", kind).replace("  replicas: 3\n", "")) == []

    @pytest.mark.parametrize("old, new", [("  replicas: 3\n", "  replicas: 1\n"), ("  replicas: 3\n", "")])
    def test_the_fix_sets_the_number(self, tmp_path: Path, old: str, new: str) -> None:
        (found,) = findings_of(tmp_path, self.POLICY, NAMED.replace(old, new))
        assert found.fix is not None
        assert not found.fix.safe


class TestRequiredService:
    POLICY = policy("required-service")
    LISTENING = NAMED.replace("image: nginx", "image: nginx, ports: [{containerPort: 80}]")
    SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""

    def test_a_workload_without_a_service(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, self.LISTENING) == ["3:18 no Service selects the pods of Deployment web"]

    def test_a_service_selects_the_pods(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, self.LISTENING + self.SERVICE) == []

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("namespace: shop", "namespace: bar"),
            ("app: web", "app: api"),
            ("selector: {app: web}, ", ""),
            ("spec: {", "spec: {type: ExternalName, externalName: example.com, "),
        ],
    )
    def test_a_service_that_selects_other_pods_or_none(self, tmp_path: Path, old: str, new: str) -> None:
        assert len(messages_of(tmp_path, self.POLICY, self.LISTENING + self.SERVICE.replace(old, new))) == 1

    def test_the_labels_of_the_workload_do_not_count(self, tmp_path: Path) -> None:
        labelled = self.LISTENING.replace("{name: web, namespace: shop}", "{name: web, namespace: shop, labels: {role: web}}")
        assert len(messages_of(tmp_path, self.POLICY, labelled + self.SERVICE.replace("{app: web}", "{role: web}"))) == 1

    def test_labels_with_a_placeholder_are_unknown(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, self.LISTENING.replace("app: web", "app: '${APP}'") + self.SERVICE) == []

    def test_without_a_port_there_is_nothing_to_select(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED) == []
        assert len(messages_of(tmp_path, policy("required-service", "{exempt-without-ports: false}"), NAMED)) == 1

    @pytest.mark.parametrize("replicas", ["replicas: 0", "replicas: ${REPLICAS}"])
    def test_without_replicas_there_are_no_pods(self, tmp_path: Path, replicas: str) -> None:
        found = messages_of(tmp_path, self.POLICY, self.LISTENING.replace("replicas: 3", replicas))
        assert len(found) == (replicas != "replicas: 0")


class TestRequiredBudget:
    POLICY = policy("required-budget")

    def test_a_workload_without_a_budget(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED) == ["3:18 no PodDisruptionBudget covers the pods of Deployment web"]

    def test_a_budget_covers_the_pods(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED + BUDGET) == []
        assert messages_of(tmp_path, self.POLICY, NAMED + BUDGET.replace("{matchLabels: {app: web}}", "{}")) == []

    @pytest.mark.parametrize("old, new", [("namespace: shop", "namespace: bar"), ("app: web", "app: api")])
    def test_a_budget_elsewhere_does_not(self, tmp_path: Path, old: str, new: str) -> None:
        assert len(messages_of(tmp_path, self.POLICY, NAMED + BUDGET.replace(old, new))) == 1

    def test_few_replicas_need_none(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", "replicas: 1")) == []
        assert len(messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", "replicas: 1") + SCALER.replace("LOW", "1"))) == 1
        assert len(messages_of(tmp_path, policy("required-budget", "{min-replicas: 1}"), NAMED.replace("replicas: 3", "replicas: 1"))) == 1


class TestRequiredAutoscaler:
    POLICY = policy("required-autoscaler")

    def test_a_workload_without_an_autoscaler(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED) == ["3:18 no HorizontalPodAutoscaler or ScaledObject scales Deployment web"]
        assert len(messages_of(tmp_path, self.POLICY, NAMED.replace("  replicas: 3\n", ""))) == 1

    def test_an_autoscaler_scales_it(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED + SCALER.replace("LOW", "1")) == []

    def test_a_workload_that_is_turned_off_needs_none(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, NAMED.replace("replicas: 3", "replicas: 0")) == []


class TestRequiredPriorityClass:
    @pytest.mark.parametrize(
        "params, spec, expected",
        [
            ("{}", "", ["3:18 Deployment web sets no priorityClassName; the policy requires one"]),
            ("{}", "priorityClassName: any", []),
            ("{classes: [high, low]}", "", ["3:18 Deployment web sets no priorityClassName; the policy requires one: `high` or `low`"]),
            (
                "{classes: [high]}",
                "priorityClassName: low",
                ["12:26 Deployment web has the priority class `low`; the policy allows only `high`"],
            ),
            ("{classes: [hi*]}", "priorityClassName: high", []),
            ("{classes: [high]}", "priorityClassName: '${CLASS}'", []),
        ],
    )
    def test_the_class_of_the_pods(self, tmp_path: Path, params: str, spec: str, expected: list[str]) -> None:
        assert messages_of(tmp_path, policy("required-priority-class", params), deployment(spec)) == expected

    def test_one_allowed_class_is_a_fix(self, tmp_path: Path) -> None:
        (found,) = findings_of(tmp_path, policy("required-priority-class", "{classes: [high]}"), deployment("priorityClassName: low"))
        assert found.fix is not None


class TestForbiddenTolerations:
    POLICY = policy(
        "forbidden-tolerations", "{tolerations: [{key: node-role.kubernetes.io/*}, {key: pool, value: gpu, effect: NoSchedule}]}"
    )

    @pytest.mark.parametrize(
        "toleration",
        [
            "{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}",
            "{key: node-role.kubernetes.io/master, value: x}",
            "{key: pool, value: gpu}",
            "{key: pool, operator: Exists}",
            "{operator: Exists}",
            "{operator: Exists, effect: NoExecute}",
        ],
    )
    def test_what_tolerates_a_forbidden_taint(self, tmp_path: Path, toleration: str) -> None:
        found = messages_of(tmp_path, self.POLICY, deployment(f"tolerations:\n- {toleration}"))
        assert [each.split()[0] for each in found] == ["13:10"]
        assert all(each.endswith(", which the policy forbids") for each in found)

    @pytest.mark.parametrize(
        "toleration",
        [
            "{key: pool, value: gpu, effect: NoExecute}",
            "{key: pool, value: db}",
            "{key: dedicated, operator: Exists}",
            "{key: '${TAINT}', operator: Exists}",
        ],
    )
    def test_other_taints_may_be_tolerated(self, tmp_path: Path, toleration: str) -> None:
        assert messages_of(tmp_path, self.POLICY, deployment(f"tolerations:\n- {toleration}")) == []


class TestRequiredTolerations:
    POLICY = policy("required-tolerations", "{tolerations: [{key: pool, value: db, effect: NoSchedule}]}")

    @pytest.mark.parametrize(
        "spec",
        ["", "tolerations: [{key: pool, value: web}]", "tolerations: [{key: pool, value: db, effect: NoExecute}]"],
    )
    def test_a_taint_that_is_not_tolerated(self, tmp_path: Path, spec: str) -> None:
        assert messages_of(tmp_path, self.POLICY, deployment(spec)) == [
            "3:18 Deployment web does not tolerate the taint `pool=db:NoSchedule`, which the policy requires"
        ]

    @pytest.mark.parametrize(
        "toleration",
        [
            "{key: pool, value: db, effect: NoSchedule}",
            "{key: pool, operator: Exists}",
            "{operator: Exists}",
            "{key: pool, value: '${POOL}'}",
        ],
    )
    def test_a_wider_toleration_is_enough(self, tmp_path: Path, toleration: str) -> None:
        assert messages_of(tmp_path, self.POLICY, deployment(f"tolerations:\n- {toleration}")) == []

    def test_the_fix_adds_the_toleration(self, tmp_path: Path) -> None:
        (found,) = findings_of(tmp_path, self.POLICY, deployment(""))
        assert found.fix is not None

    def test_a_glob_is_not_a_key(self, tmp_path: Path) -> None:
        with pytest.raises(configuration.ConfigError) as raised:
            configured(tmp_path, "policies:\n" + policy("required-tolerations", "{tolerations: [{key: 'pool/*'}]}"))
        assert "`pool/*` is not a valid key of a taint" in str(raised.value)


AFFINITY = """\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: disk, operator: Exists}]
"""


class TestRequiredNodeConstraint:
    POLICY = policy("required-node-constraint")

    def test_pods_without_a_constraint(self, tmp_path: Path) -> None:
        expected = ["3:18 no node constraint restricts the nodes for Deployment web; the policy requires a constraint"]
        assert messages_of(tmp_path, self.POLICY, deployment("")) == expected
        preference = "{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}"
        preferred = f"affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{preference}]}}}}"
        assert messages_of(tmp_path, self.POLICY, deployment(preferred)) == expected

    @pytest.mark.parametrize("spec", ["nodeSelector: {disk: ssd}", AFFINITY, "nodeName: n1"])
    def test_any_constraint_is_enough(self, tmp_path: Path, spec: str) -> None:
        assert messages_of(tmp_path, self.POLICY, deployment(spec)) == []

    def test_the_namespace_may_have_the_constraint(self, tmp_path: Path) -> None:
        annotated = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {openshift.io/node-selector: disk=ssd}}\n"
        assert messages_of(tmp_path, self.POLICY, NAMED + annotated) == []


class TestEveryNodeLabel:
    POLICY = policy("forbidden-node-labels", "{labels: {'*': '*'}}")

    @pytest.mark.parametrize("spec, what", [("nodeSelector: {disk: ssd}", "`disk=ssd`"), (AFFINITY, "the label `disk`")])
    def test_every_label_is_forbidden(self, tmp_path: Path, spec: str, what: str) -> None:
        (found,) = messages_of(tmp_path, self.POLICY, deployment(spec))
        assert found.endswith(f"Deployment web requires nodes with {what}, which the policy forbids in node constraints")

    def test_no_constraint_is_fine(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, self.POLICY, deployment("")) == []

    def test_some_labels_may_be_allowed(self, tmp_path: Path) -> None:
        allowing = policy("forbidden-node-labels", "{labels: {'*': '*'}, except: [kubernetes.io/*]}")
        assert messages_of(tmp_path, allowing, deployment("nodeSelector: {kubernetes.io/os: linux}")) == []
        assert len(messages_of(tmp_path, allowing, deployment("nodeSelector: {kubernetes.io/os: linux, disk: ssd}"))) == 1
