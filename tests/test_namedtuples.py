"""The named tuples of afflint behave like those of ``typing``."""

import copy
import pickle
import typing

import pytest

from afflint.findings import namedtuples


class Ours(namedtuples.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y

    def __str__(self) -> str:
        return "a point"


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2
    label: str | None = None

    @property
    def total(self) -> int:
        return self.x + self.y

    def __str__(self) -> str:
        return "a point"


class Nothing(namedtuples.NamedTuple):
    """No fields at all."""


BOTH = pytest.mark.parametrize("kind", [Ours, Theirs])


@BOTH
def test_values_by_name_by_place_and_by_default(kind: type[Ours]) -> None:
    made = kind(1, label="a")
    assert (made.x, made.y, made.label) == (1, 2, "a") == made
    assert made.total == 3
    assert str(made) == "a point"
    assert repr(made) == f"{kind.__name__}(x=1, y=2, label='a')"
    assert kind._fields == kind.__match_args__ == ("x", "y", "label")
    assert kind._field_defaults == {"y": 2, "label": None}
    assert kind.__doc__ == "A point."
    assert kind.__bases__ == (tuple,)


@BOTH
def test_other_values(kind: type[Ours]) -> None:
    made = kind(1)
    assert made._replace(x=5) == (5, 2, None)
    assert type(made._replace(x=5)) is kind
    assert made._asdict() == {"x": 1, "y": 2, "label": None}
    assert kind._make([7, 8, "b"]) == kind(7, 8, "b")
    match made:
        case kind(x, y):
            assert (x, y) == (1, 2)


@BOTH
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_copies(kind: type[Ours], protocol: int) -> None:
    made = kind(1, 3, "c")
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made, protocol))):
        assert (type(other), other) == (kind, made)


@BOTH
def test_a_wrong_number_of_values_is_rejected(kind: type[Ours]) -> None:
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
        kind()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'z'"):
        kind(1, z=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Expected 3 arguments, got 1"):
        kind._make([1])
    with pytest.raises((ValueError, TypeError), match="unexpected field names"):
        kind(1)._replace(z=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        kind(1).x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        kind(1).other = 2  # type: ignore[attr-defined]


def test_no_fields() -> None:
    assert Nothing() == ()
    assert repr(Nothing()) == "Nothing()"


def wide(**defaults: int) -> typing.Any:
    """Return a class with 60 fields."""
    names = [f"field_{number}" for number in range(60)]
    namespace = {"__annotations__": dict.fromkeys(names, int), "__module__": __name__, **defaults}
    return type(namedtuples.NamedTuple)("Wide", (namedtuples.NamedTuple,), namespace)


def test_many_fields() -> None:
    kind = wide(field_59=7)
    assert kind(*range(60)).field_59 == 59
    assert kind(*range(58), field_58=1)[57:] == (57, 1, 7)
    assert kind(**dict.fromkeys(kind._fields, 3)) == (3,) * 60
    assert kind(*range(60))._replace(field_0=9).field_0 == 9


def test_wrong_arguments_of_many_fields_are_rejected() -> None:
    kind = wide()
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'field_59'"):
        kind(*range(59))
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'z'"):
        kind(*range(60), z=3)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'field_0'"):
        kind(*range(60), field_0=3)
    with pytest.raises(TypeError, match=r"61"):
        kind(*range(61))
