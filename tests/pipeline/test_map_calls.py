"""The map step checks each file once, whatever the files of a run define for each other."""

from collections import Counter
from pathlib import Path

import pytest

from afflint import config
from afflint.pipeline.map_step import Checker, DocumentCache, FileResult
from afflint.pipeline.session import Session
from widgets import DEFINITION, WIDGET

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {disk: hdd}}\n"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  template:
    metadata: {labels: {disk: nvme}}
    spec:
      requirements: [{key: topology.kubernetes.io/zonee, operator: In, values: [a]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: d}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: web, image: "web:1"}]}}
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was checked, by its name."""
    monkeypatch.chdir(tmp_path)
    counts: Counter[str] = Counter()
    check = Checker.check

    def counting(self: Checker, name: str, data: bytes, kept: DocumentCache | None = None) -> FileResult:
        counts[Path(name).name] += 1
        return check(self, name, data, kept)

    monkeypatch.setattr(Checker, "check", counting)
    return counts


def rules_found(files: dict[str, str]) -> set[str]:
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    session = Session(config.default())
    return {finding.rule for finding in session.check(session.sources(["."])).findings}


FILES = {"crd.yaml": DEFINITION, "widget.yaml": WIDGET, "node.yaml": NODE, "pool.yaml": POOL, "web.yaml": WEB}


def test_each_file_is_checked_once(calls: Counter[str]) -> None:
    assert {"wrong-type", "no-matching-pool"} <= rules_found(FILES)
    assert calls == dict.fromkeys(FILES, 1)
