"""The findings of a run depend on the files alone: not on their order, the number of processes, the cache or the editor.

The repository has everything that one file can define for another: nodes, a CustomResourceDefinition, a pool, policies of the
configuration and of the cluster, a kustomization and a chart.
"""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afflint.pipeline import mapping
from command_line import Afflint, Done
from extras import needs_cel
from lsp_client import Client
from rendering.real_tools import on_path
from widgets import DEFINITION, WIDGET

pytestmark = needs_cel

CONFIG = """\
context: ["**/*.yaml", "!overlay/**"]
complete: true
extend-select: [all]
policies: [admission.yaml, {name: two-zones, check: required-spread, params: {topology-key: topology.kubernetes.io/zone}}]
"""
ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: two-replicas}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  validations: [{expression: "object.spec.replicas >= 2", message: "at least two replicas"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: two-replicas, validationActions: [Deny]}
"""
NODES = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a, disktype: hdd, topology.kubernetes.io/zone: z1}}}
- {apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b, disktype: hdd, topology.kubernetes.io/zone: z2}}}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    metadata: {labels: {disktype: nvme}}
    spec:
      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: general}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {disktype: DISK}
      tolerations: [{key: dedicated, operator: Equal, value: VALUE}]
      containers: [{name: main, image: "web:1"}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: OTHER}}}
"""
SUPPRESSED = "# afflint: ignore-file[wrong-type] -- an example\n"


def deployment(name: str, other: str, *, replicas: str = "2", disk: str = "hdd", value: str = "x") -> str:
    values = {"NAME": name, "OTHER": other, "REPLICAS": replicas, "DISK": disk, "VALUE": value}
    return re.sub("|".join(values), lambda match: values[match[0]], DEPLOYMENT)


FILES = {
    ".afflint.yaml": CONFIG,
    "admission.yaml": ADMISSION,
    "nodes.yaml": NODES,
    "crd/widgets.yaml": DEFINITION,
    "pools/general.yaml": POOL,
    "apps/cart.yaml": deployment("cart", "quue", replicas="1"),
    "apps/db.yaml": SUPPRESSED + deployment("db", "db", value="1"),
    "apps/kustomization.yaml": "resources: [cart.yaml, db.yaml, queue.yaml, web.yaml, widget.yaml]\n",
    "apps/queue.yaml": deployment("queue", "queue", replicas="3"),
    "apps/web.yaml": deployment("web", "cart", disk="nvme, arch: x"),
    "apps/widget.yaml": WIDGET,
    "overlay/kustomization.yaml": "resources: [../apps]\nnamePrefix: prod-\ncommonLabels: {env: prod}\n",
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    "chart/templates/app.yaml": deployment("app", "ap", replicas="{{ .Values.replicas }}"),
    "chart/values.yaml": "replicas: 1\n",
}
CHECKED = [name for name in FILES if name.endswith(".yaml") and name.partition("/")[0] in ("apps", "crd", "pools", "nodes.yaml")]
Found = list[tuple[Any, ...]]
Check = Callable[..., Found]


@pytest.fixture(autouse=True)
def repository(project: Path) -> Path:
    for name, text in FILES.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    return project


def findings(done: Done) -> Found:
    """Return the findings of a JSON report, whole."""
    assert done.code in (0, 1), done.err
    return [(each["file"], each["line"], each["column"], each["rule"], json.dumps(each)) for each in json.loads(done.out)["findings"]]


@pytest.fixture
def found(afflint: Afflint) -> Check:
    """The findings of a check with these words, without a cache unless they name one."""

    def run(*words: str) -> Found:
        return findings(afflint("check", "--format", "json", *words, *([] if "--cache-dir" in words else ["--no-cache"])))

    return run


RENDER = pytest.param(("--render",), id="rendered")
AS_WRITTEN = pytest.param((), id="as written")
both = pytest.mark.parametrize("words", [AS_WRITTEN, RENDER])


@pytest.fixture(autouse=True)
def tools(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "rendered" in request.node.name:
        on_path(monkeypatch, "kustomize", "helm")


def test_the_repository_holds_findings_of_each_kind(found: Check) -> None:
    """Otherwise the tests below would compare too little."""
    assert {each[3] for each in found(".")} >= {
        "wrong-type", "anti-affinity-misses-itself", "unschedulable", "too-few-domains", "two-zones", "two-replicas", "no-matching-pool",
    }  # fmt: skip


@both
def test_the_order_of_files_does_not_matter(words: tuple[str, ...], found: Check) -> None:
    expected = found(*CHECKED, *words)
    for seed in range(3):
        assert found(*random.Random(seed).sample(CHECKED, len(CHECKED)), *words) == expected


@both
def test_the_number_of_processes_does_not_matter(words: tuple[str, ...], found: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(".", *words, "--jobs", "1")
    monkeypatch.setattr(mapping, "_WORTH_PROCESSES", 0)
    for jobs in ("2", "3"):
        assert found(".", *words, "--jobs", jobs) == expected


@pytest.fixture
def cached(repository: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The words that switch a cache on, which runs over a few files do without."""
    monkeypatch.setattr(mapping, "_WORTH_CACHE", 0)
    return "--cache-dir", str(repository.parent / "cache")


@both
def test_a_cache_does_not_matter(words: tuple[str, ...], found: Check, cached: tuple[str, str]) -> None:
    expected = found(".", *words)
    found("apps/web.yaml", "crd", *cached)  # a cache that other runs have written
    for _ in range(2):
        assert found(".", *words, *cached) == expected


@pytest.mark.parametrize("name", ["admission.yaml", "nodes.yaml", "crd/widgets.yaml", "pools/general.yaml", "apps/cart.yaml"])
def test_a_cache_notices_that_a_file_is_gone(name: str, found: Check, repository: Path, cached: tuple[str, str]) -> None:
    """Each file defines something for the others."""
    before = found(".", *cached)
    (repository / name).write_text("# nothing\n", encoding="utf-8")
    if name == "admission.yaml":
        (repository / ".afflint.yaml").write_text(CONFIG.replace("- admission.yaml\n", ""), encoding="utf-8")
    expected = found(".")
    assert expected != before
    assert found(".", *cached) == expected


@pytest.mark.parametrize("name", ["apps/cart.yaml", "apps/widget.yaml", "apps/db.yaml"])
def test_a_file_on_standard_input_does_not_matter(name: str, found: Check, repository: Path) -> None:
    """`context` names the files that it depends on."""
    from command_line import spawned

    text = (repository / name).read_text(encoding="utf-8")
    done = spawned("check", "--format", "json", "--no-cache", "-", "--stdin-filename", name, stdin=text)
    assert [each[:4] for each in findings(done)] == [each[:4] for each in found(name)] != []


def test_the_language_server_does_not_matter(found: Check, repository: Path) -> None:
    with Client(repository) as client:
        for name in CHECKED:
            client.open(name)
        client.settle()
        for name in CHECKED:
            shown = [f"{line - 1}:{column - 1} {rule}" for file, line, column, rule, _ in found(".") if file == name]
            assert sorted(client.rules(name)) == sorted(shown), name


def test_a_fix_applied_twice_changes_nothing_more(found: Check, repository: Path) -> None:
    found(".", "--fix", "--unsafe-fixes")
    once = {name: (repository / name).read_bytes() for name in FILES}
    found(".", "--fix", "--unsafe-fixes")
    assert {name: (repository / name).read_bytes() for name in FILES} == once
    assert once != {name: text.encode() for name, text in FILES.items()}
