"""The policies in files that a configuration names: those of the API server, of Kyverno and of Gatekeeper, if they are in CEL."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.manifest_reader import objects_in
from afflint.policies import constraint_templates, kyverno_policies
from afflint.policies.admission_manifests import BINDING, POLICY, AdmissionPolicy, Binding, PolicyReader, is_kind
from afflint.policies.unread_objects import unknown_exceptions, unread
from afflint.source.files import read_regular
from afflint.yaml.document import maps_at
from afflint.yaml.documents import read, split, to_utf8
from afflint.yaml.object_fields import kind_of, name_of

_MAX_BYTES = 8 << 20


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
        return "a policy that changes objects belongs under `context`" if any(map(_changes_objects, self.objects)) else ""


def _changes_objects(data: dict[str, Any]) -> bool:
    return kind_of(data) in _CHANGING or any("mutate" in rule for rule in maps_at(data, "spec", "rules"))


_CHANGING = ("MutatingPolicy", "NamespacedMutatingPolicy", "MutatingAdmissionPolicy")


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
        for field, message in unread(each.data):
            each.add_problem((field,), message)
        for message in unknown_exceptions(each.data, named):
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
