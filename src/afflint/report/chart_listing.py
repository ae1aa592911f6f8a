"""The values that the templates of a chart read, as a list: what afflint has understood of a chart."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.charts.chart_table import ChartTable
from afflint.charts.symbols import TRUE, Ref, described
from afflint.charts.template_layout import Landing
from afflint.findings.grouping import grouped
from afflint.findings.paths import field_of
from afflint.findings.phrases import visible


def chart_listing(table: ChartTable) -> str:
    """Return the paths of the values that templates read. Below each are the fields that it becomes, with the action that writes it."""
    lines = []
    if table.reads.opened is not None:
        lines.append("{}:{} may read any value".format(*table.reads.opened))
    landings = grouped((each.value.path, each) for each in table.landings if isinstance(each.value, Ref))
    for path in sorted(table.paths):
        lines.append(field_of(path))
        file, line = table.reads.whole[path]
        lines += dict.fromkeys(line for each in landings.get(path, ()) for line in _lines(each)) or [f"    another form ({file}:{line})"]
    for path, (file, line) in sorted(table.reads.asked.items()):
        if not table.reads_at(path):
            lines += [field_of(path), f"    only a condition ({file}:{line})"]
    return "".join(f"{visible(each)}\n" for each in lines)


def _lines(landing: Landing) -> Iterator[str]:
    kinds = " or ".join(sorted(landing.kinds)) or "object"
    place = "unknown field" if landing.field is None else field_of(landing.field)
    yield f"    {kinds}: {'part of ' if landing.is_part else ''}{place} ({landing.file}:{landing.line})"
    if landing.condition != TRUE:
        yield f"        if {described(landing.condition)}"
