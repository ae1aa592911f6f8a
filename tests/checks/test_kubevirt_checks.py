"""What only KubeVirt does: each check at its borders."""

from linting import lint, messages_of, places

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}}}
spec:
  runStrategy: Always
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      domain: {{memory: {{guest: 1Gi}}, devices: {{autoattachPodInterface: false}}}}
{constraints}"""


def virtual_machine(name: str, *constraints: str) -> str:
    return VM.format(name=name, constraints="".join(f"      {line}\n" for line in constraints))


class TestDeprecatedKubevirtApi:
    def test_a_list_from_the_server_says_it_once_for_all(self) -> None:
        text = """\
            apiVersion: kubevirt.io/v1alpha3
            kind: VirtualMachineInstanceList
            items:
              - {metadata: {name: a}, spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
              - {metadata: {name: b}, spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
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

    def test_controllers_of_pods_are_not_different(self) -> None:
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


class TestOverwrittenNodeSelector:
    def overwritten(self, label: str, domain: str) -> bool:
        spec = f"nodeSelector: {{{label}}}, domain: {{devices: {{autoattachPodInterface: false}}, {domain}}}"
        text = f"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {{name: db}}\nspec: {{{spec}}}\n"
        return messages_of(text, "overwritten-node-selector") != []

    def test_what_the_machine_needs_is_set_to_true(self) -> None:
        assert self.overwritten('kubevirt.io/cpumanager: "false"', "cpu: {dedicatedCpuPlacement: true}")
        assert self.overwritten('cpu-feature.node.kubevirt.io/vmx: "yes"', "cpu: {features: [{name: vmx}]}")
        assert self.overwritten('kubevirt.io/sev: "false"', "launchSecurity: {snp: {}}")
        assert self.overwritten('machine-type.node.kubevirt.io/q35: "false"', "machine: {type: q35}")

    def test_what_it_does_not_need_is_left_alone(self) -> None:
        assert not self.overwritten('kubevirt.io/cpumanager: "true"', "cpu: {dedicatedCpuPlacement: true}")
        assert not self.overwritten('kubevirt.io/cpumanager: "false"', "cpu: {cores: 2}")
        assert not self.overwritten('kubevirt.io/cpumanager: "${VALUE}"', "cpu: {dedicatedCpuPlacement: true}")
        assert not self.overwritten('machine-type.node.kubevirt.io/q35: "false"', "cpu: {}"), "the cluster may have another default"
        assert not self.overwritten('kubevirt.io/schedulable: "false"', "cpu: {}"), "this one the author may change"


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
        (message,) = messages_of(text, "migration-impossible")
        assert message == (
            "16:74 evictionStrategy LiveMigrate asks for live migration, but the VM must run on `w1`: a drain of that node never completes"
        )
        assert lint(text.replace("[w1]", "[w1, w2]")) == []
        assert lint(text.replace("LiveMigrate", "LiveMigrateIfPossible")) == []

    def interface(self, *spec: str, devices: str = "{}", own: str = "", metadata: str = "{}") -> list[str]:
        """The messages for a VM with live migration; ``own`` are the fields next to its template."""
        lines = "".join(f"      {line}\n" for line in spec)
        text = f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: db}}
spec:
  runStrategy: Always{own and f"{chr(10)}  {own}"}
  template:
    metadata: {metadata}
    spec:
      evictionStrategy: LiveMigrate
      domain: {{memory: {{guest: 1Gi}}, devices: {devices}}}
{lines}"""
        return messages_of(text, "migration-impossible")

    def test_the_kubevirt_resource_asks_for_those_that_say_nothing(self) -> None:
        machine = virtual_machine("scan", "nodeSelector: {kubernetes.io/hostname: w1}")
        assert messages_of(machine, "migration-impossible") == []
        resource = "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\n"
        resource += "spec: {configuration: {evictionStrategy: LiveMigrate}}\n---\n"
        (message,) = messages_of(resource + machine, "migration-impossible")
        assert message.partition(" ")[2] == (
            "evictionStrategy LiveMigrate of the KubeVirt resource asks for live migration, but the VM must run on `w1`:"
            " a drain of that node never completes"
        )
        its_own = machine.replace("nodeSelector", "evictionStrategy: None\n      nodeSelector")
        assert messages_of(resource + its_own, "migration-impossible") == []

    def test_a_claim_in_another_document_shows_whether_its_disk_can_be_shared(self) -> None:
        machine = virtual_machine(
            "scan",
            "evictionStrategy: LiveMigrate",
            "networks: [{name: n, multus: {networkName: lan}}]",
            "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]",
        )
        claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [%s]}\n"
        assert messages_of(machine, "migration-impossible") == []
        assert messages_of(machine + claim % "ReadWriteMany", "migration-impossible") == []
        (message,) = messages_of(machine + claim % "ReadWriteOnce", "migration-impossible")
        assert "asks for live migration, but the disk data lacks the access mode ReadWriteMany: a drain of its node waits" in message

    def test_an_instance_type_may_bring_devices(self) -> None:
        machine = virtual_machine("scan", "evictionStrategy: LiveMigrate", "networks: [{name: n, multus: {networkName: lan}}]")
        head = "---\napiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: big}\n"
        devices, gpus = "spec: {hostDevices: [{name: d, deviceName: a/b}]}\n", "spec: {gpus: [{name: g, deviceName: a/b}]}\n"
        refers = machine.replace("spec:\n", "spec:\n  instancetype: {name: big}\n", 1)
        (message,) = messages_of(refers + head + devices, "migration-impossible")
        assert message == (
            "5:3 evictionStrategy LiveMigrate asks for live migration, but host devices cannot be live-migrated"
            " (from its instancetype `big`): a drain of its node waits until the VM is stopped"
        )
        for other in (refers, machine + head + devices, refers + head + gpus, refers + head.replace("big", "small") + devices):
            assert messages_of(other, "migration-impossible") == []
        resource = "---\napiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\nspec: {}\n"
        (message,) = messages_of(refers + head + gpus + resource, "migration-impossible")
        assert "the GPU cannot be live-migrated (from its instancetype `big`)" in message

    def test_a_bridge_on_the_network_of_pods(self) -> None:
        on_pods, elsewhere = "networks: [{name: n, pod: {}}]", "networks: [{name: n, multus: {networkName: lan}}]"
        for devices in ("{interfaces: [{name: n, bridge: {}}]}", "{interfaces: [{name: n, bridge: {}, model: virtio}]}"):
            (found,) = self.interface(on_pods, devices=devices)
            assert found == (
                "10:71 evictionStrategy LiveMigrate asks for live migration, but a bridge on the pod network cannot be live-migrated:"
                " a drain of its node waits until the VM is stopped"
            )
            assert self.interface(elsewhere, devices=devices) == []
            allowed = "{annotations: {kubevirt.io/allow-pod-bridge-network-live-migration: ''}}"
            assert self.interface(on_pods, devices=devices, metadata=allowed) == []
        for binding in ("masquerade: {}", "passtBinding: {}", "binding: {name: plugin}"):
            assert self.interface(on_pods, devices=f"{{interfaces: [{{name: n, {binding}}}]}}") == []

    def test_no_interface_at_all_is_a_bridge_unless_the_kubevirt_resource_or_a_preference_says_otherwise(self) -> None:
        (found,) = self.interface()
        assert found.startswith(
            "9:25 evictionStrategy LiveMigrate asks for live migration, but the VM lists no interface and gets a bridge on the pod network"
        )
        assert self.interface(devices="{autoattachPodInterface: false}") == []
        assert self.interface(own="preference: {name: fedora}") == []
        resource = "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\nspec: {configuration: {network: {%s}}}\n---\n"
        machine = "kind: VirtualMachineInstance\napiVersion: kubevirt.io/v1\nmetadata: {name: db}\n"
        machine += "spec: {evictionStrategy: LiveMigrate, domain: {devices: {}}}\n"
        assert lint(resource % "defaultNetworkInterface: masquerade" + machine) == []
        assert len(lint(resource % "permitBridgeInterfaceOnPodNetwork: true" + machine)) == 1

    def test_what_never_migrates_and_what_does_today(self) -> None:
        multus, no_pod = "networks: [{name: n, multus: {networkName: lan}}]", "{autoattachPodInterface: false%s}"
        assert self.interface(devices=no_pod % ", hostDevices: [{name: a, deviceName: example.com/nic}]") != []
        gpus = [f"{{name: g{number}, deviceName: nvidia.com/T4}}" for number in range(2)]
        assert self.interface(devices=no_pod % f", gpus: [{', '.join(gpus)}]") != []
        assert self.interface(devices=no_pod % f", gpus: [{gpus[0]}]") == [], "a mediated one may, behind a feature gate"
        assert self.interface(multus, devices="{interfaces: [{name: n, sriov: {}}]}") == []
        for domain, migrates in (
            ("launchSecurity: {sev: {}}", False),
            ("launchSecurity: {tdx: {}}", False),
            ("features: {hypervPassthrough: {enabled: true}}", False),
            ("cpu: {model: host-passthrough}", True),
            ("cpu: {dedicatedCpuPlacement: true, cores: 2}", True),
            ("features: {hyperv: {reenlightenment: {}}}", True),
        ):
            assert (self.interface(devices=f"{no_pod % ''}, {domain}") == []) is migrates, domain

    def test_a_disk_that_is_not_shared(self) -> None:
        volumes, alone = "volumes: [{name: d, dataVolume: {name: disk}}]", "{autoattachPodInterface: false}"
        made = "dataVolumeTemplates: [{metadata: {name: disk}, spec: {%s: {accessModes: [%s]}}}]"
        (found,) = self.interface(volumes, devices=alone, own=made % ("pvc", "ReadWriteOnce"))
        assert "the disk disk lacks the access mode ReadWriteMany" in found
        assert self.interface(volumes, devices=alone, own=made % ("storage", "ReadWriteMany")) == []
        assert self.interface(volumes, devices=alone, own=made % ("storage", "")) == [], "the storage class decides"
        assert self.interface(volumes, devices=alone, own=made % ("storage", "'${MODE}'")) == []
        assert self.interface(volumes, devices=alone) == [], "the claim is unknown"
        assert self.interface("volumes: [{name: d, hostDisk: {path: /d, type: Disk}}]", devices=alone) != []
