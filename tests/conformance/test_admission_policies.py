"""Findings of ValidatingAdmissionPolicies against what the API server's own plugin answered: denied or not, the message, warnings."""

import json
from pathlib import Path
from typing import Any

from afflint.findings.finding import Finding
from afflint.pipeline.options import Options
from exactness import counted
from extras import needs_cel
from policing import configured
from shared_material import cases

Case = dict[str, Any]

pytestmark = needs_cel

UNKNOWN = {
    "v571": "who creates the object is not known",
    "v601": "the parameters may be in the cluster",
    "v103": "the admission plugin Priority sets `preemptionPolicy` before policies look at a pod",
}
"""Cases about which afflint says that it cannot tell."""


def findings_of(case: Case, folder: Path) -> list[Finding]:
    """What the policies of a case find in its object, and in themselves."""
    (folder / "admission.yaml").write_text("\n---\n".join(map(json.dumps, case["policies"])), encoding="utf-8")
    (folder / "object.yaml").write_text(json.dumps(case["object"]), encoding="utf-8")
    session = configured(folder, "policies: [admission.yaml]\nselect: [policy]\n")
    return session.check(session.sources([str(folder / "object.yaml")]), Options()).findings


def agrees(case: Case, found: list[Finding]) -> bool:
    """Whether the findings say what the API server said."""
    answer = case["answer"]
    refused = [each for each in found if each.file.endswith("admission.yaml")]
    denied = [each.message for each in found if each.severity == "error" and each not in refused]
    warned = [each.message for each in found if each.severity == "warning"]
    if "invalid" in answer:
        return bool(refused) and not denied
    if refused or len(warned) != len(answer.get("warn", ())):
        return False
    message = answer.get("message", "").partition("denied request: ")[2]
    if "resulted in error" in message:
        return any(each.startswith(message.partition("resulted in error")[0]) for each in denied)
    return message in denied if answer["denied"] else not denied


def test_policies_deny_what_the_api_server_denies(tmp_path: Path) -> None:
    recorded = cases("vap_cases.jsonl.gz")
    disagreeing = [case["id"] for case in recorded if not agrees(case, findings_of(case, tmp_path))]
    assert set(disagreeing) <= set(UNKNOWN)
    counted("ValidatingAdmissionPolicies: rejected, denied, warned or admitted, and why", len(recorded) - len(disagreeing), len(recorded))
