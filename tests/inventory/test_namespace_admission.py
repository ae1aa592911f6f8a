"""Workloads with what their namespace adds before the scheduler sees them: node selectors, tolerations, or nothing if it is refused."""

import pytest

from afflint.admission.pod_admission import DEFAULT_TOLERATIONS, NAMESPACE_SELECTOR, PROJECT_SELECTOR, NamespaceRule, PodAdmission
from afflint.findings.finding import Site
from afflint.inventory.admission import affects, after_admission
from workload_objects import pod_source

WEB = pod_source("web", nodeSelector={"disk": "ssd"})
TOLERATION = {"key": "dedicated", "operator": "Exists"}


def rule(field: str, text: str) -> NamespaceRule:
    return NamespaceRule(Site(0, 0, ()), "namespace shop", field, text)


TIER = PodAdmission(selector=rule(PROJECT_SELECTOR, "tier=web"))


def test_the_node_selector_of_a_namespace_is_added() -> None:
    found = after_admission(WEB, TIER)
    assert found.pod["nodeSelector"] == {"disk": "ssd", "tier": "web"}
    assert found.notes == ("openshift.io/node-selector of namespace shop adds tier=web to its nodeSelector",)
    assert after_admission(pod_source("web"), TIER).pod["nodeSelector"] == {"tier": "web"}


@pytest.mark.parametrize(
    ("web", "admission"),
    [
        (WEB, None),
        (WEB, PodAdmission()),
        (pod_source("web", nodeSelector={"tier": "web"}), TIER),
        (pod_source("web", nodeSelector=["disk"]), TIER),
        (pod_source("web", tolerations=[TOLERATION]), PodAdmission(default_tolerations=rule(DEFAULT_TOLERATIONS, "[]"))),
    ],
    ids=["no rules", "empty rules", "it has the label", "malformed", "no tolerations"],
)
def test_without_a_difference_the_workload_stays_as_it_is(web: object, admission: PodAdmission | None) -> None:
    assert after_admission(web, admission) is web
    assert not affects(web, admission)


def test_another_value_of_a_label_is_refused_by_openshift_or_by_the_plugin() -> None:
    other = pod_source("web", nodeSelector={"tier": "batch"})
    by_openshift = after_admission(other, TIER)
    assert by_openshift.refused.startswith("OpenShift would reject its pods: ")
    assert (by_openshift.pod, by_openshift.notes) == (other.pod, other.notes)
    by_plugin = after_admission(other, PodAdmission(selector=rule(NAMESPACE_SELECTOR, "tier=web")))
    assert by_plugin.refused.startswith("The admission plugin PodNodeSelector would reject its pods: ")


def test_rules_that_may_not_apply_refuse_nothing_and_are_noted() -> None:
    other = pod_source("web", nodeSelector={"tier": "batch"})
    found = after_admission(other, TIER._replace(uncertainty="the plugin may be off"))
    assert (found.refused, found.pod["nodeSelector"]) == ("", {"tier": "batch"})
    assert [note.partition(":")[0] for note in found.notes] == ["OpenShift would reject its pods"]
    assert affects(other, TIER)


def test_default_tolerations_are_added_to_the_others() -> None:
    both = rule(DEFAULT_TOLERATIONS, '[{"key": "dedicated", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]')
    admission = PodAdmission(default_tolerations=both)
    found = after_admission(pod_source("web", tolerations=[TOLERATION]), admission)
    assert [each["key"] for each in found.pod["tolerations"]] == ["dedicated", "gpu"]
    assert found.notes == (f"{DEFAULT_TOLERATIONS} of namespace shop adds 1 toleration",)
    assert len(after_admission(pod_source("web"), admission).pod["tolerations"]) == 2
    malformed = pod_source("web", tolerations="all")
    assert after_admission(malformed, admission) is malformed
