"""Every finding on real manifests is kept in a golden, so that a change of behaviour shows as a diff to read by eye.

Run this file to write the golden anew: ``python tests/test_corpus.py``. Lines hold place, severity and rule, no text of the manifests.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import discover
from shared_material import SHARED, shared

GOLDEN = Path(__file__).parent / "golden" / "corpus.txt"
FOLDERS = ("plain", "md", "helm", "broken")


def checked() -> Outcome:
    """A run over the corpus from its own folder, as its users would make it."""
    before = os.getcwd()
    os.chdir(SHARED / "corpus")
    try:
        return run(list(discover(FOLDERS)), default_settings())
    finally:
        os.chdir(before)


def lines(outcome: Outcome) -> list[str]:
    return [f"{each.file}:{each.span.line}:{each.span.column} {each.severity} {each.rule}" for each in outcome.findings]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    shared("corpus")
    return checked()


def test_findings_on_real_manifests_are_those_that_were_read_by_eye(outcome: Outcome) -> None:
    counts = Counter(finding.rule for finding in outcome.findings)
    print(", ".join(f"{rule} {count}" for rule, count in counts.most_common()))
    assert lines(outcome) == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_info_findings_stay_rare(outcome: Outcome) -> None:
    """Fewer than one in fifty documents. One repository still selects nodes by the first labels of the kubelet, in every workload."""
    info = [each for each in outcome.findings if each.severity == "info" and each.rule != "deprecated-node-label"]
    assert len(info) * 50 < outcome.summary.documents


def test_templates_are_recognised(outcome: Outcome) -> None:
    templates = [finding for finding in outcome.findings if finding.file.startswith("helm/")]
    assert templates == []
    assert outcome.summary.templated + outcome.summary.literal >= 11


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text("".join(f"{line}\n" for line in lines(checked())), encoding="utf-8")
