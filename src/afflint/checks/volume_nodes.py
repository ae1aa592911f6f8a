"""Checks of PersistentVolumes and StorageClasses against the known nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from afflint.checks import persistent_volumes
from afflint.checks.cluster_view import ClusterView, keeps_apart
from afflint.checks.match import CrossManifestMatch, Match, RelatedPlace, Target
from afflint.checks.nodes import none_of
from afflint.checks.volume_capacity import allowed_place, allowed_zones, pending_words
from afflint.checks.volumes import VolumeUse, volume_uses
from afflint.findings.finding import Severity
from afflint.findings.paths import Path
from afflint.findings.phrases import nearest, quoted, summarize_names
from afflint.findings.similarity import is_likely_typo
from afflint.index.storage import StorageObject
from afflint.kube.node_labels import DEPRECATED, ZONE
from afflint.kube.node_requirements import equivalent_keys
from afflint.kube.selectors import Requirement, Selector, describe, is_met, matches, parse_expression
from afflint.yaml.document import map_at, maps_at, text_at, texts_at
from afflint.yaml.placeholders import is_placeholder


def volume_without_node(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report PersistentVolumes whose node affinity or zone labels match no known node."""
    for volume in view.manifest_index.storage.of_kind("PersistentVolume"):
        nodes = volume.usable_nodes
        if nodes is None or any(view.may_be_made(term) for term in nodes.selectors):
            continue
        if any(matches(nodes, node.labels, node.name) for node in view.nodes):
            continue
        requirements = [each for term in nodes.selectors for each in term.requirements]
        if any(is_placeholder(text) for each in requirements for text in (each.key, *each.values)):
            continue
        path, asked = _first_unmet(view, volume, requirements)
        message = f"{none_of(len(view.nodes))} has {quoted(describe(asked))}, so pods that use {volume.title} stay Pending"
        yield _at(volume, path, f"{message}{_hint(view, asked)}", target)


def _first_unmet(view: ClusterView, volume: StorageObject, requirements: list[Requirement]) -> tuple[Path, Requirement]:
    """Return the first requirement of a volume that no node meets, with its path; the first one if nodes meet each alone."""
    places: list[tuple[Path, Requirement]] = []
    base = (*volume.site.base, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
    for index, term in enumerate(maps_at(volume.spec, "nodeAffinity", "required", "nodeSelectorTerms")):
        for number, expression in enumerate(maps_at(term, "matchExpressions")):
            parsed = parse_expression(expression)
            if isinstance(parsed, Requirement):
                places.append(((*base, index, "matchExpressions", number, *_step(parsed)), parsed))
    labels = map_at(volume.data, "metadata", "labels")
    places += [((*volume.site.base, "metadata", "labels", each.key), each) for each in requirements if each.key in labels]
    unmet = [each for each in places if not any(is_met(each[1], node.labels.get(each[1].key)) for node in view.nodes)]
    return (unmet or places)[0]


def unusable_allowed_topology(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report `allowedTopologies` of StorageClasses with labels or values that no known node has, or that the driver does not know."""
    yield from persistent_volumes.unusable_allowed_topology(view.manifest_index)
    for storage_class in view.manifest_index.storage.of_kind("StorageClass"):
        base = (*storage_class.site.base, "allowedTopologies")
        for index, term in enumerate(maps_at(storage_class.data, "allowedTopologies")):
            for number, expression in enumerate(maps_at(term, "matchLabelExpressions")):
                key, values = str(expression.get("key") or ""), texts_at(expression, "values")
                asked = Requirement(key, "In", tuple(values))
                if not values or any(map(is_placeholder, (key, *values))) or _is_possible(view, asked):
                    continue
                lacking = key not in view.label_keys
                path = (*base, index, "matchLabelExpressions", number, *(("key",) if lacking else _step(asked)))
                has = f"the label {quoted(key)}" if lacking else quoted(describe(asked))
                message = f"{none_of(len(view.nodes))} has {has}, so {storage_class.title} provisions no volumes there"
                yield _at(storage_class, path, f"{message}{_hint(view, asked)}", target)


def driver_not_on_node(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report pods that may get a node on which the DaemonSet of the CSI driver of their volume has no pod."""
    survey, daemons = view.survey, dict[str, list[int]]()
    for number, pod_source in enumerate(survey.pod_sources):
        for driver in pod_source.drivers:
            daemons.setdefault(driver, []).append(number)
    reported = set[tuple[object, str]]()
    for each in volume_uses(view.manifest_index, target) if daemons else ():
        drivers = [text_at(volume.spec, "csi", "driver") for volume in each.volumes]
        drivers += [text_at(each.storage_class.data, "provisioner")] if each.storage_class is not None else []
        for driver in dict.fromkeys(drivers):
            match = _without_driver(view, each, driver, daemons[driver]) if driver in daemons else None
            if match is not None and (each.pods.key, driver) not in reported:
                reported.add((each.pods.key, driver))
                yield match


def _without_driver(view: ClusterView, each: VolumeUse, driver: str, daemons: Sequence[int]) -> CrossManifestMatch | None:
    survey, number = view.survey, view.numbers.get(each.pods.key)
    template = survey.compiled[number].template if number is not None else None
    if template is None or survey.pod_sources[number or 0].daemon:
        return None
    covered = {
        node for other in daemons for pod in [survey.compiled[other].template] if pod is not None for node in survey.fit(pod).candidates
    }
    usable = survey.fit(template).candidates
    lacking = [survey.table.names[node] for node in usable if node not in covered]
    if not lacking or not covered:
        return None
    own = view.pods_of(survey.pod_sources[daemons[0]])
    where = f"on {summarize_names(lacking)}, where the pods may be scheduled: they do not start there"
    where = where if len(lacking) < len(usable) else "on any node that accepts the pods, so they do not start"
    message = f"the CSI driver {quoted(driver)} of the {each.title} does not run {where}"
    place = RelatedPlace(own.site.file, own.site.document, (*own.site.base, "metadata", "name"), False, f"{own.title} runs the driver")
    return each.match(each.use.path, message, "", None, place)


def too_few_volume_zones(view: ClusterView, target: Target) -> Iterator[CrossManifestMatch]:
    """Report StatefulSets whose spread constraint counts zones of nodes in which the StorageClass provisions no volumes."""
    for each in volume_uses(view.manifest_index, target):
        storage_class, replicas = each.storage_class, each.pods.scale.least or 0
        allowed = allowed_zones(storage_class) if storage_class is not None else None
        if storage_class is None or allowed is None or not each.use.per_pod or each.volumes:
            continue
        for ref in view.manifest_index.selector_refs_of(each.pods):
            if ref.max_skew is None or ref.topology_key not in equivalent_keys(ZONE) or not keeps_apart(ref, each.pods):
                continue
            zones = {node.labels[ref.topology_key] for node in view.usable(each.pods) if ref.topology_key in node.labels}
            room = len(zones & allowed) * ref.max_skew
            if zones - allowed and room < replicas:
                empty = summarize_names(sorted(map(quoted, zones - allowed)))
                message = f"{empty} {'counts' if len(zones - allowed) == 1 else 'count'} as empty, but"
                words = pending_words(storage_class, len(zones & allowed), replicas - room)
                yield each.match((*ref.path[:-1], "topologyKey"), f"{message} {words}", "", None, allowed_place(storage_class))


def _step(asked: Requirement) -> Path:
    """Return the path of the values of an expression, or of the only one."""
    return ("values", 0) if len(asked.values) == 1 else ("values",) if asked.values else ("key",)


def _is_possible(view: ClusterView, asked: Requirement) -> bool:
    return any(is_met(asked, node.labels.get(asked.key)) for node in view.nodes) or view.may_be_made(Selector((asked,)))


def _hint(view: ClusterView, asked: Requirement) -> str:
    """Return a suggestion for a label or a value that no node has."""
    current = DEPRECATED.get(asked.key)
    if asked.key not in view.label_keys:
        close = current if current in view.label_keys else nearest(asked.key, view.label_keys)
    else:
        known = {node.labels[asked.key] for node in view.nodes if asked.key in node.labels}
        close = next((each for value in asked.values for each in sorted(known) if is_likely_typo(value, each)), None)
    return f"; did you mean {quoted(close)}?" if close else ""


def _at(each: StorageObject, path: Path, message: str, target: Target) -> CrossManifestMatch:
    severity: Severity = "error" if target.complete_nodes else "warning"
    return CrossManifestMatch(each.site, each.ref, Match(path, message, severity=severity))
