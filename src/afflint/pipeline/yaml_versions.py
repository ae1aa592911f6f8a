"""Which YAML a file is read with, which decides what the unquoted words ``yes``, ``no``, ``on``, ``off``, ``y`` and ``n`` are.

kubectl, Helm and the API server read them as booleans, as YAML 1.1 does; checks follow them. kustomize reads them as text and writes them
with quotes (verified with kustomize 5.8.1 and ``kubectl kustomize``). Flux builds all folders with it, also those without a kustomization.
"""

from __future__ import annotations

import re

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
    words, patched = _words_in(source)
    kept = []
    for each in findings:
        at = each.span.line, each.span.column
        is_text = certain or at in patched
        word = words.get(at, patched.get(at)) if (is_text or certain is None) and _may_be_about_word(each) else None
        if word is None:
            kept.append(each)
        elif each.rule == "unknown-field":
            kept.append(each._replace(message=re.sub("`(?:true|false)`", f"`{word}`", each.message, count=1)) if is_text else each)
        elif not is_text:
            message = f"{each.message}; kustomize, which has other files of this folder, would read a string"
            kept.append(each._replace(severity="info", message=message))
    return kept


def _may_be_about_word(finding: Finding) -> bool:
    """Return whether a finding may be about a boolean in the place of a string, or of the key of a label or a field."""
    if finding.rule == "unknown-field":
        return "`true`" in finding.message or "`false`" in finding.message
    if finding.rule in ("wrong-type", "annotation-not-string"):
        return "must be a string" in finding.message
    return finding.rule == "misread-label-key"


_Words = dict[tuple[int, int], str]


def _words_in(source: Source) -> tuple[_Words, _Words]:
    """Return the words, by their positions, in a file that YAML 1.1 reads as booleans and YAML 1.2 as text.

    Of those inside of texts only the ones in strategic merge patches of kustomize, as the second map: it reads these in any file.
    """
    from afflint.charts.values import embedded_patches

    try:
        data = to_utf8(read_bytes(source))
    except (OSError, UnicodeDecodeError):
        return {}, {}
    found = [read(piece, index, line) for index, (piece, line, _) in enumerate(split(data))]
    inside = [(path, inner) for each in found for path, inner in embedded_patches(each)]
    patches = [inner for path, inner in inside if type(inner.data) is dict and "customizeComponents" not in path]
    own, patched = (
        {(span.line, span.column): word for each in documents for span, word in each.plain_scalars(BOOLEAN_WORDS)}
        for documents in (found, patches)
    )
    return own, patched
