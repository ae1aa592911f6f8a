"""What well-kept repositories do on purpose is not reported; what they really got wrong is, under the right name.

Every fixture here is a manifest that looks like a mistake and is none, or the other way round.
"""

import pytest

from linting import lint, places

Files = dict[str, str] | str


def pod(name: str, constraints: str, labels: str = "") -> str:
    """A Pod with placement fields, as they are below ``spec``."""
    lines = "".join(f"  {line}\n" if line else "\n" for line in constraints.strip("\n").split("\n"))
    head = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n"
    return f"{head}{f'  labels: {{{labels}}}' if labels else '  labels: {}'}\nspec:\n  containers: [{{name: c, image: busybox}}]\n{lines}"


def workload(name: str, constraints: str, labels: str, *, kind: str = "Deployment", own: str = "", replicas: int | None = None) -> str:
    """A controller of pods with ``labels`` and placement fields as they are below the pod's ``spec``; ``own`` are its own labels."""
    lines = "".join(f"      {line}\n" if line else "\n" for line in constraints.strip("\n").split("\n"))
    count = "" if replicas is None else f"  replicas: {replicas}\n"
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  labels: {{{own}}}\nspec:\n{count}"
        f"  selector: {{matchLabels: {{{labels}}}}}\n  template:\n    metadata:\n      labels: {{{labels}}}\n    spec:\n"
        f"      containers: [{{name: c, image: busybox}}]\n{lines}"
    )


def apart(selector: str, key: str = "kubernetes.io/hostname") -> str:
    """A required anti-affinity in flow style."""
    return f"affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term(selector, key)}]}}}}"


def together(selector: str, key: str = "kubernetes.io/hostname") -> str:
    """A required affinity in flow style."""
    return f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term(selector, key)}]}}}}"


def term(selector: str, key: str) -> str:
    return f"{{labelSelector: {{matchLabels: {{{selector}}}}}, topologyKey: {key}}}"


VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {name}
  labels: {{{own}}}
spec:
  runStrategy: Always
  template:
    metadata:
      labels: {{{labels}}}
    spec:
      domain: {{memory: {{guest: 1Gi}}, devices: {{}}}}
"""


def virtual_machine(name: str, own: str, labels: str, constraints: str = "") -> str:
    return VM.format(name=name, own=own, labels=labels) + (f"      {constraints}\n" if constraints else "")


# The first list: silent.

HEALTHY: dict[str, Files] = {
    # 1. Controllers that are made whole elsewhere.
    "a kustomize patch without selector, labels and image": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, labels: {app: web}}
        spec:
          template:
            spec:
              containers: [{name: web, resources: {}}]
              affinity:
                podAntiAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
        """,
    "a patch that adds a label and a spread constraint on one of the base": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          template:
            metadata: {labels: {track: canary}}
            spec:
              topologySpreadConstraints:
                - maxSkew: 1
                  topologyKey: zone
                  whenUnsatisfiable: DoNotSchedule
                  labelSelector: {matchLabels: {app: web}}
                  matchLabelKeys: [pod-template-hash]
        """,
    "a patch that changes one field of a spread constraint": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          template:
            spec:
              topologySpreadConstraints: [{maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]
        """,
    "a base whose labels a kustomization fills in": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, labels: {app: web}}
        spec:
          replicas: 2
          template:
            spec:
              containers: [{name: web, image: nginx}]
              affinity:
                podAntiAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    - {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}
        """,
    "a patch that sends pods to the control plane, as its base tolerates": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec: {template: {spec: {nodeSelector: {node-role.kubernetes.io/control-plane: ""}}}}
        """,
    "patches of two workloads that are tied to each other, in a base that gives them labels": {
        "patches/a.yaml": """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: a}
            spec:
              template:
                metadata: {labels: {app: a}}
                spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
                  {labelSelector: {matchLabels: {app: b}}, topologyKey: zone}]}}}
            """,
        "patches/b.yaml": """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: b}
            spec:
              template:
                metadata: {labels: {app: b}}
                spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
                  {labelSelector: {matchLabels: {app: a}}, topologyKey: zone}]}}}
            """,
    },
    # 2. Deletions and leftovers.
    "null deletes a field in a patch": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec: {template: {spec: {nodeSelector: null, tolerations: null, affinity: null, topologySpreadConstraints: null}}}
        """,
    "empty maps and lists": pod("web", "nodeSelector: {}\ntolerations: []\naffinity: {}\ntopologySpreadConstraints: []"),
    "empty parts of an affinity": pod("web", "affinity: {nodeAffinity: {}, podAffinity: {}, podAntiAffinity: {}}"),
    # 3. Others.
    "away from another application": workload("router", apart("app: database"), "app: router", replicas=2),
    "away from another application that is here": {
        "router.yaml": workload("router", apart("app: database"), "app: router", replicas=2),
        "database.yaml": workload("database", "", "app: database", kind="StatefulSet"),
    },
    "the same zone and another host": {
        "database.yaml": workload("database", "", "app: database", kind="StatefulSet"),
        "router.yaml": workload(
            "router",
            f"""
affinity:
  podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term("app: database", "topology.kubernetes.io/zone")}]}}
  podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term("app: database", "kubernetes.io/hostname")}]}}
""",
            "app: router",
        ),
    },
    # 4. Targets elsewhere.
    "affinity to a workload of another repository": workload("backup", together("app: database"), "app: backup"),
    "affinity to an agent of another chart, a namespace away": workload(
        "relay",
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["
        "{labelSelector: {matchLabels: {app: agent}}, namespaces: [monitoring], topologyKey: kubernetes.io/hostname}]}}",
        "app: relay",
    ),
    # 5. Labels that nothing selects, or that differ.
    "labels only in metadata.labels": workload("web", "", "app: web", own="team: shop, tier: front, app.kubernetes.io/part-of: shop"),
    "values that differ between metadata and template": workload("web", "", "app: web", own="app: web-server, version: v2"),
    "template labels beyond those of the selector": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 2
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web, version: v2, track: stable}}
            spec:
              containers: [{name: web, image: nginx}]
              topologySpreadConstraints:
                - maxSkew: 1
                  topologyKey: zone
                  whenUnsatisfiable: DoNotSchedule
                  labelSelector: {matchLabels: {app: web}}
                  matchLabelKeys: [pod-template-hash]
        """,
    # 6. Virtual machines.
    "a virtual machine with labels in metadata only": """
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: desktop, labels: {kubevirt.io/vm: desktop, app.kubernetes.io/part-of: office}}
        spec: {runStrategy: Manual, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}
        """,
    # 7. Self-anti-affinity and self-affinity.
    "one replica that keeps away from itself": workload("web", apart("app: web"), "app: web", replicas=1),
    "replicas that keep to different hosts": workload("web", apart("app: web"), "app: web", replicas=3),
    "replicas that keep to different zones": workload("web", apart("app: web", "topology.kubernetes.io/zone"), "app: web", replicas=3),
    "daemons that take turns on a node": {
        "five.yaml": workload("driver-five", apart("component: driver"), "app: driver-five, component: driver", kind="DaemonSet"),
        "six.yaml": workload("driver-six", apart("component: driver"), "app: driver-six, component: driver", kind="DaemonSet"),
    },
    "a group that seeks its own company": workload("flock", together("app: flock"), "app: flock", replicas=4),
    # 8. Tolerations.
    "every taint, on a DaemonSet": workload("agent", "tolerations: [{operator: Exists}]", "app: agent", kind="DaemonSet"),
    "every taint of an effect": workload(
        "agent", "tolerations: [{operator: Exists, effect: NoSchedule}, {operator: Exists, effect: NoExecute}]", "app: agent"
    ),
    "key and effect alone, and both roles side by side": workload(
        "agent",
        "tolerations:\n"
        "  - {key: node-role.kubernetes.io/control-plane, effect: NoSchedule}\n"
        "  - {key: node-role.kubernetes.io/master, effect: NoSchedule}\n"
        "  - {key: CriticalAddonsOnly, operator: Exists}",
        "app: agent",
        kind="DaemonSet",
    ),
    # 9. Alternatives in ORed terms.
    "either role of the control plane": workload(
        "operator",
        """
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}, {key: node-role.kubernetes.io/master, operator: Exists}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
        - matchExpressions: [{key: node-role.kubernetes.io/master, operator: Exists}]
""",
        "app: operator",
    ),
    "a preference for either role": pod(
        "operator",
        """
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, preference: {matchExpressions: [{key: node-role.kubernetes.io/master, operator: In, values: [""]}]}}
      - {weight: 1, preference: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: In, values: [""]}]}}
""",
    ),
    "alternatives of one hardware feature": pod(
        "driver",
        """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{key: feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}]
        - matchExpressions: [{key: feature.node.kubernetes.io/pci-0302_10de.present, operator: In, values: ["true"]}]
        - matchExpressions: [{key: example.com/gpu.present, operator: In, values: ["true"]}]
""",
    ),
    "old and new label of the architecture, for clusters of any age": pod(
        "web",
        """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
        - matchExpressions: [{key: beta.kubernetes.io/arch, operator: In, values: [amd64]}]
""",
    ),
    # 10. Empty values.
    "empty label values": pod("web", 'nodeSelector: {node-role.kubernetes.io/worker: ""}', 'operator.cdi.kubevirt.io: ""'),
    "an empty value in a list": pod(
        "web",
        """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: node-role.kubernetes.io/infra, operator: In, values: [""]}]}]
""",
    ),
    # 11. Labels of one's own.
    "topology keys of one's own": workload(
        "web",
        """
topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: node, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: topology.rook.io/rack, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: topology.topolvm.io/node, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: topology.csi.vmware.com/k8s-zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: topology.ebs.csi.aws.com/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: karpenter.sh/capacity-type, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: cloud.google.com/gke-nodepool, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/rack, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
""",
        "app: web",
    ),
    "roles of one's own": pod(
        "web", 'nodeSelector: {node-role.kubernetes.io/worker2: "", node-role.kubernetes.io/workers: "", zone: east}'
    ),
    "the role label of RKE1": pod("web", 'nodeSelector: {node-role.kubernetes.io/controlplane: "true"}'),
    "servers of k3s, which take any pod": pod("web", 'nodeSelector: {node-role.kubernetes.io/control-plane: "true"}'),
    "an anti-affinity over a label that pods have too": workload("web", apart("app: web", "zone"), "app: web, zone: east", replicas=2),
    # 12. The same kind in another group, or in none.
    "a kind of another vendor": """
        apiVersion: batch.volcano.sh/v1alpha1
        kind: Job
        metadata: {name: train}
        spec: {minAvailable: 3, schedulerName: volcano, tasks: []}
        """,
    "values of a chart": "kind: Deployment\naffinity: {podAntiAffinity: {soft: true}}\nnodeSelector: {}\n",
    "release notes": "kind: feature\nsummary: Pods spread over zones now.\n",
    # 13. The same field with another schema.
    "a volume with node affinity": """
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: disk}
        spec:
          nodeAffinity:
            required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [host1]}]}]}
        """,
    "a policy with a node selector that is a label selector": """
        apiVersion: cilium.io/v2
        kind: CiliumClusterwideNetworkPolicy
        metadata: {name: hosts}
        spec: {nodeSelector: {matchLabels: {type: ingress}}}
        """,
    # 14. Placeholders and test data.
    "placeholders in constraints": workload(
        "web",
        """
nodeSelector: {kubernetes.io/hostname: "<node-hostname>", pool: "${POOL}"}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - {key: pool, operator: In, values: [small]}
            - {key: cores, operator: Gt, values: ["${CORES}"]}
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: ["${ZONE}"]}]}}
      - {weight: 1, preference: {matchExpressions: [{key: cores, operator: Gt, values: ["$(CORES)"]}]}}
""",
        "app: web",
        replicas=2,
    ),
    "a node to be filled in": workload("web", 'nodeName: "${NODE}"', "app: web"),
    "labels to be filled in": workload(
        "web",
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,"
        " labelSelector: {matchLabels: {app: web}}}]",
        'app: "${APP}"',
    ),
    "a Pod of test data that names its node": pod("web", "nodeName: minikube"),
    "the own namespace, named once more": """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web, namespace: shop}
        spec:
          replicas: 2
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec:
              containers: [{name: web, image: nginx}]
              affinity:
                podAntiAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    - {labelSelector: {matchLabels: {app: web}}, namespaces: [shop], topologyKey: kubernetes.io/hostname}
        """,
    # 15. Weights and skews.
    "any weight, and any skew of a soft constraint": workload(
        "web",
        """
topologySpreadConstraints:
  - {maxSkew: 9, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 100, podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, topologyKey: kubernetes.io/hostname}}
      - {weight: 1, podAffinityTerm: {labelSelector: {matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}}
""",
        "app: web",
        replicas=3,
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_healthy_repositories_do_on_purpose_is_not_a_warning(name: str) -> None:
    found = [each for each in lint(HEALTHY[name]) if each.severity != "info"]
    assert places(found) == [], [each.message for each in found]


def test_information_about_healthy_patterns_is_rare() -> None:
    informed = [name for name, files in HEALTHY.items() if lint(files)]
    assert informed == []


# Many applications in one repository.

APPLICATIONS = {
    "apps/mail/web.yaml": workload("mail-web", together("app: cache"), "app: mail-web"),
    "apps/blog/cache.yaml": workload("blog-cache", "", "app: caches"),
    "apps/wiki/web.yaml": workload("wiki-web", apart("tier: web"), "app: wiki", own="tier: web"),
    "apps/shop/web.yaml": workload("shop-web", "", "app: shop", own="tier: front"),
    "apps/shop/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {selector: {tier: frontend}}\n",
    "clusters/prod/mail/web.yaml": workload("mail", together("app: database"), "app: mail"),
    "clusters/test/data/database.yaml": workload("db", "", "name: db", own="app: database"),
    "clusters/test/other/database.yaml": workload("other", "", "name: other", own="app: database"),
}


def test_unrelated_applications_of_a_repository_do_not_accuse_each_other() -> None:
    found = [each for each in lint(APPLICATIONS) if each.file != "apps/wiki/web.yaml"]
    assert places(found) == []


# The second list: found.

MISTAKES: dict[str, tuple[Files, list[str]]] = {
    "a dead term: the label is in metadata.labels only": (
        {
            "server.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: server
  labels:
    app.kubernetes.io/part-of: cd
spec:
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers: [{name: server, image: busybox}]
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 5
              podAffinityTerm:
                labelSelector: {matchLabels: {app.kubernetes.io/part-of: cd}}
                topologyKey: kubernetes.io/hostname
""",
            "notifier.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: notifier
  labels:
    app.kubernetes.io/part-of: cd
spec:
  selector: {matchLabels: {app: notifier}}
  template:
    metadata: {labels: {app: notifier}}
    spec:
      containers: [{name: notifier, image: busybox}]
""",
        },
        ["notifier.yaml:6:5 warning label-not-on-template", "server.yaml:6:5 warning label-not-on-template"],
    ),
    "an affinity that asks for a label which its own pods nearly have": (
        """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: moving-operator
spec:
  replicas: 1
  selector: {matchLabels: {name: moving-operator}}
  template:
    metadata: {labels: {name: moving-operator, operator.moving.example.com: ""}}
    spec:
      containers: [{name: operator, image: busybox}]
      affinity:
        podAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 1
              podAffinityTerm:
                labelSelector:
                  matchExpressions:
                    - {key: moving.example.com, operator: In, values: [moving-operator]}
                topologyKey: kubernetes.io/hostname
""",
        ["a.yaml:17:17 warning affinity-target-missing"],
    ),
    "podAntiAffinity without affinity around it": (
        pod("web", f"podAntiAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution: [{term('app: web', 'zone')}]"),
        ["a.yaml:8:3 error misplaced-constraint"],
    ),
    "nodeSelector beside spec": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: busybox}]\nnodeSelector: {zone: east}\n",
        ["a.yaml:6:1 error misplaced-constraint"],
    ),
    "a topologyKey beside podAffinityTerm": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        topologyKey: zone
        podAffinityTerm:
          labelSelector: {matchLabels: {app: web}}
""",
        ),
        ["a.yaml:12:11 error missing-term-wrapper"],
    ),
    "a topologyKey inside labelSelector": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector:
          matchLabels: {app: web}
          topologyKey: zone
""",
        ),
        ["a.yaml:13:13 error misplaced-constraint"],
    ),
    "a weight inside podAffinityTerm": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - podAffinityTerm:
          weight: 100
          labelSelector: {matchLabels: {app: web}}
          topologyKey: zone
""",
        ),
        ["a.yaml:12:13 error missing-term-wrapper"],
    ),
    "a weight left over in a required term": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector: {matchLabels: {app: web}}
        topologyKey: zone
        weight: 100
""",
        ),
        ["a.yaml:13:11 error missing-term-wrapper"],
    ),
    "a podAffinityTerm around a required term": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - podAffinityTerm:
          labelSelector: {matchLabels: {app: web}}
          topologyKey: zone
""",
        ),
        ["a.yaml:11:11 error missing-term-wrapper"],
    ),
    "matchLabels directly in the term": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - matchLabels: {app: web}
        topologyKey: zone
""",
        ),
        ["a.yaml:11:11 error misplaced-constraint"],
    ),
    "a misspelt matchExpressions": (
        pod(
            "web",
            """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpress: [{key: zone, operator: Exists}]
""",
        ),
        ["a.yaml:12:13 error unknown-field"],
    ),
    "a misspelt preferredDuringSchedulingIgnoredDuringExecution": (
        pod("web", "affinity:\n  podAntiAffinity:\n    preferedDuringSchedulingIgnoredDuringExecution: []"),
        ["a.yaml:10:7 error unknown-field"],
    ),
    "a variant that was never implemented": (
        pod("web", "affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingRequiredDuringExecution: []"),
        ["a.yaml:10:7 error unknown-field"],
    ),
    "a misspelt podAntiAffinity": (
        pod("web", "affinity:\n  podAntiAffinty: {}"),
        ["a.yaml:9:5 error unknown-field"],
    ),
    "a field name of another language": (
        pod("web", "affinity:\n  node_affinity: {}"),
        ["a.yaml:9:5 error unknown-field"],
    ),
    "values dedented out of their expression": (
        pod(
            "web",
            """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: zone
              operator: In
          values: [east]
""",
        ),
        ["a.yaml:15:13 error misplaced-constraint"],
    ),
    "operation for operator": (
        pod(
            "web",
            """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: zone
              operation: Exists
""",
        ),
        ["a.yaml:14:17 error unknown-field"],
    ),
    "a hostname in the domain of zones": (
        workload("web", apart("app: web", "topology.kubernetes.io/hostname"), "app: web"),
        ["a.yaml:13:141 warning unknown-node-label"],
    ),
    "a zone without its domain": (pod("web", "nodeSelector:\n  kubernetes.io/zone: east"), ["a.yaml:9:5 warning unknown-node-label"]),
    "a beta label without beta": (
        pod("web", "nodeSelector:\n  failure-domain.kubernetes.io/zone: east"),
        ["a.yaml:9:5 warning unknown-node-label"],
    ),
    "one key with two values": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchExpressions:
            - {key: app, operator: In, values: [osd]}
            - {key: app, operator: In, values: [osd-prepare]}
""",
            "app: osd",
        ),
        ["a.yaml:15:51 warning contradictory-selector"],
    ),
    "terms that were to be alternatives": (
        pod(
            "web",
            """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - {key: zone, operator: In, values: [east]}
            - {key: zone, operator: In, values: [west]}
""",
        ),
        ["a.yaml:14:52 error contradictory-requirements"],
    ),
    "the control plane without its toleration": (
        workload("operator", 'nodeSelector:\n  node-role.kubernetes.io/control-plane: ""', "app: operator"),
        ["a.yaml:14:9 warning untolerated-control-plane"],
    ),
    "a toleration of the old taint only": (
        workload("agent", "tolerations:\n  - key: node-role.kubernetes.io/master\n    effect: NoSchedule", "app: agent", kind="DaemonSet"),
        ["a.yaml:14:16 info legacy-control-plane-toleration"],
    ),
    "a boolean in a toleration": (
        pod("web", "tolerations:\n  - key: dedicated\n    value: true\n    effect: NoSchedule"),
        ["a.yaml:10:14 error wrong-type"],
    ),
    "a weight of 150": (
        pod(
            "web",
            """
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 150
        podAffinityTerm:
          labelSelector: {matchLabels: {app: web}}
          topologyKey: zone
""",
        ),
        ["a.yaml:11:19 error weight-out-of-range"],
    ),
    "a missing --- between two objects": (
        """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: busybox}]}
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{name: c, image: busybox}]}
""",
        ["a.yaml:5:1 error missing-separator"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_the_same_repositories_got_wrong_is_found(name: str) -> None:
    files, expected = MISTAKES[name]
    found = lint(files)
    assert places(found) == expected, [each.message for each in found]


def test_overriding_a_merged_value_is_at_most_an_info() -> None:
    """An idiom of YAML, which kubectl accepts; below the other key, the merge key sets another value for kubectl than for kustomize."""
    probes = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: web\n"
        "    readinessProbe: &probe {failureThreshold: 2, tcpSocket: {port: 80}}\n"
        "    startupProbe:\n      FIRST\n      SECOND\n"
    )
    override = probes.replace("FIRST", "<<: *probe").replace("SECOND", "failureThreshold: 100")
    assert places(lint(override)) == ["a.yaml:11:7 info duplicate-key"]
    lost = probes.replace("SECOND", "<<: *probe").replace("FIRST", "failureThreshold: 100")
    assert places(lint(lost)) == ["a.yaml:11:7 warning duplicate-key"]


def test_a_word_in_capitals_that_the_name_of_the_object_holds_too_is_filled_in_later() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec:\n  nodeName: HOSTNAME\n  containers: [{name: c, image: i}]\n"
    assert lint(pod.replace("{name: NAME}", "{name: " + "disk-wipe-HOSTNAME}")) == []
    assert places(lint(pod.replace("{name: NAME}", "{name: " + "disk-wipe}"))) == ["a.yaml:5:13 error invalid-scheduling-field"]
