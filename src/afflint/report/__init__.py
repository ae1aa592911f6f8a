"""The report formats: findings in, chunks of text out. The module of a format is imported only when it is used."""

from collections.abc import Iterator
from importlib import import_module

from afflint.report.model import RenderSummary, Report, RuleInfo, Summary

__all__ = ["FORMATS", "RenderSummary", "Report", "RuleInfo", "Summary", "render"]

_MODULES = {
    "text": "text",
    "concise": "concise",
    "json": "json_report",
    "sarif": "sarif",
    "github": "github",
    "gitlab": "gitlab",
    "junit": "junit",
    "rdjson": "rdjson",
    "markdown": "markdown",
    "html": "check_page",
}
"""The module of each format. It has a function ``render(report)``."""
FORMATS = tuple(_MODULES)


def render(format: str, report: Report, *, color: bool = False) -> Iterator[str]:  # noqa: A002 (the name of the option)
    """Yield ``report`` in one of FORMATS in chunks; a nonempty report ends with a newline.

    Only ``text`` has colours. Every chunk can be encoded as UTF-8. Raises ValueError for an unknown format.
    """
    if format not in _MODULES:
        raise ValueError(f"unknown report format {format!r}; available formats: {', '.join(FORMATS)}")
    options = {"color": color} if format == "text" else {}
    chunks: Iterator[str] = import_module(f"afflint.report.{_MODULES[format]}").render(report, **options)
    return chunks
