"""Which YAML a file is read with, which decides what the unquoted words ``yes``, ``no``, ``on``, ``off``, ``y`` and ``n`` are.

kubectl, Helm and the API server read them as booleans, as YAML 1.1 does; checks follow them. kustomize reads them as text and writes them
with quotes (verified with kustomize 5.8.1 and ``kubectl kustomize``). Flux builds all folders with it, also those without a kustomization.
"""

from __future__ import annotations

from afflint.findings.finding import Finding
from afflint.source.kustomizations import Kustomizations
from afflint.source.sources import Source, read_bytes
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.scalars import BOOLEAN_WORDS


def as_read(findings: list[Finding], source: Source, kustomizations: Kustomizations) -> list[Finding]:
    """Return the findings of a file without those about words that are text for kustomize, if kustomize reads the file.

    If it may read the file, they are infos.
    """
    if not any(map(_may_be_about_word, findings)):
        return findings
    certain = kustomizations.builds(source.path)
    if certain is False:
        return findings
    words = _words_in(source)
    kept = []
    for each in findings:
        if not (_may_be_about_word(each) and (each.span.line, each.span.column) in words):
            kept.append(each)
        elif certain is None:
            message = f"{each.message}; kustomize, which has other files of this folder, would read a string"
            kept.append(each._replace(severity="info", message=message))
    return kept


def _may_be_about_word(finding: Finding) -> bool:
    """Return whether a finding may be about a boolean in the place of a string or of the key of a label."""
    if finding.rule in ("wrong-type", "annotation-not-string"):
        return "must be a string" in finding.message
    return finding.rule == "misread-label-key"


def _words_in(source: Source) -> set[tuple[int, int]]:
    """Return the positions of the words in a file that YAML 1.1 reads as booleans and YAML 1.2 as text; not those inside of texts."""
    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return set()
    found = [read(piece, index, line) for index, (piece, line, _) in enumerate(split(data))]
    return {(span.line, span.column) for document in found for span in document.plain_scalars(BOOLEAN_WORDS)}
