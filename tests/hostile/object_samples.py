"""A small valid object of each kind that some reader of afflint knows, by the reader that takes it."""

from typing import Any

from manifest_maker import MANIFESTS, METADATA
from ruamel.yaml import YAML

_TEXTS = {
    "storage": """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {storageClassName: fast, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: csi.example.com, volumeHandle: x}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1}
spec: {drivers: [{name: csi.example.com, nodeID: a, topologyKeys: [topology.kubernetes.io/zone], allocatable: {count: 3}}]}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.example.com}
spec: {storageCapacity: true}
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: capacity, namespace: shop}
storageClassName: fast
capacity: 1Gi
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: attachment}
spec: {attacher: csi.example.com, nodeName: node-1, source: {persistentVolumeName: pv}}
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: StorageProfile
metadata: {name: fast}
status: {claimPropertySets: [{accessModes: [ReadWriteOnce]}], provisioner: csi.example.com}
""",
    "cluster": """\
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: node-1}}
spec: {}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, uid: u1, labels: {app: web}, ownerReferences: [{kind: ReplicaSet, name: web,
  controller: true}]}
spec: {nodeName: node-1, containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: vm, namespace: shop, uid: u2}
spec: {domain: {devices: {}}}
status: {phase: Running, nodeName: node-1}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 4}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicaCount: 5, triggers: []}
---
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {configuration: {vmRolloutStrategy: LiveUpdate}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: small}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {cpu: 100m}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {config.yaml: "nodeSelector: {a: b}"}
---
apiVersion: nodemaintenance.medik8s.io/v1beta1
kind: NodeMaintenance
metadata: {name: maintenance}
spec: {nodeName: node-1}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker, labels: {a: b}}
spec: {nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}, maxUnavailable: 1}
""",
    "configurations": """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: PodTopologySpread,
  args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: PodTopologySpreadArgs}}]}]
---
apiVersion: config.openshift.io/v1
kind: Scheduler
metadata: {name: cluster}
spec: {profile: HighNodeUtilization, defaultNodeSelector: "a=b"}
---
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles: [{name: a, pluginConfig: [{name: RemoveDuplicates, args: {namespaces: {include: [shop]}}}],
  plugins: {balance: {enabled: [RemoveDuplicates]}}}]
---
apiVersion: operator.openshift.io/v1
kind: KubeDescheduler
metadata: {name: cluster, namespace: openshift-kube-descheduler-operator}
spec: {profiles: [AffinityAndTaints]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: descheduler, namespace: kube-system}
data: {policy.yaml: "apiVersion: descheduler/v1alpha2\\nkind: DeschedulerPolicy\\nprofiles: []\\n"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-monitoring-config, namespace: openshift-monitoring}
data: {config.yaml: "prometheusK8s: {nodeSelector: {a: b}}"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {metadata: {type: object}, spec: {type: object,
      properties: {nodeSelector: {type: object}, items: {type: array, items: {type: object}}}}}}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: widget}
spec: {nodeSelector: {a: b}, replicas: 2, items: [{a: b}]}
""",
    "pools": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec: {template: {metadata: {labels: {team: a}}, spec: {requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: workers, namespace: capi}
spec: {clusterName: a, replicas: 3, template: {metadata: {labels: {node-role.kubernetes.io/worker: ""}},
  spec: {bootstrap: {configRef: {kind: KubeadmConfigTemplate, name: workers}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: workers, namespace: capi}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {node-labels: a=b}}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: control, namespace: capi}
spec: {replicas: 3, kubeadmConfigSpec: {}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a, namespace: capi}
spec: {topology: {class: c, version: v1.33.0, workers: {machineDeployments: [{name: md, class: w, replicas: 2,
  metadata: {labels: {a: b}}}]}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: c, namespace: capi}
spec: {workers: {machineDeployments: [{class: w, template: {metadata: {labels: {c: d}}}}]}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: pool, namespace: capi}
spec: {replicas: 2, template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureManagedMachinePool
metadata: {name: azure, namespace: capi}
spec: {mode: User, nodeLabels: {a: b}}
---
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: set, namespace: openshift-machine-api}
spec: {replicas: 2, template: {spec: {metadata: {labels: {a: b}}, taints: []}}}
---
apiVersion: autoscaling.openshift.io/v1beta1
kind: MachineAutoscaler
metadata: {name: set, namespace: openshift-machine-api}
spec: {minReplicas: 1, maxReplicas: 4, scaleTargetRef: {apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, name: set}}
---
apiVersion: hypershift.openshift.io/v1beta1
kind: NodePool
metadata: {name: hosted, namespace: clusters}
spec: {clusterName: a, replicas: 2, nodeLabels: {a: b}, platform: {type: AWS}}
---
apiVersion: hive.openshift.io/v1
kind: MachinePool
metadata: {name: hive, namespace: clusters}
spec: {name: worker, replicas: 2, labels: {a: b}, clusterDeploymentRef: {name: a}}
---
apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: rancher, namespace: fleet-default}
spec: {rkeConfig: {machinePools: [{name: pool, quantity: 2, workerRole: true, labels: {a: b}}]}}
---
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: eks, region: eu-west-1}
managedNodeGroups: [{name: workers, desiredCapacity: 2, labels: {a: b}}]
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: nodes, labels: {kops.k8s.io/cluster: a}}
spec: {role: Node, minSize: 2, maxSize: 4, nodeLabels: {a: b}}
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: JoinConfiguration
nodeRegistration: {kubeletExtraArgs: {node-labels: a=b}}
---
apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
nodes: [{role: worker, labels: {a: b}}]
---
apiVersion: k3d.io/v1alpha5
kind: Simple
metadata: {name: k3d}
agents: 2
options: {k3s: {nodeLabels: [{label: a=b, nodeFilters: ["agent:*"]}]}}
---
apiVersion: k0sctl.k0sproject.io/v1beta1
kind: Cluster
metadata: {name: k0s}
spec: {hosts: [{role: worker, installFlags: ["--labels=a=b"]}]}
---
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: shoot, namespace: garden}
spec: {region: eu, provider: {type: aws, workers: [{name: pool, minimum: 1, maximum: 2, labels: {a: b}}]}}
---
apiVersion: run.tanzu.vmware.com/v1alpha2
kind: TanzuKubernetesCluster
metadata: {name: tanzu, namespace: tkg}
spec: {topology: {nodePools: [{name: pool, replicas: 2, labels: {a: b}}]}}
---
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: rule}
spec: {rules: [{name: r, labels: {a: b}}]}
---
apiVersion: container.cnrm.cloud.google.com/v1beta1
kind: ContainerNodePool
metadata: {name: gke}
spec: {location: eu, clusterRef: {name: a}, nodeCount: 1, nodeConfig: {labels: {a: b}}}
---
apiVersion: v1alpha1
kind: KubeNodeConfig
name: talos
labels: {a: b}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: composition}
spec: {resources: [{base: {apiVersion: eks.aws.upbound.io/v1beta1, kind: NodeGroup, metadata: {name: n},
  spec: {forProvider: {labels: {a: b}}}}}]}
""",
    "policies": """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  paramKind: {apiVersion: v1, kind: ConfigMap}
  validations: [{expression: "has(object.metadata.labels)", messageExpression: "'no labels'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team, validationActions: [Deny], paramRef: {name: settings, namespace: shop},
  matchResources: {namespaceSelector: {matchLabels: {team: a}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: b}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: mutate}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  mutations: [{patchType: ApplyConfiguration,
    applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: mutate}
spec: {policyName: mutate}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: kyverno}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "has(object.metadata.labels)"}]
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: exception, namespace: shop}
spec: {policyRefs: [{name: kyverno, kind: ValidatingPolicy}]}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: classic}
spec:
  rules:
  - name: cel
    match: {any: [{resources: {kinds: [Deployment], namespaces: [shop]}}]}
    validate: {cel: {expressions: [{expression: "has(object.metadata.labels)"}]}}
  - name: mutate
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: classic, namespace: shop}
spec: {rules: [{name: a, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {pattern: {metadata: {name: "*"}}}}]}
---
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: needlabels}
spec:
  crd: {spec: {names: {kind: NeedLabels}}}
  targets: [{target: admission.k8s.gatekeeper.sh, code: [{engine: K8sNativeValidation,
    source: {validations: [{expression: "has(object.metadata.labels)", message: no}]}}]}]
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: NeedLabels
metadata: {name: all}
spec: {match: {kinds: [{apiGroups: [apps], kinds: [Deployment]}], namespaces: [shop]}}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: assign}
spec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}], location: spec.replicas, parameters: {assign: {value: 2}}}
""",
    "gitops": """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {destination: {namespace: shop, server: https://kubernetes.default.svc}, source: {repoURL: https://example.com/a.git, path: app}}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  generators: [{list: {elements: [{name: a}]}}, {clusters: {selector: {matchLabels: {a: b}}}}]
  template: {metadata: {name: "{{name}}"}, spec: {destination: {namespace: shop, name: "{{name}}"},
    source: {repoURL: https://example.com/a.git, path: app}}}
---
apiVersion: v1
kind: Secret
metadata: {name: east, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster, a: b}}
stringData: {name: east, server: https://east.example.com}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system, labels: {a: b}, annotations: {a: b}}
spec: {path: ./app, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substitute: {a: b},
  substituteFrom: [{kind: ConfigMap, name: settings}]}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec: {chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}, valuesFrom: [{kind: ConfigMap,
  name: settings}], values: {a: b}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: https://example.com/a.git, ref: {branch: main}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {url: https://example.com/charts}
---
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {name: k3s, namespace: kube-system}
spec: {chart: https://example.com/a.tgz, valuesContent: "a: b"}
---
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: generator}
valuesFile: values.yaml
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
metadata: {name: kustomization}
resources: []
configMapGenerator: [{name: values, files: [values.yaml]}]
""",
}

SAMPLES: dict[str, list[dict[str, Any]]] = {
    name: [each for each in YAML(typ="safe", pure=True).load_all(text) if each] for name, text in _TEXTS.items()
}
SAMPLES["manifests"] = [{**each, "metadata": METADATA} for each in MANIFESTS if each["kind"] in (
    "Deployment", "StatefulSet", "DaemonSet", "Pod", "CronJob", "VirtualMachine", "VirtualMachinePool", "Service",
      "PodDisruptionBudget",
    "NetworkPolicy", "Node", "Rollout", "PodTemplate",
)]  # fmt: skip
