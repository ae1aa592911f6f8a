"""The tests that Kyverno and Gatekeeper have for policies: ``kyverno-test.yaml``, and suites of gator.

Only policies in CEL are tested. Objects are judged as they are written, without the defaults of the API server, as both programs do.
Formats: cmd/cli/kubectl-kyverno/apis/v1alpha1/test.go of Kyverno, and pkg/gator/verify/suite.go of Gatekeeper.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from afflint.admission.api_resources import CLUSTER_SCOPED, resource_of
from afflint.checks.policies.admission_policies import AdmissionEvaluator, PolicyDenial
from afflint.checks.policies.known_cluster import TestedRequest
from afflint.checks.policies.policy_compiler import Unknown
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.paths import Path
from afflint.findings.patterns import PatternError, searches
from afflint.kube.created_pods import created_pod
from afflint.kube.kinds import KINDS
from afflint.kube.manifests import reference
from afflint.mutation.kyverno import autogen_controllers
from afflint.mutation.matching import kinds_of
from afflint.mutation.wildcards import may_match
from afflint.policies.admission_manifests import AdmissionPolicy, KyvernoScope, PolicyReader, is_of
from afflint.policies.policy_files import Admission, read_admission, readers_of
from afflint.source.files import read_regular
from afflint.yaml.document import list_at, map_at, maps_at, text_at, texts_at, value_at_path
from afflint.yaml.object_fields import kind_of, metadata_of

Object = dict[str, Any]

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
KYVERNO_GROUP, GATOR_GROUP = "cli.kyverno.io", "test.gatekeeper.sh"
_KYVERNO_FOLDER = ".kyverno-test"
_LARGEST = 8 << 20
_MAY_BE_TEST = re.compile(rb"cli\.kyverno\.io/|test\.gatekeeper\.sh/")


class ForeignVerdict(NamedTuple):
    """The verdict on an object that a test expects, and the one that afflint gives: pass, fail or unknown."""

    file: str
    line: int
    column: int
    policy: str
    subject: str
    """The object, or the case of a suite."""
    expected: str
    given: str
    reason: str = ""
    """Why the verdict is unknown, or a message of the policy."""

    @property
    def is_same(self) -> bool:
        """Whether the verdicts are the same."""
        return self.expected == self.given

    @property
    def is_unknown(self) -> bool:
        """Whether the policy was not evaluated."""
        return self.given == UNKNOWN


def files_with_tests(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files, among some paths and below them, that may contain such tests. Hidden folders are skipped, but not Kyverno's own."""
    for top in paths:
        if not os.path.isdir(top):
            yield from _may_be_test(top)
            continue
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith(".") or name == _KYVERNO_FOLDER)
            for name in sorted(names):
                if name.endswith((".yaml", ".yml")):
                    yield from _may_be_test(os.path.join(folder, name))


def _may_be_test(path: str) -> Iterator[str]:
    try:
        if _MAY_BE_TEST.search(read_regular(path, _LARGEST)):
            yield path
    except OSError:
        return


def verdicts_in(path: str, may_read: Callable[[str], bool]) -> Iterator[ForeignVerdict]:
    """Yield the verdicts of the tests in a file. ``may_read`` returns whether a file that a test names may be read. Raises OSError."""
    problems: list[str] = []
    for reader in readers_of(path, problems):
        if is_of(reader.data, KYVERNO_GROUP) and kind_of(reader.data) == "Test":
            yield from _KyvernoTest(reader, may_read).verdicts()
        elif is_of(reader.data, GATOR_GROUP) and kind_of(reader.data) == "Suite":
            yield from _suite_verdicts(reader, may_read)


class _TestFiles:
    """The files that a test names, relative to its folder."""

    def __init__(self, reader: PolicyReader, may_read: Callable[[str], bool]) -> None:
        self._folder, self._may_read = os.path.dirname(reader.origin.file), may_read
        self.problems: list[str] = []

    def paths(self, names: Iterable[str]) -> list[str]:
        """Return the paths of the files that may be read; others are added to ``problems``."""
        found = []
        for name in names:
            path = os.path.normpath(os.path.join(self._folder, name))
            if not self._may_read(path):
                self.problems.append(f"{name} is outside the repository")
            elif not os.path.exists(path):
                self.problems.append(f"{name} does not exist")
            else:
                found += [each for each in _files(path) if self._is_readable(each)]
        return found

    def _is_readable(self, path: str) -> bool:
        try:
            read_regular(path, _LARGEST)
        except OSError as error:
            self.problems.append(f"{path} cannot be read: {error.strerror}")
            return False
        return True

    def objects(self, names: Iterable[str]) -> list[Object]:
        """Return the objects in the files."""
        return [each.data for path in self.paths(names) for each in readers_of(path, self.problems)]

    def admission(self, names: Iterable[str]) -> Admission:
        """Return the policies in the files."""
        return read_admission(self.paths(names))


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith((".yaml", ".yml"))]


# Kyverno.

_CONTROLLERS = {kind.name for kind in KINDS if kind.templates and not kind.kubevirt and kind.name != "Pod"}


class _KyvernoTest:
    def __init__(self, reader: PolicyReader, may_read: Callable[[str], bool]) -> None:
        self._reader, test = reader, reader.data
        files = _TestFiles(reader, may_read)
        self._admission = files.admission(texts_at(test, "policies"))
        self._objects = [_in_default_namespace(each) for each in files.objects(texts_at(test, "resources"))]
        values = [map_at(test, "values"), *files.objects([text_at(test, "variables")] if text_at(test, "variables") else ())]
        self._values = [{**each, **map_at(each, "spec")} for each in values]
        context = [*files.objects([text_at(test, "context")] if text_at(test, "context") else ())]
        named = [*texts_at(test, "exceptions"), *texts_at(test, "clusterResources"), *texts_at(test, "paramResources")]
        users = files.objects([text_at(test, "userinfo")] if text_at(test, "userinfo") else ())
        self._user = next((map_at(each, "userInfo") for each in users if map_at(each, "userInfo")), None)
        self._known = [
            *self._objects,
            *files.objects(named),
            *(each for one in context for each in maps_at(one, "spec", "resources")),
            *self._namespaces(),
        ]
        self._images = {text_at(each, "image"): each for one in context for each in maps_at(one, "spec", "images")}
        self._problems = files.problems
        self._evaluators: dict[TestedRequest, AdmissionEvaluator] = {}

    def _namespaces(self) -> Iterator[Object]:
        for values in self._values:
            for each in maps_at(values, "namespaceSelector"):
                yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each.get("name"), "labels": map_at(each, "labels")}}
            yield from ({"apiVersion": "v1", "kind": "Namespace", **each} for each in maps_at(values, "namespaces"))

    def verdicts(self) -> Iterator[ForeignVerdict]:
        for index, result in enumerate(maps_at(self._reader.data, "results")):
            path: Path = ("results", index)
            policy = text_at(result, "policy").rpartition("/")[2]
            expected = FAIL if text_at(result, "result") in ("fail", "error", "warn") else PASS
            for data in self._tested(result):
                ref = reference(data)
                given, reason = self._verdict(policy, result, data)
                title = f"{ref.kind} {ref.name}"
                yield _placed(self._reader, path, policy, title, expected, given, reason)

    def _tested(self, result: Mapping[str, Any]) -> Iterator[Object]:
        """Yield the objects that a result is about."""
        named = [*texts_at(result, "resources"), *([text_at(result, "resource")] if text_at(result, "resource") else ())]
        for each in self._objects:
            ref = reference(each)
            is_named = not named or ref.name in named or f"{ref.namespace}/{ref.name}" in named
            if is_named and kind_of(result) in ("", "*", ref.kind):
                yield each

    def _verdict(self, policy: str, result: Mapping[str, Any], data: Object) -> tuple[str, str]:
        request = TestedRequest(self._operation(policy, result, data), None)
        rule = text_at(result, "rule").removeprefix("autogen-cronjob-").removeprefix("autogen-")
        known = [each for each in self._admission.policies if each.name == policy and (not each.rule or not rule or each.rule == rule)]
        if not known:
            problem = next(iter((*self._problems, *self._admission.reasons)), "")
            return UNKNOWN, problem or f"the files of the test contain no policy `{policy}` in CEL that validates"
        evaluator = self._evaluator(request)
        asked = [data]
        if kind_of(data) in _CONTROLLERS and not _names_kind(known, data):
            asked = [*_pods_of(data)] if any(kind_of(data) in _autogen(each) for each in known) else []
        outcomes: list[PolicyDenial | Unknown] = [each for each in evaluator.unknown if each.policy == policy]
        outcomes += [each for one in asked for each in evaluator.evaluate(one) if each.policy == policy]
        return _given(outcomes, rule)

    def _operation(self, policy: str, result: Mapping[str, Any], data: Object) -> str:
        found = text_at(result, "operation")
        for values in self._values:
            found = found or str(map_at(values, "globalValues").get("request.operation") or "")
            for each in maps_at(values, "policies"):
                for one in maps_at(each, "resources") if each.get("name") == policy else ():
                    if one.get("name") == reference(data).name:
                        found = str(map_at(one, "values").get("request.operation") or found)
        return found or "CREATE"

    def _evaluator(self, request: TestedRequest) -> AdmissionEvaluator:
        if request not in self._evaluators:
            names = [each.name for each in self._admission.policies]
            asked = request._replace(user=self._user)
            self._evaluators[request] = AdmissionEvaluator(
                self._admission, names, self._known, is_complete=True, test=asked, images=self._images
            )
        return self._evaluators[request]


def _in_default_namespace(data: Object) -> Object:
    ref = reference(data)
    if ref.namespace is not None or ref.kind in CLUSTER_SCOPED:
        return data
    return {**data, "metadata": {**metadata_of(data), "namespace": "default"}}


def _autogen(policy: AdmissionPolicy) -> frozenset[str]:
    """Return the kinds of controllers for whose pods Kyverno also evaluates a policy about pods (CanAutoGen)."""
    spec, metadata = map_at(policy.origin.data, "spec"), metadata_of(policy.origin.data)
    if policy.dialect == "kyverno-rule":
        return autogen_controllers(maps_at(spec, "rules"), map_at(metadata, "annotations"))
    constraints = policy.constraints
    selected = constraints.objects is not None and constraints.objects.requirements
    rules = constraints.rules or ()
    if selected or constraints.excluded or len(rules) != 1 or rules[0].resources != ("pods",) or rules[0].names:
        return frozenset()
    named = map_at(spec, "autogen", "podControllers").get("controllers")
    return frozenset(kind for kind in _CONTROLLERS if named is None or resource_of(kind) in texts_at({"named": named}, "named"))


def _names_kind(policies: Iterable[AdmissionPolicy], data: Object) -> bool:
    """Return whether a policy names the resource of an object itself, not only pods."""
    name = resource_of(kind_of(data))
    for each in policies:
        rules = each.constraints.rules
        if rules is not None and any(rule.names_resource(name) for rule in rules):
            return True
        scope = each.own_binding.scope if each.own_binding is not None else None
        if isinstance(scope, KyvernoScope) and any(may_match(one.rpartition("/")[2], kind_of(data)) for one in kinds_of(scope.match)):
            return True
    return False


def _pods_of(data: Object) -> Iterator[Object]:
    """Yield the pods that a controller creates from its templates."""
    for kind in KINDS:
        if kind.name == kind_of(data):
            for template in kind.templates:
                found = value_at_path(data, *template.path)
                if isinstance(found, dict):
                    yield created_pod(reference(data), found)


def _given(outcomes: Sequence[PolicyDenial | Unknown], rule: str = "") -> tuple[str, str]:
    """Return the verdict that outcomes mean, with a message or the reason."""
    denials = [each for each in outcomes if isinstance(each, PolicyDenial) and ("" in (rule, each.rule) or rule == each.rule)]
    if denials:
        return FAIL, denials[0].message
    unknown = next((each.reason for each in outcomes if isinstance(each, Unknown)), None)
    return (PASS, "") if unknown is None else (UNKNOWN, unknown)


def _placed(reader: PolicyReader, path: Path, policy: str, subject: str, expected: str, given: str, reason: str) -> ForeignVerdict:
    place = reader.origin.place(path).rsplit(":", 2)
    return ForeignVerdict(reader.origin.file, int(place[1]), int(place[2]), policy, subject, expected, given, reason)


# Gatekeeper.


def _suite_verdicts(reader: PolicyReader, may_read: Callable[[str], bool]) -> Iterator[ForeignVerdict]:
    for number, test in enumerate(maps_at(reader.data, "tests")):
        if test.get("skip") is True or test.get("invalid") is True or reader.data.get("skip") is True:
            continue
        files = _TestFiles(reader, may_read)
        admission = files.admission(each for each in (text_at(test, "template"), text_at(test, "constraint")) if each)
        name = next((each.name for each in admission.policies), text_at(test, "constraint"))
        for index, case in enumerate(maps_at(test, "cases")):
            if case.get("skip") is True:
                continue
            path: Path = ("tests", number, "cases", index)
            subject = f"{text_at(test, 'name')}, {text_at(case, 'name')}"
            outcomes, problem = _reviewed(files, admission, case)
            for assertion in list_at(case, "assertions"):
                given, reason = _given(outcomes)
                try:
                    expected, met = _is_met(map_at(assertion), outcomes)
                except PatternError as error:
                    expected, met, problem = FAIL, False, str(error)
                if problem or given == UNKNOWN:
                    yield _placed(reader, path, name, subject, expected, UNKNOWN, problem or reason)
                else:
                    other = FAIL if expected == PASS else PASS
                    yield _placed(reader, path, name, subject, expected, expected if met else other, reason)


def _reviewed(files: _TestFiles, admission: Admission, case: Mapping[str, Any]) -> tuple[list[PolicyDenial | Unknown], str]:
    """Return the outcomes for the object of a case, or why it is not judged."""
    objects = files.objects([text_at(case, "object")])
    if files.problems:
        return [], files.problems[0]
    if not admission.policies:
        return [], next((each.partition(": ")[2] for each in admission.reasons), "the test has no constraint")
    if len(objects) != 1:
        return [], f"the file of the object contains {len(objects)} objects"
    data, operation, user = objects[0], "CREATE", None
    if kind_of(data) == "AdmissionReview":
        review = map_at(data, "request")
        operation, user = text_at(review, "operation") or "CREATE", map_at(review, "userInfo") or None
        data = map_at(review, "object") or map_at(review, "oldObject")
    known = files.objects(texts_at(case, "inventory"))
    names = [each.name for each in admission.policies]
    evaluator = AdmissionEvaluator(admission, names, known, is_complete=True, test=TestedRequest(operation, user))
    return [*evaluator.evaluate(data), *evaluator.unknown], ""


def _is_met(assertion: Mapping[str, Any], outcomes: Iterable[PolicyDenial | Unknown]) -> tuple[str, bool]:
    """Return the verdict that an assertion expects, and whether the denials meet it. Raises PatternError."""
    wanted = assertion.get("violations", True)
    pattern = text_at(assertion, "message")
    count = sum(isinstance(each, PolicyDenial) and (not pattern or searches(pattern, each.message)) for each in outcomes)
    if isinstance(wanted, bool) or wanted in ("yes", "no"):
        some = wanted in (True, "yes")
        return (FAIL if some else PASS), (count > 0) == some
    return (FAIL if wanted else PASS), count == wanted
