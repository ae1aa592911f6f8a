"""Objects in the files of policies that look like policies and are not evaluated, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.policies import constraint_templates, kyverno_policies
from afflint.policies.admission_manifests import BINDING, GROUP, POLICY
from afflint.yaml.document import text_at
from afflint.yaml.object_fields import api_version_of, kind_of, name_of

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


def unread(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


def unknown_exceptions(data: Mapping[str, Any], policies: frozenset[str]) -> Iterator[str]:
    """Yield a message for each policy that an exception is about and that is not among the files."""
    for name in kyverno_policies.excepted_policies(data):
        if name not in policies:
            exception = quoted(name_of(data))
            yield f"no ValidatingPolicy {quoted(name)} is among the files, but the PolicyException {exception} is about it" + did_you_mean(
                nearest(name, sorted(policies))
            )
