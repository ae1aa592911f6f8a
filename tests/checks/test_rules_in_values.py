"""Rules about a single constraint in the values of charts that afflint does not know: they report the same as in a Deployment."""

import textwrap

import pytest

from linting import lint

NODE = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}"
POD = "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: %s, podAffinityTerm: %s}]}}"
TERM = "{topologyKey: zone, labelSelector: {matchLabels: {app: %s}}}"
HOSTS = "{maxSkew: %s, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}"
ANY = "{matchExpressions: [{key: a, operator: Exists}]}"
MASTER = "[{key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}]"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      containers: [{name: a, image: a}]
"""


def found(text: str, name: str) -> list[tuple[str, str, str]]:
    """Rule, message without the note on who rejects it, and the line of each finding."""
    every = lint({name: text})
    return [(each.rule, each.message.split(" (if ")[0], text.splitlines()[each.span.line - 1].strip()) for each in every]


def in_values(server: str) -> list[tuple[str, str, str]]:
    own = f"server:\n{textwrap.indent(server, '  ')}\n"
    results = [found(own, name) for name in ("values.yaml", "config/prod.yaml") if name == "values.yaml" or "nodeSelector" not in server]
    assert all(each == results[0] for each in results)
    return results[0]


@pytest.mark.parametrize(
    ("rule", "server"),
    [
        ("legacy-control-plane-toleration", f"tolerations: {MASTER}"),
        ("shadowed-toleration", "tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists, effect: NoSchedule}]"),
        (
            "redundant-term",
            NODE % f"{ANY}, {{matchExpressions: [{{key: a, operator: In, values: [b]}}]}}",
        ),
        ("empty-term", NODE % "{matchExpressions: []}"),
        ("unknown-node-label", "nodeSelector: {kubernetes.io/hostnam: a}"),
        ("unknown-node-label", NODE % "{matchExpressions: [{key: kubernetes.io/hostnam, operator: Exists}]}"),
    ],
)
def test_a_constraint_as_a_whole(rule: str, server: str) -> None:
    (finding,) = in_values(server)
    assert finding[0] == rule
    assert finding in found(DEPLOYMENT + textwrap.indent(server, "      ") + "\n", "deployment.yaml")


def test_two_spread_constraints_that_the_api_server_takes_for_one() -> None:
    (finding,) = in_values(f"topologySpreadConstraints: [{HOSTS % 1}, {HOSTS % 2}]")
    assert finding[0] == "duplicate-spread-constraint"


@pytest.mark.parametrize(
    "server",
    [
        f"tolerations: {MASTER[:-1]}, {{key: node-role.kubernetes.io/control-plane, operator: Exists}}]",
        "tolerations: [{key: a, operator: Exists, effect: NoExecute}, {key: a, operator: Exists, effect: NoSchedule}]",
        "nodeSelector: {example.com/hostnam: a}",
        "nodeSelector: {node-role.kubernetes.io/control-plane: ''}",
        "tolerations: [{operator: Exists}]",
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]",
    ],
)
def test_what_depends_on_the_rest_of_the_pod_is_silent(server: str) -> None:
    assert in_values(server) == []


class TestControlPlaneNodesWithTheOldToleration:
    LABEL = "nodeSelector: {node-role.kubernetes.io/control-plane: ''}\n"
    REQUIRES = ", and the pods require nodes with the label `node-role.kubernetes.io/control-plane`, so they stay Pending"

    @pytest.mark.parametrize(
        "nodes", [LABEL, NODE % "{matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]}" + "\n"]
    )
    def test_the_node_constraint_and_the_tolerations_contradict_each_other(self, nodes: str) -> None:
        text = f"{nodes}tolerations: {MASTER}\n"
        (finding,) = lint({"values.yaml": text})
        assert (finding.rule, finding.severity, finding.span.line) == ("legacy-control-plane-toleration", "warning", 2)
        assert finding.message.endswith(self.REQUIRES)
        (finding,) = lint(DEPLOYMENT + textwrap.indent(text, "      "))
        assert (finding.severity, finding.message.endswith(self.REQUIRES)) == ("warning", True)

    @pytest.mark.parametrize(
        "nodes",
        [
            "nodeSelector: {node-role.kubernetes.io/control-plane: 'true'}\n",
            "nodeSelector: {kubernetes.io/os: linux}\n",
            NODE % "{matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}" + "\n",
        ],
    )
    def test_other_nodes_leave_an_info(self, nodes: str) -> None:
        (finding,) = lint({"values.yaml": f"{nodes}tolerations: {MASTER}\n"})
        assert (finding.severity, self.REQUIRES in finding.message) == ("info", False)


class TestTypes:
    @pytest.mark.parametrize(
        ("server", "message"),
        [
            (
                "tolerations: [{key: a, operator: Equal, value: true}]",
                "the value of `value` must be a string, but unquoted `true` is a boolean",
            ),
            ("tolerations: [{key: a, operator: Equal, value: 1}]", "the value of `value` must be a string, but unquoted `1` is a number"),
            (
                "tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: '30'}]",
                '`tolerationSeconds` must be an integer, but `"30"` is a string',
            ),
            (
                NODE % "{matchExpressions: [{key: a, operator: In, values: [true]}]}",
                "a value in `values` must be a string, but unquoted `true` is a boolean",
            ),
            (POD % (1, TERM % "true"), "the value of `app` must be a string, but unquoted `true` is a boolean"),
            (POD % ("'1'", TERM % "x"), '`weight` must be an integer, but `"1"` is a string'),
            ("nodeSelector: {a/b: true}", "the value of `a/b` must be a string, but unquoted `true` is a boolean"),
            ("nodeSelector: 'map[disk:ssd]'", "`nodeSelector` must be a map, not a string"),
            ("tolerations: '[map[key:a operator:Exists]]'", "`tolerations` must be a list, not a string"),
            ("affinity: 'map[nodeAffinity:map[]]'", "`affinity` must be an object, not a string"),
        ],
    )
    def test_a_chart_writes_a_whole_constraint_as_it_is(self, server: str, message: str) -> None:
        alone = "map[" in server  # No constraint around the text shows that a file of any name has values.
        ((rule, reported, _),) = found(f"{server}\n", "values.yaml") if alone else in_values(server)
        assert (rule, reported) == ("wrong-type", message)

    @pytest.mark.parametrize(
        "server",
        [
            "affinity: []",
            "nodeSelector: []",
            "nodeSelector: {enabled: true}",
            "affinity: soft",
            "affinity: {podAntiAffinity: hard}",
            "tolerations: 'a=b:NoSchedule'",
        ],
    )
    def test_words_of_charts(self, server: str) -> None:
        assert found(f"server:\n  {server}\n", "values.yaml") == []

    @pytest.mark.parametrize("name", ["tolerations", "topologySpreadConstraints"])
    def test_most_charts_leave_out_an_empty_map(self, name: str) -> None:
        assert lint({"values.yaml": f"server:\n  replicas: 1\n  {name}: {{}}\n"}) == []


class TestAffinityInAPodSpec:
    """Prow and other tools have pods in files without a kind."""

    JOB = "jobs:\n- spec:\n    containers: [{name: a, image: a}]\n"

    def test_a_pod_spec_has_no_field_of_that_name(self) -> None:
        own = POD % (1, TERM % "x")
        inside = own.removeprefix("affinity: {").removesuffix("}")
        (finding,) = lint({"jobs.yaml": f"{self.JOB}    {inside}\n"})
        assert (finding.rule, finding.severity, finding.span.line) == ("misplaced-constraint", "warning", 4)
        assert finding.message.startswith("podAntiAffinity is set in the pod spec, which has no such field; it belongs in affinity")
        assert lint({"jobs.yaml": f"{self.JOB}    {own}\n"}) == []

    def test_a_constraint_next_to_the_spec(self) -> None:
        text = self.JOB.replace("- spec:", "- nodeSelector: {pool: a}\n  spec:")
        (finding,) = lint({"jobs.yaml": text})
        assert (finding.rule, finding.span.line) == ("misplaced-constraint", 2)
        assert finding.message.startswith("nodeSelector is next to the spec of a pod, not in it")
        assert lint({"jobs.yaml": self.JOB + "    nodeSelector: {pool: a}\n"}) == []
        assert lint({"jobs.yaml": text.replace("containers", "steps") + "  affinity: {}\n"}) == []

    def test_charts_and_operators_may_have_one(self) -> None:
        inside = (POD % (1, TERM % "x")).removeprefix("affinity: {").removesuffix("}")
        assert lint({"values.yaml": f"server:\n  replicas: 2\n  {inside}\n"}) == []
