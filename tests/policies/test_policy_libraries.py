"""The tests of the policy libraries of Kyverno and Gatekeeper, counted by ``tools/policy_libraries.py``."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from extras import needs_cel
from policies.test_foreign_policies import validating
from policies.test_foreign_tests import EXPECTED, PODS, kyverno_test, suite

pytestmark = needs_cel
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("policy_libraries", ROOT / "tools" / "policy_libraries.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "x"], cwd=folder, check=True)


def test_the_table_counts_verdicts(tool: ModuleType, tmp_path: Path) -> None:
    kyverno, gatekeeper = tmp_path / "kyverno", tmp_path / "gatekeeper"
    here = kyverno_test(EXPECTED + "- {policy: team, kind: Pod, resources: [web], result: pass}\n")
    write(
        kyverno,
        {
            "a-vpol/policy.yaml": validating(),
            "a-vpol/.kyverno-test/resource.yaml": PODS,
            "a-vpol/.kyverno-test/kyverno-test.yaml": here,
            "a-cel/policy.yaml": validating(),
            "a-cel/.kyverno-test/resource.yaml": PODS,
            "a-cel/.kyverno-test/kyverno-test.yaml": kyverno_test(EXPECTED),
        },
    )
    write(gatekeeper, {f"library/{name}": text for name, text in suite().items()})
    rows = tool.table(kyverno, gatekeeper, tool.libraries(kyverno, gatekeeper)).splitlines()
    assert rows[2:6] == [
        "| Kyverno, `ValidatingPolicy` | 1 | 3 | 2 (66.7 %) | 0 | 1 | 0 |",
        "| Kyverno, ClusterPolicy with `validate.cel` | 1 | 2 | 2 (100.0 %) | 0 | 0 | 0 |",
        "| Gatekeeper, `K8sNativeValidation` | 1 | 5 | 5 (100.0 %) | 0 | 0 | 0 |",
        "| all | 3 | 10 | 9 (90.0 %) | 0 | 1 | 0 |",
    ]


def test_the_libraries_expect_what_the_page_says(tool: ModuleType) -> None:
    """Set KYVERNO_POLICIES and GATEKEEPER_LIBRARY to checkouts of the commits that the page names."""
    kyverno, gatekeeper = os.environ.get("KYVERNO_POLICIES"), os.environ.get("GATEKEEPER_LIBRARY")
    if not kyverno or not gatekeeper:
        pytest.skip("KYVERNO_POLICIES and GATEKEEPER_LIBRARY are not set")
    text = tool.table(Path(kyverno), Path(gatekeeper), tool.libraries(Path(kyverno), Path(gatekeeper)))
    assert text in tool.PAGE.read_text(encoding="utf-8")
