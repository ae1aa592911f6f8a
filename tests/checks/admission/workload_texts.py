"""Workloads around the few lines that a test is about: healthy ones, so that whatever is found is in those lines."""

import textwrap

_CORE = """\
apiVersion: {api}
kind: {kind}
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web, tier: front}}}}
    spec:
      containers: [{{name: web, image: "nginx:1.27"}}]
"""
_APIS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1"}
_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  containers: [{name: web, image: "nginx:1.27"}]
"""
_VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      domain: {devices: {}}
"""
_VMI = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  domain: {devices: {}}
"""
_POOL = """\
apiVersion: pool.kubevirt.io/v1beta1
kind: VirtualMachinePool
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  virtualMachineTemplate:
    metadata: {labels: {app: web}}
    spec:
      runStrategy: Always
      template:
        metadata: {labels: {app: web, tier: front}}
        spec:
          domain: {devices: {}}
"""
_OTHERS = {"Pod": (_POD, 2), "VirtualMachine": (_VM, 6), "VirtualMachineInstance": (_VMI, 2), "VirtualMachinePool": (_POOL, 10)}


def workload(kind: str, pod_spec: str) -> str:
    """A healthy workload of a kind with these lines at the end of its pod spec."""
    text, indent = _OTHERS.get(kind) or (_CORE.format(kind=kind, api=_APIS[kind]), 6)
    return text + textwrap.indent(textwrap.dedent(pod_spec).strip("\n"), " " * indent) + "\n"


def pod_term(lines: str) -> str:
    """One required anti-affinity term of these lines."""
    head = "affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
    return head + _item(lines, 6)


def node_term(lines: str) -> str:
    """One required node term of these lines."""
    head = "affinity:\n  nodeAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n"
    return head + _item(lines, 8)


def spread(lines: str) -> str:
    """One topology spread constraint of these lines."""
    return "topologySpreadConstraints:\n" + _item(lines, 2)


def _item(lines: str, indent: int) -> str:
    text = textwrap.indent(textwrap.dedent(lines).strip("\n"), " " * (indent + 2)) + "\n"
    return " " * indent + "- " + text[indent + 2 :]
