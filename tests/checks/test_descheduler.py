"""Which profiles a KubeDescheduler may have, and which plugins a DeschedulerPolicy."""

import pytest

from linting import findings_of, settings_of

OPENSHIFT = "apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster}\nspec:\n  profiles:\n%s"
POLICY = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - {name: %s, args: {}}
  plugins:
    deschedule: {enabled: [%s]}
"""


def found(manifest: str) -> list[str]:
    every = findings_of({"a.yaml": manifest.encode()}, settings_of())
    return [
        f"{each.span.line}:{each.span.column} {each.severity}: {each.message}" for each in every if each.rule == "invalid-operator-setting"
    ]


def profiles(*names: str) -> list[str]:
    return found(OPENSHIFT % "".join(f"  - {name}\n" for name in names))


def test_a_misspelt_profile() -> None:
    assert profiles("AffinityAndTaintz") == [
        "6:5 error: the API server rejects the profile `AffinityAndTaintz`; did you mean `AffinityAndTaints`?"
    ]
    assert profiles("evictpodswithpvc")[0].endswith("did you mean `EvictPodsWithPVC`?")


def test_a_duplicate_profile() -> None:
    assert profiles("AffinityAndTaints", "AffinityAndTaints") == [
        "7:5 error: the API server rejects the duplicate profile `AffinityAndTaints`"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LongLifecycle", "LifecycleAndUtilization"),
        ("LifecycleAndUtilization", "KubeVirtRelieveAndMigrate"),
        ("KubeVirtRelieveAndMigrate", "DevPreviewLongLifecycle"),
        ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate"),
        ("TopologyAndDuplicates", "SoftTopologyAndDuplicates"),
        ("CompactAndScale", "TopologyAndDuplicates"),
        ("LongLifecycle", "CompactAndScale"),
    ],
)
def test_profiles_that_exclude_each_other(one: str, other: str) -> None:
    assert profiles(one, other) == [f"7:5 error: the API server rejects the profile `{other}` together with `{one}`"]


@pytest.mark.parametrize(
    "names",
    [
        ["AffinityAndTaints", "KubeVirtRelieveAndMigrate", "SoftTopologyAndDuplicates"],
        ["LongLifecycle", "DevPreviewLongLifecycle"],
        ["CompactAndScale", "SoftTopologyAndDuplicates", "EvictPodsWithPVC"],
        ["SomethingThatIsNewer"],
        ["${PROFILE}"],
        [],
    ],
    ids=["usual", "both names of one profile", "compact", "unknown", "placeholder", "none"],
)
def test_it_is_silent(names: list[str]) -> None:
    assert profiles(*names) == []


def test_plugins_of_a_policy() -> None:
    assert found(POLICY % ("RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaint")) == [
        "8:28 error: the descheduler has no plugin `RemovePodsViolatingNodeTaint`; did you mean `RemovePodsViolatingNodeTaints`?"
    ]
    assert found(POLICY % ("PodLifetime", "PodLifeTime"))[0].startswith("6:12 error: the descheduler has no plugin `PodLifetime`")
    assert found(POLICY % ("OfAnotherTeam", "OfAnotherTeam")) == []


def test_strategies_of_an_old_policy() -> None:
    old = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies:\n  %s: {enabled: true}\n"
    assert found(old % "RemoveDuplicate") == [
        "4:3 error: the descheduler has no plugin `RemoveDuplicate`; did you mean `RemoveDuplicates`?"
    ]
    assert found(old % "RemoveDuplicates") == []
    assert found(old % "RemovePodsViolatingNodeAffinity") == []


def test_malformed_objects() -> None:
    for spec in ("profiles: AffinityAndTaints", "profiles: [{}, 3, null]", "null"):
        assert found(f"apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {{name: cluster}}\nspec: {{{spec}}}\n") == []
    assert (
        found("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: [3, {pluginConfig: [3], plugins: {balance: []}}]\n")
        == []
    )
