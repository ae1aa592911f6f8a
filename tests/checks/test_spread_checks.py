"""Spread constraints that count the wrong pods: each check at its borders."""

import pytest

from afflint.checks.match import Target
from afflint.kube.node_labels import ZONE
from linting import lint, messages_of, places


def deployment(template_labels: str, spread: str, *, replicas: str = "replicas: 2", image: str = "image: nginx", name: str = "web") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}, {template_labels}}}}}
    spec:
      containers: [{{name: c, {image}}}]
      topologySpreadConstraints:
        - {spread}
"""


def hard(selector: str, skew: int = 1) -> str:
    return f"{{maxSkew: {skew}, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {selector}}}"


class TestSpreadMissesItself:
    def test_a_key_that_is_nearly_there_is_named(self) -> None:
        text = deployment("tier: front", hard("{matchLabels: {teir: front}}"))
        (message,) = messages_of(text, "spread-misses-itself")
        assert message == (
            "12:107 this spread constraint does not count its own pods:"
            " it selects `teir In [front]`, but they have no label `teir`; did you mean `tier`?"
        )

    def test_the_value_under_another_key_is_named(self) -> None:
        (message,) = messages_of(
            deployment("tier: front", hard("{matchLabels: {app.kubernetes.io/component: front}}")), "spread-misses-itself"
        )
        assert message.endswith("but they have no label `app.kubernetes.io/component`; they have `tier: front`")

    @pytest.mark.parametrize("value", ["CHANGEME", "REPLACE_ME", "TODO", "'${TIER}'", "$tier", "'@tier@'", "'[[ tier ]]'"])
    def test_a_placeholder_may_become_the_value_of_the_pods(self, value: str) -> None:
        assert lint(deployment("tier: front", hard(f"{{matchLabels: {{tier: {value}}}}}"))) == []

    def test_a_label_of_the_deployment_alone_is_reported_once_as_missing_from_the_template(self) -> None:
        text = deployment("tier: front", hard("{matchLabels: {track: stable}}"))
        text = text.replace("{name: web}", "{name: web, labels: {track: stable}}", 1)
        assert places(lint(text)) == ["a.yaml:3:32 warning label-not-on-template"]

    def test_a_label_that_is_excluded_and_there(self) -> None:
        text = deployment("tier: front", hard("{matchExpressions: [{key: tier, operator: NotIn, values: [front]}]}"))
        assert messages_of(text, "spread-misses-itself")[0].endswith("it selects `tier NotIn [front]`, but they have `tier: front`")

    def test_a_patch_is_held_to_the_labels_it_gives(self) -> None:
        absent = deployment("tier: front", hard("{matchLabels: {track: stable}}"), image="resources: {}")
        assert lint(absent) == []
        other = deployment("track: canary", hard("{matchLabels: {track: stable}}"), image="resources: {}")
        assert places(lint(other)) == ["a.yaml:12:114 warning spread-misses-itself"]

    def test_label_keys_that_the_pods_lack_are_ignored_as_the_server_does(self) -> None:
        text = deployment("tier: front", hard("{matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash, tier]"))
        assert lint(text) == []


class TestSpreadLostInRollout:
    RULE = "spread-lost-in-rollout"
    OWN = "{matchLabels: {app: web}}"

    def test_the_message_says_how_many_domains_are_enough(self) -> None:
        counts = "this spread constraint also counts the pods of the previous revision"
        two = deployment("a: b", hard(self.OWN))
        assert messages_of(two, self.RULE) == [
            f"12:12 with fewer than 3 domains of `zone`, a rollout may leave both replicas in one domain: {counts}"
        ]
        three = deployment("a: b", hard(self.OWN, 2), replicas="replicas: 3").replace("topologyKey: zone", f"topologyKey: {ZONE}")
        uneven = "a rollout may leave the 3 replicas spread over zones less evenly than required"
        assert messages_of(three, self.RULE) == [f"12:12 with fewer than 3 zones, {uneven}: {counts}"]
        assert messages_of(three.replace("maxSkew: 2", "maxSkew: 1"), self.RULE) == [f"12:12 with fewer than 4 zones, {uneven}: {counts}"]

    def test_a_number_of_domains_that_no_cluster_has_is_left_out(self) -> None:
        (found,) = messages_of(deployment("a: b", hard(self.OWN), replicas="replicas: 50"), self.RULE)
        assert found.startswith("12:12 a rollout may leave the 50 replicas spread over domains of `zone` less evenly than required: ")

    def test_clusters_usually_have_enough_nodes(self) -> None:
        text = deployment("a: b", hard(self.OWN)).replace("topologyKey: zone", "topologyKey: kubernetes.io/hostname")
        assert messages_of(text, self.RULE) == []

    def test_the_label_of_the_revision_is_that_of_the_kind(self) -> None:
        rollout = deployment("a: b", hard(self.OWN)).replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")
        (found,) = [each for each in lint(rollout) if each.rule == self.RULE]
        assert found.fix is not None
        assert not found.fix.safe
        assert "matchLabelKeys: [rollouts-pod-template-hash]" in found.fix.edits[0].text

    @pytest.mark.parametrize(
        "strategy", ["{type: Recreate}", "{rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "{rollingUpdate: {maxSurge: x}}"]
    )
    def test_without_a_surge_pod_it_is_silent(self, strategy: str) -> None:
        text = deployment("a: b", hard(self.OWN)).replace("  selector:", f"  strategy: {strategy}\n  selector:", 1)
        assert messages_of(text, self.RULE) == []

    @pytest.mark.parametrize("replicas", ["replicas: 1", "paused: false", "replicas: 0"])
    def test_one_replica_cannot_lose_a_domain(self, replicas: str) -> None:
        assert messages_of(deployment("a: b", hard(self.OWN), replicas=replicas), self.RULE) == []

    def test_a_preference_or_a_large_skew_guarantees_nothing(self) -> None:
        assert messages_of(deployment("a: b", hard(self.OWN).replace("DoNotSchedule", "ScheduleAnyway")), self.RULE) == []
        assert messages_of(deployment("a: b", hard(self.OWN, 2)), self.RULE) == []

    @pytest.mark.parametrize(("least", "silent"), [(2, False), (3, True)])
    def test_enough_domains_for_the_surge_pod_separate_all_pods(self, least: int, *, silent: bool) -> None:
        text = deployment("a: b", hard(f"{self.OWN}, minDomains: {least}"))
        assert (messages_of(text, self.RULE) == []) is silent

    @pytest.mark.parametrize(
        ("key", "silent"),
        [("topology.kubernetes.io/zone", True), ("topology.kubernetes.io/region", True), ("kubernetes.io/hostname", False)],
    )
    def test_required_anti_affinity_over_the_key_or_a_wider_one_separates_all_pods(self, key: str, *, silent: bool) -> None:
        text = deployment("a: b", hard(self.OWN).replace("topologyKey: zone", "topologyKey: topology.kubernetes.io/zone"))
        term = f"{{topologyKey: {key}, labelSelector: {self.OWN}}}"
        text += f"      affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}\n"
        assert (messages_of(text, self.RULE) == []) is silent

    @pytest.mark.parametrize(
        ("version", "gates", "found"), [((1, 26), (), 0), ((1, 26), ("MatchLabelKeysInPodTopologySpread",), 1), ((1, 27), (), 1)]
    )
    def test_a_version_without_label_keys_has_no_remedy(self, version: tuple[int, int], gates: tuple[str, ...], found: int) -> None:
        target = Target(version=version, feature_gates=frozenset(gates))
        assert len(messages_of(deployment("a: b", hard(self.OWN)), self.RULE, target=target)) == found

    def test_kinds_that_remove_a_pod_first_are_silent(self) -> None:
        for kind in ("StatefulSet", "ReplicaSet"):
            assert messages_of(deployment("a: b", hard(self.OWN)).replace("kind: Deployment", f"kind: {kind}"), self.RULE) == []


class TestSpreadWithoutEffect:
    def test_replicas_that_all_fit_into_one_domain(self) -> None:
        assert messages_of(deployment("a: b", hard("{matchLabels: {app: web}}", 2)), "spread-without-effect") == [
            "12:21 maxSkew 2 lets all 2 replicas share one topology domain, so the constraint has no effect"
        ]

    @pytest.mark.parametrize("replicas", ["replicas: 3", "paused: false", "replicas: 1"])
    def test_more_replicas_or_a_number_that_an_autoscaler_sets(self, replicas: str) -> None:
        per_revision = "{matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]"
        assert lint(deployment("a: b", hard(per_revision, 2), replicas=replicas)) == []

    def test_the_pods_of_others_count_too(self) -> None:
        files = {
            "web.yaml": deployment("part: shop", hard("{matchLabels: {part: shop}}", 2)),
            "api.yaml": deployment("part: shop", hard("{matchLabels: {part: shop}}", 2), name="api"),
        }
        assert lint(files) == []
