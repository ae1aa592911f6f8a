"""Kyverno's strategic merge patches: what anchors mean, and how lists are merged."""

from __future__ import annotations

from typing import Any

import pytest

from afflint.mutation.anchors import resolved
from afflint.mutation.strategic_merge import merged
from afflint.mutation.undecided import InapplicableError, UndecidedError


def patched(pattern: dict[str, Any], data: dict[str, Any]) -> Any:
    """An object after a patch; the object itself if a condition fails."""
    try:
        return merged(data, resolved(pattern, data))
    except InapplicableError:
        return data


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
HOSTS = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("pattern", "data", "expected"),
    [
        # A map is merged, and a scalar replaced.
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "0", "b": "2"}}, {"nodeSelector": {"a": "1", "b": "2"}}),
        # A list without keys is replaced.
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "a"}]}),
        # The items of a list with keys are merged, and new ones come first.
        (
            {"topologySpreadConstraints": [{**SPREAD, "maxSkew": 2}, HOSTS]},
            {"topologySpreadConstraints": [SPREAD]},
            {"topologySpreadConstraints": [HOSTS, {**SPREAD, "maxSkew": 2}]},
        ),
        # null and $patch remove.
        ({"nodeSelector": None}, {"nodeSelector": {"a": "1"}, "x": 1}, {"x": 1}),
        ({"affinity": {"$patch": "delete"}}, {"affinity": {"nodeAffinity": {}}}, {}),
        ({"affinity": {"$patch": "replace", "a": 1}}, {"affinity": {"b": 1}}, {"affinity": {"a": 1}}),
        ({"volumes": [{"name": "a", "$patch": "delete"}]}, {"volumes": [{"name": "a"}, {"name": "b"}]}, {"volumes": [{"name": "b"}]}),
        # +(key): only if the object lacks it.
        ({"+(affinity)": {"x": 1}}, {}, {"affinity": {"x": 1}}),
        ({"+(affinity)": {"x": 1}}, {"affinity": {"y": 1}}, {"affinity": {"y": 1}}),
        ({"spec": {"+(a)": 1, "+(b)": 2}}, {"spec": {"a": 0}}, {"spec": {"a": 0, "b": 2}}),
        # (key): a condition, which is not set.
        ({"m": {"(labels)": {"app": "web"}}, "x": 1}, {"m": {"labels": {"app": "web"}}}, {"m": {"labels": {"app": "web"}}, "x": 1}),
        ({"m": {"(labels)": {"app": "w*"}}, "x": 1}, {"m": {"labels": {"app": "db"}}}, {"m": {"labels": {"app": "db"}}}),
        ({"(a)": "!b", "x": 1}, {"a": "c"}, {"a": "c", "x": 1}),
        ({"(a)": ">1", "x": 1}, {"a": 2}, {"a": 2, "x": 1}),
        ({"(a)": "b | c", "x": 1}, {"a": "c"}, {"a": "c", "x": 1}),
        # In a list, each item that meets the condition is changed.
        (
            {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]},
            {"containers": [{"name": "a", "image": "x:latest"}, {"name": "b", "image": "y:1"}]},
            {"containers": [{"name": "a", "image": "x:latest", "imagePullPolicy": "Always"}, {"name": "b", "image": "y:1"}]},
        ),
        # <(key): a condition on the whole rule.
        (
            {"containers": [{"<(image)": "registry.example/*"}], "imagePullSecrets": [{"name": "s"}]},
            {"containers": [{"name": "a", "image": "registry.example/x"}, {"name": "b", "image": "y"}]},
            {
                "containers": [{"name": "a", "image": "registry.example/x"}, {"name": "b", "image": "y"}],
                "imagePullSecrets": [{"name": "s"}],
            },
        ),
        (
            {"containers": [{"<(image)": "registry.example/*"}], "imagePullSecrets": [{"name": "s"}]},
            {"containers": [{"name": "b", "image": "y"}]},
            {"containers": [{"name": "b", "image": "y"}]},
        ),
    ],
)  # fmt: skip
def test_a_patch_with_anchors(pattern: dict[str, Any], data: dict[str, Any], expected: dict[str, Any]) -> None:
    assert patched(pattern, data) == expected


def test_a_patch_changes_neither_the_pattern_nor_the_object() -> None:
    pattern, data = {"spec": {"+(a)": {"b": 1}}}, {"spec": {"c": 2}}
    patched(pattern, data)
    assert (pattern, data) == ({"spec": {"+(a)": {"b": 1}}}, {"spec": {"c": 2}})


@pytest.mark.parametrize("condition", [["a"], {"^(b)": "c"}, "1s-5s"])
def test_a_condition_that_is_seldom_used_is_undecided(condition: Any) -> None:
    with pytest.raises(UndecidedError):
        patched({"(a)": condition, "x": 1}, {"a": {"b": "c"} if isinstance(condition, dict) else "2s"})
