"""Node pools in Terraform: which values are literal, where they are, and what a hostile file can cost."""

from pathlib import Path

import pytest

from afflint.yaml import terraform
from afflint.yaml.document import Document
from command_line import exit_code
from growth import assert_linear
from linting import lint, places

HEAD = 'resource "google_container_node_pool" "gpu" {\n'
POOL = (
    HEAD
    + '  node_config {\n    labels = { pool = "gpu" }\n    taint {\n      key    = "gpu"\n      effect = "NO_SCHEDULE"\n    }\n  }\n}\n'
)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {pool: VALUE}
      containers: [{name: web, image: web}]
"""


def documents(text: str) -> list[Document]:
    return list(terraform.documents_in(text.encode()))


def spec(arguments: str) -> object:
    (document,) = documents(f"{HEAD}  {arguments}\n}}\n")
    return document.data["spec"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('name = "a"', {"name": "a"}),
        ('name = "a\\"b\\\\c"', {"name": 'a"b\\c'}),
        ('name = ""', {"name": ""}),
        ("node_count = 3", {"nodeCount": 3}),
        ("spot = true", {"spot": True}),
        ("labels = null", {"labels": None}),
        ('name = var.name', {"name": "${...}"}),
        ('name = "${var.name}-a"', {"name": "${...}"}),
        ('name = format("%s", "a")', {"name": "${...}"}),
        ('zones = ["a", var.b]', {"zones": ["a", "${...}"]}),
        ('labels = { a = "b", "c/d" : 1, e = true }', {"labels": {"a": "b", "c/d": "1", "e": "true"}}),
        ('labels = { (var.key) = "b" }', {"labels": {"${...}": "b"}}),
        ("for_each = var.pools\n  name = each.key", {"name": "${...}"}),
        ('taint {\n    key = "a"\n  }\n  taint {\n    key = "b"\n  }', {"taint": [{"key": "a"}, {"key": "b"}]}),
        ("name = # a comment\n", "${...}"),
        ("name = <<EOT\na\nEOT\n", "${...}"),
    ],
)  # fmt: skip
def test_literal_values(written: str, read: object) -> None:
    assert spec(written) == read


def test_a_list_of_labels_is_found_where_it_is() -> None:
    first, second = documents(f"# Two pools.\n{POOL}\n{POOL}")
    assert str(first.locate(("spec", "nodeConfig", "labels", "pool"))) == str(first.locate(("spec", "nodeConfig", "labels", "pool", "x")))
    span = second.locate(("spec", "nodeConfig", "labels", "pool"))
    assert (span.line, span.column, span.end_column) == (14, 23, 28)
    span = second.locate(("spec", "nodeConfig", "taint", 0))
    assert (span.line, span.column, span.end_column) == (15, 5, 10)
    span = second.locate(("spec", "absent"))
    assert (span.line, span.column) == (12, 1)


def test_other_files_are_not_of_terraform() -> None:
    assert not terraform.declares_pools(b'resource "aws_instance" "a" {\n}\n')
    assert not terraform.declares_pools(b'data:\n  main.tf: |\n    resource "aws_eks_node_group" "a" {\n    }\n')
    assert lint({"main.tf": "kind: Pod\nresource {{{\n"}) == []


def test_a_workload_is_compared_with_the_pools() -> None:
    tolerated = WEB.replace("      containers", "      tolerations: [{key: gpu, operator: Exists}]\n      containers")
    assert lint({"pools.tf": POOL, "web.yaml": tolerated.replace("VALUE", "gpu")}) == []
    assert places(lint({"pools.tf": POOL, "web.yaml": WEB.replace("VALUE", "gpu")})) == ["web.yaml:9:22 warning no-matching-pool"]
    assert places(lint({"pools.tf": POOL.replace('"gpu" }', '"accelerated" }'), "web.yaml": tolerated.replace("VALUE", "accelrated")})) == [
        "web.yaml:9:28 warning no-matching-pool"
    ]


@pytest.mark.parametrize(
    "pool",
    [
        POOL.replace('"gpu" }', "var.pool }"),
        POOL.replace('{ pool = "gpu" }', "var.labels"),
        POOL.replace("    taint {", '    dynamic "taint" {'),
        POOL.replace('  node_config {', '  name = <<A\nA\n  node_config {'),
        POOL.replace("  node_config {", "  node_config {{"),
        POOL.replace("  node_config {", "  a = [" + "0, " * 5000 + "]\n  node_config {"),
        f"{POOL}module \"pools\" {{\n  pools = [{{ pool = \"web\" }}]\n}}\n",
    ],
    ids=["a value", "labels", "taints", "a long text", "a syntax error", "a long list", "more pools of a module"],
)  # fmt: skip
def test_what_an_expression_computes_may_be_anything(pool: str) -> None:
    """A value that resembles none of the pools may be that of another one."""
    assert lint({"pools.tf": pool, "web.yaml": WEB.replace("VALUE", "web")}) == []


def test_mistakes_in_pools() -> None:
    wrong = POOL.replace('"NO_SCHEDULE"', '"NoSchedule"').replace('pool = "gpu"', '"a b" = "gpu"')
    assert places(lint({"pools.tf": wrong})) == ["pools.tf:3:16 error invalid-label-key", "pools.tf:6:16 error invalid-pool-taint"]


def test_without_the_parser_the_report_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terraform, "is_available", lambda: False)
    for name in ("a.tf", "b.tf"):
        (tmp_path / name).write_text(POOL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert exit_code(monkeypatch, "check", "--no-cache", "--jobs", "1", ".") == 0
    assert (
        capfd.readouterr().out.count("2 files skipped: node pools of Terraform, for which the extra `terraform` has to be installed.") == 1
    )


@pytest.mark.parametrize("inner", ["[", "{a=", "(", '"${', "a {\n", "\n \n", "a = 1\n", "# x\n", '"\\"', "!", "-"])
def test_the_time_is_linear_and_no_depth_ends_the_run(inner: str) -> None:
    def read(size: int) -> None:
        count = size // len(inner)
        documents(f"{HEAD}a = {inner * count}\n}}\n")
        documents((HEAD + inner + "\n}\n") * (size // 60))

    assert_linear(read, 8000)


def test_a_long_file_has_limits() -> None:
    found = documents(POOL * 100)
    assert len(found) == 100
    assert [type(each.data["spec"]) for each in found] == [dict] * 64 + [str] * 36
