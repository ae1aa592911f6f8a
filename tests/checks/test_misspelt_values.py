"""Misspelt names of constraints in values of charts, HelmReleases and custom resources of unknown kinds."""

import textwrap

import pytest

from fixed_text import becomes
from linting import lint

TOLERATIONS = "[{key: a, operator: Exists, effect: NoSchedule}]"
SPREADS = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]"
TERMS = "[{topologyKey: zone, labelSelector: {matchLabels: {app: x}}}]"
PREFERENCES = f"[{{weight: 1, podAffinityTerm: {TERMS[1:-1]}}}]"
NODE_TERMS = "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}"
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec:\n  values:\n"
RESOURCE = "apiVersion: example.com/v1\nkind: Example\nmetadata: {name: a}\nspec:\n"


def texts(server: str) -> dict[str, str]:
    """The files with the same constraints of a server, by name."""
    own = f"server:\n{textwrap.indent(server, '  ')}\n"
    return {
        "values.yaml": own,
        "prod.yaml": f"other:\n  tolerations: {TOLERATIONS}\n{own}",
        "release.yaml": RELEASE + textwrap.indent(own, "    "),
        "resource.yaml": RESOURCE + textwrap.indent(own, "  "),
    }


def found(server: str) -> list[str]:
    """``warning: asked -> meant`` for the findings, which are the same in all files."""
    every = []
    for name, text in texts(server).items():
        findings = [each for each in lint({name: text}) if each.rule == "unknown-field"]
        names = [each.message.split("`") for each in findings]
        assert [text.splitlines()[each.span.line - 1].strip().split(":")[0] for each in findings] == [name[1] for name in names]
        every.append([f"{each.severity}: {name[1]} -> {name[3]}" for each, name in zip(findings, names, strict=True)])
    assert all(each == every[0] for each in every), every
    return every[0]


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("tolarations", TOLERATIONS, "tolerations"),
        ("tollerations", TOLERATIONS, "tolerations"),
        ("tolaration", TOLERATIONS, "tolerations"),
        ("tolerationss", TOLERATIONS, "tolerations"),
        ("nodeselector", "{disk: ssd}", "nodeSelector"),
        ("nodeSelctors", "{disk: ssd}", "nodeSelector"),
        ("afinity", f"{{podAntiAffinity: {{{REQUIRED}: {TERMS}}}}}", "affinity"),
        ("topologySpreadContraint", SPREADS, "topologySpreadConstraints"),
        ("toplogySpredConstraints", SPREADS, "topologySpreadConstraints"),
    ],
)
def test_a_misspelt_field(name: str, value: str, meant: str) -> None:
    assert found(f"{name}: {value}") == [f"warning: {name} -> {meant}"]
    assert found(f"{meant}: {value}") == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tolarations", "tolerations"),
        ("tollerations", "tolerations"),
        ("nodeselector", "nodeSelector"),
        ("afinity", "affinity"),
        ("topologySpreadContraints", "topologySpreadConstraints"),
    ],
)
@pytest.mark.parametrize("value", ["[]", "{}"])
@pytest.mark.parametrize("more", ["", "\nnodeName: a", f"\ntopologySpreadConstraints: {SPREADS}"])
def test_a_misspelt_field_without_a_value_is_an_info(name: str, meant: str, value: str, more: str) -> None:
    more = more if meant not in more else ""
    assert found(f"{name}: {value}{more}") == [f"info: {name} -> {meant}"]
    assert found(f"{meant}: {value}{more}") == []


@pytest.mark.parametrize("rule", ["prefered", "preffered", "perferred", "prefferred", "preferd", "Preferred"])
def test_a_misspelt_preference(rule: str) -> None:
    wrong = rule + PREFERRED.removeprefix("preferred")
    assert found(f"affinity:\n  podAntiAffinity:\n    {wrong}: {PREFERENCES}") == [f"warning: {wrong} -> {PREFERRED}"]
    own = f"[{{weight: 1, preference: {NODE_TERMS[21:-2]}}}]"
    assert found(f"affinity:\n  nodeAffinity:\n    {wrong}: {own}") == [f"warning: {wrong} -> {PREFERRED}"]


@pytest.mark.parametrize("rule", ["requierd", "requred", "require", "requiredd", "requird"])
def test_a_misspelt_requirement(rule: str) -> None:
    wrong = rule + REQUIRED.removeprefix("required")
    assert found(f"affinity:\n  podAntiAffinity:\n    {wrong}: {TERMS}") == [f"warning: {wrong} -> {REQUIRED}"]
    assert found(f"affinity:\n  nodeAffinity:\n    {wrong}: {NODE_TERMS}") == [f"warning: {wrong} -> {REQUIRED}"]


@pytest.mark.parametrize(
    "server",
    [
        f"toleration: {TOLERATIONS}",
        "toleration: []",
        f"topologySpreadConstraint: {SPREADS}",
        "nodeSelectors: {}",
        "node_selector: {disk: ssd}",
        "affinities: {}",
        "tolerance: []",
        "infinity: {}",
        "tolarations:",
        "nodeSelection: {}",
    ],
)
def test_names_that_charts_and_operators_have_of_their_own(server: str) -> None:
    """Several kinds have a field `toleration` or `topologySpreadConstraint`."""
    assert found(server) == []


def test_the_fix_renames_the_field() -> None:
    assert becomes("unknown-field", texts("tolarations: []")["release.yaml"], texts("tolerations: []")["release.yaml"])
