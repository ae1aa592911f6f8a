"""`afflint report`: who meets the policies and who does not, under rendering, exceptions and baselines; and its refusals."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Done
from deployment_text import deployment
from extras import needs_cel
from rendering.real_tools import found_tool

CONFIG = """\
policies:
  - name: known-keys
    check: allowed-topology-keys
    params: {keys: [kubernetes.io/hostname]}
  - name: has-team
    severity: info
    check: required-template-labels
    params: {labels: {team: "*"}}
    exclude: {namespaces: [lab]}
"""
WEB = deployment(
    "topologySpreadConstraints:",
    "  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}",
    namespace="shop",
    labels="team: storefront",
)
CART = WEB.replace("web", "cart").replace("rack", "kubernetes.io/hostname").replace(", team: storefront", "")
LAB = CART.replace("cart", "lab").replace("shop", "lab")
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: market}}\n"


class ReportRun(Done):
    """A run with its report in JSON."""

    @property
    def states(self) -> dict[str, dict[str, str]]:
        """What each workload makes of each policy."""
        policies = json.loads(self.out)["policies"]
        return {policy["name"]: {each["object"]["name"]: each["state"] for each in policy["workloads"]} for policy in policies}

    @property
    def since(self) -> dict[str, str | None]:
        """Since when a baseline knows what is not met: "" where it does not say, None where it knows nothing."""
        policies = json.loads(self.out)["policies"]
        unmet = [each for policy in policies for each in policy["workloads"] if each["state"] == "unmet"]
        return {each["object"]["name"]: (each["since"] or "") if each["known"] else None for each in unmet}


Afflint = Callable[..., ReportRun]


@pytest.fixture
def afflint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, afflint: Callable[..., Done]) -> Afflint:
    """Runs the command line in a folder with three workloads and two policies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AFFLINT_NO_CACHE", "1")
    for name, text in {".afflint.yaml": CONFIG, "web.yaml": WEB, "cart.yaml": CART, "lab.yaml": LAB}.items():
        Path(name).write_text(text, encoding="utf-8")
    return lambda *words: ReportRun(*afflint(*words))


def test_all_workloads_are_asked(afflint: Afflint) -> None:
    done = afflint("report", "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert done.states == {
        "known-keys": {"web": "unmet", "cart": "met", "lab": "met"},
        "has-team": {"web": "met", "cart": "unmet"},
    }
    assert json.loads(done.out)["summary"] == {"workloads": 3, "outside": 0}


def test_it_agrees_with_check(afflint: Afflint) -> None:
    found = json.loads(afflint("check", "--format", "json", "--select", "policy").out)["findings"]
    unmet = {(each["rule"], each["object"]["name"]) for each in found if each["category"] == "policy"}
    states = afflint("report", "--format", "json").states
    assert unmet == {(policy, name) for policy, each in states.items() for name, state in each.items() if state == "unmet"}


def test_what_is_silenced_is_excepted_unless_it_is_mandatory(afflint: Afflint) -> None:
    Path("web.yaml").write_text(f"# afflint: ignore-file[known-keys] -- racks it is\n{WEB}", encoding="utf-8")
    assert afflint("report", "--format", "json").states["known-keys"]["web"] == "excepted"
    mandatory = CONFIG.replace("allowed-topology-keys\n", "allowed-topology-keys\n    mandatory: true\n")
    Path(".afflint.yaml").write_text(mandatory, encoding="utf-8")
    assert afflint("report", "--format", "json").states["known-keys"]["web"] == "unmet"
    Path(".afflint.yaml").write_text(CONFIG + "per-file-ignores: {cart.yaml: [has-team]}\n", encoding="utf-8")
    assert afflint("report", "--format", "json").states["has-team"]["cart"] == "excepted"


def test_the_baseline_says_since_when(afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".afflint.yaml").write_text(CONFIG + "baseline: known.json\n", encoding="utf-8")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1756800000")
    assert afflint("check", "--write-baseline").code == 0
    assert afflint("report", "--format", "json").since == {"web": "2025-09-02", "cart": "2025-09-02"}
    Path("new.yaml").write_text(WEB.replace("web", "new"), encoding="utf-8")
    assert afflint("report", "--format", "json").since["new"] is None
    # What was known keeps its day when the baseline is rewritten, also in a file that has moved; what is new has that of today.
    Path("web.yaml").rename("moved.yaml")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795300000")
    afflint("check", "--write-baseline")
    assert afflint("report", "--format", "json").since == {"web": "2025-09-02", "cart": "2025-09-02", "new": "2026-11-21"}
    lines = afflint("report").out.splitlines()
    assert lines[1].split() == ["known-keys", "2", "4", "2", "0", "0", "2025-09-02"]


def test_baselines_of_before_have_no_days(afflint: Afflint) -> None:
    Path(".afflint.yaml").write_text(CONFIG + "baseline: known.json\n", encoding="utf-8")
    afflint("check", "--write-baseline")
    entries = json.loads(Path("known.json").read_text(encoding="utf-8"))
    for each in entries["findings"]:
        each["since"] = "yesterday"
    Path("known.json").write_text(json.dumps(entries), encoding="utf-8")
    assert afflint("check").code == 0
    assert afflint("report", "--format", "json").since == {"web": "", "cart": ""}
    # It is unknown since when they exist: today they were only recorded.
    afflint("check", "--write-baseline")
    assert "since" not in Path("known.json").read_text(encoding="utf-8")


def test_owners_are_those_of_the_label_that_most_have(afflint: Afflint) -> None:
    def owners(*words: str) -> Any:
        report = json.loads(afflint("report", "--format", "json", *words).out)
        return report["owner_key"], {each["name"]: each["workloads"] for each in report["owners"]}

    assert owners() == ("team", {"storefront": 1, None: 2})
    # What a namespace says holds for its workloads that say nothing.
    Path("space.yaml").write_text(SPACE, encoding="utf-8")
    assert owners() == ("team", {"storefront": 1, "market": 1, None: 1})
    assert owners("--owner", "app") == ("app", {"web": 1, "cart": 1, "lab": 1})


def test_pods_of_operators_are_workloads(afflint: Afflint) -> None:
    spread = "{maxSkew: 1, topologyKey: TOPOLOGY, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {prometheus: k8s}}}"
    prometheus = (
        "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: NAME, namespace: shop}\nspec:\n"
        f"  replicas: 2\n  topologySpreadConstraints: [{spread}]\n"
    )
    one = prometheus.replace("NAME", "good").replace("TOPOLOGY", "kubernetes.io/hostname")
    other = prometheus.replace("NAME", "bad").replace("TOPOLOGY", "rack")
    Path("prometheus.yaml").write_text(f"{one}---\n{other}", encoding="utf-8")
    states = afflint("report", "--format", "json").states["known-keys"]
    assert (states["good"], states["bad"]) == ("met", "unmet")


def test_patches_are_not_workloads(afflint: Afflint) -> None:
    Path("kustomization.yaml").write_text("resources: [cart.yaml]\npatches: [{path: web.yaml}]\n", encoding="utf-8")
    assert "web" not in afflint("report", "--format", "json").states["has-team"]


def test_outcomes_want_nodes(afflint: Afflint) -> None:
    Path(".afflint.yaml").write_text("policies: [{name: has-room, check: fits}]\n", encoding="utf-8")
    assert "has-room: no nodes are known: name them with `--nodes`\n" in afflint("report").out
    Path("nodes").mkdir()
    Path("nodes/nodes.yaml").write_text("nodes: [{name: w1, labels: {rack: a}}]\n", encoding="utf-8")
    done = afflint("report", "--format", "json", "--nodes", "nodes/nodes.yaml")
    assert done.states["has-room"] == {"web": "met", "cart": "met", "lab": "met"}


VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: legacy, namespace: shop}
spec:
  runStrategy: Always
  template:
    spec:
      evictionStrategy: LiveMigrate
      domain: {devices: {}, resources: {requests: {memory: 1Gi}}}
"""


def test_what_a_check_cannot_be_about_does_not_meet_it_either(afflint: Afflint) -> None:
    Path("vm.yaml").write_text(VM, encoding="utf-8")
    Path("agent.yaml").write_text(WEB.replace("Deployment", "DaemonSet").replace("web", "agent"), encoding="utf-8")
    checks = {"moves": "required-migratability", "has-target": "migratable", "has-room": "fits"}
    Path(".afflint.yaml").write_text(
        "policies:\n" + "".join(f"- {{name: {name}, check: {check}}}\n" for name, check in checks.items()), encoding="utf-8"
    )
    Path("nodes").mkdir()
    Path("nodes/nodes.yaml").write_text("nodes: [{name: w1, labels: {rack: a}}, {name: w2, labels: {rack: b}}]\n", encoding="utf-8")
    states = afflint("report", "--format", "json", "--nodes", "nodes/nodes.yaml").states
    assert {name: sorted(each) for name, each in states.items()} == {
        "moves": ["legacy"],
        "has-target": ["legacy"],
        "has-room": ["cart", "lab", "legacy", "web"],
    }


ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: own}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations: [{expression: "object.spec.paused"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: own}
spec: {policyName: own, validationActions: [Deny]}
"""


def test_outcomes_without_nodes_are_undecided_for_all_workloads(afflint: Afflint) -> None:
    Path(".afflint.yaml").write_text("policies: [{name: has-room, check: fits}]\n", encoding="utf-8")
    done = afflint("report")
    assert "has-room: no nodes are known: name them with `--nodes`\n" in done.out
    assert done.out.splitlines()[-1] == "0 of 1 policy met by all workloads, 1 not evaluated; 3 workloads."


@needs_cel
def test_a_policy_without_a_result_is_undecided(afflint: Afflint) -> None:
    Path("cluster").mkdir()
    Path("cluster/own.yaml").write_text(
        ADMISSION.replace("spec.paused", "request.userInfo.uid == '1'").replace("object.request", "request"), encoding="utf-8"
    )
    Path(".afflint.yaml").write_text(
        "policies:\n- cluster/own.yaml\n- {name: has-room, check: fits}\n- {name: pinned, check: no-pinning}\n",
        encoding="utf-8",
    )
    assert afflint("report").out.splitlines()[-1] == "1 of 3 policies met by all workloads, 2 not evaluated; 3 workloads."
    assert "<h1>1 of 3 policies met, 2 not evaluated</h1>" in afflint("report", "--format", "html").out


@needs_cel
def test_a_workload_without_a_result_does_not_meet_the_policy(afflint: Afflint) -> None:
    Path(".afflint.yaml").write_text(
        "policies: [{name: said, check: expression, params: {expression: 'object.spec.absent == 1 || object.metadata.name == \"web\"'}}]\n",
        encoding="utf-8",
    )
    done = afflint("report", "--format", "json")
    assert done.states["said"] == {"web": "met", "cart": "undecided", "lab": "undecided"}
    assert json.loads(done.out)["policies"][0]["undecided"] == 2
    assert "said: not evaluated for Deployment lab in lab.yaml and 1 more\n" in afflint("report").out


def test_the_page_goes_to_a_file(afflint: Afflint) -> None:
    assert afflint("report", "--format", "html", "--output", "page.html").out == ""
    assert "<h1>0 of 2 policies met</h1>" in Path("page.html").read_text(encoding="utf-8")


def test_it_takes_policies(afflint: Afflint) -> None:
    done = afflint("report", "--no-config")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("afflint: no policies: ")
    assert afflint("report", "--format", "sarif").err == "afflint: --format: unknown value 'sarif'; use one of text, json, html, markdown\n"


@pytest.mark.skipif(found_tool("kustomize") is None, reason="kustomize is not installed")
def test_what_is_rendered_counts_by_root(afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = found_tool("kustomize")
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(tool or ""), os.environ["PATH"]]))
    Path("base").mkdir()
    for name in ("web", "cart", "lab"):
        Path(f"{name}.yaml").rename(f"base/{name}.yaml")
    Path("base/kustomization.yaml").write_text("resources: [web.yaml]\n", encoding="utf-8")
    for overlay in ("staging", "production"):
        Path(overlay).mkdir()
        kustomization = f"namespace: {overlay}\nresources: [../base]\n"
        Path(overlay, "kustomization.yaml").write_text(kustomization, encoding="utf-8")
    text = Path("base/web.yaml").read_text(encoding="utf-8")
    done = afflint("report", "--render=kustomize", "--format", "json")
    [keys, _] = json.loads(done.out)["policies"]
    of_web = [each for each in keys["workloads"] if each["object"]["name"] == "web"]
    assert [(each["object"]["namespace"], each["state"]) for each in of_web] == [("production", "unmet"), ("staging", "unmet")]
    # The position is that of both.
    assert {(breach["file"], breach["line"]) for each in of_web for breach in each["breaches"]} == {("base/web.yaml", 10)}
    Path("base/web.yaml").write_text(f"# afflint: ignore-file[known-keys]\n{text}", encoding="utf-8")
    [keys, _] = json.loads(afflint("report", "--render=kustomize", "--format", "json").out)["policies"]
    assert {each["state"] for each in keys["workloads"] if each["object"]["name"] == "web"} == {"excepted"}
