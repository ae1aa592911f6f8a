"""The examples: each mistake in the shop is found where it is, and the fixed shop is clean, whatever is looked for."""

import sys

import pytest

from checkout import ROOT, run
from rendering.real_tools import on_path

SHOP, FIXED = ROOT / "examples" / "shop", ROOT / "examples" / "fixed"
AFFLINT = (sys.executable, "-m", "afflint", "check", "--no-config")

MISTAKES = """\
cart.yaml:7:5: warning label-not-on-template
cart.yaml:19:14: error wrong-type
orders-db.yaml:7:5: error label-not-on-template
orders-db.yaml:10:3: error misplaced-constraint
search.yaml:23:28: error empty-topology-key
search.yaml:25:23: error weight-out-of-range
web.yaml:27:15: error missing-term-wrapper
"""


RENDERED = """\
apps/web/base/web.yaml:14:24: warning unknown-node-label
apps/web/overlays/production/on-demand.yaml:12:21: error unknown-operator
charts/worker/templates/worker.yaml:20:23: error weight-out-of-range
charts/worker/values.yaml:4:28: error wrong-type
data/orders.yaml:14:25: warning no-matching-pool
data/orders.yaml:18:16: error invalid-toleration
"""


def found(report: str) -> str:
    """A report in the concise format without its messages."""
    lines = [line.split() for line in report.splitlines()]
    return "".join(f"{place} {severity} {rule.strip('[]')}\n" for place, severity, *_, rule in lines)


def test_the_mistakes_of_the_shop() -> None:
    assert found(run((*AFFLINT, "--format", "concise"), SHOP, expect=1)) == MISTAKES


@pytest.mark.parametrize("selected", [(), ("--select", "all")])
def test_the_fixed_shop_is_clean(selected: tuple[str, ...]) -> None:
    report = run((*AFFLINT, "--fail-on", "info", *selected), FIXED)
    assert report.startswith("No findings. Read 6 documents in 5 files.")


def test_both_shops_have_the_same_objects() -> None:
    names = sorted(path.name for path in SHOP.iterdir())
    assert names == sorted(path.name for path in FIXED.iterdir())
    assert {line.partition(":")[0] for line in MISTAKES.splitlines()} < {*names}, "and one file of the shop has no mistake"


def test_each_mistake_is_fixed_at_its_line() -> None:
    for line in MISTAKES.splitlines():
        name, number = line.split(":")[:2]
        wrong = (SHOP / name).read_text(encoding="utf-8").splitlines()[int(number) - 1]
        expected = (FIXED / name).read_text(encoding="utf-8").splitlines()
        assert wrong not in expected[int(number) - 1 : int(number)], line


def test_the_mistakes_of_a_repository_as_it_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "kustomize", "helm")
    report = run((*AFFLINT, "--render", "--format", "concise"), ROOT / "examples" / "gitops", expect=1)
    assert found(report) == RENDERED
