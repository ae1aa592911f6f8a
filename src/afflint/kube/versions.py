"""The Kubernetes versions that have a field: an API server rejects a field that its version does not have as unknown.

From the published API of Kubernetes 1.10 to 1.37. A version has a field if its API has it, whether its feature gate is on or off. KubeVirt
has its own API, so this does not apply to its kinds.
"""

from functools import cache

from afflint.findings.namedtuples import NamedTuple
from afflint.kube.types import ListOf, MapOf, Struct, Type

Version = tuple[int, int]


class Lifespan(NamedTuple):
    """The versions that have a field: from ``since`` to the one before ``until``, or to the newest if that is None."""

    since: Version
    until: Version | None = None

    def includes(self, version: Version) -> bool:
        return self.since <= version and (self.until is None or version < self.until)


def _since(*fields: tuple[int, str]) -> dict[str, Lifespan]:
    return {name: Lifespan((1, minor)) for minor, names in fields for name in names.split()}


FIELDS: dict[str, dict[str, Lifespan]] = {
    "pod spec": {
        **_since(
            (11, "readinessGates"),
            (12, "runtimeClassName"),
            (13, "enableServiceLinks"),
            (15, "preemptionPolicy"),
            (16, "ephemeralContainers overhead topologySpreadConstraints"),
            (19, "setHostnameAsFQDN"),
            (23, "os"),
            (25, "hostUsers"),
            (26, "resourceClaims schedulingGates"),
            (32, "resources"),
            (34, "hostnameOverride"),
            (36, "schedulingGroup"),
            (37, "evictionResponders"),
        ),
        "workloadRef": Lifespan((1, 35), (1, 36)),
    },
    "topology spread constraint": _since((24, "minDomains"), (25, "matchLabelKeys nodeAffinityPolicy nodeTaintsPolicy")),
    "pod affinity term": _since((21, "namespaceSelector"), (29, "matchLabelKeys mismatchLabelKeys")),
    "node selector term": _since((11, "matchFields")),
    "StatefulSet spec": _since((22, "minReadySeconds"), (23, "persistentVolumeClaimRetentionPolicy"), (26, "ordinals")),
    "Job spec": _since(
        (12, "ttlSecondsAfterFinished"),
        (21, "completionMode suspend"),
        (25, "podFailurePolicy"),
        (28, "backoffLimitPerIndex maxFailedIndexes podReplacementPolicy"),
        (30, "managedBy successPolicy"),
        (37, "scheduling"),
    ),
    "CronJob spec": _since((24, "timeZone")),
    "metadata": _since((14, "managedFields")),
}
"""By the name of the struct and of the field. All other fields have existed since 1.10 or longer, and still do."""


def lifespan(struct: Struct, field: str) -> Lifespan | None:
    """Return the versions that have a field of a struct; None if all or none of them do."""
    return FIELDS.get(struct.name, {}).get(field)


@cache
def as_of(type_: Type, version: Version) -> Type:
    """Return the type without the fields that a version does not have; the same object if it has them all."""
    if isinstance(type_, ListOf):
        item = as_of(type_.item, version)
        return type_ if item is type_.item else ListOf(item, nulls=type_.nulls)
    if isinstance(type_, MapOf):
        item = as_of(type_.item, version)
        return type_ if item is type_.item else type(type_)(item, nulls=type_.nulls)
    if not isinstance(type_, Struct):
        return type_
    spans = FIELDS.get(type_.name, {})
    fields = {name: as_of(field, version) for name, field in type_.fields.items() if name not in spans or spans[name].includes(version)}
    if len(fields) == len(type_.fields) and all(fields[name] is field for name, field in type_.fields.items()):
        return type_
    return Struct(type_.name, fields, lenient=type_.lenient, nulls=type_.nulls)
