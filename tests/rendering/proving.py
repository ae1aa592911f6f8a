"""Proofs that a rendered leaf comes from where it is said to: another value put there turns up at the leaf, a blanked line is missed.

Each gives how many leaves that constrain placement there are, how many have a place, and how many of these were put to the proof and right.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from afflint.findings.finding import Span
from afflint.findings.paths import Path as Steps
from afflint.rendering.helm import Chart, ChartRendering, Charts
from afflint.rendering.helm_origins import ChartSourceMap
from afflint.rendering.kustomize_builds import build_annotated, build_kustomization
from afflint.rendering.kustomize_origins import Origins, identity_of
from afflint.rendering.line_marks import templates_of
from afflint.rendering.programs import ProgramRunner, RenderError
from afflint.rendering.roots import Kustomization
from afflint.rendering.source_documents import SourceTexts, documents_of, leaves, value_at
from afflint.rendering.value_keys import replace_spans

FIELDS = frozenset(
    ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "nodeName", "schedulerName", "priorityClassName")
)
VERSION = "1.34"


def placement(data: Any) -> Iterator[tuple[Steps, Any]]:
    """The leaves of a workload that constrain its placement, or that constraints of others ask for: fields, labels, replicas."""
    spec = data.get("spec") if type(data) is dict else None
    if type(spec) is not dict or ("template" not in spec and data.get("kind") != "Pod"):
        return
    for path, value in leaves(data):
        if FIELDS & {*path} or path == ("spec", "replicas") or (len(path) > 1 and path[-2] in ("labels", "matchLabels")):
            yield path, value


def prove_kustomization(program: Sequence[str], root: Kustomization, top: Path) -> Counter[str]:
    """By tokens at all places at once, in a copy of the tree that the root lies in. Raises RenderError where it does not render."""
    runner = ProgramRunner(network=False)
    shares: Counter[str] = Counter()
    output = build_kustomization(runner, program, root.folder)
    rendered = documents_of(output)
    if not any(True for each in rendered.values() for _ in placement(each.data)):
        return shares
    with tempfile.TemporaryDirectory() as folder:
        wrapper = os.path.realpath(folder)
        origins = Origins(build_annotated(runner, program, root.folder, wrapper), wrapper, root.file, SourceTexts())
    changes: dict[str, dict[Span, str]] = {}
    expected: list[tuple[int, Steps, str]] = []
    for number, document in rendered.items():
        for path, value in placement(document.data):
            place = origins.place(identity_of(document.data), path)
            shares["leaves"] += 1
            if place.exact:
                shares["placed"] += 1
                new = str(70_000 + shares["placed"]) if type(value) is int else f"token{shares['placed']}x"
                token = changes.setdefault(place.file, {}).setdefault(place.span, new)
                expected.append((number, path, token))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "tree")
        shutil.copytree(top, copy, symlinks=True)
        for file, words in changes.items():
            changed = copy / os.path.relpath(file, os.path.realpath(top))
            text = changed.read_text()
            changed.write_text(replace_spans(text, [(span, _as_written(text, span, word)) for span, word in words.items()]))
        again = documents_of(build_kustomization(runner, program, str(copy / os.path.relpath(root.folder, os.path.realpath(top)))))
    for number, path, token in expected:
        shares["right"] += str(_at(again[number].data, path)) == token
    return shares


def prove_chart(program: Sequence[str], folder: str, charts: Charts, blanked: int = 1000) -> Counter[str]:
    """By blanking: without the line that is said to have made it, a leaf is not there. Raises RenderError where it does not render."""
    rendering = ChartRendering(ProgramRunner(network=False), program, charts, Chart(folder), VERSION)
    shares: Counter[str] = Counter()

    def render(top: str, without: tuple[str, int] | None = None) -> bytes:
        copy = charts.copy(folder, top)
        for file in templates_of(top) if without is not None else ():
            if without is not None and copy.origin(file) == without[0]:
                lines = Path(file).read_bytes().split(b"\n")
                lines[without[1] - 1] = b""
                Path(file).write_bytes(b"\n".join(lines))
        return rendering.first(top)[0]

    with tempfile.TemporaryDirectory() as temporary:
        output = render(os.path.join(os.path.realpath(temporary), "chart"))
    ways = ChartSourceMap(output, rendering, SourceTexts())
    lines: dict[tuple[str, int], list[tuple[int, Steps, Any]]] = {}
    for number, document in documents_of(output).items():
        for path, value in placement(document.data):
            shares["leaves"] += 1
            place = ways.line(number, path)
            if place is not None:
                shares["placed"] += 1
                lines.setdefault(place, []).append((number, path, value))
    for line, claims in list(lines.items())[:blanked]:
        with tempfile.TemporaryDirectory() as temporary:
            try:
                again = documents_of(render(os.path.join(os.path.realpath(temporary), "chart"), line))
            except RenderError:
                shares["unproved"] += len(claims)
                continue
        for number, path, value in claims:
            shares["proved"] += 1
            shares["right"] += _at(again[number].data, path) != value if number in again else 1
    return shares


def _as_written(text: str, span: Span, word: str) -> str:
    """A word in the quotes that the one before it has, as JSON needs them."""
    quote = text.split("\n")[span.line - 1][span.column - 1]
    return f"{quote}{word}{quote}" if quote in "\"'" else word


def _at(data: Any, path: Steps) -> Any:
    try:
        return value_at(data, path)
    except (LookupError, TypeError):
        return None
