"""Spread constraints that count the wrong pods: each check at its borders."""

from __future__ import annotations

import pytest

from linting import lint, places, said


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
        (message,) = said(text, "spread-misses-itself")
        assert message == (
            "12:107 this spread constraint does not count its own pods:"
            " it selects `teir In [front]`, but they have no label `teir`; did you mean `tier`?"
        )

    def test_the_value_under_another_key_is_named(self) -> None:
        (message,) = said(deployment("tier: front", hard("{matchLabels: {app.kubernetes.io/component: front}}")), "spread-misses-itself")
        assert message.endswith("but they have no label `app.kubernetes.io/component`; they have `tier: front`")

    def test_a_label_of_the_deployment_alone_is_reported_once_as_missing_from_the_template(self) -> None:
        text = deployment("tier: front", hard("{matchLabels: {track: stable}}"))
        text = text.replace("{name: web}", "{name: web, labels: {track: stable}}", 1)
        assert places(lint(text)) == ["a.yaml:3:32 warning label-not-on-template"]

    def test_a_label_that_is_excluded_and_there(self) -> None:
        text = deployment("tier: front", hard("{matchExpressions: [{key: tier, operator: NotIn, values: [front]}]}"))
        assert said(text, "spread-misses-itself")[0].endswith("it selects `tier NotIn [front]`, but they have `tier: front`")

    def test_a_patch_is_held_to_the_labels_it_gives(self) -> None:
        absent = deployment("tier: front", hard("{matchLabels: {track: stable}}"), image="resources: {}")
        assert lint(absent) == []
        other = deployment("track: canary", hard("{matchLabels: {track: stable}}"), image="resources: {}")
        assert places(lint(other)) == ["a.yaml:12:114 warning spread-misses-itself"]

    def test_label_keys_that_the_pods_lack_are_ignored_as_the_server_does(self) -> None:
        text = deployment("tier: front", hard("{matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash, tier]"))
        assert lint(text) == []


class TestSpreadWithoutEffect:
    def test_replicas_that_all_fit_into_one_domain(self) -> None:
        assert said(deployment("a: b", hard("{matchLabels: {app: web}}", 2)), "spread-without-effect") == [
            "12:21 maxSkew 2 lets all 2 replicas share one topology domain, so the constraint has no effect"
        ]

    @pytest.mark.parametrize("replicas", ["replicas: 3", "paused: false", "replicas: 1"])
    def test_more_replicas_or_a_number_that_an_autoscaler_sets(self, replicas: str) -> None:
        assert lint(deployment("a: b", hard("{matchLabels: {app: web}}", 2), replicas=replicas)) == []

    def test_the_pods_of_others_count_too(self) -> None:
        files = {
            "web.yaml": deployment("part: shop", hard("{matchLabels: {part: shop}}", 2)),
            "api.yaml": deployment("part: shop", hard("{matchLabels: {part: shop}}", 2), name="api"),
        }
        assert lint(files) == []
