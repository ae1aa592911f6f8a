"""Words for objects and render roots, shared by the report formats."""

from __future__ import annotations

from collections.abc import Sequence

from afflint.findings.finding import ObjectRef
from afflint.findings.phrases import visible


def object_words(ref: ObjectRef) -> str:
    """Return ``Deployment web in namespace shop``, without unknown parts; "" for an object without kind and name."""
    words = " ".join(visible(part) for part in (ref.kind, ref.name) if part)
    if words and ref.namespace:
        words += f" in namespace {visible(ref.namespace)}"
    return words


MOST_ROOTS = 3


def roots(names: Sequence[str], most: int | None = MOST_ROOTS) -> str:
    """List the kustomizations and charts that a finding occurs in, at most ``most`` of them."""
    shown = names[:most]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return ("in " if len(names) == 1 else f"in {len(names)} places: ") + ", ".join(map(visible, shown)) + more


def html_words(text: str) -> str:
    """Return a sentence as HTML, with the text in backticks as code."""
    from afflint.report.html_page import shown

    parts = text.split("`")
    if len(parts) % 2 == 0:  # An unpaired backtick.
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(f"<code>{shown(part)}</code>" if number % 2 else shown(part) for number, part in enumerate(parts) if part)
