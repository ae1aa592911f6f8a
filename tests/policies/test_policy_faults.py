"""A policy that the API server refuses is reported at its line and is not applied."""

from pathlib import Path

import pytest

from extras import needs_cel
from policies.test_cluster_policies import FIVE, binding, deployment, policy, run

pytestmark = needs_cel

NOT_BOOL = "`expression` must evaluate to a boolean, but its type is `dyn`; compare it, as in `… == true`"
MIXED = "expected a whole number, but this is a string; use `dyn(…)` around each to mix types"
NOT_CONVERTED = "cannot convert this value, so the API server rejects the expression"
NO_KEY = "resulted in error: no such key:"


@pytest.mark.parametrize(
    "expression, message",
    [
        ("object.spec.hostNetwork", NOT_BOOL),
        ("object.spec.replicas > 1 ? true : object.nope", NOT_BOOL),
        ("size(object)", "`expression` must evaluate to a boolean, but its type is `int`"),
        ("1 == 1.0", "`==` does not accept a whole number and a number (at 1:3 of the expression)"),
        ("[1, 'a'].size() == 2", f"{MIXED} (at 1:5 of the expression)"),
        ("quantity('200M').sign() == 1", "`sign` cannot be called with these arguments (at 1:18 of the expression)"),
        ("quantity('1') == 1", "`==` does not accept `kubernetes.Quantity` and a whole number (at 1:15 of the expression)"),
        ("'%d'.format([3.0]) == '3'", "`%d` does not format a number (at 1:14 of the expression)"),
        ("'%s'.format([]) == ''", "`format` has fewer values than clauses (at 1:12 of the expression)"),
        ("int('x') == 1", f"`int` {NOT_CONVERTED} (at 1:5 of the expression)"),
        ("int(' 1') == 1", f"`int` {NOT_CONVERTED} (at 1:5 of the expression)"),
        ("duration('1d') == duration('24h')", f"`duration` {NOT_CONVERTED} (at 1:10 of the expression)"),
        ("'a'.matches('(')", "this is not a valid regular expression (at 1:13 of the expression)"),
        ("request.who == 'me'", "`request` has no field `who` (at 1:8 of the expression)"),
        ("params.most == 1", "`params` is not defined (at 1:1 of the expression)"),
        ("variables.unknown == 1", "`variables.unknown` is not defined before it"),
        ("object.metadata.name.startWith('a')", "`startWith` is not defined; did you mean `startsWith`? (at 1:22 of the expression)"),
    ],
)
def test_an_expression_is_checked_as_the_api_server_checks_it(tmp_path: Path, expression: str, message: str) -> None:
    quoted = expression.replace('"', '\\"')
    ran = run(tmp_path, policy(f'  - expression: "{quoted}"\n{FIVE}') + binding(), deployment())
    assert ran.found == [f"10:17 error demo: the API server rejects this policy: {message}"]


@pytest.mark.parametrize(
    "expression",
    [
        "has(request.namespace) && request.?namespace.orValue('') != '' && request.name == 'web'",
        "1 < 2.5 && 2u > 1 && dyn(1) == 1.0",
        "'%s has %d'.format(['a', 3]) == 'a has 3' && ['a', 'b'].map(each, each.size()).sum() == 2",
        "[[], [1]].size() == 2 && {?'a': object.?spec}.size() == 1",
        "type(quantity('1')) == type(quantity('2'))",
        "object.metadata.?labels.?app.optFlatMap(a, optional.of(a)).hasValue()",
    ],
)
def test_what_the_api_server_accepts_is_applied(tmp_path: Path, expression: str) -> None:
    quoted = expression.replace('"', '\\"')
    assert run(tmp_path, policy(f'  - expression: "{quoted}"\n') + binding(), deployment()) == ([], [])


@pytest.mark.parametrize(
    "old, new, place, message",
    [
        ("{name: demo}", "{name: Demo_1}", "3:18", "`Demo_1` is not a valid name: lower-case letters, digits, `-` and `.`"),
        ("failurePolicy: Fail", "failurePolicy: Deny", "5:18", "`failurePolicy` must be `Fail` or `Ignore`, not `Deny`"),
        ("    message: many", '    message: "a\\nb"', "11:14", "`message` must not contain line breaks"),
        (
            "    message: many",
            "    reason: Unauthorized",
            "11:13",
            "`reason` must be `Forbidden`, `Invalid` or `RequestEntityTooLarge`, not `Unauthorized`",
        ),
        (
            "    message: many",
            "    messageExpression: object.spec.replicas",
            "11:24",
            "`messageExpression` must evaluate to a string, but its type is `dyn`; convert it with `string(…)`",
        ),
        (
            "  validations:",
            "  matchConditions: [{name: a b, expression: 'true'}]\n  validations:",
            "9:28",
            "`a b` is not a valid name: it must be like the key of a label",
        ),
        (
            "  validations:",
            "  matchConditions: [{name: a, expression: variables.x}]\n  validations:",
            "9:43",
            "`variables` is not defined (at 1:1 of the expression)",
        ),
        ("  validations:", "  variables: [{name: a-b, expression: 'true'}]\n  validations:", "9:22", "`a-b` is not a valid CEL identifier"),
        (
            "  validations:",
            "  auditAnnotations: [{key: k, valueExpression: object.spec.nope}]\n  validations:",
            "9:48",
            "`valueExpression` must evaluate to a string or null, but its type is `dyn`",
        ),
        ("apiVersions: [v1]", "apiVersions: []", "8:8", "`apiVersions` is required"),
        ('resources: ["deployments"]', 'resources: ["pods/*", "pods/exec"]', "8:100", "`pods/exec` must not be listed with `pods/*`"),
    ],
)
def test_the_rest_of_a_policy_is_checked(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    text = policy(f"{FIVE}    message: many\n")
    assert old in text
    ran = run(tmp_path, text.replace(old, new) + binding(), deployment())
    name = "Demo_1" if "Demo_1" in new else "demo"
    assert [each for each in ran.found if "rejects" in each] == [f"{place} error {name}: the API server rejects this policy: {message}"]
    assert not any("many" in each for each in ran.found)


@pytest.mark.parametrize(
    "more, actions, place, message",
    [
        ("", "Deny, Warn", "18:3", "`validationActions` must not contain both `Deny` and `Warn`"),
        ("", "Refuse", "18:23", "`Refuse` is not one of `Audit`, `Deny` and `Warn`"),
        ("  paramRef: {name: a}\n", "Deny", "19:3", "`parameterNotFoundAction` is required"),
    ],
)
def test_a_binding_is_checked(tmp_path: Path, more: str, actions: str, place: str, message: str) -> None:
    ran = run(tmp_path, policy(FIVE) + binding(more, actions=actions), deployment())
    assert ran.found == [f"{place} error demo: the API server rejects this binding: {message}"]


def test_a_refused_policy_is_found_in_a_run_over_its_own_file(tmp_path: Path) -> None:
    """Its finding names the file, whether that is a file of the run or not."""
    ran = run(
        tmp_path, policy("  - expression: object.spec.paused\n") + binding(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    )
    assert len(ran.found) == 1


@pytest.mark.parametrize(
    "expression, found",
    [
        ("object.spec.xyz == 'unknown'", f"4:1 error demo: expression 'object.spec.xyz == 'unknown'' {NO_KEY} xyz"),
        (
            "object.spec.replicas / 0 == 1",
            "5:13 error demo: expression 'object.spec.replicas / 0 == 1' resulted in error: division by zero",
        ),
        ("request.subResource == ''", f"3:1 error demo: expression 'request.subResource == ''' {NO_KEY} subResource"),
    ],
)
def test_an_error_of_an_expression_denies_the_object(tmp_path: Path, expression: str, found: str) -> None:
    text = policy(f'  - expression: "{expression}"\n') + binding()
    assert [each.partition(" ")[2] for each in run(tmp_path, text, deployment()).found] == [found.partition(" ")[2]]
    ignoring = run(tmp_path, text.replace("failurePolicy: Fail", "failurePolicy: Ignore"), deployment())
    assert ignoring.found == []
    assert len(ignoring.messages) == 1


def test_a_policy_in_json_keeps_its_characters(tmp_path: Path) -> None:
    """JSON writes a character beyond the first plane as two escapes, any other as one."""
    rule = '{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}'
    validation = r"""{"expression": "'h\u00e9\ud83d\ude00'.size() == 3"}"""
    spec = f'{{"matchConstraints": {{"resourceRules": [{rule}]}}, "validations": [{validation}]}}'
    kind = '"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "demo"}'
    assert run(tmp_path, f'{{{kind}, "spec": {spec}}}\n' + binding(), deployment()) == ([], [])
