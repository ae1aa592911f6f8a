"""The fields of the domain of a virtual machine: as in KubeVirt's CustomResourceDefinition."""

import json

import pytest

from checkout import ROOT
from linting import lint

MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: db}
spec: {domain: DOMAIN}
"""
POOL = """\
apiVersion: pool.kubevirt.io/v1beta1
kind: VirtualMachinePool
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  virtualMachineTemplate:
    metadata: {labels: {app: db}}
    spec: {runStrategy: Always, template: {metadata: {labels: {app: db}}, spec: {domain: DOMAIN}}}
"""


def reported(domain: str, text: str = MACHINE) -> list[str]:
    """``rule field: message`` for each finding of category admission."""
    return [f"{each.rule} {each.field}: {each.message}" for each in lint(text.replace("DOMAIN", domain)) if each.category == "admission"]


@pytest.mark.parametrize(
    "domain, expected",
    [
        ("{devices: {}, example.com/pool: db}", "[example.com/pool]: unknown field `example.com/pool` in this domain"),
        ("{cpu: {cores: 2, core: 1}}", ".cpu.core: unknown field `core` in this domain.cpu; did you mean `cores`?"),
        (
            "{devices: {disks: [{name: a, disk: {buss: virtio}}]}}",
            ".devices.disks[0].disk.buss: unknown field `buss` in this domain.devices.disks.disk; did you mean `bus`?",
        ),
        ("{devices: {interfaces: [{name: a, masquerade: {x: 1}}]}}", ".devices.interfaces[0].masquerade.x: unknown field `x` in this"),
    ],
)
def test_an_unknown_field(domain: str, expected: str) -> None:
    [finding] = reported(domain)
    assert finding.startswith(f"unknown-field spec.domain{expected}")


def test_a_field_of_the_machine_inside_its_domain() -> None:
    assert reported("{evictionStrategy: LiveMigrate}") == [
        "unknown-field spec.domain.evictionStrategy: unknown field `evictionStrategy` in this domain"
    ]
    [finding] = [each for each in lint(MACHINE.replace("DOMAIN", "{evictionStrategy: LiveMigrate}")) if each.rule == "unknown-field"]
    assert finding.help == "Move `evictionStrategy` one level up, next to `domain`."


def test_a_pool_is_as_strict() -> None:
    [finding] = reported("{cpu: {node: 1}}", POOL)
    assert finding.startswith("unknown-field spec.virtualMachineTemplate.spec.template.spec.domain.cpu.node")


@pytest.mark.parametrize(
    "domain",
    [
        "{cpu: {cores: 2, features: [{name: vmx, policy: require}]}, memory: {guest: 4Gi, hugepages: {pageSize: 2Mi}}}",
        "{devices: {disks: [{name: a, disk: {bus: virtio}}, {name: b, cdrom: {bus: sata}}], rng: {}, gpus: [{name: g, deviceName: d}]}}",
        "{resources: {requests: {memory: 1Gi, example.com/gpu: 1}}, features: {hyperv: {vpindex: {}}, smm: {enabled: true}}}",
        "{clock: {utc: {}, timer: {hpet: {present: false}, anything: 1}}}",  # The schema keeps what it does not know here.
        "{cpu: null, devices: {disks: [null]}, firmware: {bootloader: {efi: {secureBoot: false}}}}",
    ],
)
def test_known_fields(domain: str) -> None:
    assert reported(domain) == []


def test_the_file_has_maps_lists_of_one_map_and_zeros_alone() -> None:
    def check(fields: object) -> None:
        if isinstance(fields, dict):
            assert list(fields) == sorted(fields)
            for below in fields.values():
                check(below)
        elif isinstance(fields, list):
            assert len(fields) == 1
            check(fields[0])
        else:
            assert fields == 0

    fields = json.loads((ROOT / "schemas" / "kubevirt-domain.json").read_text(encoding="utf-8"))
    check(fields)
    assert {"cpu", "devices", "memory", "resources"} < set(fields)
