"""The instance types and preferences that KubeVirt deploys in every cluster, as far as they decide placement.

The source is kubevirt/common-instancetypes (instancetypes/, preferences/). A preference counts here only with what it requires of nodes:
the architecture in its name, and the enlightenments of Windows.
"""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]

_GI = 1024
# The number of virtual CPUs and the memory in MiB.
_SIZES = {
    "nano": (1, 512),
    "micro": (1, 1 * _GI),
    "small": (1, 2 * _GI),
    "2xmedium": (2, 4 * _GI),
    "medium": (1, 4 * _GI),
    "large": (2, 8 * _GI),
    "xlarge": (4, 16 * _GI),
    "2xlarge": (8, 32 * _GI),
    "4xlarge": (16, 64 * _GI),
    "8xlarge": (32, 128 * _GI),
}
_LARGE = ("large", "xlarge", "2xlarge", "4xlarge", "8xlarge")
_FROM_SMALL = ("small", "medium", *_LARGE)
_DEDICATED: Spec = {"dedicatedCPUPlacement": True, "isolateEmulatorThread": True}
_NUMA: Spec = {"numa": {"guestMappingPassthrough": {}}}
_LARGE_PAGES = "1gi"
"""The end of the names of types with huge pages of 1 GiB, in series that have both sizes."""


def instancetype(name: str) -> Spec | None:
    """Return the spec of a common instance type, such as ``u1.medium``; None for other names."""
    series, _, size = name.partition(".")
    pages = ""
    if series in ("cx1", "m1"):
        pages = "1Gi" if size.endswith(_LARGE_PAGES) else "2Mi"
        size = size.removesuffix(_LARGE_PAGES)
    elif series in ("n1", "rt1"):
        pages = "1Gi"
    if size not in _SERIES.get(series, ()):
        return None
    cpus, memory = _SIZES[size]
    if series == "cx1":
        memory //= 2
    elif series == "m1":
        memory *= 2
    elif series == "n1":
        cpus = max(4, 2 * cpus)
    cpu: Spec = {"guest": cpus}
    if series in ("cx1", "d1", "n1", "rt1"):
        cpu |= _DEDICATED
    if series in ("cx1", "rt1"):
        cpu |= _NUMA
    if series == "rt1":
        cpu["realtime"] = {}
    given: Spec = {"guest": f"{memory}Mi"}
    if pages:
        given["hugepages"] = {"pageSize": pages}
    if series == "o1":
        given["overcommitPercent"] = 50
    return {"cpu": cpu, "memory": given}


_SERIES = {
    "u1": tuple(_SIZES),
    "d1": tuple(_SIZES),
    "o1": ("nano", "micro", *_FROM_SMALL),
    "rt1": ("micro", *_FROM_SMALL),
    "cx1": ("medium", *_LARGE),
    "n1": ("medium", *_LARGE),
    "m1": _LARGE,
}

_WINDOWS = (
    "10", "10.virtio", "11", "11.virtio", "2k3", "2k8", "2k8.virtio", "2k12", "2k12.virtio", "2k16", "2k16.virtio", "2k19", "2k19.virtio",
    "2k22", "2k22.virtio", "2k25", "2k25.virtio", "7", "7.virtio", "xp",
)  # fmt: skip
_HYPERV: Spec = {
    feature: {}
    for feature in (
        "frequencies",
        "ipi",
        "reenlightenment",
        "relaxed",
        "reset",
        "runtime",
        "synic",
        "synictimer",
        "tlbflush",
        "vapic",
        "vpindex",
    )
}
_OF_ANY_ARCHITECTURE = (
    "alpine", "centos.stream10", "centos.stream10.desktop", "centos.stream9", "centos.stream9.desktop", "centos.stream9.dpdk", "cirros",
    "debian", "fedora", "legacy", "linux", "linux.efi", "linux.virtiotransitional", "opensuse.leap", "opensuse.tumbleweed", "oraclelinux",
    "rhel.7", "rhel.7.desktop", "rhel.8", "rhel.8.desktop", "rhel.8.dpdk", "rhel.9", "rhel.9.desktop", "rhel.9.dpdk", "rhel.9.realtime",
    "rhel.10", "sles", "ubuntu",
)  # fmt: skip
_OF_AN_ARCHITECTURE = ("fedora", "rhel.9", "rhel.10")


def preference(name: str) -> Spec | None:
    """Return the spec of a common preference, such as ``rhel.9.arm64``; None for other names."""
    system, _, version = name.partition(".")
    if system == "windows" and version in _WINDOWS:
        return {"features": {"preferredHyperv": _HYPERV}}
    if name in _OF_ANY_ARCHITECTURE:
        return {}
    base, _, architecture = name.removesuffix(".secex").rpartition(".")
    if base not in _OF_AN_ARCHITECTURE or architecture not in (("s390x",) if name.endswith(".secex") else ("arm64", "s390x")):
        return None
    secure: Spec = {"preferredLaunchSecurity": {}} if name.endswith(".secex") else {}
    return {"preferredArchitecture": architecture, **secure}
