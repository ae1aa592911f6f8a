"""Values of a chart in the repository that its templates do not read, or only if another value is set otherwise."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from afflint.charts.chart_files import merged_values
from afflint.charts.chart_table import ChartTable, chains_in, may_name_values, texts_in
from afflint.charts.local_pods import hooks_without, labels_reached, reaches_pods_only
from afflint.charts.pod_labels import OwnLabels
from afflint.charts.symbols import Condition, described, holds
from afflint.charts.template_reader import GLOBAL
from afflint.charts.values import VALUES
from afflint.checks.admission.wrong_types import wrong_type_message
from afflint.checks.charts import PodsOfChart, anti_affinity_without_own_pods, spreads_without_own_pods
from afflint.checks.match import Match
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path, Step, field_of
from afflint.findings.phrases import join_words, quoted
from afflint.findings.similarity import is_likely_typo
from afflint.kube.kinds import EACH, part_types
from afflint.kube.selectors import Selector
from afflint.kube.shapes import AFFINITY_FIELDS, POD_FIELDS, Holder, holders_in, meant_field, mentions_placement, shape_of
from afflint.manifests.custom_resources import CustomWorkload
from afflint.yaml.document import Document, map_at, value_at_path
from afflint.yaml.object_fields import api_version_of, kind_of

_WORDS = frozenset(("priorityClassName", "runtimeClassName", "schedulerName", "replicaCount"))
_NAMES = frozenset((*POD_FIELDS, *AFFINITY_FIELDS, "podLabels"))
_ABOUT_PLACEMENT = re.compile(r"(?i)affinit|toleration|node_?selector|spread")
_PLACEMENT_NAME = re.compile(r"(?i)(?<!session)affinit|toleration|node_?selector|topology_?spread")
_IN_TEXT = tuple(each.encode() for each in (*sorted(_WORDS), "podLabels"))
_MOST_NAMED, _MOST_COMPARED = 3, 100
_MOST_DEPTH = 12
_TOLERATIONS = ("tolerations",)


class ValuesOfChart(NamedTuple):
    """Values in a document at a path, and the charts that get them. ``values`` are those with which the first chart is used.

    ``declares``: the document is the one with the chart's defaults. ``release`` is the name of the release, "" if it is not known.
    ``parents``: charts that have the first one as a dependency.
    ``others`` returns the other values that the chart may get as well; None if they are not known.
    """

    document: Document
    path: Path
    tables: Sequence[ChartTable]
    values: dict[str, Any]
    declares: bool = False
    release: str = ""
    others: Callable[[], Sequence[Mapping[str, Any]] | None] = lambda: ()
    parents: Sequence[ChartTable] = ()

    @property
    def data(self) -> Any:
        """The values in the document."""
        return value_at_path(self.document.data, *self.path)

    @property
    def table(self) -> ChartTable:
        """What the first chart does with its values."""
        return self.tables[0]

    @property
    def has_own_globals(self) -> bool:
        """Whether a dependency has global values of its own."""
        prefixes = [part.prefix for part in self.table.chart.parts if part.prefix]
        return any(GLOBAL in map_at(self.values, *map(str, prefix)) for prefix in prefixes)

    def possible(self) -> Iterator[dict[str, Any]]:
        """Yield the values of the chart, and what they are with each of the others; nothing if these are not known."""
        others = self.others()
        if others is not None:
            yield self.values
            yield from (merged_values(self.values, each) for each in others)


def may_have_placement(text: bytes) -> bool:
    """Return whether a file of values may have something that these rules judge. This is fast."""
    return mentions_placement(text) or any(map(text.__contains__, _IN_TEXT))


def unread_chart_value(values: ValuesOfChart) -> Iterator[Match]:
    """Report placement values that a chart declares and no template reads, and tolerations that its hooks do not get."""
    for path in _unread(values) if values.declares else ():
        part = _unknown_part(values, path)
        if not part and not values.table.has_templates_for(path):
            continue
        name = quoted(field_of(path))
        asks = values.table.asks_at(_pattern(path))
        only = (
            f"no template of the chart writes {name}: they only ask whether it is set" if asks else f"no template of the chart reads {name}"
        )
        yield Match((*values.path, *path), only if asks else f"{only}: it has no effect{part}", key=True)
    if values.declares and _TOLERATIONS[0] in values.data and values.table.is_known(_TOLERATIONS):
        for file in hooks_without(values.table, _TOLERATIONS):
            message = f"the hook Job in {quoted(file)} does not get `tolerations`: it stays Pending if all nodes have `NoSchedule` taints"
            yield Match((*values.path, *_TOLERATIONS), message, "Write them into this Job, too.", severity="info", key=True)


def ignored_chart_value(values: ValuesOfChart) -> Iterator[Match]:
    """Report placement values that a chart gets and no template reads, or only under a condition that they do not meet."""
    for number, path in enumerate(_unread(values) if not values.declares else ()):
        others = _nearly_equal(values, path) if number < _MOST_COMPARED else []
        remedy = f"Set {join_words(others, 'or')} instead." if others else f"Remove it, or add {quoted(str(path[-1]))} to the templates."
        name = quoted(field_of(path))
        if values.table.asks_at(_pattern(path)):
            message = f"no template of {values.table.name} writes {name}: they only ask whether it is set"
        else:
            message = f"no template of {values.table.name} reads {name}: it reaches no pod{_unknown_part(values, path)}"
        yield Match((*values.path, *path), message, remedy, key=True)
    possible = cache(lambda: [*values.possible()])
    for path, value in _placement(values) if not values.declares and values.table.has_switches else ():
        switch = _missing_switch(values, path, possible) if value else None
        if switch is not None:
            message = f"{values.table.name} reads {quoted(field_of(path))} only if {switch}"
            yield Match((*values.path, *path), f"{message}: it reaches no pod", "Set both, or neither.", key=True)


def wrong_type(values: ValuesOfChart) -> Iterator[Match]:
    """Report placement values of another type than the field of the pods into which templates write them as they are."""
    for path, value in _placement(values) if len(values.tables) == 1 else ():
        name, whole, pattern = str(path[-1]), (*values.path, *path), _pattern(path)
        mismatches = [*part_types()[name].mismatches(value, whole)] if name in POD_FIELDS and type(value) in (dict, list) else []
        if mismatches and values.table.is_known(pattern) and not values.table.changes_values and reaches_pods_only(values.table, pattern):
            manifest = CustomWorkload(values.document, {}, (), VALUES, Holder((*values.path, *path[:-1]), ()), "shape")
            # Most charts leave out what is empty.
            is_written = value or all(holds(each.condition, values.values) for each, _ in values.table.at(pattern))
            yield from (wrong_type_message(each, manifest) for each in mismatches if each.struct is None and is_written)


def spread_misses_itself(values: ValuesOfChart) -> Iterator[Match]:
    """Report spread constraints in the values of a chart that do not select the pods that they go into."""
    yield from _without_own_pods(values, spreads_without_own_pods)


def anti_affinity_misses_itself(values: ValuesOfChart) -> Iterator[Match]:
    """Report anti-affinity in the values of a chart that nearly selects the pods that it goes into, but does not."""
    yield from _without_own_pods(values, anti_affinity_without_own_pods)


def _without_own_pods(values: ValuesOfChart, check: Callable[[CustomWorkload, PodsOfChart], Iterator[Match]]) -> Iterator[Match]:
    """Yield what a check finds, and as an info what it finds in the defaults of a chart only if a user gives it another name."""
    renamed = values._replace(values={**values.values, _OVERRIDE: "another"})
    is_default = values.declares and not values.values.get(_OVERRIDE)
    for workload in _workloads(values):
        found = [*check(workload, _own_pods(values))]
        yield from found
        for each in check(workload, _own_pods(renamed)) if is_default else ():
            if each.path not in {known.path for known in found}:
                what = each.message.partition(", but ")[0]
                message = f"if {quoted(_OVERRIDE)} is set, {what}, and the pods have another name"
                yield each._replace(message=message, help=_OF_NAME, severity="info")


_OVERRIDE = "nameOverride"
_OF_NAME = "Select the pods by labels that do not depend on values, or write the constraint in the template with the helper of the labels."


def _workloads(values: ValuesOfChart) -> Iterator[CustomWorkload]:
    """Yield the constraints in values, by the pods that they are for, if only one chart gets them."""
    for holder in holders_in(values.data, values.path, in_values=True) if len(values.tables) == 1 else ():
        yield CustomWorkload(values.document, {}, (), VALUES, holder, "shape")


def _own_pods(values: ValuesOfChart) -> PodsOfChart:
    def labels(path: Path, selector: Selector) -> list[OwnLabels]:
        place = _pattern(path[len(values.path) :])
        if not (values.table.is_known(place) and reaches_pods_only(values.table, place)) or values.table.changes_values:
            return []
        if values.has_own_globals:
            return []
        known = labels_reached(values.table, place, values.values, values.release)
        if not all(each.missed(selector) for each in known):
            return known  # Some pods are selected: other values do not matter.
        others = [labels_reached(values.table, place, each, values.release) for each in values.possible()]
        return known if others and all(each == known for each in others) else []

    return PodsOfChart(values.table.name, labels)


def _placement(values: ValuesOfChart) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and contents of placement values, without those in whole objects."""
    waiting: list[tuple[Path, Any]] = [((), values.data)]
    while waiting:
        path, here = waiting.pop()
        if type(here) is list:
            waiting += [((*path, number), each) for number, each in reversed([*enumerate(here)])]
        if type(here) is not dict or len(path) > _MOST_DEPTH or (api_version_of(here) and kind_of(here)):
            continue
        for key, each in reversed(here.items()):
            if type(key) is str and _is_placement(key, each):
                yield (*path, key), each
            elif type(each) in (dict, list):
                waiting.append(((*path, key), each))


def _is_placement(name: str, value: Any) -> bool:
    """Return whether a value with a name is about placement. A word under the name of a constraint chooses one of the chart's own."""
    if type(value) not in (dict, list):
        return name in _WORDS or (value is None and name in _NAMES)
    return name in _NAMES or _PLACEMENT_NAME.search(name) is not None or meant_field(name) is not None or shape_of(name, value) is not None


def _unread(values: ValuesOfChart) -> Iterator[Path]:
    """Yield the paths of the placement values that no template of the charts reads. A later file or an alias may use what has an anchor."""
    for path, value in _placement(values):
        pattern = _pattern(path)
        if not (value or values.declares) or any(each.names(pattern) for each in values.tables):
            continue
        if any(not each.is_known(pattern) or each.reads_at(pattern) or each.asks_below(pattern) for each in values.tables):
            continue
        if any(_may_read(parent, values.table.name, pattern) for parent in values.parents):
            continue
        if not _is_in_texts(values, pattern) and not _has_anchor(values, path):
            yield path


def _may_read(parent: ChartTable, name: str, pattern: Path) -> bool:
    """Return whether a chart may read a value of a dependency."""
    places = [(*prefix, *pattern) for prefix in parent.prefixes_of(name)]
    return not places or any(not parent.is_known(each) or parent.reads_at(each) or parent.names(each) for each in places)


def _is_in_texts(values: ValuesOfChart, pattern: Path) -> bool:
    """Return whether a text of the values, which a template fills, may name a value."""
    if not any(each.reads.fills_texts for each in values.tables):
        return False
    others = values.others()
    if others is None:
        return True
    texts = [text for each in (values.values, *others) for text in texts_in(each) if "{{" in text]
    chains = [chain for text in texts for chain in chains_in(text)]
    parts = [part.prefix for table in values.tables for part in table.chart.parts if pattern[: len(part.prefix)] == part.prefix]
    own = [pattern[len(prefix) :] for prefix in parts]  # A text in the values of a dependency names them without its name.
    is_named = any(below[: len(each)] == each[: len(below)] for each in chains for below in own)
    return is_named or any(may_name_values(text) for text in texts)


def _pattern(path: Path) -> Path:
    return tuple([EACH if type(step) is int else step for step in path])


def _has_anchor(values: ValuesOfChart, path: Path) -> bool:
    """Return whether there may be an anchor in a value or at a map around it: aliases may use the value elsewhere."""
    document = values.document
    if b"&" not in document.raw_bytes:
        return False
    first = document.locate((*values.path, *path[:1]), key=True).line - document.line
    last = document.extent((*values.path, *path)).end_line - document.line
    if last < first:  # A merge key (`<<`) takes the value from above.
        return True
    lines = _lines_with_anchors(document.raw_bytes)
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= last


@lru_cache(maxsize=8)
def _lines_with_anchors(text: bytes) -> list[int]:
    return [number for number, line in enumerate(text.split(b"\n"), start=1) if _ANCHOR.search(line)]


_ANCHOR = re.compile(rb"(?:^|[\s\[{,])&\w")


def _unknown_part(values: ValuesOfChart, path: Path) -> str:
    """Return words about a dependency that the chart does not have, if the value is below its name."""
    table, first = values.table, path[0]
    dependencies = {str(part.prefix[0]): part.name for part in table.chart.parts if len(part.prefix) == 1}
    alias = next((key for key, name in dependencies.items() if name == first and first not in dependencies), None)
    return f"; the values of the dependency {quoted(str(first))} are below {quoted(alias)}" if alias is not None else ""


# Values with nearly the same path.


def _nearly_equal(values: ValuesOfChart, path: Path) -> list[str]:
    """Return the values that templates read instead: one level higher or lower, or with another key that is spelt nearly so."""
    pattern, found = _pattern(path), []
    for each in values.table.paths:
        if each[-1] == pattern[-1] and len(each) in (len(pattern) - 1, len(pattern) + 1):
            longer, shorter = (each, pattern) if len(each) > len(pattern) else (pattern, each)
            if any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer))):
                found.append(each)
        elif len(each) == len(pattern):
            different = [(one, own) for one, own in zip(each, pattern, strict=True) if one != own]
            if len(different) == 1 and all(type(step) is str for step in different[0]) and _means(*different[0]):
                found.append(each)
    found = [each for each in found if pattern[-1] not in POD_FIELDS or _reaches(values.table, each, str(pattern[-1]))]
    ordered = sorted(dict.fromkeys(found), key=lambda each: (len(each) != len(pattern), each))
    names = [quoted(field_of(tuple(["<name>" if step == EACH else step for step in each]))) for each in ordered]
    return [*names[:_MOST_NAMED], *([f"{len(names) - _MOST_NAMED} more places"] if len(names) > _MOST_NAMED else [])]


def _reaches(table: ChartTable, path: Path, name: str) -> bool:
    """Return whether a value may become a placement field: all its places are known only if none of them is a part of a text."""
    places = [*table.at(path)]
    return not places or any(field[-1:] == (name,) or landing.is_part for landing, field in places)


def _means(one: Step, own: Step) -> bool:
    return is_likely_typo(str(own), str(one)) or str(one).lower() == str(own).lower()


# Conditions.


def _missing_switch(values: ValuesOfChart, path: Path, possible: Callable[[], Sequence[Mapping[str, Any]]]) -> str | None:
    """Return words for the value about placement that must be set otherwise for a value to be read; None if it is read, or may be."""
    table, pattern = values.table, _pattern(path)
    if len(values.tables) != 1 or not table.is_known(pattern) or table.changes_values or pattern in table.reads.looped:
        return None
    if values.has_own_globals:  # The values that all charts share are merged with these.
        return None
    landings = [*(each for each, _ in table.at(pattern)), *table.below(pattern)]
    known_values = possible() if landings else []
    if not known_values or any(holds(each.condition, known) is not False for each in landings for known in known_values):
        return None
    missing = [_failing(each.condition, values, path) for each in landings]
    return next(iter(missing)) if len({*missing}) == 1 and not table.mixes(pattern) else None


def _failing(condition: Condition, values: ValuesOfChart, path: Path) -> str | None:
    """Return words for the only part of a condition that is false, if it is about a value with the name of a constraint."""
    parts = [condition]
    while any(each[0] == "and" for each in parts):
        parts = [inner for each in parts for inner in (each[1:] if each[0] == "and" else (each,))]
    false = [*dict.fromkeys(each for each in parts if holds(each, values.values) is False)]
    if len(false) != 1:
        return None
    part = false[0][1] if false[0][0] == "not" else false[0]
    if part[0] not in ("set", "eq", "key") or part[1] == _pattern(path) or not _ABOUT_PLACEMENT.search(".".join(map(str, part[1]))):
        return None
    return described(false[0])
