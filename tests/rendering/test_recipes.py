"""The pipes for other tools in docs/rendering.md, with recorded output of the tools."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from linting import lint

PAGE = Path(__file__).parents[2] / "docs" / "rendering.md"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"nodeSelector": {"disk": "-x"}, "containers": []}}
PLAN = {
    "planned_values": {
        "root_module": {
            "resources": [
                {"type": "kubernetes_manifest", "values": {"manifest": POD}},
                {"type": "aws_vpc", "values": {"cidr_block": "10.0.0.0/8"}},
            ],
            "child_modules": [{"resources": [{"type": "kubectl_manifest", "values": {"yaml_body": json.dumps(POD)}}]}],
        }
    }
}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_manifests_in_a_plan_of_terraform() -> None:
    (program,) = re.findall(r"jq -r '([^']*)'", PAGE.read_text(encoding="utf-8"))
    printed = subprocess.run(["jq", "-r", program], input=json.dumps(PLAN), capture_output=True, text=True, check=True).stdout
    assert [each.rule for each in lint(printed)] == ["invalid-label-value"] * 2
