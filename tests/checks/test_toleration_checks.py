"""Tolerations that are out of date, superfluous or missing: each check at its borders."""

import pytest

from afflint.checks.match import Target
from edited import edited
from linting import lint, messages_of


def pod(constraints: str, kind: str = "Pod") -> str:
    lines = "".join(f"  {line}\n" for line in constraints.split("\n"))
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  containers: [{{name: c, image: busybox}}]\n{lines}"


def requiring(*terms: str) -> str:
    listed = ", ".join(f"{{matchExpressions: [{term}]}}" for term in terms)
    return pod(f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{listed}]}}}}}}")


class TestUntoleratedControlPlane:
    @pytest.mark.parametrize(
        "term",
        [
            "{key: node-role.kubernetes.io/control-plane, operator: Exists}",
            '{key: node-role.kubernetes.io/control-plane, operator: In, values: [""]}',
        ],
    )
    def test_pods_that_must_run_there(self, term: str) -> None:
        assert len(messages_of(requiring(term), "untolerated-control-plane")) == 1

    @pytest.mark.parametrize(
        "term",
        [
            "{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}",
            '{key: node-role.kubernetes.io/control-plane, operator: NotIn, values: [""]}',
            '{key: node-role.kubernetes.io/control-plane, operator: In, values: ["true"]}',
            '{key: node-role.kubernetes.io/control-plane, operator: In, values: ["", "true"]}',
        ],
    )
    def test_pods_that_must_not_or_whose_nodes_are_not_tainted(self, term: str) -> None:
        assert lint(requiring(term)) == []

    def test_pods_that_may_run_elsewhere(self) -> None:
        assert lint(requiring("{key: node-role.kubernetes.io/control-plane, operator: Exists}", "{key: disk, operator: Exists}")) == []

    @pytest.mark.parametrize(
        "toleration",
        [
            "{operator: Exists}",
            "{operator: Exists, effect: NoSchedule}",
            "{key: node-role.kubernetes.io/control-plane}",
            "{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}",
            '{key: node-role.kubernetes.io/control-plane, operator: Equal, value: "", effect: NoSchedule}',
        ],
    )
    def test_tolerations_that_will_do(self, toleration: str) -> None:
        text = pod(f'nodeSelector: {{node-role.kubernetes.io/control-plane: ""}}\ntolerations: [{toleration}]')
        assert messages_of(text, "untolerated-control-plane") == []

    @pytest.mark.parametrize("toleration", ["{operator: Exists, effect: NoExecute}", "{key: dedicated, operator: Exists}"])
    def test_tolerations_of_something_else(self, toleration: str) -> None:
        text = pod(f'nodeSelector: {{node-role.kubernetes.io/control-plane: ""}}\ntolerations: [{toleration}]')
        assert len(messages_of(text, "untolerated-control-plane")) == 1

    def test_a_static_pod_is_not_scheduled(self) -> None:
        assert lint(pod('nodeName: cp-1\nnodeSelector: {node-role.kubernetes.io/control-plane: ""}')) == []


class TestLegacyControlPlaneToleration:
    def test_every_taint_is_tolerated_anyway(self) -> None:
        text = pod("tolerations: [{key: node-role.kubernetes.io/master}, {operator: Exists, effect: NoSchedule}]")
        assert messages_of(text, "legacy-control-plane-toleration") == []

    def test_the_role_of_rke_counts_as_the_new_one(self) -> None:
        assert (
            lint(pod("tolerations: [{key: node-role.kubernetes.io/master}, {key: node-role.kubernetes.io/controlplane, value: x}]")) == []
        )

    def test_only_a_toleration_of_the_same_effect_is_enough_beside_it(self) -> None:
        master, rule = "{key: node-role.kubernetes.io/master, operator: Exists, effect: EFFECT}", "legacy-control-plane-toleration"
        both = pod(f"tolerations: [{master}, {{operator: Exists, effect: NoSchedule}}]")
        assert messages_of(both.replace("EFFECT", "NoSchedule"), rule) == []
        assert [each.partition(" ")[0] for each in messages_of(both.replace("EFFECT", "NoExecute"), rule)] == ["6:23"]

    @pytest.mark.parametrize(
        "before, after",
        [
            (
                (
                    "tolerations:\n"
                    "  # The control plane.\n"
                    "  - key: node-role.kubernetes.io/master\n"
                    "    operator: Exists\n"
                    "    effect: NoSchedule  # for now\n"
                    "  - {key: dedicated, operator: Exists}"
                ),
                (
                    "tolerations:\n"
                    "  # The control plane.\n"
                    "  - key: node-role.kubernetes.io/master\n"
                    "    operator: Exists\n"
                    "    effect: NoSchedule  # for now\n"
                    "  - key: node-role.kubernetes.io/control-plane\n"
                    "    operator: Exists\n"
                    "    effect: NoSchedule\n"
                    "  - {key: dedicated, operator: Exists}"
                ),
            ),
            (
                "tolerations: [{key: node-role.kubernetes.io/master}]",
                "tolerations: [{key: node-role.kubernetes.io/master}, {key: node-role.kubernetes.io/control-plane}]",
            ),
            (
                'tolerations: [{key: node-role.kubernetes.io/master, value: "true"}]',
                (
                    'tolerations: [{key: node-role.kubernetes.io/master, value: "true"},'
                    " {key: node-role.kubernetes.io/control-plane, operator: Exists}]"
                ),
            ),
            (
                (
                    "tolerations:\n"
                    "  - {key: node-role.kubernetes.io/master, effect: NoSchedule}\n"
                    "  - {key: node-role.kubernetes.io/master, effect: NoExecute}"
                ),
                (
                    "tolerations:\n"
                    "  - {key: node-role.kubernetes.io/master, effect: NoSchedule}\n"
                    "  - key: node-role.kubernetes.io/control-plane\n"
                    "    effect: NoSchedule\n"
                    "  - {key: node-role.kubernetes.io/master, effect: NoExecute}\n"
                    "  - key: node-role.kubernetes.io/control-plane\n"
                    "    effect: NoExecute"
                ),
            ),
        ],
        ids=["in lines", "in braces", "with a value", "of both effects"],
    )
    def test_the_fix_adds_the_new_toleration_and_keeps_the_old_one(self, before: str, after: str) -> None:
        found = lint(pod(before))
        assert {each.rule for each in found} == {"legacy-control-plane-toleration"}
        assert edited(pod(before), [edit for each in found if each.fix for edit in each.fix.edits]) == pod(after)
        assert lint(pod(after)) == []


class TestShadowedToleration:
    def test_a_different_time_is_a_different_toleration(self) -> None:
        text = pod(
            "tolerations:\n"
            "  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 30}\n"
            "  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}"
        )
        assert lint(text) == []

    def test_of_two_equal_ones_the_second_is_superfluous(self) -> None:
        assert len(messages_of(pod("tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]"), "shadowed-toleration")) == 1

    @pytest.mark.parametrize(
        "invalid",
        [
            '{key: gpu, operator: Equals, value: "true", effect: NoSchedule}',
            '{key: gpu, operator: Gt, value: "5"}',
            "{key: gpu, effect: NoShedule}",
            "{key: gpu, effct: NoSchedule}",
            "{key: gpu, operator: Exists, value: x}",
            "{key: gpu, value: a b}",
            "{key: a b, operator: Exists}",
            "{operator: Equal}",
            "{key: gpu, operator: {}}",
            "{key: gpu, operator: []}",
            "{key: gpu, value: 0}",
        ],
    )
    def test_an_invalid_toleration_is_not_compared(self, invalid: str) -> None:
        everything = "{operator: Exists}"
        assert messages_of(pod(f"tolerations: [{everything}, {invalid}]"), "shadowed-toleration") == []
        assert messages_of(pod(f"tolerations: [{invalid}, {{key: gpu, operator: Exists}}]"), "shadowed-toleration") == []

    def test_the_other_toleration_is_numbered_in_the_whole_list(self) -> None:
        text = pod("tolerations:\n  - {key: b, operator: Equals}\n  - {key: a, operator: Exists}\n  - {key: a}")
        assert messages_of(text, "shadowed-toleration") == [
            "9:8 this toleration has no effect: toleration 2 already matches the same taints"
        ]

    @pytest.mark.parametrize(
        "first, second, shadowed",
        [
            ("{key: dedicated, operator: Exists}", '{key: gpu, operator: Gt, value: "5"}', False),
            ("{key: gpu, operator: Exists}", '{key: gpu, operator: Gt, value: "5"}', True),
            ('{key: gpu, operator: Gt, value: "5"}', '{key: gpu, operator: Gt, value: "5"}', True),
            ('{key: gpu, operator: Gt, value: "5"}', '{key: gpu, operator: Lt, value: "5"}', False),
            ('{key: gpu, operator: Gt, value: "5"}', '{key: gpu, operator: Gt, value: "6"}', True),
            ('{key: gpu, operator: Lt, value: "6"}', '{key: gpu, operator: Lt, value: "5"}', True),
            ('{key: gpu, operator: Gt, value: "5"}', '{key: gpu, value: "5"}', False),
        ],
    )
    def test_comparisons_where_the_cluster_knows_them(self, first: str, second: str, shadowed: bool) -> None:
        target = Target(version=(1, 37), feature_gates=frozenset(["TaintTolerationComparisonOperators"]))
        text = pod(f"tolerations: [{first}, {second}]")
        assert bool(messages_of(text, "shadowed-toleration", target=target)) is shadowed

    def test_what_a_cluster_gives_out_has_tolerations_that_it_added_itself(self) -> None:
        added = "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}"
        text = pod(f"tolerations: [{{operator: Exists}}, {added}]")
        assert len(messages_of(text, "shadowed-toleration")) == 1
        assert lint(f"{text}status: {{phase: Running}}\n") == []


class TestIgnoredAnnotation:
    ALPHA = "scheduler.alpha.kubernetes.io"
    TOLERATIONS = f"""{ALPHA}/tolerations: '[{{"key":"CriticalAddonsOnly","operator":"Exists"}}]'"""
    CRITICAL = f'{ALPHA}/critical-pod: ""'
    AFFINITY = f"""{ALPHA}/affinity: '{{"podAntiAffinity": {{}}}}'"""

    @staticmethod
    def pod(annotation: str, spec: str = "") -> str:
        return pod(spec).replace("name: web}", f"name: web, annotations: {{{annotation}}}}}")

    @pytest.mark.parametrize(
        "annotation, message",
        [
            (
                TOLERATIONS,
                "this annotation has had no effect since Kubernetes 1.6: the pods do not tolerate the taint `CriticalAddonsOnly`",
            ),
            (AFFINITY, "this annotation has had no effect since Kubernetes 1.6: the pods have no affinity"),
            (CRITICAL, "this annotation has had no effect since Kubernetes 1.16: the pods have no priority over others"),
        ],
    )
    def test_what_the_annotation_asks_for_does_not_happen(self, annotation: str, message: str) -> None:
        assert messages_of(self.pod(annotation), "ignored-annotation") == [f"3:37 {message}"]

    @pytest.mark.parametrize(
        "annotation, spec",
        [
            (TOLERATIONS, "tolerations: [{key: CriticalAddonsOnly, operator: Exists}]"),
            (TOLERATIONS, "tolerations: [{operator: Exists}]"),
            (AFFINITY, "affinity: {nodeAffinity: {}}"),
            (CRITICAL, "priorityClassName: system-node-critical"),
            (f'{ALPHA}/tolerations: "[]"', ""),
            (f'{ALPHA}/tolerations: "$(TOLERATIONS)"', ""),
            (f"{ALPHA}/node-selector: zone=a", ""),
            (f"{ALPHA}/tolerations: {{}}", ""),
            (f"""{ALPHA}/tolerations: '[{{"operator":"Is"}}]'""", ""),
        ],
    )
    def test_a_relic_beside_the_field_and_annotations_of_others_are_left_alone(self, annotation: str, spec: str) -> None:
        assert messages_of(self.pod(annotation, spec), "ignored-annotation") == []

    def test_only_what_the_fields_do_not_tolerate_is_named(self) -> None:
        annotation = f"""{self.ALPHA}/tolerations: '[{{"key":"a","operator":"Exists"}},{{"key":"b","value":"c"}}]'"""
        assert messages_of(self.pod(annotation, "tolerations: [{key: a, operator: Exists}]"), "ignored-annotation") == [
            "3:37 this annotation has had no effect since Kubernetes 1.6: the pods do not tolerate the taint `b`"
        ]

    def test_old_clusters_knew_critical_pods(self) -> None:
        assert messages_of(self.pod(self.CRITICAL), "ignored-annotation", target=Target((1, 15))) == []

    def test_the_help_names_the_field_of_the_kind(self) -> None:
        text = f"""\
            apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: web}}
            spec:
              selector: {{matchLabels: {{app: web}}}}
              template:
                metadata: {{labels: {{app: web}}, annotations: {{{self.TOLERATIONS}}}}}
                spec: {{containers: [{{name: c, image: busybox}}]}}
            """
        (found,) = lint(text)
        assert found.help == "Write the tolerations under spec.template.spec.tolerations instead."


TALHELPER = """\
nodes: [{hostname: a, controlPlane: true, installDisk: b}]
patches:
  - |-
    %s
  - |-
    %s
"""
CONTROL_PLANE_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec: {nodeSelector: {node-role.kubernetes.io/control-plane: ""}, containers: [{name: a, image: b}]}
"""


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param("machine: {}\ncluster: {allowSchedulingOnControlPlanes: true}\n", 0, id="a patch of Talos"),
        pytest.param("cluster: {allowSchedulingOnControlPlanes: true}\n", 0, id="a patch of Talos for the cluster"),
        pytest.param("machine: {}\ncluster: {allowSchedulingOnControlPlanes: false}\n", 1, id="with the taint"),
        pytest.param("nodes: [{hostname: a, controlPlane: true, installDisk: b}]\nallowSchedulingOnMasters: true\n", 0, id="talhelper"),
        pytest.param("nodes: [{hostname: a, controlPlane: true, installDisk: b}]\n", 1, id="talhelper with the taint"),
        pytest.param(TALHELPER % ("machine: {a: '${B}'}", "cluster: {allowSchedulingOnControlPlanes: true}"), 0, id="in a patch"),
        pytest.param(TALHELPER % ("machine: {a: '${B}'}", "cluster: {allowSchedulingOnControlPlanes: ${B}}"), 0, id="set by a variable"),
        pytest.param(TALHELPER % ("machine: {a: '${B}'}", "cluster: ${B}"), 0, id="a variable may set it"),
        pytest.param(TALHELPER % ("machine: {a: '${B}'}", "${B}"), 0, id="a variable may be any patch"),
        pytest.param(TALHELPER % ("machine: {a: '${B}'}", "cluster: {a: '${B}'}"), 1, id="no patch sets it"),
    ],
)
def test_control_planes_that_accept_any_pod_need_no_toleration(nodes: str, expected: int) -> None:
    found = [each.rule for each in lint({"talos.yaml": nodes, "a.yaml": CONTROL_PLANE_POD})]
    assert found.count("untolerated-control-plane") == expected


@pytest.mark.parametrize(("namespace", "expected"), [("openshift-nfd", 0), ("nfd", 1)])
def test_objects_for_openshift_may_tolerate_only_the_taint_of_masters(namespace: str, expected: int) -> None:
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: {namespace}}}\n"
        "spec: {containers: [{name: a, image: b}], tolerations: [{key: node-role.kubernetes.io/master, effect: NoSchedule}]}\n"
    )
    assert [each.rule for each in lint(text)].count("legacy-control-plane-toleration") == expected


VALUED = "legacy-control-plane-toleration"
ROLE = "{key: node-role.kubernetes.io/%s, value: 'true', effect: NoSchedule}"


def tolerating(*tolerations: str) -> str:
    items = "".join(f"  - {each}\n" for each in tolerations)
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers: [{{name: a, image: b}}]\n  tolerations:\n{items}"


def test_the_taint_of_control_planes_has_no_value() -> None:
    messages_for = (
        "this toleration matches the taint `node-role.kubernetes.io/%s` only with the value `true`; kubeadm sets it without a value"
    )
    assert messages_of(tolerating(ROLE % "control-plane"), VALUED) == ["7:57 " + messages_for % "control-plane"]
    assert messages_of(tolerating(ROLE % "master", ROLE % "control-plane"), VALUED) == ["8:57 " + messages_for % "control-plane"]
    assert messages_of(tolerating(ROLE % "master", ROLE % "controlplane"), VALUED) == ["7:50 " + messages_for % "master"]


@pytest.mark.parametrize(
    "tolerations",
    [
        (ROLE % "controlplane",),
        (ROLE % "control-plane", "{key: node-role.kubernetes.io/control-plane, operator: Exists}"),
        (ROLE % "master", "{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}"),
        (ROLE % "control-plane", "{operator: Exists}"),
        (ROLE % "control-plane", "{key: '{{ .Values.key }}'}"),
        (ROLE.replace("'true'", "''") % "control-plane",),
    ],
)
def test_it_may_have_one_if_another_toleration_matches(tolerations: tuple[str, ...]) -> None:
    assert messages_of(tolerating(*tolerations), VALUED) == []


class TestToleratesEverything:
    PODS = """\
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: web, image: web}]
          %s
          tolerations:
          %s
          - operator: Exists
    """

    @pytest.mark.parametrize(
        ("pod", "comment", "lines"),
        [
            ("hostNetwork: false", "# - key: example.com/every", ["13:19"]),
            ("priorityClassName: system-cluster-critical", "# see the wiki", ["13:19"]),
            ("hostNetwork: true", "# see the wiki", []),
            ("priorityClassName: system-node-critical", "# see the wiki", []),
            ("hostNetwork: false", "# must run on every node, also while it is drained", []),
            ("hostNetwork: false", "# This is on purpose.", []),
        ],
    )
    def test_pods_that_prepare_nodes_and_tolerations_with_a_reason(self, pod: str, comment: str, lines: list[str]) -> None:
        found = messages_of(self.PODS % (pod, comment), "tolerates-everything")
        assert [each.split(" ")[0] for each in found] == lines

    def test_a_comment_above_the_list(self) -> None:
        text = self.PODS.replace("          %s\n          tolerations:\n          %s\n", "          %s\n          tolerations:\n")
        assert messages_of(text % "# tolerates all taints: it repairs nodes", "tolerates-everything") == []
