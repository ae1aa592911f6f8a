"""What only KubeVirt does: each check at its borders."""

from __future__ import annotations

from linting import lint, places, said

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}}}
spec:
  runStrategy: Always
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      domain: {{memory: {{guest: 1Gi}}, devices: {{}}}}
{constraints}"""


def virtual_machine(name: str, *constraints: str) -> str:
    return VM.format(name=name, constraints="".join(f"      {line}\n" for line in constraints))


class TestDeprecatedKubevirtApi:
    def test_a_list_from_the_server_says_it_once_for_all(self) -> None:
        text = """\
            apiVersion: kubevirt.io/v1alpha3
            kind: VirtualMachineInstanceList
            items:
              - metadata: {name: a}
                spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
              - metadata: {name: b}
                spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
            """
        (found,) = lint(text)
        assert places([found]) == ["a.yaml:1:13 warning deprecated-kubevirt-api"]
        assert found.fix is not None
        assert [edit.text for edit in found.fix.edits] == ["kubevirt.io/v1"]


class TestMisplacedDeschedulerAnnotation:
    def test_the_virtual_machine_inside_a_pool_is_not_the_pod_either(self) -> None:
        text = """\
            apiVersion: pool.kubevirt.io/v1beta1
            kind: VirtualMachinePool
            metadata: {name: desktops}
            spec:
              selector: {matchLabels: {pool: desktops}}
              virtualMachineTemplate:
                metadata:
                  labels: {pool: desktops}
                  annotations:
                    descheduler.alpha.kubernetes.io/evict: "true"
                spec:
                  runStrategy: Always
                  template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
            """
        (found,) = lint(text)
        assert places([found]) == ["a.yaml:10:9 warning misplaced-descheduler-annotation"]
        assert found.help == "Move it to spec.virtualMachineTemplate.spec.template.metadata.annotations."

    def test_controllers_of_pods_are_no_different(self) -> None:
        text = """\
            apiVersion: apps/v1
            kind: Deployment
            metadata:
              name: web
              annotations:
                descheduler.alpha.kubernetes.io/prefer-no-eviction: "true"
            spec:
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}}
                spec: {containers: [{name: c, image: nginx}]}
            """
        assert places(lint(text)) == ["a.yaml:6:5 warning misplaced-descheduler-annotation"]

    def test_on_both_it_reaches_the_pod(self) -> None:
        text = """\
            apiVersion: kubevirt.io/v1
            kind: VirtualMachine
            metadata: {name: web, annotations: {descheduler.alpha.kubernetes.io/evict: "true"}}
            spec:
              runStrategy: Always
              template:
                metadata: {annotations: {descheduler.alpha.kubernetes.io/evict: "true"}}
                spec: {domain: {memory: {guest: 1Gi}, devices: {}}}
            """
        assert lint(text) == []


class TestMigrationImpossible:
    BESIDE = (
        "evictionStrategy: LiveMigrate",
        "affinity:",
        "  podAffinity:",
        "    requiredDuringSchedulingIgnoredDuringExecution:",
        "      - labelSelector: {matchLabels: {app: agent}}",
        "        topologyKey: kubernetes.io/hostname",
    )
    AGENT = """\
        apiVersion: apps/v1
        kind: %s
        metadata: {name: agent}
        spec:
          %s
          selector: {matchLabels: {app: agent}}
          template:
            metadata: {labels: {app: agent}}
            spec: {containers: [{name: c, image: busybox}]}
        """

    def test_beside_a_pod_that_stays_where_it_is(self) -> None:
        files = {"vm.yaml": virtual_machine("scan", *self.BESIDE), "agent.yaml": self.AGENT % ("Deployment", "replicas: 1")}
        assert places(lint(files)) == ["vm.yaml:15:28 warning migration-impossible"]

    def test_beside_a_daemon_of_every_node(self) -> None:
        files = {"vm.yaml": virtual_machine("scan", *self.BESIDE), "agent.yaml": self.AGENT % ("DaemonSet", "minReadySeconds: 1")}
        assert lint(files) == []

    def test_beside_one_of_several_replicas(self) -> None:
        files = {"vm.yaml": virtual_machine("scan", *self.BESIDE), "agent.yaml": self.AGENT % ("Deployment", "replicas: 3")}
        assert lint(files) == []

    def test_beside_something_that_is_not_here(self) -> None:
        assert lint(virtual_machine("scan", *self.BESIDE)) == []

    def test_a_pin_by_node_affinity(self) -> None:
        text = virtual_machine(
            "scan",
            "evictionStrategy: LiveMigrate",
            "affinity:",
            "  nodeAffinity:",
            "    requiredDuringSchedulingIgnoredDuringExecution:",
            "      nodeSelectorTerms:",
            "        - matchExpressions:",
            "            - {key: kubernetes.io/hostname, operator: In, values: [w1]}",
        )
        (message,) = said(text, "migration-impossible")
        assert message == (
            "16:74 evictionStrategy LiveMigrate asks for live migration, and the VM is required to run on `w1`:"
            " draining that node blocks for good"
        )
        assert lint(text.replace("[w1]", "[w1, w2]")) == []
        assert lint(text.replace("LiveMigrate", "LiveMigrateIfPossible")) == []
