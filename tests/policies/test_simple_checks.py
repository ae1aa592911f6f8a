"""The checks that look at what a manifest says: each with the manifest that it refuses, and with the nearest one that it does not."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.kube.constraints import REQUIRED
from afflint.kube.selectors import LABEL_OPERATORS, from_labels, matches, parse_node_term
from afflint.kube.taints import EFFECTS, Taint, Toleration, tolerates
from policing import findings_of, messages_of, policy

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers: [{name: web, image: nginx}]
"""


def deployment(spec: str) -> str:
    """A Deployment with these fields of the pod spec, from line 12 on."""
    return DEPLOYMENT + "".join(f"      {line}\n" for line in spec.splitlines())


class TestForbiddenNodeLabels:
    PARAMS = '{labels: {performance: [low, medium], gpu: "*"}}'

    @pytest.mark.parametrize(
        "spec, expected",
        [
            ("nodeSelector: {performance: low}", "12:35 Deployment web requires nodes with `performance=low`"),
            ("nodeSelector: {gpu: a100}", "12:27 Deployment web requires nodes with `gpu=a100`"),
        ],
    )
    def test_a_node_selector(self, tmp_path: Path, spec: str, expected: str) -> None:
        assert messages_of(tmp_path, policy("forbidden-node-labels", self.PARAMS), deployment(spec)) == [
            f"{expected}, which the policy forbids in node constraints"
        ]

    AFFINITY = """\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - """

    @pytest.mark.parametrize(
        "expression, place",
        [
            ("{key: performance, operator: In, values: [high, low]}", "17:65"),
            ("{key: performance, operator: Exists}", "17:23"),
            ("{key: gpu, operator: Exists}", "17:23"),
        ],
    )
    def test_one_of_several_values_is_enough(self, tmp_path: Path, expression: str, place: str) -> None:
        (found,) = messages_of(tmp_path, policy("forbidden-node-labels", self.PARAMS), deployment(self.AFFINITY + expression))
        assert found.split()[0] == place

    def test_an_unknown_field_of_a_term_is_ignored(self, tmp_path: Path) -> None:
        term = "{key: gpu, operator: Exists}\n        matchLabels: {a: b}"
        found = messages_of(tmp_path, policy("forbidden-node-labels", self.PARAMS), deployment(self.AFFINITY + term))
        assert [each.split()[0] for each in found if "policy" in each] == ["17:23"]

    @pytest.mark.parametrize(
        "expression",
        [
            "{key: performance, operator: In, values: [high]}",
            "{key: performance, operator: NotIn, values: [low]}",
            "{key: gpu, operator: DoesNotExist}",
            "{key: performance, operator: In, values: ['${tier}']}",
            "{key: performance, operator: In, values: [high, low]}\n        - {key: performance, operator: NotIn, values: [low]}",
            "{key: gpu, operator: Exists}\n        - {key: gpu, operator: DoesNotExist}",
        ],
        ids=["another value", "to be avoided", "not to be there", "filled in later", "excluded beside it", "never matched"],
    )
    def test_what_leaves_no_such_node_is_fine(self, tmp_path: Path, expression: str) -> None:
        assert messages_of(tmp_path, policy("forbidden-node-labels", self.PARAMS), deployment(self.AFFINITY + expression)) == []

    def test_preferences_count_by_default(self, tmp_path: Path) -> None:
        spec = """\
affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 1
      preference:
        matchExpressions:
        - {key: gpu, operator: Exists}
"""
        assert messages_of(tmp_path, policy("forbidden-node-labels", "{labels: {gpu: '*'}}"), deployment(spec)) == [
            "18:23 Deployment web prefers nodes with the label `gpu`, which the policy forbids in node constraints"
        ]
        assert messages_of(tmp_path, policy("forbidden-node-labels", "{labels: {gpu: '*'}, preferred: false}"), deployment(spec)) == []


KEYS, VALUES = ("a", "b"), ("x", "y")
requirements = st.builds(
    lambda key, operator, values: {"key": key, "operator": operator, **({"values": values} if operator in ("In", "NotIn") else {})},
    st.sampled_from(KEYS),
    st.sampled_from(LABEL_OPERATORS),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True),
)
terms = st.lists(st.lists(requirements, min_size=1, max_size=3), max_size=2)
node_selectors = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)


@settings(max_examples=80)
@given(selector=node_selectors, terms=terms)
def test_forbidden_node_labels_agree_with_brute_force(
    tmp_path_factory: pytest.TempPathFactory, selector: dict[str, str], terms: list[list[dict[str, Any]]]
) -> None:
    """Refused is what asks for the label in a way that some node with the forbidden value meets."""

    def asks(term: list[dict[str, Any]]) -> bool:
        return "a" in selector or any(each["key"] == "a" and each["operator"] in ("In", "Exists") for each in term)

    def is_met(term: list[dict[str, Any]], labels: dict[str, str]) -> bool:
        return matches(from_labels(selector), labels) and matches(parse_node_term({"matchExpressions": term} if term else None), labels)

    nodes = [{"a": "x", **({} if value is None else {"b": value})} for value in (None, *VALUES, "other")]
    alternatives: list[list[dict[str, Any]]] = terms or [[{"key": "kubernetes.io/os", "operator": "DoesNotExist"}]]
    expected = any(asks(term) and any(is_met(term, node) for node in nodes) for term in alternatives)
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}}} if terms else {}
    spec = f"nodeSelector: {json.dumps(selector)}\naffinity: {json.dumps(affinity)}\n"
    found = messages_of(tmp_path_factory.mktemp("p"), policy("forbidden-node-labels", "{labels: {a: x}}"), deployment(spec))
    assert bool(found) is expected


class TestAllowedTopologyKeys:
    SPREAD = """\
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: DoNotSchedule
  labelSelector: {matchLabels: {app: web}}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {matchLabels: {app: web}}
"""

    def test_another_key_is_refused(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("allowed-topology-keys", "{keys: kubernetes.io/hostname}"), deployment(self.SPREAD)) == [
            (
                "14:22 Deployment web has a hard spread constraint over `topology.kubernetes.io/zone`;"
                " the policy allows only `kubernetes.io/hostname`"
            )
        ]

    def test_keys_may_be_globs(self, tmp_path: Path) -> None:
        params = "{keys: [kubernetes.io/*, 'topology.kubernetes.io/*']}"
        assert messages_of(tmp_path, policy("allowed-topology-keys", params), deployment(self.SPREAD)) == []

    def test_only_some_constraints_may_be_looked_at(self, tmp_path: Path) -> None:
        params = "{keys: kubernetes.io/hostname, constraints: [required-anti-affinity]}"
        assert messages_of(tmp_path, policy("allowed-topology-keys", params), deployment(self.SPREAD)) == []


class TestRequiredTemplateLabels:
    def test_a_label_that_is_missing_or_has_another_value(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("required-template-labels", "{labels: {team: '*', app: [shop, till]}}"), DEPLOYMENT) == [
            "9:7 the pods of Deployment web lack the label `team` with any value",
            "9:21 the pods of Deployment web have `app=web`; they must have `app` with `shop` or `till`",
        ]

    def test_what_controllers_add_is_there(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("required-template-labels", "{labels: {pod-template-hash: '*'}}"), DEPLOYMENT) == []

    def test_a_patch_may_leave_it_to_others(self, tmp_path: Path) -> None:
        patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec: {nodeSelector: {a: b}}\n"
        assert messages_of(tmp_path, policy("required-template-labels", "{labels: {team: '*'}}"), patch) == []

    def test_a_label_of_a_kustomization_counts(self, tmp_path: Path) -> None:
        (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\ncommonLabels: {team: shop}\n", "utf-8")
        (tmp_path / "a.yaml").write_text(DEPLOYMENT, "utf-8")
        assert messages_of(tmp_path, policy("required-template-labels", "{labels: {team: '*'}}"), DEPLOYMENT) == []

    def test_the_one_value_that_is_allowed_can_be_put_in(self, tmp_path: Path) -> None:
        (found,) = [
            each
            for each in findings_of(tmp_path, policy("required-template-labels", "{labels: {team: shop}}"), DEPLOYMENT)
            if each.rule == "ours"
        ]
        assert found.fix is not None
        assert not found.fix.safe
        assert [edit.text for edit in found.fix.edits] == [", team: shop"]


class TestAllowedTolerations:
    ALLOWED = "{tolerations: [{key: dedicated, value: db}, {key: 'node.kubernetes.io/*', effect: NoExecute}]}"

    @pytest.mark.parametrize(
        "toleration",
        [
            "{key: dedicated, value: db}",
            "{key: dedicated, operator: Equal, value: db, effect: NoSchedule}",
            "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}",
            "{key: '${taint}', operator: Exists}",
        ],
    )
    def test_what_is_allowed_and_less(self, tmp_path: Path, toleration: str) -> None:
        assert messages_of(tmp_path, policy("allowed-tolerations", self.ALLOWED), deployment(f"tolerations:\n- {toleration}")) == []

    @pytest.mark.parametrize(
        "toleration, words",
        [
            ("{key: dedicated, operator: Exists}", "the taint `dedicated`"),
            ("{key: dedicated, value: web}", "the taint `dedicated=web`"),
            ("{key: node.kubernetes.io/not-ready, operator: Exists}", "the taint `node.kubernetes.io/not-ready`"),
            ("{operator: Exists}", "every taint"),
            ("{operator: Exists, effect: NoExecute}", "every taint with the effect NoExecute"),
        ],
    )
    def test_more_is_refused(self, tmp_path: Path, toleration: str, words: str) -> None:
        assert messages_of(tmp_path, policy("allowed-tolerations", self.ALLOWED), deployment(f"tolerations:\n- {toleration}")) == [
            f"13:10 Deployment web tolerates {words}, which the policy does not allow"
        ]


taint_keys, taint_values = st.sampled_from(("a", "ab", "c")), st.sampled_from(("x", "y"))
effects = st.sampled_from(("", *EFFECTS))


@st.composite
def tolerations(draw: st.DrawFn, keys: st.SearchStrategy[str]) -> dict[str, str]:
    found = {"key": draw(keys), "operator": draw(st.sampled_from(("Equal", "Exists"))), "effect": draw(effects)}
    if found["operator"] == "Equal":
        found["value"] = draw(taint_values)
    return {field: value for field, value in found.items() if value}


@settings(max_examples=80)
@given(own=tolerations(taint_keys), allowed=st.lists(tolerations(st.sampled_from(("a", "a*", "c", "*"))), max_size=4))
def test_allowed_tolerations_agree_with_brute_force(
    tmp_path_factory: pytest.TempPathFactory, own: dict[str, str], allowed: list[dict[str, str]]
) -> None:
    """A toleration is allowed where each taint that it tolerates is one that may be tolerated."""
    taints = [Taint(key, value, effect) for key in ("a", "ab", "c") for value in ("x", "y", "other") for effect in EFFECTS]

    def tolerated(messages_of: dict[str, str]) -> set[Taint]:
        key = messages_of["key"]
        toleration = Toleration("", messages_of.get("operator", ""), messages_of.get("value", ""), messages_of.get("effect", ""))
        return {taint for taint in taints if fnmatchcase(taint.key, key) and tolerates(toleration, taint)}

    expected = tolerated(own) <= {taint for each in allowed for taint in tolerated(each)}
    params = json.dumps({"tolerations": allowed})
    found = messages_of(
        tmp_path_factory.mktemp("p"), policy("allowed-tolerations", params), deployment(f"tolerations: [{json.dumps(own)}]")
    )
    assert (not found) is expected


class TestMaximumWeight:
    def test_a_heavier_preference_is_refused(self, tmp_path: Path) -> None:
        spec = """\
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
    - weight: 50
      podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}
"""
        assert messages_of(tmp_path, policy("maximum-weight", "{weight: 50}"), deployment(spec)) == [
            "15:21 a preference of Deployment web has a weight of 100; the policy allows at most 50"
        ]


class TestNoHardAntiAffinity:
    SPEC = """\
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {matchLabels: {app: web}}
    - topologyKey: topology.kubernetes.io/zone
      labelSelector: {matchLabels: {app: web}}
"""

    def test_over_whatever_key(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("no-hard-anti-affinity"), deployment(self.SPEC)) == [
            "15:26 Deployment web requires anti-affinity over `kubernetes.io/hostname`",
            "17:26 Deployment web requires anti-affinity over `topology.kubernetes.io/zone`",
        ]

    def test_but_for_those_that_are_excepted(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("no-hard-anti-affinity", "{except: kubernetes.io/hostname}"), deployment(self.SPEC)) == [
            (
                "17:26 Deployment web requires anti-affinity over `topology.kubernetes.io/zone`; "
                "the policy allows that only over `kubernetes.io/hostname`"
            )
        ]


class TestNoPinning:
    def test_node_name_and_host_name(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("no-pinning"), deployment("nodeName: n1\nnodeSelector: {kubernetes.io/hostname: n1}")) == [
            "12:17 Deployment web is assigned to the node `n1` by name",
            "13:46 Deployment web is restricted to the node `n1` by name",
        ]

    def test_several_names_are_names_too_by_default(self, tmp_path: Path) -> None:
        spec = TestForbiddenNodeLabels.AFFINITY + "{key: kubernetes.io/hostname, operator: In, values: [n1, n2]}"
        assert messages_of(tmp_path, policy("no-pinning"), deployment(spec)) == [
            "17:70 Deployment web is restricted to the nodes `n1` or `n2` by name"
        ]
        assert messages_of(tmp_path, policy("no-pinning", "{several: false}"), deployment(spec)) == []

    def test_what_the_scheduler_wrote_is_not_a_demand(self, tmp_path: Path) -> None:
        pod = """\
            apiVersion: v1
            kind: Pod
            metadata: {name: web, uid: 0b5}
            spec:
              nodeName: n1
              nodeSelector: {kubernetes.io/hostname: n1}
              tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
            status: {phase: Running}
        """
        assert messages_of(tmp_path, policy("no-pinning"), pod) == ["6:42 Pod web is restricted to the node `n1` by name"]
        assert messages_of(tmp_path, policy("allowed-tolerations", "{tolerations: []}"), pod) == []

    def test_other_labels_name_no_node(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("no-pinning"), deployment("nodeSelector: {disk: ssd}\nnodeName: '{{ node }}'")) == []


class TestRequiredMigratability:
    MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: till, namespace: shop}
spec:
  runStrategy: Always
  template:
    spec:
      evictionStrategy: None
      domain:
        devices:
          interfaces: [{name: default, masquerade: {}}]
      networks: [{name: default, pod: {}}]
"""
    CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: shop}
spec: {accessModes: [%s]}
"""

    def test_one_that_can_move_is_fine_whether_or_not_it_asks_for_it(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("required-migratability"), self.MACHINE) == []

    def test_the_eviction_strategy_may_be_asked_for(self, tmp_path: Path) -> None:
        params = "{eviction-strategies: [LiveMigrate, LiveMigrateIfPossible]}"
        assert messages_of(tmp_path, policy("required-migratability", params), self.MACHINE) == [
            "8:25 VirtualMachine till has the eviction strategy `None`; it must have `LiveMigrate` or `LiveMigrateIfPossible`"
        ]

    def test_a_bridge_on_the_pod_network(self, tmp_path: Path) -> None:
        assert messages_of(tmp_path, policy("required-migratability"), self.MACHINE.replace("masquerade", "bridge")) == [
            "11:40 VirtualMachine till cannot migrate: a bridge on the pod network cannot be live-migrated"
        ]

    @pytest.mark.parametrize("mode, number", [("ReadWriteOnce", 1), ("ReadWriteMany", 0)])
    def test_its_claims_decide(self, tmp_path: Path, mode: str, number: int) -> None:
        machine = self.MACHINE + "      volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}]\n"
        assert len(messages_of(tmp_path, policy("required-migratability"), f"{machine}---\n{self.CLAIM % mode}")) == number

    def test_an_unknown_claim_may_be_shared(self, tmp_path: Path) -> None:
        machine = self.MACHINE + "      volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}]\n"
        assert messages_of(tmp_path, policy("required-migratability"), machine) == []

    def test_a_host(self, tmp_path: Path) -> None:
        machine = self.MACHINE + "      nodeSelector: {kubernetes.io/hostname: n1}\n"
        assert messages_of(tmp_path, policy("required-migratability"), machine) == [
            "13:46 VirtualMachine till cannot migrate: it must run on `n1`"
        ]


@pytest.mark.parametrize("check, params", [
    ("forbidden-node-labels", "{labels: {a: x}}"),
    ("allowed-topology-keys", "{keys: a}"),
    ("required-template-labels", "{labels: {a: x}}"),
    ("allowed-tolerations", "{tolerations: [{key: a}]}"),
    ("maximum-weight", "{weight: 1}"),
    ("no-hard-anti-affinity", "{}"),
    ("no-pinning", "{}"),
    ("required-migratability", "{}"),
])  # fmt: skip
@pytest.mark.parametrize(
    "spec",
    [
        "nodeSelector: {a: [x], ? {b: c} : d}\nnodeName: [n1]",
        "affinity: {nodeAffinity: {REQUIRED: {nodeSelectorTerms: [{matchExpressions: [{key: [a], operator: In, values: {a: x}}, null]}]}}}",
        "affinity: {podAntiAffinity: {REQUIRED: [{topologyKey: [a]}, null, {topologyKey: null}]}}",
        "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: heavy}, {weight: null}]}}",
        "tolerations: [{key: {a: b}}, null, {operator: 3}]\ntopologySpreadConstraints: [{topologyKey: 1}, 2]",
    ],
)
def test_what_cannot_be_read_is_nobodys_breach(tmp_path: Path, check: str, params: str, spec: str) -> None:
    """The rules say what is wrong with it; here it ends nothing."""
    found = findings_of(tmp_path, policy(check, params), {"a.yaml": deployment(spec.replace("REQUIRED", REQUIRED)), "b.yaml": DEPLOYMENT})
    assert {each.message for each in found if each.rule == "ours"} <= {
        "the pods of Deployment web lack the label `a` with `x`",
        "Deployment web tolerates every taint, which the policy does not allow",
    }
