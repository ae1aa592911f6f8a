"""Fingerprints by which other programs recognise a finding again after its lines have moved."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from afflint.findings import Finding

# The quoted values and numbers of a message change without the defect becoming another one.
_VARIABLE = re.compile(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+")


def fingerprints(findings: Iterable[Finding]) -> Iterator[str]:
    """One unique hexadecimal fingerprint per finding, from its rule, file, object, field and kind of message.

    Findings that agree in all of these are told apart by counting them in report order.
    """
    seen: dict[str, int] = {}
    for finding in findings:
        identity = "\0".join(
            (
                finding.rule,
                finding.file,
                *(part or "" for part in finding.object),
                finding.field,
                _VARIABLE.sub("", finding.message),
            )
        )
        occurrence = seen[identity] = seen.get(identity, 0) + 1
        yield hashlib.sha256(f"{occurrence}\0{identity}".encode("utf-8", "surrogatepass")).hexdigest()
