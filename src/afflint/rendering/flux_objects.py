"""What Kustomizations and HelmReleases of Flux render, with what they take from ConfigMaps, and HelmCharts of k3s.

After ``LoadVariables`` of github.com/fluxcd/pkg/kustomize and ``ChartValuesFromReferences`` of github.com/fluxcd/pkg/chartutil.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from afflint.findings.paths import Path
from afflint.rendering.application_sets import flatten
from afflint.rendering.boundary import in_repository, usable_texts
from afflint.rendering.config_maps import ConfigMaps
from afflint.rendering.flux_sources import WantedChart, reference_in
from afflint.rendering.flux_variables import NO_VARIABLES, FluxVariable, Variables
from afflint.rendering.given_values import Inline, Setting, Written, inline_text
from afflint.rendering.hints import ConfigReference, Declared, Hint, RemoteObject, UnsupportedObject
from afflint.rendering.kustomize_origins import InlinePatches
from afflint.rendering.set_templates import has_placeholder
from afflint.rendering.source_documents import SourceText, WrittenText
from afflint.rendering.wrappers import added_annotations, added_labels, components, inline_patches, patches_of
from afflint.source.sources import VALUES
from afflint.yaml.document import list_at, map_at, maps_at, text_at
from afflint.yaml.object_fields import kind_of, namespace_of


def from_kustomization(name: str, spec: Mapping[str, Any], text: SourceText, tops: Sequence[str]) -> Iterator[Declared]:
    """Yield the hint for the folder that a Kustomization of Flux applies, or where its folder is if it is not in this repository."""
    declared_by, path = f"Kustomization {name}", text_at(spec, "path")
    folder = in_repository(tops, path)
    if folder is not None:
        yield _flux_hint(declared_by, folder, spec, text)
    elif path and not has_placeholder(name + path):
        source = reference_in(map_at(spec, "sourceRef"), namespace_of(text.data))
        hint = replace(_flux_hint(declared_by, "", spec, text), naming=(text, ("spec", "path")))
        yield RemoteObject(declared_by, f"folder {path}", chart=WantedChart(path, source=source, is_folder=True), hint=hint)


def from_helm_release(name: str, spec: Mapping[str, Any], text: SourceText, tops: Sequence[str]) -> Iterator[Declared]:
    """Yield the hint for a chart, and the values files in the repository."""
    chart, chart_ref = map_at(spec, "chart", "spec"), map_at(spec, "chartRef")
    path = text_at(chart, "chart")
    named = usable_texts(chart, "valuesFiles")
    values = tuple([each for each in (in_repository(tops, each, os.path.isfile) for each in named) if each is not None])
    yield from values
    in_git = "/" in path and text_at(chart, "sourceRef", "kind") in ("GitRepository", "Bucket")
    folder = in_repository(tops, path) if in_git else None
    declared_by = f"HelmRelease {name}"
    own = namespace_of(text.data)
    namespace = text_at(spec, "targetNamespace") or own
    release = text_at(spec, "releaseName") or (f"{spec['targetNamespace']}-{name}" if text_at(spec, "targetNamespace") else name)
    inline = (Inline(map_at(spec, "values"), Written(text, ("spec", "values"))),) if map_at(spec, "values") else ()
    taken, (wrapper, patches) = _references(spec, text, "valuesFrom"), _post_renderers(spec, text)
    known, in_folder = namespace or None, values if folder else ()
    hint = Hint(folder or "", declared_by, "", known, wrapper, NO_VARIABLES, release, in_folder, inline, values_from=taken, patches=patches)
    if folder is None:
        chart_name = path or text_at(chart_ref, "name")
        if chart_name and not has_placeholder(name):  # A patch may leave it out.
            source = reference_in(map_at(chart, "sourceRef") or chart_ref, own)
            naming = (text, ("spec", "chart", "spec", "chart") if path else ("spec", "chartRef", "name"))
            hint = replace(hint, files_in_chart=tuple(named), naming=naming)
            wanted = WantedChart(path, text_at(chart, "version"), source=source)
            yield RemoteObject(declared_by, f"chart {chart_name}", chart=wanted, hint=hint)
    else:
        yield hint


def from_helm_chart(name: str, spec: Mapping[str, Any], text: SourceText) -> Iterator[Declared]:
    """Yield the chart of a HelmChart of k3s, which is always in another place. A HelmChartConfig of the same name is not applied."""
    declared_by, chart, repository = f"HelmChart {name}", text_at(spec, "chart"), text_at(spec, "repo")
    if text_at(spec, "chartContent"):
        yield UnsupportedObject(declared_by, "its chart is in `chartContent`, which is not supported")
    elif chart and not has_placeholder(name):
        if chart.startswith("oci://"):
            repository, _, chart = chart.rpartition("/")
        inline = inline_text(text_at(spec, "valuesContent"), Written(text, ("spec", "valuesContent")))
        given = flatten(map_at(spec, "set"), text=text, path=("spec", "set"))
        places = {key: Written(each.text, each.path) for key, each in given.items() if isinstance(each, WrittenText)}
        settings = tuple([Setting("--set", key, each, places.get(key)) for key, each in given.items()])
        namespace = text_at(spec, "targetNamespace") or None
        hint = Hint("", declared_by, namespace=namespace, release=name, inline=inline, settings=settings, naming=(text, ("spec", "chart")))
        yield RemoteObject(declared_by, f"chart {chart}", chart=WantedChart(chart, text_at(spec, "version"), repository), hint=hint)


def _post_renderers(spec: Mapping[str, Any], text: SourceText) -> tuple[dict[str, Any], InlinePatches | None]:
    """Return the fields of a kustomization that changes the output of a chart, and where its patches are written."""
    numbered = [(number, map_at(each, "kustomize")) for number, each in enumerate(list_at(spec, "postRenderers"))]
    wrapper: dict[str, Any] = {}
    for _, each in numbered:
        for key, added in (patches_of(each) | {"images": maps_at(each, "images")}).items():
            if added:
                wrapper[key] = [*wrapper.get(key, ()), *added]
    bases: list[Path] = [("spec", "postRenderers", number, "kustomize") for number, each in numbered if each]
    return wrapper, inline_patches(text, *bases)


def _references(spec: Mapping[str, Any], text: SourceText, *steps: str) -> tuple[ConfigReference, ...]:
    """Return the ConfigMaps and Secrets that an object of Flux takes something from; they are in its own namespace."""
    namespace = namespace_of(text.data)
    return tuple(
        [
            ConfigReference(
                text_at(each, "name"),
                namespace,
                kind_of(each) != "ConfigMap",
                text_at(each, "valuesKey") or VALUES,
                text_at(each, "targetPath"),
            )
            for each in maps_at(spec, *steps)
        ]
    )


def _flux_hint(declared_by: str, folder: str, spec: Mapping[str, Any], text: SourceText) -> Hint:
    wrapper: dict[str, Any] = {key: spec[key] for key in ("namePrefix", "nameSuffix", "images") if key in spec}
    if text_at(spec, "targetNamespace"):
        wrapper["namespace"] = spec["targetNamespace"]
    wrapper |= added_labels(map_at(spec, "commonMetadata", "labels"), selectors=False) | patches_of(spec) | components(spec, folder)
    wrapper |= added_annotations(map_at(spec, "commonMetadata", "annotations"))
    substitutes = map_at(spec, "postBuild", "substitute")
    variables = {
        key: FluxVariable(value.replace("\n", ""), text, ("spec", "postBuild", "substitute", key))
        for key, value in substitutes.items()
        if type(value) is str
    }
    taken = _references(spec, text, "postBuild", "substituteFrom")
    patches = inline_patches(text, ("spec",))
    return Hint(folder, declared_by, "", None, wrapper, Variables(variables), variables_from=taken, patches=patches)


def resolve(hint: Hint, config_maps: ConfigMaps, starts: Sequence[str]) -> Hint:
    """Return a hint with the variables and values that it takes from ConfigMaps.

    ``starts`` are the folders of the object, and of the objects that render it: the nearest ConfigMap counts.
    """
    if not hint.variables_from and not hint.values_from:
        return hint
    variables = _variables(hint, config_maps, starts)
    inline = tuple([each for reference in hint.values_from for each in _values(reference, config_maps, starts)])
    return replace(hint, variables=variables, variables_from=(), values_from=(), inline=(*inline, *hint.inline))


def _variables(hint: Hint, config_maps: ConfigMaps, starts: Sequence[str]) -> Variables:
    """Return the variables; those of a later reference, and those of the object itself, take precedence.

    A variable that may be overridden by one that is unknown is unknown, too.
    """
    found: dict[str, FluxVariable] = {}
    is_complete = True
    for each in hint.variables_from:
        known = None if each.is_secret else config_maps.find(each.name, each.namespace, starts)
        if known is None:
            is_complete = False
        else:
            found |= {key: FluxVariable(entry.value.replace("\n", ""), entry.text, entry.path) for key, entry in known.entries.items()}
    return Variables({**found, **hint.variables.by_name}, is_complete)


def _values(reference: ConfigReference, config_maps: ConfigMaps, starts: Sequence[str]) -> Iterator[Inline]:
    known = None if reference.is_secret else config_maps.find(reference.name, reference.namespace, starts)
    entry = None if known is None else known.entries.get(reference.key)
    if entry is None:
        return
    if reference.target:
        values = _nested(reference.target, entry.value)
        if values:
            written = None if entry.text is None else Written(entry.text, entry.path)
            yield Inline(values, written, tuple(reference.target.split(".")))
        return
    for text in entry.documents():
        if type(text.data) is dict:
            yield Inline(text.data, Written(text))


def _nested(target: str, value: str) -> Mapping[str, Any]:
    """Return values with a text at a dotted path, as ``--set`` has it; an empty map for paths with escapes or indexes."""
    if any(each in target for each in "\\[]{}=,\"'") or not all(target.split(".")):
        return {}
    nested: Any = _typed(value)
    for step in reversed(target.split(".")):
        nested = {step: nested}
    return dict(nested)


def _typed(value: str) -> Any:
    """Return a text as the type that Helm gives it in ``--set``."""
    if value in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[value]
    is_number = value == "0" or (value.lstrip("-").isdecimal() and not value.lstrip("-").startswith("0") and len(value) < 19)
    return int(value) if is_number else value
