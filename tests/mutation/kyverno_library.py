"""The tests of Kyverno's policy library, as cases: a rule, an object, and the object after the rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from afflint.mutation.kyverno import MutateRule, mutate_rules, namespace_labels
from afflint.mutation.mutations import Mutator
from afflint.mutation.undecided import UndecidedError
from afflint.yaml.documents import read, split

_TEST = "kyverno-test.yaml"


class Case(NamedTuple):
    """An object, the rules of a policy, and the object that Kyverno expects after the first ``tested`` of them, or after all."""

    name: str
    rules: list[MutateRule]
    tested: int
    data: dict[str, Any]
    expected: dict[str, Any]
    namespaces: dict[str, dict[str, Any]]

    @property
    def touches_placement(self) -> bool:
        return any(rule.touches_placement for rule in self.rules[: self.tested])

    def result(self) -> str:
        """``same``, ``differs``, or the reason why the policy is undecided."""
        data = self.data
        namespace = data.get("metadata", {}).get("namespace") or "default"
        after: list[dict[str, Any]] = []
        try:
            for rule in self.rules:
                data = rule.changed(data, namespace_labels(self.namespaces, namespace) or {}, namespace)
                after.append(data)
        except UndecidedError as error:
            if len(after) < self.tested:
                return str(error)
        expected = _unordered(self.expected)
        return "same" if expected in (_unordered(after[self.tested - 1]), _unordered(after[-1])) else "differs"


def objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, none if it does not exist."""
    if not path.is_file():
        return []
    documents = [read(piece, 0, line) for piece, line, _ in split(path.read_bytes())]
    return [each.data for each in documents if isinstance(each.data, dict)]


def cases(library: Path) -> Iterator[Case]:
    """Yield the cases of a checkout of github.com/kyverno/policies: each object that a rule of a ClusterPolicy should change."""
    for file in sorted(library.rglob(_TEST)):
        for test in objects(file):
            yield from _cases(file.parent, test)


def _cases(folder: Path, test: dict[str, Any]) -> Iterator[Case]:
    rules = [rule for name in test.get("policies") or () for data in objects(folder / name) for rule in mutate_rules(data)]
    given = [data for name in test.get("resources") or () for data in objects(folder / name)]
    for result in test.get("results") or ():
        patched = result.get("patchedResources") or result.get("patchedResource")
        own = [rule for rule in rules if rule.policy == result["policy"]]
        names = [rule.name for rule in own]
        wanted = str(result.get("rule", "")).removeprefix("autogen-cronjob-").removeprefix("autogen-")
        if not patched or result.get("result") != "pass" or wanted not in names:
            continue
        for name in result.get("resources") or [result.get("resource")]:
            data = _named(given, result.get("kind"), name.rpartition("/")[2])
            expected = _named(objects(folder / patched), result.get("kind"), name.rpartition("/")[2])
            if data and expected:
                title = f"{folder.parent.parent.name}/{folder.parent.name}: {wanted}, {name}"
                yield Case(title, own, names.index(wanted) + 1, data, expected, _namespaces(folder, test, given))


def _named(data: list[dict[str, Any]], kind: object, name: str) -> dict[str, Any] | None:
    return next((each for each in data if each.get("metadata", {}).get("name") == name and kind in (None, each.get("kind"))), None)


def _namespaces(folder: Path, test: dict[str, Any], given: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    values = [data for data in objects(folder / str(test.get("variables"))) if "namespaceSelector" in data]
    labelled = {each["name"]: {"metadata": {"labels": each["labels"]}} for data in values for each in data["namespaceSelector"]}
    return {**labelled, **{each["metadata"]["name"]: each for each in given if each.get("kind") == "Namespace"}}


def _unordered(value: Any) -> Any:
    """Return a value with sorted keys, and with the items of lists by their names: the order of containers and volumes means nothing."""
    if isinstance(value, dict):
        return {key: _unordered(each) for key, each in sorted(value.items()) if (key, each) != ("namespace", "default")}
    if isinstance(value, list):
        items = [_unordered(each) for each in value]
        return sorted(items, key=repr) if all(isinstance(each, dict) and "name" in each for each in items) else items
    return value


class CelCase(NamedTuple):
    """An object, and a MutatingPolicy with the object that Kyverno expects after it: the same object if the policy skips it."""

    name: str
    policy: dict[str, Any]
    data: dict[str, Any]
    expected: dict[str, Any]
    namespaces: dict[str, dict[str, Any]]

    def result(self) -> tuple[str, bool]:
        """Return ``same``, ``differs``, or the reason why the policy is undecided, and whether it touches placement."""
        from afflint.admission.defaults import with_defaults
        from afflint.checks.policies.known_cluster import KnownCluster
        from afflint.checks.policies.mutating_policies import cel_rule
        from afflint.policies.admission_manifests import PolicyReader

        metadata = {"namespace": "default", **self.data["metadata"]}
        data = self.data if self.data["kind"] == "Namespace" else {**self.data, "metadata": metadata}
        named = {metadata["namespace"]: {}, **self.namespaces}
        known = [{"kind": "Namespace", **each, "metadata": {**each.get("metadata", {}), "name": name}} for name, each in named.items()]
        document = read(json.dumps(self.policy).encode(), 0, 0)
        policy = PolicyReader("policy.yaml", document, self.policy, ()).mutating_policy()
        rule = cel_rule(policy, self.policy, [], KnownCluster(known), ())
        mutation = Mutator([(0, rule)], {}).mutation(data)
        if mutation.undecided:
            return mutation.undecided[0][1], rule.touches_placement
        # Kyverno tests its policies without the defaults of the API server.
        one, other = (_unordered(with_defaults(each)) for each in (mutation.data, self.expected))
        return "same" if one == other else "differs", rule.touches_placement


def cel_cases(library: Path) -> Iterator[CelCase]:
    """Yield the cases of the same checkout for MutatingPolicies: each object that one changes, or skips, when it is created."""
    from afflint.checks.policies.mutating_policies import is_mutating

    for file in sorted(library.rglob(_TEST)):
        folder = file.parent
        for test in objects(file):
            read_policies = [data for name in test.get("policies") or () for data in objects(folder / name)]
            policies = {data["metadata"]["name"]: data for data in read_policies if is_mutating(data)}
            given = [data for name in test.get("resources") or () for data in objects(folder / name)]
            for result in test.get("results") or ():
                if result["policy"] not in policies or result["result"] not in ("pass", "skip"):
                    continue
                patched = result.get("patchedResources") or result.get("patchedResource")
                for name in result.get("resources") or [result.get("resource")]:
                    data = _named(given, result.get("kind"), name.rpartition("/")[2])
                    after = objects(folder / str(patched)) if result["result"] == "pass" else given
                    expected = _named(after, result.get("kind"), name.rpartition("/")[2])
                    if data and expected:
                        title = f"{folder.parent.parent.name}/{folder.parent.name}: {name}"
                        yield CelCase(title, policies[result["policy"]], data, expected, _namespaces(folder, test, given))
