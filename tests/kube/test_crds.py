"""What a CustomResourceDefinition shows: the placement constraints of its kind, by the fields of the schemas."""

from typing import Any

import pytest

from afflint.findings.paths import Path
from afflint.manifests.catalogue import ConstraintPlace
from afflint.manifests.custom_definitions import _definitions, kinds_defined_in, kinds_in_definitions, merged_kinds
from afflint.yaml.documents import read, split
from shared_material import shared

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def props(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def items(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": props(**properties)}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
TOLERATIONS = items(key=TEXT, operator=TEXT, effect=TEXT, value=TEXT)
SPREAD = items(maxSkew=NUMBER, topologyKey=TEXT, whenUnsatisfiable=TEXT)
NODE_SELECTOR = {"type": "object", "additionalProperties": TEXT}
NODE = props(**{REQUIRED: props(nodeSelectorTerms={"type": "array"}), PREFERRED: items(weight=NUMBER, preference=props())})
PODS = props(**{REQUIRED: items(topologyKey=TEXT), PREFERRED: items(weight=NUMBER, podAffinityTerm=props())})
AFFINITY = props(nodeAffinity=NODE, podAffinity=PODS, podAntiAffinity=PODS)


def definition(spec: dict[str, Any], *, name: str = "v1", served: bool = True) -> dict[str, Any]:
    schema = {"openAPIV3Schema": props(spec=spec, status=spec)}
    version = {"name": name, "served": served, "schema": schema}
    return {"kind": "CustomResourceDefinition", "spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [version]}}


def places(spec: dict[str, Any]) -> dict[Path, ConstraintPlace]:
    kinds = kinds_in_definitions([definition(spec)])
    return {place.path: place for place in kinds["example.com", "Widget"].places} if kinds else {}


def shapes(spec: dict[str, Any]) -> dict[Path, dict[str, str]]:
    return {path: {field.name: field.shape for field in place.fields} for path, place in places(spec).items()}


@pytest.mark.parametrize(
    ("name", "schema", "shape"),
    [
        ("affinity", AFFINITY, "affinity"),
        ("moverAffinity", AFFINITY, "affinity"),
        ("nodeAffinity", NODE, "nodeAffinity"),
        ("affinity", PODS, "podAffinity"),
        ("AntiAffinity", PODS, "podAntiAffinity"),
        ("selector", props(nodeSelectorTerms={"type": "array"}), "nodeSelectorTerms"),
        ("toleRations", TOLERATIONS, "tolerations"),
        ("spread", SPREAD, "topologySpreadConstraints"),
        ("workerNodeSelector", NODE_SELECTOR, "nodeSelector"),
    ],
)
def test_a_field_is_known_by_what_is_in_it(name: str, schema: dict[str, Any], shape: str) -> None:
    assert shapes(props(**{name: schema})) == {("spec",): {name: shape}}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("taints", items(key=TEXT, value=TEXT, effect=TEXT)),
        ("nodeSelector", props(matchLabels=NODE_SELECTOR)),
        ("nodeSelector", TEXT),
        ("nodeSelector", {"type": "object"}),
        ("labels", NODE_SELECTOR),
        ("config", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ],
)
def test_what_has_other_fields_is_none(name: str, schema: dict[str, Any]) -> None:
    assert places(props(**{name: schema})) == {}


def test_a_holder_of_affinities_apart() -> None:
    placement = props(nodeAffinity=NODE, podAffinity=PODS, podAntiAffinity=PODS, tolerations=TOLERATIONS)
    assert shapes(props(placement={"additionalProperties": placement})) == {
        ("spec", "placement", "*"): {
            "nodeAffinity": "nodeAffinity",
            "podAffinity": "podAffinity",
            "podAntiAffinity": "podAntiAffinity",
            "tolerations": "tolerations",
        }
    }


def test_templates_of_pods_and_whether_they_keep_labels() -> None:
    spec = props(containers=items(name=TEXT), affinity=AFFINITY, tolerations=TOLERATIONS)
    keeps, drops = props(labels=NODE_SELECTOR), {"type": "object"}
    found = places(props(a=props(metadata=keeps, spec=spec), b=props(metadata=drops, spec=spec)))
    assert {path: (place.form, place.pruned) for path, place in found.items()} == {
        ("spec", "a"): ("template", False),
        ("spec", "b"): ("template", True),
    }


def test_regions_that_are_left_open() -> None:
    opened = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert places(props(podTemplate=opened))["spec", "podTemplate"].form == "opaque"


def test_the_nearest_number_counts_the_pods() -> None:
    pool = props(servers=NUMBER, tolerations=TOLERATIONS)
    found = places(props(replicas=NUMBER, pools={"type": "array", "items": pool}, other=props(tolerations=TOLERATIONS)))
    assert found["spec", "pools", "*"].replicas == ("spec", "pools", "*", "servers")
    assert found["spec", "other"].replicas == ("spec", "replicas")
    assert places(props(tolerations=TOLERATIONS))["spec",].replicas is None


def test_all_served_versions_and_all_copies_count() -> None:
    old, new = definition(props(a=props(tolerations=TOLERATIONS)), name="v1beta1"), definition(props(b=props(tolerations=TOLERATIONS)))
    gone = definition(props(c=props(tolerations=TOLERATIONS)), name="v1alpha1", served=False)
    (kind,) = kinds_in_definitions([old, new, gone]).values()
    assert [place.path for place in kind.places_in("v1beta1")] == [("spec", "a")]
    assert [place.path for place in kind.places_in("v1")] == [("spec", "b")]
    assert kind.places_in("v1alpha1") == ()
    (joined,) = merged_kinds((*kinds_in_definitions([old]).values(), *kinds_in_definitions([new]).values()))
    assert set(joined.places) == set(kind.places)


def test_schemas_that_require_nothing_are_lenient() -> None:
    assert kinds_in_definitions([definition(props(affinity=AFFINITY))])["example.com", "Widget"].lenient
    strict = props(nodeAffinity=props(**{PREFERRED: {"items": {**props(weight=NUMBER, preference=props()), "required": ["weight"]}}}))
    strict["properties"] |= {"podAffinity": PODS, "podAntiAffinity": PODS}
    assert not kinds_in_definitions([definition(props(affinity=strict))])["example.com", "Widget"].lenient


@pytest.mark.parametrize("text", [b"", b"kind: CustomResourceDefinition\nspec: Widget", b"CustomResourceDefinition Widget: ["])
def test_what_cannot_be_read_defines_nothing(text: bytes) -> None:
    assert kinds_defined_in(text, [("example.com", "Widget")]) == ()


GENERATED = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        description: |-
          Widget is an example:
            description: of nothing
        properties:
          spec:
            description: It has a text
              on two lines.
            properties:
              description:
                type: string
              env:
                items:
                - x
              pod:
                properties:
                  nodeSelector:
                    additionalProperties:
                      pattern: ^(a|b)$
                      type: string
                    type: object
                  env:
                    items:
                      properties: {key: {}, operator: {}, effect: {}}
                  tolerations:
                    items:
                      properties:
                        key:
                          description: A key.
                        operator: {}
                        effect: {}
                type: object
"""


def test_texts_in_a_schema_are_left_out() -> None:
    (kind,) = kinds_defined_in(GENERATED.encode(), [("example.com", "Widget")])
    assert {(place.path, tuple(field.name for field in place.fields)) for place in kind.places} == {
        (("spec", "pod"), ("nodeSelector", "tolerations"))
    }


def test_the_definitions_of_the_corpus_say_the_same_without_their_texts() -> None:
    files = [path for path in shared("corpus").rglob("*.y*ml") if b"kind: CustomResourceDefinition" in path.read_bytes()]
    assert files
    for path in files:
        for piece, line, problem in split(path.read_bytes()):
            if problem is None:
                assert kinds_in_definitions(_definitions(piece, line)) == kinds_in_definitions([read(piece, 0, line).data]), path
