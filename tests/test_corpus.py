"""A run over public manifests reports few infos, and recognises templates."""

import pytest
from tools.generate.goldens import checked_corpus

from afflint.pipeline.run import Outcome
from shared_material import shared


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    shared("corpus")
    return checked_corpus()


def test_info_findings_stay_rare(outcome: Outcome) -> None:
    """Fewer than one in fifty documents. One repository still selects nodes by the first labels of the kubelet, in every workload."""
    info = [each for each in outcome.findings if each.severity == "info" and each.rule != "deprecated-node-label"]
    assert len(info) * 50 < outcome.summary.documents


def test_templates_are_recognised(outcome: Outcome) -> None:
    templates = [finding for finding in outcome.findings if finding.file.startswith("helm/")]
    assert templates == []
    assert outcome.summary.templated + outcome.summary.literal >= 11
