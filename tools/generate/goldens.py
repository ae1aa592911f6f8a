"""Goldens: reports of samples in each format, and the findings on public manifests."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tools.generate import ROOT, GeneratedFile
from tools.generate.wild import missing_corpus

from afflint.pipeline.map_step import default_settings
from afflint.pipeline.run import Outcome, run
from afflint.source.sources import discover
from report import place_sample, report_sample, standing_sample
from shared_material import SHARED

CORPUS = ROOT / "tests" / "golden" / "corpus.txt"
FOLDERS = ("plain", "md", "helm", "broken")
"""The folders of the public manifests that are checked."""


def reports() -> Iterator[GeneratedFile]:
    """Yield the reports of the samples."""
    golden = ROOT / "tests" / "report" / "golden"
    texts = {**report_sample.goldens(), **standing_sample.goldens()}
    texts |= {f"place/{name}": text for name, text in place_sample.goldens().items()}
    for name, text in texts.items():
        yield GeneratedFile(golden / name, text.__str__)


def corpus() -> Iterator[GeneratedFile]:
    """Yield the list of findings on public manifests: position, severity and rule, without text of the manifests."""
    yield GeneratedFile(CORPUS, _corpus, missing_corpus())


def _corpus() -> str:
    if missing_corpus():
        return CORPUS.read_text(encoding="utf-8")
    return "".join(f"{each.file}:{each.span.line}:{each.span.column} {each.severity} {each.rule}\n" for each in checked_corpus().findings)


def checked_corpus() -> Outcome:
    """Run over the public manifests from their folder."""
    before = os.getcwd()
    os.chdir(SHARED / "corpus")
    try:
        return run(list(discover(FOLDERS)), default_settings())
    finally:
        os.chdir(before)
