"""The form in which objects are written changes neither findings nor placement: documents, a List, JSON, files, aliases, orders."""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from plans import Plans, as_json, as_list
from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from afflint.findings.finding import Finding
from cluster_objects import Object
from linting import findings_of, settings_of
from mistaken_manifests import mistaken_manifests
from random_orders import drawn_objects

SETTINGS = settings_of()
POSITION = re.compile(r"\b[\w.]+\.(?:yaml|json)(?::\d+)*|\bline \d+")


class Quoting(SafeRepresenter):
    """Quotes all texts, so that `y` is not a boolean."""


Quoting.add_representer(str, lambda writer, text: writer.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def written(*values: Any) -> bytes:
    """YAML documents in block style; a value that occurs twice in a document has an anchor and aliases."""
    yaml, text = YAML(typ="safe", pure=True), io.BytesIO()
    yaml.Representer = Quoting
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False
    yaml.dump_all(values, text)
    return text.getvalue()


def shared(value: Any, known: dict[str, Any]) -> Any:
    """The value with one object for all maps and lists in it that are equal."""
    if isinstance(value, dict):
        value = {key: shared(below, known) for key, below in value.items()}
    elif isinstance(value, list):
        value = [shared(below, known) for below in value]
    return known.setdefault(json.dumps(value), value) if value and isinstance(value, (dict, list)) else value


def keys_reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: keys_reversed(below) for key, below in reversed(value.items())}
    return [keys_reversed(each) for each in value] if isinstance(value, list) else value


def workloads_first(objects: list[Object]) -> list[Object]:
    """The workloads in their order, in which their pods are scheduled, then all other objects in the reversed order."""
    workloads = [each for each in objects if "template" in each["spec"]]
    return [*workloads, *[each for each in reversed(objects) if each not in workloads]]


FORMS: dict[str, Callable[[list[Object]], dict[str, bytes]]] = {
    "a List": lambda objects: {"all.yaml": written(as_list(objects))},
    "JSON": lambda objects: {"all.json": as_json(objects)},
    "a file for each": lambda objects: {f"{number:02}.yaml": written(each) for number, each in enumerate(objects)},
    "aliases": lambda objects: {"all.yaml": written(*[shared(each, {}) for each in objects])},
    "workloads first": lambda objects: {"all.yaml": written(*workloads_first(objects))},
    "reversed keys": lambda objects: {"all.yaml": written(*map(keys_reversed, objects))},
}


def findings(files: dict[str, bytes]) -> list[Finding]:
    return findings_of(files, SETTINGS, nodes=[name for name, text in files.items() if re.search(rb'"?kind"?: "Node"', text)])


def comparable(found: list[Finding], form: str) -> Counter[Hashable] | set[Hashable]:
    """What does not depend on the form: rule, object, field and message, and whether there is a fix.

    A value with aliases has its findings once, and its fixes would change every field that it is in.
    """
    facts = [(each.rule, each.object, POSITION.sub("", each.message)) for each in found]
    if form == "aliases":
        return set(facts)
    return Counter((*fact, each.field, each.fix and each.fix.safe) for fact, each in zip(facts, found, strict=True))


def copied(objects: list[Object]) -> list[Object]:
    """The objects without parts that are the same in Python, which would get anchors."""
    made: list[Object] = json.loads(json.dumps(objects))
    return made


@st.composite
def cases(draw: st.DrawFn) -> list[Object]:
    """A cluster, and a manifest with mistakes."""
    mistaken = draw(mistaken_manifests())
    return copied([*drawn_objects(draw(st.randoms(use_true_random=False))), mistaken])


few = settings(max_examples=3, phases=[Phase.explicit, Phase.reuse, Phase.generate])
"""Each example takes a large part of a second, so that they are few, and none is made smaller."""


@pytest.mark.parametrize("form", FORMS)
@few
@given(cases())
def test_the_findings_and_their_fixes_are_the_same(form: str, objects: list[Object]) -> None:
    assert comparable(findings({"all.yaml": written(*objects)}), form) == comparable(findings(FORMS[form](objects)), form)


@pytest.mark.parametrize("form", FORMS)
@few
@given(cases())
def test_the_placement_and_the_effects_of_disruptions_are_the_same(plans: Plans, form: str, objects: list[Object]) -> None:
    first, second = plans.of({"all.yaml": written(*objects)}), plans.of(FORMS[form](objects))
    assert (first.placed, first.pending) == (second.placed, second.pending)
    assert first.outcomes == second.outcomes


@few
@given(cases())
def test_what_is_proved_does_not_depend_on_the_order_of_the_workloads(objects: list[Object]) -> None:
    """An error is a proof. Other findings may be about the one schedule that the order of the workloads leads to."""
    proved = [
        {(each.rule, each.object, each.field) for each in findings({"all.yaml": written(*each)}) if each.severity == "error"}
        for each in (objects, objects[::-1])
    ]
    assert proved[0] == proved[1]
