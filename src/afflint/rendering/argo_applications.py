"""What Applications and ApplicationSets of Argo CD render."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape, glob
from typing import Any

from afflint.findings.paths import Path
from afflint.findings.phrases import join_words, quoted
from afflint.rendering.application_sets import CLUSTERS, ArgoClusters, Generators
from afflint.rendering.boundary import in_repository, usable_texts, value_file
from afflint.rendering.flux_sources import WantedChart, argo_repository
from afflint.rendering.given_values import Inline, Setting, Written, inline_text, merged
from afflint.rendering.helm import KUBE_VERSION, NO_SCHEMA
from afflint.rendering.hints import Declared, Hint, RemoteObject, UnsupportedObject
from afflint.rendering.set_templates import Parameters, fill_template, has_placeholder, unknown_action
from afflint.rendering.source_documents import SourceText, documents_of
from afflint.rendering.wrappers import common_labels, components, images, inline_patches, patches_of
from afflint.source.repositories import is_inside
from afflint.yaml.document import list_at, map_at, maps_at, text_at
from afflint.yaml.object_fields import name_of

_MOST_GENERATED = 1 << 21
"""The most characters of the templates of an ApplicationSet, once for each Application."""
_OF_TEMPLATE: Path = ("spec", "template", "spec")
"""The path of the `spec` of the Applications in an ApplicationSet."""


def from_application_set(
    name: str, spec: Mapping[str, Any], tops: Sequence[str], text: SourceText, clusters: ArgoClusters
) -> Iterator[Declared]:
    """Yield the hints of the Applications that an ApplicationSet generates, as far as its generators are supported."""
    declared_by = f"ApplicationSet {name}"
    generators = Generators(tops, clusters, text)
    generated: dict[str, Hint] = {}
    is_incomplete, unknown = False, ""
    all_parameters = generators.parameters(spec.get("generators"), ("spec", "generators"))
    most = max(_MOST_GENERATED // (len(str(spec.get("template"))) + len(text_at(spec, "templatePatch")) + 1), 1)
    if len(all_parameters) > most:
        generators.cut = f"a template that is too long for more than {most} combinations of parameters"
    for parameters in all_parameters[:most]:
        application, remaining, written = _generated(text, parameters, is_complete=not generators.unsupported)
        unknown = unknown or remaining
        application_name = name_of(application)
        title = declared_by if has_placeholder(application_name) else f"{declared_by}, {application_name}"
        for each in from_application(title, application_name, map_at(application, "spec"), tops, written):
            if isinstance(each, Hint):
                generated.setdefault(each.key, each)
            elif isinstance(each, UnsupportedObject):
                is_incomplete = True
            else:
                yield each
    yield from generated.values()
    if generators.cut:
        yield UnsupportedObject(declared_by, f"it has {generators.cut}, and the rest was not checked")
    if is_incomplete or (unknown and text_at(spec, "templatePatch")):
        unsupported = [quoted(each) for each in dict.fromkeys(generators.unsupported) if each]
        reason = "its template uses parameters that its generators do not set"
        if unsupported:
            reason = f"its generator {join_words(unsupported)} is not supported"
            if {*generators.unsupported} == {CLUSTERS}:
                reason = f"its generator {quoted(CLUSTERS)} depends on clusters whose Secrets are not in the repository"
        elif unknown:
            reason = f"its template uses {quoted(unknown)}, which is not supported"
        yield UnsupportedObject(declared_by, reason)


def _generated(text: SourceText, parameters: Parameters, *, is_complete: bool) -> tuple[Mapping[str, Any], str, Written]:
    """Return the Application for some parameters, the first action of the template that is not supported, or "", and its `spec`.

    A ``templatePatch`` with such an action is left out.
    """
    spec = map_at(text.data, "spec")
    application = fill_template(map_at(spec, "template"), parameters, is_complete=is_complete)
    patch = fill_template(text_at(spec, "templatePatch"), parameters, is_complete=is_complete)
    unknown = unknown_action(patch) or unknown_action(application)
    written = Written(text, _OF_TEMPLATE, parameters)
    if patch and not has_placeholder(patch):
        for document in documents_of(patch.encode("utf-8", "replace")).values():
            application = merged(application, document.data)
        for each in Written(text, ("spec", "templatePatch"), parameters).inside(patch):
            written = each.below(("spec",))._replace(patched=written)
    return map_at(application), unknown, written


def from_application(
    declared_by: str, name: str, spec: Mapping[str, Any], tops: Sequence[str], declared: Written, text: SourceText | None = None
) -> Iterator[Declared]:
    """Yield what an Application renders. Its ``spec`` is ``declared``, in ``text`` if no generator produced it."""
    several = type(spec.get("sources")) is list
    for number, source in enumerate(spec["sources"] if several else [map_at(spec, "source")]):
        path = text_at(source, "path")
        if has_placeholder(path):
            yield UnsupportedObject(declared_by, f"its path {quoted(path)} contains a placeholder")
            continue
        folder = in_repository(tops, path)
        named = usable_texts(source, "helm", "valueFiles")
        choices = [named] if folder is None else _without_placeholders(named, folder, tops[-1])
        if len(choices) > _MOST_CHOICES:
            reason = f"more than {_MOST_CHOICES} files fit the name of its values file, and the rest was not checked"
            yield UnsupportedObject(declared_by, reason)
            choices = choices[:_MOST_CHOICES]
        # Missing files are skipped, as with ignoreMissingValueFiles in Argo CD.
        files = [tuple([file for each in names if (file := value_file(tops, folder, each)) is not None]) for names in choices]
        yield from dict.fromkeys(path for paths in files for path in paths)
        base: Path = ("sources", number) if several else ("source",)
        inline = _inline(map_at(source, "helm"), declared.below((*base, "helm")))
        settings = _settings(map_at(source, "helm"), declared.below((*base, "helm", "parameters")))
        patches = inline_patches(text, ("spec", *base, "kustomize")) if map_at(source, "kustomize") else None
        namespace = text_at(source, "helm", "namespace") or text_at(spec, "destination", "namespace")
        if folder is None and not ((text_at(source, "chart") or path) and not has_placeholder(name)):
            continue  # A patch may leave both out.
        release = next((each for each in (text_at(source, "helm", "releaseName"), name) if each and not has_placeholder(each)), "")
        hint = Hint(
            folder or "",
            declared_by,
            namespace=None if has_placeholder(namespace) else namespace or None,
            wrapper=_wrapper(map_at(source, "kustomize"), folder or ""),
            release=release,
            inline=inline,
            settings=settings,
            options=_helm_options(map_at(source, "helm"), folder, tops),
            patches=patches,
        )
        if folder is None:
            yield _elsewhere(replace(hint, values=files[0]), source, declared.below(base))
        elif not choices:
            yield UnsupportedObject(declared_by, "the names of its values files contain placeholders")
        else:
            yield from (replace(hint, values=values) for values in files)


def _elsewhere(hint: Hint, source: Mapping[str, Any], declared: Written) -> RemoteObject:
    """Return an object whose source of Argo CD is a chart, or a folder of another repository; ``declared`` is the place of the source."""
    chart, path = text_at(source, "chart"), text_at(source, "path")
    address, version = text_at(source, "repoURL"), text_at(source, "targetRevision")
    named = [each for each in usable_texts(source, "helm", "valueFiles") if not each.startswith("$")]
    named_at = declared.below(("chart" if chart else "path",)).holder(()) or declared
    naming = named_at.text, named_at.path
    if chart:
        files = tuple([each for each in named if not each.startswith("/")])
        wanted = WantedChart(chart, version, argo_repository(address))
        return RemoteObject(hint.declared_by, f"chart {chart}", chart=wanted, hint=replace(hint, files_in_chart=files, naming=naming))
    files = tuple([each.lstrip("/") if each.startswith("/") else os.path.join(path, each) for each in named])
    wanted = WantedChart(path, version, address, is_folder=True)
    own = () if any(each.startswith("/") for each in named) else hint.values
    return RemoteObject(
        hint.declared_by, f"folder {path}", chart=wanted, hint=replace(hint, values=own, files_in_chart=files, naming=naming)
    )


_PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
_MOST_CHOICES = 20
"""The most files that a placeholder in the name of a values file is tried with."""


def _without_placeholders(names: Sequence[str], folder: str, top: str) -> list[list[str]]:
    """Return the names of values files with each text for their placeholder for which the first file exists: one list for each text.

    ``values-{{ .Values.environment }}.yaml`` means ``values-production.yaml``, if the folder has that file. Empty if no text fits, or if
    the names have several placeholders.
    """
    placeholders = {match for name in names for match in _PLACEHOLDER.findall(name)}
    if not placeholders:
        return [list(names)]
    first = next(name for name in names if has_placeholder(name))
    if len(placeholders) > 1 or first.startswith(("$", "/")) or "://" in first:
        return []
    [placeholder] = placeholders
    where, base = os.path.split(os.path.join(folder, first))
    before, _, after = base.partition(placeholder)
    if has_placeholder(where) or not is_inside(os.path.realpath(where), top):
        return []
    found = sorted(map(os.path.basename, glob(os.path.join(escape(where), f"{escape(before)}*{escape(after)}"))))
    texts = [each[len(before) : len(each) - len(after)] for each in found]
    return [[name.replace(placeholder, text) for name in names] for text in texts]


def _inline(helm: Mapping[str, Any], written: Written) -> tuple[Inline, ...]:
    """Return the values in an Application: ``valuesObject``, or else ``values``."""
    if map_at(helm, "valuesObject"):
        return (Inline(map_at(helm, "valuesObject"), written.below(("valuesObject",))),)
    return inline_text(text_at(helm, "values"), written.below(("values",)))


def _settings(helm: Mapping[str, Any], written: Written) -> tuple[Setting, ...]:
    """Return the parameters of an Application, which are ``written`` in a list."""
    found = []
    for number, each in enumerate(list_at(helm, "parameters")):
        if type(each) is dict:
            option = "--set-string" if each.get("forceString") is True else "--set"
            found.append(Setting(option, text_at(each, "name"), text_at(each, "value"), written.below((number, "value"))))
    return tuple(found)


_WRAPPER_FIELDS = ("namePrefix", "nameSuffix", "namespace", "commonAnnotations", "replicas")


def _wrapper(kustomize: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the fields of the kustomization around a folder."""
    plain = {key: kustomize[key] for key in _WRAPPER_FIELDS if key in kustomize}
    return (
        plain | common_labels(kustomize) | patches_of(kustomize) | components(kustomize, folder) | images(usable_texts(kustomize, "images"))
    )


_PARAMETER_NAME = re.compile(r"[\w.\-\[\]/]+")


def _helm_options(helm: Mapping[str, Any], folder: str | None, tops: Sequence[str]) -> tuple[str, ...]:
    """Return the options of Helm for a source of Argo CD. Raises OutsideError for files outside the repository."""
    options: list[str] = []
    for each in maps_at(helm, "fileParameters"):
        file = value_file(tops, folder, text_at(each, "path")) if text_at(each, "path") else None
        name = text_at(each, "name")
        # Helm takes NAME=FILE,NAME=FILE.
        if file is not None and "," not in file and _PARAMETER_NAME.fullmatch(name):
            options += ["--set-file", f"{name}={file}"]
    for word in usable_texts(helm, "apiVersions"):
        options += ["--api-versions", word]
    if re.fullmatch(r"v?\d[\w.+-]*", text_at(helm, "kubeVersion")):
        options += [KUBE_VERSION, text_at(helm, "kubeVersion")]
    return (*options, NO_SCHEMA) if helm.get("skipSchemaValidation") is True else tuple(options)
