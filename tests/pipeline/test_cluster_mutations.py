"""Mutating policies among the manifests: what the cluster stores is judged, and a policy that causes a finding is named."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from afflint.findings.finding import Finding
from afflint.pipeline.options import Options
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import Source
from linting import places, settings_of

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {distributed: required}}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers: [{name: web, image: nginx}]
"""
SPREAD = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: spread}
spec:
  rules:
  - name: add-spread
    match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {distributed: required}}}}]}
    mutate:
      patchStrategicMerge:
        spec:
          template:
            spec:
              +(topologySpreadConstraints):
              - maxSkew: 1
                topologyKey: topology.kubernetes.io/zone
                whenUnsatisfiable: DoNotSchedule
                labelSelector: {matchLabels: {distributed: required}}
"""
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: a1, labels: {kubernetes.io/hostname: a1}}
spec: {taints: [{key: gpu, value: "yes", effect: NoSchedule}]}
"""
TOLERATE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tolerate}
spec:
  rules:
  - name: add-toleration
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchStrategicMerge:
        spec: {tolerations: [{key: gpu, operator: Exists}]}
"""


def web(name: str = "web") -> str:
    """A Deployment with two replicas and without constraints."""
    return DEPLOYMENT.replace("NAME", name)


def outcome(files: dict[str, str], context: dict[str, str] | None = None) -> Outcome:
    """A run over files by name, and files of the context."""
    checked, known = (
        [Source(name, name, textwrap.dedent(text).encode()) for name, text in each.items()] for each in (files, context or {})
    )
    return run(checked, settings_of(), Options(), known)


def findings(files: dict[str, str], context: dict[str, str] | None = None) -> list[Finding]:
    """The findings of a run over files by name."""
    return outcome(files, context).findings


def test_a_finding_that_a_policy_causes_is_at_the_policy() -> None:
    (found,) = findings({"policy.yaml": SPREAD, "web.yaml": web()})
    assert places([found]) == ["policy.yaml:8:5 warning label-not-on-template"]
    assert found.message.startswith(
        "Deployment web, as this policy changes it: the label `distributed: required` is set only on the Deployment itself, not on its pods"
    )
    assert found.help.startswith("Change the rule, or exclude the object from it. ")
    assert (found.object.kind, found.object.name, found.field) == ("ClusterPolicy", "spread", "spec.rules[0].mutate")
    assert [(each.file, each.span.line, each.message) for each in found.related] == [("web.yaml", 3, "Deployment web")]
    assert found.fix is None


def test_a_cause_is_one_finding_however_many_objects_it_changes() -> None:
    (found,) = findings({"policy.yaml": SPREAD, **{f"{name}.yaml": web(name) for name in ("one", "two", "three")}})
    assert found.message.startswith("Deployment one and 2 more, as this policy changes them: ")
    assert len(found.related) == 3


def test_nothing_is_reported_for_objects_that_the_policy_does_not_change() -> None:
    assert findings({"policy.yaml": SPREAD, "web.yaml": web().replace("distributed: required", "team: a")}) == []


def test_a_finding_that_a_policy_removes_is_not_reported() -> None:
    files = {"nodes.yaml": NODES, "web.yaml": web()}
    assert [each.rule for each in findings(files)] == ["unschedulable"]
    assert findings({**files, "policy.yaml": TOLERATE}) == []


def test_what_a_policy_adds_may_be_redundant_for_some_objects() -> None:
    tolerant = web().replace("containers", "tolerations: [{operator: Exists, effect: NoSchedule}]\n      containers")
    add = "'[{op: add, path: /spec/tolerations/-, value: {key: gpu, operator: Exists, effect: NoSchedule}}]'"
    policy = TOLERATE[: TOLERATE.index("      patchStrategicMerge")] + f"      patchesJson6902: {add}\n"
    assert findings({"policy.yaml": policy, "web.yaml": tolerant}) == []


def test_findings_that_a_policy_does_not_change_stay_where_they_are() -> None:
    affected = web().replace("    spec:\n      con", "    spec:\n      nodeSelector: {zone: 1}\n      con")
    before = findings({"web.yaml": affected})
    assert places(before) == ["web.yaml:10:28 error wrong-type"]
    (found,) = findings({"web.yaml": affected, "policy.yaml": TOLERATE})
    assert found._replace(source=0) == before[0]


def test_a_policy_of_the_context_counts_and_is_named_at_the_object() -> None:
    (found,) = findings({"web.yaml": web()}, {"policy.yaml": SPREAD})
    assert places([found]) == ["web.yaml:3:18 warning label-not-on-template"]
    assert found.message.startswith("as a mutating policy changes it: the label `distributed: required` is set only on the Deployment")
    assert [(each.file, each.span.line, each.message) for each in found.related] == [("policy.yaml", 8, "ClusterPolicy spread changes it")]


@pytest.mark.parametrize(
    ("policy", "workload", "applies"),
    [
        pytest.param("clusters/east/policy.yaml", "clusters/east/apps/web.yaml", True, id="same cluster"),
        pytest.param("clusters/east/policy.yaml", "clusters/west/web.yaml", False, id="other cluster"),
        pytest.param("clusters/east/policy.yaml", "apps/web.yaml", False, id="shared by clusters"),
        pytest.param("policies/policy.yaml", "clusters/west/web.yaml", True, id="policy for all clusters"),
        pytest.param("examples/kyverno/policy.yaml", "examples/kyverno/web.yaml", True, id="same example"),
        pytest.param("examples/kyverno/policy.yaml", "examples/web/web.yaml", False, id="other example"),
        pytest.param("lib/tests/policy.yaml", "apps/web.yaml", False, id="test"),
    ],
)
def test_a_policy_applies_within_its_cluster_and_its_example(policy: str, workload: str, applies: bool) -> None:
    others = {"clusters/east/other.yaml": "a: 1\n", "clusters/west/other.yaml": "a: 1\n"}
    assert bool(findings({**others, policy: SPREAD, workload: web()})) is applies


def test_a_policy_of_the_only_cluster_applies_to_shared_files() -> None:
    assert len(findings({"clusters/east/policy.yaml": SPREAD, "apps/web.yaml": web()})) == 1


def test_a_finding_about_an_object_that_is_not_changed_says_that_others_are() -> None:
    relabel = SPREAD[: SPREAD.index("    match:")] + (
        "    match: {any: [{resources: {kinds: [Pod], names: [db*]}}]}\n"
        "    mutate: {patchStrategicMerge: {metadata: {labels: {app: other}}}}\n"
    )
    other = "apiVersion: v1\nkind: Pod\nmetadata: {name: db, labels: {app: db}}\nspec: {containers: [{name: a, image: b}]}\n"
    wants = "requiredDuringSchedulingIgnoredDuringExecution"
    term = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}"
    near = f"affinity: {{podAffinity: {{{wants}: [{term}]}}}}\n      containers"
    files = {"web.yaml": web().replace("containers", near), "db.yaml": other, "nodes.yaml": NODES.partition("spec")[0]}
    assert findings(files) == []
    found = findings({**files, "policy.yaml": relabel})
    assert [each.message.partition(":")[0] for each in found] == ["as mutating policies change other objects"]


def test_objects_in_lists_and_in_files_with_several_documents_keep_their_places() -> None:
    whole = textwrap.indent(web("two"), "  ").replace("  apiVersion", "- apiVersion", 1)
    listed = "apiVersion: v1\nkind: List\nitems:\n" + whole
    (found,) = findings({"all.yaml": web("one") + "---\n" + SPREAD + "---\n" + listed})
    assert places([found]) == ["all.yaml:19:5 error label-not-on-template"]
    assert [each.span.line for each in found.related] == [3, 35]


def test_a_rule_that_is_undecided_is_named_and_changes_nothing() -> None:
    undecided = SPREAD.replace("matchLabels: {distributed: required}}}}]}", "matchLabels: {distributed: required}}}, clusterRoles: [x]}]}")
    run = outcome({"policy.yaml": undecided, "web.yaml": web()})
    assert run.findings == []
    labels = undecided.replace(
        "clusterRoles: [x]}]}", "clusterRoles: [x]}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}"
    )
    assert outcome({"policy.yaml": labels.partition("\n    mutate:\n")[0], "web.yaml": web()}).unevaluated == ()
    assert run.unevaluated == (
        "policy `spread`: it depends on the user who creates the object; the policy is not evaluated for Deployment web in web.yaml",
    )


def test_a_policy_exception_exempts_objects() -> None:
    exception = """\
    apiVersion: kyverno.io/v2
    kind: PolicyException
    metadata: {name: exempt, namespace: kyverno}
    spec:
      exceptions: [{policyName: spread, ruleNames: [add-*]}]
      match: {any: [{resources: {kinds: [Deployment], names: [web]}}]}
    """
    assert findings({"policy.yaml": SPREAD, "web.yaml": web(), "exception.yaml": exception}) == []
    assert findings({"policy.yaml": SPREAD, "web.yaml": web(), "exception.yaml": exception.replace("[web]", "[db]")})
    assert findings(
        {"policy.yaml": SPREAD, "web.yaml": web(), "exception.yaml": exception.replace("policyName: spread", "policyName: other")}
    )


def test_the_tests_of_policies_are_not_objects_of_a_cluster() -> None:
    assert findings({".kyverno-test/policy.yaml": SPREAD, "web.yaml": web()}) == []
    assert findings({"policy.yaml": SPREAD, ".kyverno-test/web.yaml": web()}) == []
    assert findings({"policy.yaml": SPREAD, "a/web.yaml": web(), "a/chainsaw-test.yaml": "kind: Test\n"}) == []


def test_a_comment_beside_the_policy_silences_the_finding() -> None:
    silenced = SPREAD.replace("    mutate:\n", "    # afflint: ignore[label-not-on-template] -- the pods get it elsewhere\n    mutate:\n")
    assert findings({"policy.yaml": silenced, "web.yaml": web()}) == []


def test_a_run_without_such_policies_imports_nothing_for_them() -> None:
    program = """
import sys
from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import run
from afflint.source.sources import Source
run([Source("web.yaml", "web.yaml", sys.stdin.buffer.read())], default_settings())
print([name for name in sys.modules if name.startswith("afflint.mutation") or name.endswith("cluster_mutations")])
"""
    done = subprocess.run([sys.executable, "-c", program], input=web(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
