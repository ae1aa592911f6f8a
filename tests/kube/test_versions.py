"""The table of fields by version fits the types it is about, and a type as of a version is that type without what came later."""

from collections.abc import Iterator

import pytest

from afflint.kube.kinds import KINDS, POD_SPEC
from afflint.kube.types import ListOf, Struct, Type
from afflint.kube.versions import FIELDS, as_of


def structs(type_: Type) -> Iterator[Struct]:
    if isinstance(type_, Struct):
        yield type_
        for field in type_.fields.values():
            yield from structs(field)
    elif isinstance(type_, ListOf):
        yield from structs(type_.item)


CORE = {each.name: each for kind in KINDS if kind.root is not None and not kind.kubevirt for each in structs(kind.root)}


@pytest.mark.parametrize("struct, field", [(struct, field) for struct, fields in FIELDS.items() for field in fields])
def test_every_entry_is_about_a_field_that_exists(struct: str, field: str) -> None:
    assert field in CORE[struct].fields


@pytest.mark.parametrize(
    "version, known",
    [
        ((1, 15), set()),
        ((1, 25), {"topologySpreadConstraints"}),
        ((1, 26), {"topologySpreadConstraints", "schedulingGates"}),
        ((1, 35), {"topologySpreadConstraints", "schedulingGates", "workloadRef"}),
        ((1, 36), {"topologySpreadConstraints", "schedulingGates", "schedulingGroup"}),
        ((1, 99), {"topologySpreadConstraints", "schedulingGates", "schedulingGroup", "evictionResponders"}),
    ],
)
def test_a_pod_spec_has_the_fields_of_its_version(version: tuple[int, int], known: set[str]) -> None:
    spec = as_of(POD_SPEC, version)
    assert isinstance(spec, Struct)
    asked = {"topologySpreadConstraints", "schedulingGates", "workloadRef", "schedulingGroup", "evictionResponders"}
    assert asked & spec.fields.keys() == known
    assert "nodeSelector" in spec.fields


def test_a_type_that_a_version_knows_in_full_is_itself() -> None:
    affinity = POD_SPEC.fields["affinity"]
    assert as_of(affinity, (1, 29)) is affinity
    assert as_of(affinity, (1, 28)) is not affinity
    assert as_of(affinity, (1, 28)) is as_of(affinity, (1, 28))
