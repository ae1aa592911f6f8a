"""Selectors, labels and counts of controllers, as the API server holds them against each other and against what controllers add."""

import json

import pytest
from ruamel.yaml import YAML
from workload_texts import pod_term, spread, workload

from edited import edited
from linting import lint, messages_of


def found(text: str) -> list[str]:
    """``line:column rule message`` for each error about admission, and for a CronJob whose Jobs are refused."""
    asked = [each for each in lint(text) if each.category == "admission" or each.rule == "jobs-refused"]
    return [f"{each.span.line}:{each.span.column} {each.rule} {each.message}" for each in asked]


class TestReplicationController:
    """Its selector is a plain map, and the labels of the template are the default."""

    TEXT = """\
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:
  selector: {app: db}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: web, image: "nginx:1.27"}]
"""

    def test_the_selector_matches(self) -> None:
        assert found(self.TEXT) == []
        assert found(self.TEXT.replace("  selector: {app: db}\n", "")) == []
        assert found(self.TEXT.replace("selector: {app: db}", "selector: {}")) == []

    def test_the_selector_does_not_match(self) -> None:
        text = self.TEXT.replace("labels: {app: db}", "labels: {app: web}")
        message = "the selector does not match the pod template: it requires `app: db`, but the value is `web`"
        assert found(text) == [f"5:19 selector-template-mismatch {message}"]
        (finding,) = [each for each in lint(text) if each.rule == "selector-template-mismatch"]
        assert finding.field == "spec.template.metadata.labels"

    @pytest.mark.parametrize("labels", ["{}", "null"])
    def test_neither_a_selector_nor_labels(self, labels: str) -> None:
        message = "this ReplicationController has no selector, and its template has no labels to derive one from"
        text = self.TEXT.replace("  selector: {app: db}\n", "").replace("{app: db}", labels)
        assert [each.split(maxsplit=1)[1] for each in found(text)] == [f"selector-missing {message}"]

    def test_what_gets_both_elsewhere(self) -> None:
        text = self.TEXT.replace("  selector: {app: db}\n", "").replace("    metadata: {labels: {app: db}}\n", "")
        assert found(text) == []


class TestHashOfTheTemplate:
    """A ReplicaSet gets the selector of its Deployment, with the hash added as a label, and must match its own template."""

    @staticmethod
    def deployment(selector: str, labels: str = "") -> str:
        text = workload("Deployment", "").replace("{matchLabels: {app: web}}", f"{{matchLabels: {{app: web}}, {selector}}}")
        return text.replace("tier: front", f"tier: front{labels}")

    @pytest.mark.parametrize(
        "expression, labels, asked",
        [
            ("{key: pod-template-hash, operator: DoesNotExist}", "", "pod-template-hash DoesNotExist"),
            ("{key: pod-template-hash, operator: In, values: [x]}", ", pod-template-hash: x", "pod-template-hash In [x]"),
        ],
    )
    def test_excluded(self, expression: str, labels: str, asked: str) -> None:
        message = (
            f"the selector requires `{asked}`, but every ReplicaSet of a Deployment has its own pod-template-hash"
            " (the object is accepted, but every ReplicaSet created from it is rejected)"
        )
        text = self.deployment(f"matchExpressions: [{expression}]", labels)
        assert found(text) == [f"5:59 selector-template-mismatch {message}"]
        assert found(text.replace("Deployment", "ReplicaSet")) == []

    @pytest.mark.parametrize(
        "selector, labels",
        [
            ("matchExpressions: [{key: pod-template-hash, operator: NotIn, values: [x]}]", ""),
            ("matchExpressions: [{key: pod-template-hash, operator: Exists}]", ", pod-template-hash: x"),
        ],
    )
    def test_what_its_own_hash_meets(self, selector: str, labels: str) -> None:
        assert found(self.deployment(selector, labels)) == []

    def test_a_value_that_is_still_to_be_filled_in(self) -> None:
        text = workload("Deployment", "").replace(
            "{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: In, values: [web]}]}"
        )
        assert found(text.replace("labels: {app: web", "labels: {app: '${APP}'")) == []
        assert [each.split()[1] for each in found(text.replace("labels: {app: web", "labels: {app: shop"))] == [
            "selector-template-mismatch"
        ]


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  template:
    metadata: {labels: {app: sums}}
    spec:
      restartPolicy: Never
      containers: [{name: sum, image: "busybox:1.37"}]
"""
CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: sums}
spec:
  schedule: "* * * * *"
  jobTemplate:
    metadata: {}
    spec:
      template:
        metadata: {labels: {app: sums}}
        spec:
          restartPolicy: Never
          containers: [{name: sum, image: "busybox:1.37"}]
"""
JOBS_REFUSED = " (the object is accepted, but every Job created from it is rejected)"


class TestJobsOfACronJob:
    @pytest.mark.parametrize(
        "metadata, expected",
        [
            ("{labels: {zone: a b}}", "7:31 invalid-label-value `a b` is not a valid label value: it contains a space"),
            ("{labels: {a/b/c: x}}", "7:25 invalid-label-key `a/b/c` is not a valid label key: it contains more than one `/`"),
            ("{annotations: {a/b/c: x}}", "7:30 invalid-annotation `a/b/c` is not a valid annotation key: it contains more than one `/`"),
        ],
    )
    def test_labels_and_annotations_of_the_job_template(self, metadata: str, expected: str) -> None:
        (finding,) = found(CRON_JOB.replace("metadata: {}", f"metadata: {metadata}"))
        assert finding.startswith(expected)
        assert finding.endswith(JOBS_REFUSED)

    @pytest.mark.parametrize("key", ["job-name", "controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"])
    def test_labels_of_jobs_on_its_pods(self, key: str) -> None:
        """The Jobs are named after the time as well, so not even its own name is right."""
        text = CRON_JOB.replace("{app: sums}", f"{{app: sums, {key}: sums}}")
        assert found(text) == [f"10:40 jobs-refused the label `{key}` is generated for every Job and must not be set{JOBS_REFUSED}"]
        (finding,) = lint(text)
        assert (finding.severity, finding.category) == ("error", "labels")

    def test_what_a_cluster_gave_out(self) -> None:
        text = CRON_JOB.replace("{app: sums}", "{app: sums, job-name: sums}").replace("name: sums}\n", "name: sums, uid: 0b9c}\n", 1)
        assert found(text) == []


@pytest.mark.parametrize("field", ["parallelism", "completions"])
def test_negative_numbers_of_pods(field: str) -> None:
    assert found(JOB.replace("spec:\n", f"spec:\n  {field}: -1\n", 1)) == [
        f"5:{len(field) + 5} invalid-replicas {field} cannot be negative"
    ]
    text = CRON_JOB.replace("    spec:\n", f"    spec:\n      {field}: -1\n", 1)
    assert found(text) == [f"9:{len(field) + 9} invalid-replicas {field} cannot be negative"]
    assert found(text.replace("-1", "0")) == []


class TestIndexedJobs:
    """Their pods have the index as a label, so that the API server merges it into selectors."""

    KEY = "batch.kubernetes.io/job-completion-index"
    SELECTING = f"labelSelector: {{matchLabels: {{{KEY}: x}}}}\nmatchLabelKeys: [{KEY}]"
    CONSTRAINTS = (
        pod_term(f"topologyKey: zone\n{SELECTING}"),
        spread(f"topologyKey: zone\nmaxSkew: 1\nwhenUnsatisfiable: DoNotSchedule\n{SELECTING}"),
    )

    @pytest.mark.parametrize("constraint", CONSTRAINTS)
    @pytest.mark.parametrize("text, indent", [(JOB, 6), (CRON_JOB, 10)])
    def test_the_index_in_the_selector_and_in_match_label_keys(self, text: str, indent: int, constraint: str) -> None:
        text += "".join(f"{' ' * indent}{line}\n" for line in constraint.splitlines())
        assert found(text) == []
        indexed = (
            text.replace("      template:", "      completionMode: Indexed\n      completions: 3\n      template:")
            if indent == 10
            else text
        )
        indexed = indexed.replace("spec:\n  template:", "spec:\n  completionMode: Indexed\n  template:")
        (finding,) = found(indexed)
        assert "label-keys-conflict" in finding
        assert finding.endswith("(the object is accepted, but every pod created from it is rejected)")


def test_a_pod_template_is_stored_and_whatever_is_made_of_it_is_refused() -> None:
    """Nothing in Kubernetes makes pods of one by itself, but to make pods of is all that it is for."""
    text = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: web}
template:
  metadata: {labels: {app: web}}
  spec:
    containers: [{name: web, image: "nginx:1.27"}]
    topologySpreadConstraints:
      - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [app]}
"""
    (finding,) = found(text)
    assert finding.startswith("9:134 label-keys-conflict `app` is in both matchLabelKeys and the labelSelector")
    assert finding.endswith("(the object is accepted, but every pod created from it is rejected)")


class TestMissingApiVersion:
    DEPLOYMENT = workload("Deployment", "")

    def test_a_workload_without_api_version_is_read(self) -> None:
        text = self.DEPLOYMENT.replace("apiVersion: apps/v1\n", "").replace("app: web}}", "app: db}}")
        assert [each.partition(" ")[2].partition(" ")[0] for each in found(text)] == ["missing-api-version", "selector-template-mismatch"]
        assert found(text)[0] == "1:1 missing-api-version this Deployment has no apiVersion, so the API server rejects it"

    def test_the_fix_writes_it_above_the_kind(self) -> None:
        text = self.DEPLOYMENT.replace("apiVersion: apps/v1\n", "")
        (finding,) = lint(text)
        assert finding.fix is not None
        assert edited(text, finding.fix.edits) == self.DEPLOYMENT

    @pytest.mark.parametrize(
        "kind, version",
        [("Deployment", "apps/v1"), ("Pod", "v1"), ("StatefulSet", "apps/v1"), ("VirtualMachine", "kubevirt.io/v1")],
    )
    def test_the_help_names_the_version_that_is_served(self, kind: str, version: str) -> None:
        text = workload(kind, "").replace(f"apiVersion: {version}\n", "")
        assert [(each.rule, each.help) for each in lint(text)] == [("missing-api-version", f"Add `apiVersion: {version}`.")]

    def test_a_workload_without_kind(self) -> None:
        (finding,) = lint(self.DEPLOYMENT.replace("kind: Deployment\n", ""))
        assert (finding.rule, finding.span.line, finding.span.column) == ("missing-api-version", 1, 1)
        assert finding.message == "this object has the apiVersion `apps/v1` but no kind, so the API server rejects it"
        assert finding.help == "Add `kind: Deployment`, or the kind that is meant."

    def test_the_kind_is_guessed_by_the_fields(self) -> None:
        text = workload("StatefulSet", "").replace("kind: StatefulSet\n", "").replace("spec:\n", "spec:\n  serviceName: web\n", 1)
        assert [each.help for each in lint(text)] == ["Add `kind: StatefulSet`, or the kind that is meant."]

    def test_a_mistake_elsewhere_does_not_hide_it(self) -> None:
        text = workload("StatefulSet", "nodeSelector: {ssd: true}").replace("kind: StatefulSet\n", "")
        text = text.replace("spec:\n", "spec:\n  serviceName: web\n", 1)
        assert [(each.rule, each.help.split(",")[0]) for each in lint(text)] == [
            ("missing-api-version", "Add `kind: StatefulSet`"),
            ("wrong-type", 'Quote it: `"true"`.'),
        ]

    @pytest.mark.parametrize(("kind", "version"), [("Deployment", "apps/v1"), ("VirtualMachine", "kubevirt.io/v1")])
    def test_neither_apiversion_nor_kind(self, kind: str, version: str) -> None:
        text = workload(kind, "").replace(f"kind: {kind}\n", "").replace(f"apiVersion: {version}\n", "")
        text = text if kind == "Deployment" or "runStrategy" in text else text.replace("spec:\n", "spec:\n  runStrategy: Always\n", 1)
        as_json = json.dumps(YAML(typ="safe").load(text))
        for each, column in ((text, 1), (as_json, 2)):
            (finding,) = lint(each)
            assert (finding.rule, finding.span.line, finding.span.column) == ("missing-api-version", 1, column)
            assert finding.message == f"this looks like a {kind}, but it has neither apiVersion nor kind"
            assert finding.help == f"Add `apiVersion: {version}` and `kind: {kind}`, or those of another kind."

    def test_an_object_that_a_go_program_wrote_without_its_type_is_expected_output(self) -> None:
        text = self.DEPLOYMENT + "status: {}\n"
        assert lint(text.replace("kind: Deployment\n", "").replace("apiVersion: apps/v1\n", "")) == []
        assert [each.rule for each in lint(text.replace("apiVersion: apps/v1\n", ""))] == ["missing-api-version"]
        assert [each.rule for each in lint(text.replace("kind: Deployment\n", ""))] == ["missing-api-version"]

    @pytest.mark.parametrize(
        "text",
        [
            "kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeSelector: {a: b}}}}\n",
            "kind: Deployment\nspec: {template: {spec: {containers: [{name: a, image: b}]}}}\n",
            "kind: Pod\nimage: busybox\n",
            "apiVersion: v1\nmetadata: {name: web}\nspec:\n  containers: [{name: a}]\n",
            "apiVersion: example.com/v1\nmetadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n",
            "metadata: {name: web}\nspec:\n  containers: [{name: a, image: b}]\n",
            "kind: Node\nmetadata: {name: web}\n",
            "metadata: {name: web}\nspec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}\n",
            "metadata: {name: web}\nspec: {template: {spec: {domain: {}}}}\n",
            "metadata: {name: web}\ninfo: 1\nspec: {runStrategy: Always, template: {spec: {domain: {}}}}\n",
            "metadata: {}\nspec: {runStrategy: Always, template: {spec: {domain: {}}}}\n",
        ],
        ids=[
            "a patch",
            "no name",
            "something else",
            "no image",
            "another group",
            "neither",
            "no workload",
            "no selector",
            "no strategy",
            "more beside",
            "no name of a machine",
        ],
    )
    def test_fragments_and_what_is_not_ours(self, text: str) -> None:
        assert lint(text) == []


INDEXED = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sums}
spec:
  completionMode: Indexed
  MORE
  template:
    metadata: {labels: {app: sums}}
    spec: {restartPolicy: Never, containers: [{name: sum, image: "busybox:1.37"}]}
"""
INDEXED_IN_CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: sums}
spec:
  schedule: "5 * * * *"
  jobTemplate:
    spec:
      completionMode: Indexed
      MORE
      template:
        spec: {restartPolicy: Never, containers: [{name: sum, image: "busybox:1.37"}]}
"""


@pytest.mark.parametrize(
    ("text", "more", "place"),
    [
        (INDEXED, "parallelism: 2", "5:19"),
        (INDEXED_IN_CRON_JOB, "parallelism: 2", "8:23"),
        (INDEXED_IN_CRON_JOB, "backoffLimit: 2", "8:23"),
        (INDEXED, "backoffLimit: 2", None),  # Both are filled in as 1.
        (INDEXED, "completions: 2", None),
        (INDEXED_IN_CRON_JOB, "completions: 2", None),
    ],
)
def test_an_indexed_job_says_how_many_pods_it_has(text: str, more: str, place: str | None) -> None:
    expected = [f"{place} invalid-replicas `completionMode: Indexed` requires completions, which is not set"] if place else []
    assert found(text.replace("MORE", more)) == expected


BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {%s, selector: {matchLabels: {app: web}}}\n"


@pytest.mark.parametrize(
    "fields, message",
    [
        ("minAvailable: 1, maxUnavailable: 1", "4:25 minAvailable and maxUnavailable must not both be set"),
        ("minAvailable: -1", "4:22 minAvailable cannot be negative"),
        ("maxUnavailable: 101%", "4:24 maxUnavailable cannot be more than 100%"),
        ("maxUnavailable: '1'", "4:24 maxUnavailable is the string `1`, but must be a number of pods without quotes, or a percentage"),
        ("maxUnavailable: 1.5", "4:24 maxUnavailable must be a number of pods or a percentage"),
        (
            "minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAlow",
            "4:53 `AlwaysAlow` is not a valid value of unhealthyPodEvictionPolicy; did you mean `AlwaysAllow`?",
        ),
    ],
)
def test_a_budget_that_the_api_server_rejects(fields: str, message: str) -> None:
    assert messages_of(BUDGET % fields, "invalid-scheduling-field") == [message]


@pytest.mark.parametrize(
    "fields",
    [
        "minAvailable: 0",
        "minAvailable: 1, maxUnavailable: null",
        "maxUnavailable: 100%",
        "maxUnavailable: 050%",
        "maxUnavailable: 1.0",
        "maxUnavailable: '${MAX}'",
        "unhealthyPodEvictionPolicy: IfHealthyBudget",
    ],
)
def test_a_valid_budget(fields: str) -> None:
    assert messages_of(BUDGET % fields, "invalid-scheduling-field") == []
