"""What KubeVirt requests for itself in a virt-launcher pod, beside the memory of the guest."""

from typing import Any

import pytest

from afflint.controllers.kubevirt_cluster import KubeVirtCluster
from afflint.controllers.launcher_pod import console_log_container, launcher_pod, memory_overhead

MI = 1024 * 1024
BASE = 240 + 8 + 8 + 32
"""MiB of the processes, an IO thread, one virtual CPU and the graphics device."""


def overhead(domain: dict[str, Any], *, configuration: dict[str, Any] | None = None, architecture: str = "amd64", **spec: Any) -> int:
    cluster = KubeVirtCluster({"spec": {"configuration": configuration or {}}})
    return memory_overhead({"domain": domain, "architecture": architecture, **spec}, cluster)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ({}, BASE),
        ({"cpu": {"cores": 4, "sockets": 2}}, BASE + 7 * 8),
        ({"devices": {"autoattachGraphicsDevice": False}}, BASE - 32),
        ({"devices": {"gpus": [{"name": "a"}], "hostDevices": [{"name": "b"}]}}, BASE + 1024),
        ({"devices": {"interfaces": [{"name": "a", "sriov": {}}]}}, BASE + 1024),
        ({"devices": {"interfaces": [{"name": "a", "passtBinding": {}}]}}, BASE + 250),
        ({"devices": {"tpm": {}}}, BASE + 53),
        ({"devices": {"tpm": {"enabled": False}}}, BASE),
        ({"launchSecurity": {"snp": {}}}, BASE + 256),
        ({"cpu": {"dedicatedCpuPlacement": True}}, BASE + 100),
        ({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}, BASE + 100),
        ({"resources": {"requests": {"memory": "0"}, "limits": {"cpu": "1"}}}, BASE),
        ({"memory": {"reservedOverhead": {"addedOverhead": "64Mi"}}}, BASE + 64),
    ],
    ids=[
        "minimal", "8 vCPUs", "no graphics", "VFIO", "SR-IOV", "passt", "TPM", "no TPM", "SNP", "dedicated CPUs", "guaranteed", "CPU limit",
        "reserved",
    ],
)  # fmt: skip
def test_each_part_of_the_formula(domain: dict[str, Any], expected: int) -> None:
    assert overhead(domain) == expected * MI


def test_page_tables_need_a_share_of_the_requested_memory() -> None:
    # GetMemoryOverhead rounds the request up to kilobytes: 1073742000 / 512.
    assert overhead({"resources": {"requests": {"memory": "1Gi"}}}) == BASE * MI + 1073742000 // 512


def test_probes_firmware_and_metrics() -> None:
    run = {"exec": {"command": ["true"]}}
    assert overhead({}, livenessProbe=run, readinessProbe=run) == (BASE + 120) * MI
    assert overhead({}, livenessProbe={"tcpSocket": {"port": 1}}) == BASE * MI
    assert overhead({}, architecture="arm64") == (BASE + 128) * MI
    assert overhead({}, volumes=[{"name": "m", "downwardMetrics": {}}]) == (BASE + 1) * MI


def test_the_cluster_may_multiply_it_and_bindings_may_add_to_it() -> None:
    kilo = -(-BASE * MI // 1000)
    assert overhead({}, configuration={"additionalGuestMemoryOverheadRatio": "1.5"}) == BASE * MI + int(kilo * 0.5) * 1000
    assert overhead({}, configuration={"additionalGuestMemoryOverheadRatio": "much"}) == BASE * MI
    binding = {"network": {"binding": {"fast": {"computeResourceOverhead": {"requests": {"memory": "500Mi"}}}}}}
    twice = {"devices": {"interfaces": [{"name": name, "binding": {"name": "fast"}} for name in "ab"]}}
    assert overhead(twice, configuration=binding) == (BASE + 500) * MI


def requested(domain: dict[str, Any], kubevirt: dict[str, Any] | None = None) -> str:
    pod = launcher_pod({"metadata": {"name": "a"}, "spec": {"domain": domain}}, kubevirt)
    memory = pod["spec"]["containers"][0]["resources"]["requests"]["memory"]
    assert type(memory) is str
    return memory


def test_it_is_part_of_the_request() -> None:
    guest = {"memory": {"guest": "1Gi"}}
    assert requested(guest) == f"{(1024 + BASE) * MI * 1000}m"
    assert requested({**guest, "resources": {"overcommitGuestOverhead": True}}) == f"{1024 * MI * 1000}m"
    pages = {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}, "resources": {"overcommitGuestOverhead": True}}
    assert requested(pages) == f"{BASE * MI * 1000}m"


def test_the_kubevirt_resource_may_overcommit() -> None:
    kubevirt = {"spec": {"configuration": {"developerConfiguration": {"memoryOvercommit": 200, "cpuAllocationRatio": 3}}}}
    assert requested({"memory": {"guest": "1Gi"}}, kubevirt) == f"{(512 + BASE) * MI * 1000}m"
    pod = launcher_pod({"metadata": {"name": "a"}, "spec": {"domain": {"cpu": {"cores": 4}}}}, kubevirt)
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1334m"


def test_the_log_of_the_serial_console_has_a_container() -> None:
    def memory(domain: dict[str, Any], configuration: dict[str, Any] | None = None) -> str:
        container = console_log_container(domain, KubeVirtCluster({"spec": {"configuration": configuration or {}}}))
        return container["resources"]["requests"]["memory"] if container is not None else ""

    off = {"virtualMachineOptions": {"disableSerialConsoleLog": {}}}
    assert memory({}) == "35M"
    assert memory({"cpu": {"dedicatedCpuPlacement": True}}) == "60M"
    assert memory({}, off) == ""
    assert memory({"devices": {"logSerialConsole": True}}, off) == "35M"
    assert memory({"devices": {"logSerialConsole": False}}) == ""
    assert memory({"devices": {"autoattachSerialConsole": False, "logSerialConsole": True}}) == ""
