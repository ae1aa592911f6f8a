"""The manifests of the fleet: every workload kind, Services and PodDisruptionBudgets, of 1 to 4 KB, without findings.

Files come in applications of eight: six workloads, and a Service and a PodDisruptionBudget for the first of them, the front.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Literal, NamedTuple

from bench.constraints import Data, Pods, constraints
from bench.yaml_text import yaml_text

SMALLEST, LARGEST = 1024, 4096
_FILES, _WORKLOADS = 8, 6
# Applications per namespace: the number of namespaces grows with the fleet.
_APPLICATIONS = 6
_PRODUCTS = ("checkout", "catalog", "billing", "search", "identity", "shipping", "inventory", "media", "telemetry", "ledger", "chat")
_COMPONENTS = ("api", "worker", "cache", "ingest", "gateway", "reports", "sync", "index", "mailer", "proxy", "store", "broker", "web")
_TEAMS = ("payments", "storefront", "platform", "data", "mobile", "logistics")
_TIERS = ("frontend", "backend", "cache", "data")
_STAGES = ("prod", "staging", "dev")
_NOTICE = "# Changes here are rolled out by the delivery pipeline once they are merged.\n# Questions go to the owners of this folder.\n"
# The approximate number of characters in one entry of padding, with its indentation.
_ENTRY = 80


class Component(NamedTuple):
    """A workload of an application. ``number`` counts workloads over the whole fleet."""

    number: int
    application: int
    slot: int

    @property
    def product(self) -> str:
        return f"{_PRODUCTS[self.application % len(_PRODUCTS)]}-{self.application}"

    @property
    def team(self) -> str:
        return _TEAMS[self.application // _APPLICATIONS % len(_TEAMS)]

    @property
    def namespace(self) -> str:
        number = self.application // _APPLICATIONS
        return f"{self.team}-{_STAGES[number % len(_STAGES)]}-{number}"

    @property
    def folder(self) -> str:
        return f"{self.team}/{self.namespace}/{self.product}"

    @property
    def role(self) -> str:
        return _COMPONENTS[(self.application + self.slot) % len(_COMPONENTS)]

    @property
    def name(self) -> str:
        return f"{self.role}-{self.product}"

    @property
    def tier(self) -> str:
        return _TIERS[self.number % len(_TIERS)]

    @property
    def selected(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.role, "app.kubernetes.io/instance": self.name}

    @property
    def pod_labels(self) -> dict[str, str]:
        return {**self.selected, "app.kubernetes.io/part-of": self.product, "tier": self.tier}

    @property
    def front(self) -> Component:
        """The workload of the application that Services and affinity terms select."""
        return Component(self.number - self.slot, self.application, 0)

    @property
    def replicas(self) -> int:
        return 2 + self.number % 4


class Shape(NamedTuple):
    """The form of a kind: ``body`` builds the object around a pod template, and ``runs`` is how its pods run."""

    api_version: str
    kind: str
    runs: Literal["replicas", "one", "nodes", "batch"]
    body: Callable[[Component, Data], Data]
    vm: bool = False


def _replicated(extra: Data, *, bare_selector: bool = False) -> Callable[[Component, Data], Data]:
    def body(component: Component, template: Data) -> Data:
        selector: Data = dict(component.selected)
        return {
            "spec": {
                "replicas": component.replicas,
                "selector": selector if bare_selector else {"matchLabels": selector},
                **extra,
                "template": template,
            }
        }

    return body


def _bare(_component: Component, template: Data) -> Data:
    return template


def _pod_template(_component: Component, template: Data) -> Data:
    return {"template": template}


def _daemon_set(component: Component, template: Data) -> Data:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    return {"spec": {"selector": {"matchLabels": dict(component.selected)}, "updateStrategy": strategy, "template": template}}


def _stateful_set(component: Component, template: Data) -> Data:
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "20Gi"}}}
    extra = {"serviceName": component.name, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}
    return _replicated(extra)(component, template)


def _job(component: Component, template: Data) -> Data:
    return {"spec": {"parallelism": component.replicas, "completions": 2 * component.replicas, "backoffLimit": 3, "template": template}}


def _cron_job(component: Component, template: Data) -> Data:
    schedule = f"{component.number % 60} {component.number % 24} * * *"
    job = {"spec": {"backoffLimit": 1, "template": template}}
    return {"spec": {"schedule": schedule, "concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 3, "jobTemplate": job}}


def _virtual_machine(_component: Component, template: Data) -> Data:
    return {"spec": {"runStrategy": "Always", "template": template}}


def _virtual_machine_pool(component: Component, template: Data) -> Data:
    machine = {"metadata": {"labels": dict(component.pod_labels)}, "spec": {"runStrategy": "Always", "template": template}}
    selector = {"matchLabels": dict(component.selected)}
    return {"spec": {"replicas": component.replicas, "selector": selector, "virtualMachineTemplate": machine}}


def _leader_worker_set(component: Component, template: Data) -> Data:
    return {"spec": {"replicas": component.replicas, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template}}}


def _job_set(_component: Component, template: Data) -> Data:
    job = {"spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template}}
    return {"spec": {"replicatedJobs": [{"name": "workers", "replicas": 2, "template": job}]}}


def _knative_service(_component: Component, template: Data) -> Data:
    return {"spec": {"template": template}}


_ROLLING = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
_CANARY = {"strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {"duration": "10m"}}]}}}

DEPLOYMENT = Shape("apps/v1", "Deployment", "replicas", _replicated(_ROLLING))
_STATEFUL_SET = Shape("apps/v1", "StatefulSet", "replicas", _stateful_set)
_VIRTUAL_MACHINE = Shape("kubevirt.io/v1", "VirtualMachine", "one", _virtual_machine, vm=True)
_ROLLOUT = Shape("argoproj.io/v1alpha1", "Rollout", "replicas", _replicated(_CANARY))

# The front has a kind that is often used with a Service; the other workloads use all kinds equally often.
_FRONTS = (DEPLOYMENT, _STATEFUL_SET, DEPLOYMENT, _VIRTUAL_MACHINE, DEPLOYMENT, _ROLLOUT)
SHAPES = (
    DEPLOYMENT,
    _STATEFUL_SET,
    _VIRTUAL_MACHINE,
    _ROLLOUT,
    Shape("v1", "Pod", "one", _bare),
    Shape("v1", "PodTemplate", "one", _pod_template),
    Shape("v1", "ReplicationController", "replicas", _replicated({}, bare_selector=True)),
    Shape("apps/v1", "DaemonSet", "nodes", _daemon_set),
    Shape("apps/v1", "ReplicaSet", "replicas", _replicated({})),
    Shape("batch/v1", "Job", "batch", _job),
    Shape("batch/v1", "CronJob", "batch", _cron_job),
    Shape("kubevirt.io/v1", "VirtualMachineInstance", "one", _bare, vm=True),
    Shape("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", "replicas", _replicated({}), vm=True),
    Shape("pool.kubevirt.io/v1beta1", "VirtualMachinePool", "replicas", _virtual_machine_pool, vm=True),
    Shape("apps.openshift.io/v1", "DeploymentConfig", "replicas", _replicated({}, bare_selector=True)),
    Shape("apps.kruise.io/v1alpha1", "CloneSet", "replicas", _replicated({"updateStrategy": {"type": "InPlaceIfPossible"}})),
    Shape("apps.kruise.io/v1beta1", "StatefulSet", "replicas", _stateful_set),
    Shape("apps.kruise.io/v1alpha1", "DaemonSet", "nodes", _daemon_set),
    Shape("serving.knative.dev/v1", "Service", "one", _knative_service),
    Shape("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "replicas", _leader_worker_set),
    Shape("jobset.x-k8s.io/v1alpha2", "JobSet", "batch", _job_set),
)


class File(NamedTuple):
    """A file of the fleet: its relative path, and its text."""

    path: str
    text: str


def fleet_file(index: int, seed: int) -> File:
    """Return the file number ``index`` of the fleet, the same for the same seed. A larger fleet begins with the files of a smaller one."""
    application, slot = divmod(index, _FILES)
    chance = Random(f"{seed}/{index}")
    # Small manifests are more frequent than large ones.
    target = SMALLEST + 40 + int((LARGEST - SMALLEST - 400) * chance.random() ** 2)
    if slot >= _WORKLOADS:
        front = Component(application * _WORKLOADS, application, 0)
        build, kind = (_service, "service") if slot == _WORKLOADS else (_disruption_budget, "poddisruptionbudget")
        return File(f"{front.folder}/{kind}.yaml", _filled(lambda entries: build(front, entries), target))
    component = Component(application * _WORKLOADS + slot, application, slot)
    shape = _shape(component)
    text = _filled(lambda entries: workload(shape, component, entries), target)
    return File(f"{component.folder}/{component.name}-{shape.kind.lower()}.yaml", text)


def _shape(component: Component) -> Shape:
    if component.slot == 0:
        return _FRONTS[component.application % len(_FRONTS)]
    return SHAPES[(component.application * (_WORKLOADS - 1) + component.slot - 1) % len(SHAPES)]


def _filled(build: Callable[[int], Data], target: int) -> str:
    """Return a manifest with enough padding to be at most ``target`` characters, but not smaller than the smallest size."""
    entries = max(0, target - len(_text(build(0)))) // _ENTRY + 1
    text = _text(build(entries))
    while entries and len(text) > max(target, SMALLEST):
        entries -= 1
        text = _text(build(entries))
    while len(text) < SMALLEST:
        entries += 1
        text = _text(build(entries))
    return text


def _text(manifest: Data) -> str:
    return _NOTICE + yaml_text(manifest)


_REVISION_LABELS = {"Deployment": "pod-template-hash", "Rollout": "rollouts-pod-template-hash", "DeploymentConfig": "deployment"}


def workload(shape: Shape, component: Component, entries: int) -> Data:
    """Return a workload; every other one has placement constraints."""
    pod = _machine(component, entries) if shape.vm else _containers(shape, component, entries)
    if (component.application + component.slot) % 2:
        pods = Pods(component.number // 2, component.selected, component.front.selected, _REVISION_LABELS.get(shape.kind, ""))
        pod |= constraints(pods, near=component.slot > 0 and shape.runs != "nodes", apart=shape.runs == "replicas")
    template = {"metadata": {"labels": dict(component.pod_labels)}, "spec": pod}
    whole = _head(shape.api_version, shape.kind, component, component.name)
    body = shape.body(component, template)
    if body is template:
        return {**whole, "spec": pod}
    return {**whole, **body}


def _head(api_version: str, kind: str, component: Component, name: str) -> Data:
    labels = {**component.pod_labels, "app.kubernetes.io/managed-by": "kustomize", "team": component.team}
    metadata = {"name": name, "namespace": component.namespace, "labels": labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _service(front: Component, entries: int) -> Data:
    whole = _head("v1", "Service", front, front.name)
    whole["metadata"]["annotations"] = _notes(entries)
    ports = [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "metrics", "port": 9090, "targetPort": "metrics"}]
    return {**whole, "spec": {"type": "ClusterIP", "selector": dict(front.selected), "ports": ports}}


def _disruption_budget(front: Component, entries: int) -> Data:
    whole = _head("policy/v1", "PodDisruptionBudget", front, front.name)
    whole["metadata"]["annotations"] = _notes(entries)
    return {**whole, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(front.selected)}}}


def _notes(entries: int) -> dict[str, str]:
    return {f"example.com/note-{number}": f"see chapter {number} of the handbook before changing it" for number in range(max(entries, 1))}


# Other fields of a pod spec.


def _containers(shape: Shape, component: Component, entries: int) -> Data:
    container: Data = {
        "name": component.role,
        "image": f"registry.example.com/{component.product}/{component.role}:1.{component.number % 40}.{component.number % 7}",
        "args": [f"--config=/etc/config/{component.role}.yaml", "--log-format=json", "--listen-address=0.0.0.0:8080"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
        "env": [_variable(number) for number in range(max(entries, 1))],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
    }
    if shape.runs == "batch":
        return {"restartPolicy": "Never", "containers": [container]}
    probe = {"httpGet": {"path": "/healthz", "port": "http"}, "initialDelaySeconds": 5, "periodSeconds": 10}
    container |= {"readinessProbe": probe, "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": True}]}
    volumes = [{"name": "config", "configMap": {"name": f"{component.name}-config"}}]
    return {"serviceAccountName": component.name, "containers": [container], "volumes": volumes}


def _variable(number: int) -> Data:
    """Return an environment variable of one of the usual forms: quoted, plain, or from a secret."""
    secret: Data = {"name": f"TOKEN_{number}", "valueFrom": {"secretKeyRef": {"name": "tokens", "key": f"token-{number}"}}}
    sorts: tuple[Data, ...] = (
        {"name": f"UPSTREAM_{number}_URL", "value": f"http://upstream-{number}.internal.example.com:8080/v1"},
        {"name": f"RETRY_LIMIT_{number}", "value": str(3 + number)},
        {"name": f"JAVA_OPTIONS_{number}", "value": "-XX:MaxRAMPercentage=70 -XX:+UseG1GC -Dfile.encoding=UTF-8 -Duser.timezone=UTC"},
        secret,
        {"name": f"FEATURE_{number}_ENABLED", "value": "true"},
    )
    return sorts[number % len(sorts)]


def _machine(component: Component, entries: int) -> Data:
    disks = [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "cloudinit", "disk": {"bus": "virtio"}}]
    domain: Any = {
        "cpu": {"cores": 2 + component.number % 6},
        "memory": {"guest": "4Gi"},
        "devices": {"disks": disks, "interfaces": [{"name": "default", "masquerade": {}}], "rng": {}},
        "resources": {"requests": {"memory": "4Gi"}},
    }
    commands = [f"  - [systemctl, enable, --now, unit-{number}.service]" for number in range(max(entries, 1))]
    user_data = "\n".join(("#cloud-config", "user: fedora", "ssh_pwauth: false", "runcmd:", *commands))
    volumes = [
        {"name": "root", "containerDisk": {"image": f"registry.example.com/disks/fedora:{38 + component.number % 4}"}},
        {"name": "cloudinit", "cloudInitNoCloud": {"userData": user_data}},
    ]
    spec: Data = {"domain": domain, "networks": [{"name": "default", "pod": {}}], "volumes": volumes}
    return {**spec, "terminationGracePeriodSeconds": 180, "evictionStrategy": "LiveMigrate"}
