"""Every policy check describes itself: docs and schema are generated from it."""

from afflint.policies.params import class_at, fields_of
from afflint.policies.registry import CHECKS


def test_every_check_and_parameter_is_described() -> None:
    for name, check in CHECKS.items():
        assert check.requirement.endswith("."), name
        assert check.remedy.endswith("."), name
        assert class_at(check.params).__doc__.endswith("."), name
        for key, takes, about, _ in fields_of(class_at(check.params)):
            assert about.endswith("."), (name, key)
            assert "title" in takes.schema, (name, key)


def test_the_function_of_every_check_can_be_imported() -> None:
    for check in CHECKS.values():
        assert callable(class_at(check.function))
