"""Fields as the real code recorded them, against those of findings: the quirks of the servers, in one place."""

import re
from typing import Any

from afflint.findings.finding import Finding


def agree(error: dict[str, Any], finding: Finding, case: dict[str, Any]) -> bool:
    """Whether a finding of a case is at the field of a recorded error, or at the right one where the server names another."""
    recorded, ours = _bare(error["field"]), _bare(finding.field)
    if error["type"] == "DuplicateField":
        return ours.rsplit(".", 1)[-1] == recorded
    if error["type"] == "WrongType":
        # Neither list indexes nor keys of string maps on core; indexes as names, from the VMI's spec on, where KubeVirt decodes.
        recorded, ours = re.sub(r"\.\d+(?=\.)", "", _unindexed(recorded)).replace("~1", "/"), _unindexed(ours)
        return ours.endswith(recorded) or (ours + ".").startswith(recorded + ".")
    if not case["errors"]:
        # The pod's error names the pod's field: compare below the pod template.
        if ours.startswith("spec."):
            recorded = recorded.replace("metadata.", "template.") if recorded.startswith("metadata.") else recorded
        return ours.endswith(recorded) or _unindexed(ours).endswith(_unindexed(recorded))
    if recorded == "spec.selector" and ours.startswith("spec.selector.") and case["kind"].startswith("Virtual"):
        return True  # KubeVirt names only the selector.
    if error["type"] in ("FieldValueNotSupported", "FieldValueInvalid") and _unindexed(ours) == _unindexed(recorded):
        return True  # KubeVirt's schema step and its selector errors carry no indexes; conflicts of label keys carry one too many.
    return ours == recorded


def _bare(field: str) -> str:
    """A path without what the two servers write differently: `affinity`, the `metadata` of templates, brackets around keys."""
    field = re.sub(r"(^|\.)affinity\.(node|pod)", r".\2", field.encode().decode("unicode_escape") if "\\u" in field else field)
    field = re.sub(r"[tT]emplate\.metadata\.(labels|annotations)", r"template.\1", field)
    return re.sub(r"\[([^\]]*[a-z][^\]]*)\]", r".\1", field).replace("spec.affinity.", "spec.")


def _unindexed(field: str) -> str:
    return re.sub(r"\[\d+\]", "", field).replace(".matchLabelKeys", "")
