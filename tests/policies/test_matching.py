"""What a policy is about: the conditions of match and exclude, with what namespaces and autoscalers say."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afflint.pipeline.map_step import Checker
from policing import messages_of, session_of

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {tier: front}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web, team: a}
    spec:
      nodeName: n1
      containers: [{name: web, image: nginx}]
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {stage: production}}
"""
AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 9}
"""
CLUSTER = """\
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: orders, namespace: shop}
spec:
  instances: 3
  affinity:
    tolerations: [{key: dedicated, operator: Exists}]
"""


def about(folder: Path, files: dict[str, str] | str, match: str = "{}", exclude: str = "{}", check: str = "no-pinning") -> bool:
    """Whether a policy with this match is about the one workload of some files, which it would refuse."""
    found = messages_of(folder, f"- {{name: ours, check: {check}, match: {match}, exclude: {exclude}}}\n", files)
    assert len(found) < 2
    return bool(found)


def candidates(folder: Path, text: str, exclude: str) -> list[str]:
    """The workloads of a file that may violate a policy, as far as the file alone shows."""
    session = session_of(folder, f"- {{name: ours, check: no-pinning, exclude: {exclude}}}\n")
    result = Checker(session.settings()).check("a.yaml", text.encode())
    titles = {pods.site: pods.title for pods in result.facts.pods}
    return [titles[each.site] for each in result.facts.policy_candidates]


@pytest.mark.parametrize(
    "match",
    [
        "{}",
        "{kinds: Deployment}",
        "{kinds: [StatefulSet, Deployment.apps]}",
        "{kinds: ['*.apps']}",
        "{namespaces: [sho*]}",
        "{names: [till, web]}",
        "{names: 'w?b'}",
        "{labels: {tier: front}}",
        "{labels: {team: [b, a]}}",
        "{labels: {team: '*'}}",
        "{labels: {matchLabels: {tier: front}, matchExpressions: [{key: gone, operator: DoesNotExist}]}}",
        "{min-replicas: 3}",
        "{kinds: Deployment, namespaces: shop, labels: {tier: front, app: web}, min-replicas: 2}",
        "{namespace-labels: {kubernetes.io/metadata.name: shop}}",
        "{files: [a.yaml]}",
        "{files: ['*.yaml']}",
    ],
)
def test_it_is_about_what_meets_all_conditions(tmp_path: Path, match: str) -> None:
    assert about(tmp_path, WEB, match)
    assert not about(tmp_path, WEB, "{}", match) or match == "{}"


@pytest.mark.parametrize(
    "match",
    [
        "{kinds: StatefulSet}",
        "{kinds: Deployment.extensions}",
        "{namespaces: [shop-*]}",
        "{names: [we]}",
        "{labels: {tier: back}}",
        "{labels: {gone: '*'}}",
        "{min-replicas: 4}",
        "{kinds: Deployment, namespaces: other}",
        "{namespace-labels: {kubernetes.io/metadata.name: other}}",
        "{namespace-labels: {stage: production}}",
        "{files: [b.yaml, deploy/]}",
    ],
)
def test_it_is_not_about_the_rest(tmp_path: Path, match: str) -> None:
    assert not about(tmp_path, WEB, match)
    assert about(tmp_path, WEB, "{}", match)


class TestNamespaces:
    def test_labels_of_a_namespace_are_those_of_its_manifest(self, tmp_path: Path) -> None:
        files = {"web.yaml": WEB, "namespace.yaml": NAMESPACE}
        assert about(tmp_path, files, "{namespace-labels: {stage: production}}")
        assert not about(tmp_path, files, "{namespace-labels: {stage: test}}")
        assert not about(tmp_path, files, exclude="{namespace-labels: {stage: production}}")

    def test_a_name_excludes_a_workload_without_a_look_at_other_manifests(self, tmp_path: Path) -> None:
        """The map step already leaves it out, so that neither caches nor other processes hold it."""
        assert candidates(tmp_path, WEB, "{}") == ["Deployment web"]
        assert candidates(tmp_path, WEB, "{namespace-labels: {kubernetes.io/metadata.name: shop}}") == []
        assert candidates(tmp_path, WEB, "{namespace-labels: {kubernetes.io/metadata.name: other}}") == ["Deployment web"]
        assert candidates(tmp_path, WEB, "{namespace-labels: {kubernetes.io/metadata.name: shop, stage: test}}") == ["Deployment web"]

    def test_a_namespace_that_two_manifests_describe_is_unknown(self, tmp_path: Path) -> None:
        files = {"web.yaml": WEB, "one.yaml": NAMESPACE, "other.yaml": NAMESPACE.replace("production", "test")}
        assert not about(tmp_path, files, "{namespace-labels: {stage: production}}")

    def test_what_names_no_namespace_is_in_none(self, tmp_path: Path) -> None:
        web = WEB.replace("namespace: shop, ", "")
        assert not about(tmp_path, web, "{namespaces: ['*']}")
        assert about(tmp_path, web, exclude="{namespaces: ['*']}")


class TestReplicas:
    def test_an_autoscaler_says_how_many_there_may_be(self, tmp_path: Path) -> None:
        web = WEB.replace("  replicas: 3\n", "")
        assert not about(tmp_path, web, "{min-replicas: 2}")
        assert about(tmp_path, {"web.yaml": web, "autoscaler.yaml": AUTOSCALER}, "{min-replicas: 9}")
        assert not about(tmp_path, {"web.yaml": web, "autoscaler.yaml": AUTOSCALER}, "{min-replicas: 10}")
        assert not about(tmp_path, {"web.yaml": web, "autoscaler.yaml": AUTOSCALER}, exclude="{min-replicas: 2}")

    def test_without_a_number_there_is_one(self, tmp_path: Path) -> None:
        assert about(tmp_path, WEB.replace("  replicas: 3\n", ""), "{min-replicas: 1}")

    def test_how_many_a_daemon_set_has_is_not_known(self, tmp_path: Path) -> None:
        daemon = WEB.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "")
        assert not about(tmp_path, daemon, "{min-replicas: 2}")


class TestCustomResources:
    """Workloads like any other, by their own kind."""

    CHECK = "allowed-tolerations, params: {tolerations: []}"

    @pytest.mark.parametrize(
        "match",
        ["{}", "{kinds: Cluster}", "{kinds: Cluster.postgresql.cnpg.io}", "{min-replicas: 3}", "{labels: {cnpg.io/cluster: orders}}"],
    )
    def test_they_are_matched(self, tmp_path: Path, match: str) -> None:
        assert about(tmp_path, CLUSTER, match, check=self.CHECK)

    @pytest.mark.parametrize("match", ["{kinds: Cluster.cluster.x-k8s.io}", "{min-replicas: 4}", "{labels: {cnpg.io/cluster: others}}"])
    def test_others_are_not(self, tmp_path: Path, match: str) -> None:
        assert not about(tmp_path, CLUSTER, match, check=self.CHECK)

    def test_the_place_is_where_the_kind_has_it(self, tmp_path: Path) -> None:
        policies = f"- {{name: ours, check: {self.CHECK}}}\n"
        assert messages_of(tmp_path, policies, CLUSTER) == [
            "7:20 Cluster orders tolerates the taint `dedicated`, which the policy does not allow"
        ]


CONDITIONS = ("kinds", "namespaces", "names", "min-replicas")
VALUES = {
    "kinds": (["Deployment"], ["StatefulSet"], ["D*", "Job"]),
    "namespaces": (["shop"], ["s*"], ["till"]),
    "names": (["web"], ["*b"], ["db"]),
    "min-replicas": (2, 3, 4),
}
MEETS = {"kinds": (True, False, True), "namespaces": (True, True, False), "names": (True, True, False), "min-replicas": (True, True, False)}
maps = st.dictionaries(st.sampled_from(CONDITIONS), st.integers(0, 2))


@settings(max_examples=60, deadline=None)
@given(match=maps, exclude=maps)
def test_match_and_exclude_agree_with_brute_force(
    tmp_path_factory: pytest.TempPathFactory, match: dict[str, int], exclude: dict[str, int]
) -> None:
    """All conditions of ``match`` hold, and not all of those of ``exclude``; an exclusion without conditions excludes nothing."""
    expected = all(MEETS[key][value] for key, value in match.items()) and not (
        exclude and all(MEETS[key][value] for key, value in exclude.items())
    )
    written = [json.dumps({key: VALUES[key][value] for key, value in each.items()}) for each in (match, exclude)]
    assert about(tmp_path_factory.mktemp("p"), WEB, *written) is expected
