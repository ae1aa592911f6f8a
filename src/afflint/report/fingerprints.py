"""Fingerprints, by which other programs recognise a finding after its lines have moved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from afflint.findings.finding import Finding, identity_of


def fingerprints(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a unique hexadecimal fingerprint per finding, from its file and its identity within the file.

    Findings with the same file and identity are numbered in report order.
    """
    seen: dict[str, int] = {}
    for finding in findings:
        identity = "\0".join((finding.file, *identity_of(finding)))
        occurrence = seen[identity] = seen.get(identity, 0) + 1
        yield hashlib.sha256(f"{occurrence}\0{identity}".encode("utf-8", "surrogatepass")).hexdigest()
