"""Policies that are expressions in CEL: what they say of an object, where, and what is wrong with one."""

from pathlib import Path

import pytest

from afflint.config import ConfigError
from deployment_text import deployment
from extras import needs_cel
from policing import configured

pytestmark = needs_cel

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {environment: prod}}\n---\n"
DEPLOYMENT = deployment(
    "nodeSelector: {disk: hdd}", 'containers: [{name: web, image: "web:1"}]', namespace="shop", replicas=6, metadata="labels: {app: web}"
)


def run(folder: Path, params: str, manifests: str = DEPLOYMENT, *, more: str = "") -> tuple[list[str], list[str]]:
    """What a policy with these parameters finds, ``5:13 message``, and what it does not evaluate."""
    (folder / "web.yaml").write_text(manifests, encoding="utf-8")
    session = configured(folder, f"select: [policy]\npolicies:\n- name: own\n  check: expression\n{more}  params:\n{params}")
    outcome = session.check(session.sources([str(folder / "web.yaml")]))
    found = [f"{each.span.line}:{each.span.column} {each.message}" for each in outcome.findings]
    return found, [line.replace(f"{folder}/", "") for line in outcome.unevaluated]


DISK = """\
    variables:
    - {name: pod, expression: object.spec.template.spec}
    - {name: disk, expression: variables.pod.nodeSelector.disk}
    expression: variables.disk == 'ssd'
    message: no fast disk
"""
FIVE = "    expression: object.spec.replicas <= 5\n"


@pytest.mark.parametrize(
    "params, found",
    [
        (FIVE, ["5:13 Deployment web does not meet `object.spec.replicas <= 5`"]),
        (FIVE.replace("5", "6"), []),
        (FIVE + "    message: at most five\n", ["5:13 at most five"]),
        (FIVE + "    message: plain\n    messageExpression: \"object.metadata.name + ' is large'\"\n", ["5:13 web is large"]),
        (FIVE.replace("5", "params.most") + "    params: {most: 3}\n    message: many\n", ["5:13 many"]),
        (FIVE + "    at: metadata.labels[app]\n    message: many\n", ["3:54 many"]),
        (FIVE + "    at: spec.template.spec.containers[0].image\n    message: many\n", ["11:39 many"]),
        ("    expression: has(object.spec.strategy.type)\n", []),
        ("    expression: request.operation == 'CREATE' && request.resource.resource == 'deployments' && oldObject == null\n", []),
        (DISK, ["10:28 no fast disk"]),
    ],
)
def test_an_expression_that_does_not_hold_is_a_finding_where_it_looks(tmp_path: Path, params: str, found: list[str]) -> None:
    assert run(tmp_path, params) == (found, [])


KEPT = "object.spec.revisionHistoryLimit"


@pytest.mark.parametrize(
    "params",
    [
        f"    expression: object.metadata.name == 'api'\n    messageExpression: \"'revisions: ' + string({KEPT})\"\n",
        f"    variables: [{{name: kept, expression: {KEPT} == 10}}]\n    expression: '!variables.kept'\n    message: 'revisions: 10'\n",
    ],
)
def test_the_defaults_of_the_spec_are_known_wherever_they_are_read(tmp_path: Path, params: str) -> None:
    found, unevaluated = run(tmp_path, params)
    assert ([each.partition(" ")[2] for each in found], unevaluated) == (["revisions: 10"], [])


def test_the_namespace_is_looked_at_where_it_is_among_the_manifests(tmp_path: Path) -> None:
    params = "    expression: namespaceObject.metadata.labels.environment != 'prod'\n    message: in production\n"
    assert run(tmp_path, params, NAMESPACE + DEPLOYMENT) == (["7:34 in production"], [])
    reason = "policy `own`: it depends on the namespace `shop`, whose manifest is not among the files; "
    reason += "the policy is not evaluated for Deployment web in web.yaml"
    assert run(tmp_path, params) == ([], [reason])


def test_an_expression_that_errs_is_reported_once_and_is_not_a_finding(tmp_path: Path) -> None:
    two = DEPLOYMENT + "---\n" + DEPLOYMENT.replace("name: web, namespace", "name: other, namespace")
    reason = "`missing` does not exist (at 1:13 of the expression); the policy is not evaluated for Deployment web in web.yaml and 1 more"
    assert run(tmp_path, "    expression: object.spec.missing == 1\n", two) == ([], [f"policy `own`: {reason}"])


def test_what_it_is_about_is_reported_as_for_any_policy(tmp_path: Path) -> None:
    assert run(tmp_path, FIVE, more="  match: {kinds: StatefulSet}\n") == ([], [])
    found, _ = run(tmp_path, FIVE, more="  match: {kinds: Deployment}\n  message: '{object}: {message}'\n")
    assert found == ["5:13 Deployment web: Deployment web does not meet `object.spec.replicas <= 5`"]


def test_what_is_judged_as_a_whole_is_judged_once(tmp_path: Path) -> None:
    cluster = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: web}
spec:
  replicatedJobs:
  - {name: a, template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}
  - {name: b, template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}
"""
    found, _ = run(tmp_path, "    expression: size(object.spec.replicatedJobs) == 1\n    message: several\n", cluster)
    assert len(found) <= 1


@pytest.mark.parametrize(
    "params, mistake",
    [
        ("    expression: object.spec.replica <= parms.most\n", "6:17: `parms` is not defined; did you mean `params`?"),
        ("    expression: authorizer.allowed()\n", "6:17: `authorizer` needs a cluster"),
        (FIVE + "    messageExpression: object.\n", "7:24: syntax error: something is missing after `.` (at 1:8 of the expression)"),
        (FIVE + "    at: spec..replicas\n", "7:9: not a valid path: write it like `spec.template.spec.nodeSelector`"),
        (FIVE + "    variables: [{name: a, expression: variables.b}]\n", "7:39: `variables.b` is not defined before this variable"),
        ("    message: x\n", "6:5: missing key `expression` in `policies[0].params`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_expression_is_reported_at_its_place(tmp_path: Path, params: str, mistake: str) -> None:
    with pytest.raises(ConfigError) as raised:
        run(tmp_path, params)
    messages = str(raised.value).replace(f"{tmp_path}/.afflint.yaml:", "")
    assert messages.startswith(mistake)


def test_without_the_library_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from afflint.admission import cel
    from afflint.findings.errors import UserError

    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    for each in (cel._library, cel._environment, cel.compiled):
        each.cache_clear()
    with pytest.raises(UserError, match=r"install `afflint\[cel\]`") as raised:
        run(tmp_path, FIVE)
    assert not isinstance(raised.value, ConfigError)
    cel._library.cache_clear()
