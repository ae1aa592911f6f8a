"""`afflint test` runs the tests that Kyverno and Gatekeeper have for policies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from afflint.cli.click_app import cli
from extras import needs_cel
from policies.test_foreign_policies import CLASSES, TEMPLATE, classic, constraint, exception, getting, pod, validating

pytestmark = needs_cel

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command over files by their names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def run(files: dict[str, str], *arguments: str) -> tuple[int, str]:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        result = CliRunner().invoke(cli, ["test", *(arguments or (".",))], standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result.return_value, result.output

    return run


def kyverno_test(results: str, more: str = "") -> str:
    return f"""\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {{name: team}}
policies: [../policy.yaml]
resources: [resource.yaml]
{more}results:
{results}"""


PODS = pod() + "---\n" + pod(name="api", labels="team: a")
EXPECTED = """\
- {policy: team, kind: Pod, resources: [web], result: fail}
- {policy: team, kind: Pod, resources: [shop/api], result: pass}
"""


def test_a_test_of_kyverno_says_what_images_contain(tested: Run) -> None:
    expression = "object.spec.containers.all(each, image.GetMetadata(each.image).config.os == 'linux')"
    policy = validating(f'  - expression: "{expression}"\n').replace("'team' in variables.labels", "true")
    images = "[{image: web, config: {os: windows}}, {image: api, config: {os: linux}}]"
    context = f"apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\nmetadata: {{name: context}}\nspec: {{images: {images}}}\n"
    pods = "---\n".join(pod(f"  containers: [{{name: a, image: {name}}}]\n", name=name) for name in ("web", "api", "other"))
    files = {"policy.yaml": policy, "t/resource.yaml": pods, "t/context.yaml": context}
    results = EXPECTED.replace("web]", "web], rule: team") + "- {policy: team, kind: Pod, resources: [other], result: pass}\n"
    code, messages = tested({**files, "t/kyverno-test.yaml": kyverno_test(results, "context: context.yaml\n")})
    assert (code, messages.splitlines()) == (
        0,
        [
            "./t/kyverno-test.yaml:10:4: policy `team` is not evaluated for Pod other: `image.GetMetadata` needs a network",
            "3 verdicts of tests of Kyverno and Gatekeeper, 1 not evaluated",
        ],
    )


def test_a_test_of_kyverno_runs_with_its_own_policies_and_objects(tested: Run) -> None:
    files = {"policy.yaml": validating(), ".kyverno-test/resource.yaml": PODS, ".kyverno-test/kyverno-test.yaml": kyverno_test(EXPECTED)}
    assert tested(files) == (0, "2 verdicts of tests of Kyverno and Gatekeeper, all as expected\n")


def test_a_verdict_that_is_not_as_expected_is_reported_at_its_line(tested: Run) -> None:
    wrong = EXPECTED.replace("fail", "pass")
    code, text = tested({"policy.yaml": validating(), "t/resource.yaml": PODS, "t/kyverno-test.yaml": kyverno_test(wrong)})
    assert code == 1
    assert text.splitlines() == [
        "./t/kyverno-test.yaml:7:4: policy `team`, Pod web: expected pass, but got fail: no team among 1",
        "2 verdicts of tests of Kyverno and Gatekeeper, 1 not as expected",
    ]


def test_rules_and_the_pods_of_controllers_are_tested(tested: Run) -> None:
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {}, spec: {containers: []}}}\n"
    results = "- {policy: team, rule: has-team, kind: Deployment, resources: [web], result: fail}\n"
    files = {"policy.yaml": classic(), "t/resource.yaml": deployment, "t/kyverno-test.yaml": kyverno_test(results)}
    assert tested(files)[0] == 0
    without = classic().replace("{name: team}", "{name: team, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}")
    assert tested({"policy.yaml": without})[0] == 1


def test_exceptions_and_the_objects_of_the_cluster_are_used(tested: Run) -> None:
    exempt = EXPECTED.replace("fail", "skip")
    files = {
        "policy.yaml": validating(),
        "t/resource.yaml": PODS,
        "t/exception.yaml": exception(),
        "t/kyverno-test.yaml": kyverno_test(exempt, "exceptions: [exception.yaml]\n"),
    }
    assert tested(files)[0] == 0
    context = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\nmetadata: {name: context}\nspec:\n  resources:\n  - "
    context += CLASSES.removeprefix("---\n").replace("\n", "\n    ").rstrip() + "\n"
    results = "- {policy: team, kind: Pod, resources: [web, api], result: fail}\n"
    test = kyverno_test(results, "context: context.yaml\n")
    assert tested({"policy.yaml": getting(), "t/context.yaml": context, "t/kyverno-test.yaml": test})[0] == 0


@pytest.mark.parametrize("operation, expected", [("CREATE", "fail"), ("UPDATE", "pass")])
def test_values_may_set_the_operation(tested: Run, operation: str, expected: str) -> None:
    policy = (
        validating().replace("operations: [CREATE]", "operations: [CREATE, UPDATE]").replace("'team' in", "oldObject != null || 'team' in")
    )
    values = f"values: {{globalValues: {{request.operation: {operation}}}}}\n"
    results = f"- {{policy: team, kind: Pod, resources: [web], result: {expected}}}\n"
    assert tested({"policy.yaml": policy, "t/resource.yaml": PODS, "t/kyverno-test.yaml": kyverno_test(results, values)})[0] == 0


def test_what_is_not_evaluated_is_named_and_not_counted_as_expected(tested: Run) -> None:
    expression = "http.Get('https://example.com').ok == true"
    policy = validating(f'  - expression: "{expression}"\n')
    code, text = tested({"policy.yaml": policy, "t/resource.yaml": PODS, "t/kyverno-test.yaml": kyverno_test(EXPECTED)})
    assert code == 0
    assert text.splitlines() == [
        "./t/kyverno-test.yaml:8:4: policy `team` is not evaluated for Pod api: `http` needs a network",
        "2 verdicts of tests of Kyverno and Gatekeeper, 1 not evaluated",
    ]


def test_files_outside_the_repository_are_not_read(tested: Run, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.yaml").write_text(PODS, encoding="utf-8")
    test = kyverno_test(EXPECTED).replace("resource.yaml", "../../secret.yaml").replace("team, kind", "other, kind")
    _, text = tested({"policy.yaml": validating(), "t/kyverno-test.yaml": test, "wrong-type.good.yaml": PODS})
    assert "Pod" not in text


SUITE = """\
kind: Suite
apiVersion: test.gatekeeper.sh/v1alpha1
metadata: {name: labels}
tests:
- name: team
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - name: without
    object: without.yaml
    assertions: [{violations: yes, message: "^labels team"}, {violations: 1}, {violations: no, message: other}]
  - name: with
    object: with.yaml
    assertions: [{violations: no}, {violations: 0}]
"""


def suite(text: str = SUITE) -> dict[str, str]:
    objects = {"without.yaml": pod(), "with.yaml": pod(labels="team: a")}
    return {"suite.yaml": text, "template.yaml": TEMPLATE, "constraint.yaml": constraint(), **objects}


def test_a_suite_of_gator_runs(tested: Run) -> None:
    assert tested(suite()) == (0, "5 verdicts of tests of Kyverno and Gatekeeper, all as expected\n")


@pytest.mark.parametrize(
    "old, new",
    [
        ("violations: 1", "violations: 2"),
        ("violations: 0", "violations: yes"),
        ("^labels team", "^labels owner"),
        ("message: other", "message: team"),
    ],
)
def test_assertions_that_are_not_met_are_reported(tested: Run, old: str, new: str) -> None:
    code, text = tested(suite(SUITE.replace(old, new)))
    assert code == 1
    assert text.count("expected ") == 1


@pytest.mark.parametrize(("pattern", "reason"), [("(a+)+$", "may take long"), ("(", "is invalid"), ("(l|a)*$", "may take long")])
def test_a_message_that_cannot_be_matched_is_not_judged(tested: Run, pattern: str, reason: str) -> None:
    code, text = tested(suite(SUITE.replace("^labels team", pattern)))
    assert code == 0
    assert reason in text


def test_an_admission_review_has_its_own_operation(tested: Run) -> None:
    review = """\
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  operation: DELETE
  oldObject: {apiVersion: v1, kind: Pod, metadata: {name: web}}
"""
    template = TEMPLATE.replace("variables.params.labels.all(each, each in variables.own)", "request.operation == 'DELETE'")
    deleted = {**suite(), "without.yaml": review, "template.yaml": template}
    _, text = tested(deleted)
    assert "team, without: expected fail, but got pass" in text
    assert "team, with: expected pass, but got fail" in text


def test_very_long_kinds_and_patterns_of_kinds_are_judged(tested: Run) -> None:
    long = classic().replace("kinds: [Pod]", f"kinds: ['{'?' * 10_000}*']")
    kinds = pod() + "---\n" + pod().replace("kind: Pod", "kind: " + "P" * 10_000)
    test = kyverno_test("- {policy: team, rule: labels, kind: Pod, resources: [web], result: fail}\n")
    assert tested({"policy.yaml": long, "t/kyverno-test.yaml": test, "t/resource.yaml": kinds})[0] in (0, 1)


def test_the_verdicts_are_data_in_json(tested: Run) -> None:
    _, text = tested(suite(), "--format", "json", ".")
    report = json.loads(text)
    assert report["verdicts"][0] == {
        "file": "./suite.yaml",
        "line": 9,
        "column": 5,
        "policy": "team",
        "subject": "team, without",
        "expected": "fail",
        "given": "fail",
        "reason": "labels team are required",
    }
