"""The policies in files that a configuration names: those of the API server, of Kyverno and of Gatekeeper, if they are in CEL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.manifests.reader import objects_in
from afflint.policies import constraint_templates, kyverno_policies
from afflint.policies.admission_manifests import BINDING, GROUP, POLICY, AdmissionPolicy, Binding, PolicyReader, is_kind
from afflint.source.files import read_regular
from afflint.yaml.document import maps_at, text_at
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.object_fields import api_version_of, kind_of, name_of

_MAX_BYTES = 8 << 20
_CHANGING = ("MutatingPolicy", "NamespacedMutatingPolicy", "MutatingAdmissionPolicy")
_KYVERNO = kyverno_policies.GROUP
_VERSIONS: Mapping[str, tuple[str, ...]] = {
    GROUP: ("v1", "v1beta1", "v1alpha1"),
    _KYVERNO: ("v1", "v1beta1", "v1alpha1"),
    kyverno_policies.CLASSIC_GROUP: ("v1", "v2", "v2beta1"),
    constraint_templates.GROUP: ("v1", "v1beta1", "v1alpha1"),
}
"""The versions of the API groups in which policies are. See the CustomResourceDefinitions of Kyverno and Gatekeeper."""
_GROUPS: Mapping[str, str] = {
    **dict.fromkeys((POLICY, BINDING), GROUP),
    **dict.fromkeys(kyverno_policies.KINDS, _KYVERNO),
    "ClusterPolicy": kyverno_policies.CLASSIC_GROUP,
    constraint_templates.KIND: constraint_templates.GROUP,
}
_IMAGES = ("ImageValidatingPolicy", "NamespacedImageValidatingPolicy")
_MUTATIONS = "mutations.gatekeeper.sh"


class Admission(NamedTuple):
    """The policies and bindings of some files, and all other objects, which may be parameters or namespaces."""

    policies: tuple[AdmissionPolicy, ...]
    bindings: tuple[Binding, ...]
    objects: tuple[dict[str, Any], ...]
    problems: tuple[str, ...] = ()
    """Messages about objects that cannot be used, each with its position."""
    foreign: tuple[str, ...] = ()
    """The same about policies, and rules of policies, in another language than CEL."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The messages about all objects that are not evaluated."""
        return (*self.problems, *self.foreign)

    @property
    def first_reason(self) -> str:
        """The first reason why there may be no policy; "" without one."""
        if self.reasons:
            return self.reasons[0]
        changes = any(
            kind_of(each) in _CHANGING or any("mutate" in rule for rule in maps_at(each, "spec", "rules")) for each in self.objects
        )
        return "a policy that changes objects belongs under `context`" if changes else ""


def looks_like_manifest(raw: bytes) -> bool:
    """Return whether a file that ``policies`` names contains Kubernetes objects; a configuration has no apiVersion."""
    return re.search(rb"""(?m)^[ \t]*(?:- )?[{]?[ \t]*["']?apiVersion["']?[ \t]*:""", raw) is not None


def read_admission(paths: Iterable[str], reserved: Collection[str] = ()) -> Admission:
    """Read the objects of some files. Raises OSError for a file that cannot be read.

    ``reserved``: names that a policy cannot have, such as those of rules. It then gets a prefix, such as ``vap/``.
    """
    problems: list[str] = []
    readers = [reader for path in paths for reader in readers_of(path, problems, reserved)]
    policies: list[AdmissionPolicy] = []
    bindings: list[Binding] = []
    for each in readers:
        if is_kind(each.data, POLICY):
            policies += each.policy()
        elif is_kind(each.data, BINDING):
            bindings += each.binding()
        else:
            policies += kyverno_policies.policies_of(each)
    policies += constraint_templates.policies_of(readers)
    named = frozenset(name_of(each.data) for each in readers if kyverno_policies.is_policy(each.data))
    for each in readers:
        for field, message in _unread(each.data):
            each.add_problem((field,), message)
        for name in kyverno_policies.excepted_policies(each.data):
            if name not in named:
                exception, close = quoted(name_of(each.data)), did_you_mean(nearest(name, sorted(named)))
                message = f"no ValidatingPolicy {quoted(name)} is among the files, but the PolicyException {exception} names it{close}"
                each.add_problem(("spec", "policyRefs"), message)
        problems += each.problems
    others = [each.data for each in readers if not (is_kind(each.data, POLICY) or is_kind(each.data, BINDING))]
    return Admission(
        tuple(policies), tuple(bindings), tuple(others), tuple(problems), tuple([one for each in readers for one in each.foreign])
    )


def readers_of(path: str, problems: list[str], reserved: Collection[str] = ()) -> Iterator[PolicyReader]:
    """Yield a reader for each object of a file; what cannot be read is added to ``problems``. Raises OSError."""
    try:
        data = to_utf8(read_regular(path, _MAX_BYTES))
    except UnicodeDecodeError:
        problems.append(f"{path}:1:1: the file is not valid UTF-8")
        return
    for index, (piece, line, _) in enumerate(split(data)):
        document = read(piece, index, line)
        if document.problem is not None:
            span = document.problem.span
            problems.append(f"{path}:{span.line}:{span.column}: {document.problem.message}")
        for each, base in objects_in(document):
            yield PolicyReader(path, document, each, base, reserved)


def _unread(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that keep an object from being read as the policy that it looks like, each with the reason."""
    version, kind = api_version_of(data), kind_of(data)
    group, _, number = version.rpartition("/")
    if group == _MUTATIONS:
        yield "kind", f"afflint does not apply mutations of Gatekeeper, such as this {kind}"
    elif group == _KYVERNO and kind in _IMAGES:
        yield "kind", f"policy {quoted(text_at(data, 'metadata', 'name'))} is not evaluated: it verifies images, which needs a network"
    elif kind in _GROUPS and group != _GROUPS[kind]:
        yield "apiVersion", f"{quoted(version)} has no {kind}, so this policy is not read; its API group is `{_GROUPS[kind]}`"
    elif kind in _GROUPS and number not in _VERSIONS[group]:
        known = _VERSIONS[group]
        hint = did_you_mean(nearest(number, known)) or f"; known are {', '.join(map(quoted, known))}"
        yield "apiVersion", f"afflint does not know the version {quoted(number)} of {kind}, and reads it as `{known[0]}`{hint}"
