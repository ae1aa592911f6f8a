"""Which objects a rule of Kyverno applies to: kinds, names, namespaces, selectors, exclusions, and wildcards."""

from typing import Any

import pytest

from afflint.policies.kyverno_matching import Candidate, UndecidedError, applies, is_match
from afflint.yaml.documents import read


def selects(rule: str, namespace: str | None = "shop", namespace_labels: dict[str, str] | None = None) -> bool | str:
    """Whether a rule applies to a pod; the reason if that is undecided."""
    metadata = {"name": "web", "namespace": namespace, "labels": {"app": "web"}, "annotations": {"a/b": "c"}}
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
    conditions = read(rule.encode(), 0, 0).data
    try:
        return applies(conditions["match"], conditions.get("exclude"), Candidate(pod, namespace, namespace_labels))
    except UndecidedError as error:
        return str(error)


PODS = "match: {any: [{resources: {kinds: [Pod]}}]}"
UNKNOWN_NAMESPACE = "it depends on the labels of the namespace, which no manifest shows"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("{kinds: [Pod]}", True),
        ("{kinds: [v1/Pod]}", True),
        ("{kinds: ['*']}", True),
        ("{kinds: [Service]}", False),
        ("{kinds: [Pod], names: [w*]}", True),
        ("{kinds: [Pod], name: db}", False),
        ("{kinds: [Pod], selector: {matchLabels: {app: web}}}", True),
        ("{kinds: [Pod], selector: {matchLabels: {app: db}}}", False),
        ("{kinds: [Pod], selector: {matchLabels: {a*: 'w?b'}}}", True),
        ("{kinds: [Pod], selector: {matchLabels: {b*: '*'}}}", False),
        ("{kinds: [Pod], annotations: {a/*: '?'}}", True),
        ("{kinds: [Pod], namespaces: ['sh?p']}", True),
        ("{kinds: [Pod], namespaces: [db]}", False),
        ("{kinds: [Pod], operations: [CREATE]}", True),
        ("{kinds: [Pod], operations: [UPDATE]}", False),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}", True),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: db}}}", False),
        ("{kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}", UNKNOWN_NAMESPACE),
    ],
)  # fmt: skip
def test_match(resources: str, expected: bool | str) -> None:
    assert selects(f"match: {{any: [{{resources: {resources}}}]}}") == expected


def test_the_labels_of_a_namespace_among_the_manifests_count() -> None:
    rule = "match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]}"
    assert selects(rule, namespace_labels={"team": "a"}) is True
    assert selects(rule, namespace_labels={}) is False


def test_exclude() -> None:
    blocks = "[{resources: {namespaces: [db]}}, {resources: {names: [web]}}]"
    assert selects(f"{PODS}\nexclude: {{any: {blocks}}}") is False
    assert selects(f"{PODS}\nexclude: {{all: {blocks}}}") is True
    assert selects(f"{PODS}\nexclude: {{any: [{{resources: {{namespaces: [db]}}}}]}}", None) == (
        "it depends on the namespace, which the object does not set"
    )
    assert selects(f"{PODS}\nexclude: {{any: [{{clusterRoles: [cluster-admin]}}]}}") == "it depends on the user who creates the object"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a", "a", True),
        ("a", "b", False),
        ("", "", True),
        ("*", "", True),
        ("?", "", False),
        ("?*", "a", True),
        ("a*c", "abbc", True),
        ("a*c", "abbd", False),
        ("*a*b", "xaxbxb", True),
        ("a?c", "abc", True),
        ("[a]*", "ab", False),
        ("*a" * 200 + "b", "a" * 5000, False),
    ],
)
def test_a_pattern(pattern: str, text: str, expected: bool) -> None:
    assert is_match(pattern, text) == expected


def test_very_long_texts_are_undecided() -> None:
    with pytest.raises(UndecidedError):
        is_match("*a" * 5000, "a" * 5000)
