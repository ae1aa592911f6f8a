"""Variables and values that Flux takes from ConfigMaps of the repository, and where a finding that they cause is reported."""

from pathlib import Path

import pytest

from afflint.rendering.flux_variables import FluxVariable, Variables, substitute
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")


KNOWN = Variables({"zone": FluxVariable("Zone-a.b.c"), "empty": FluxVariable("")})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${zone}", "Zone-a.b.c"),
        ("${none}", ""),
        ("${none:=a}${none:-b}${none=c}${empty:-d}", "abcd"),
        ("${none:=${other:=x}y}", "xy"),
        ("${zone:5}/${zone:5:1}/${zone:-3}", "a.b.c/a/Zone-a.b.c"),
        ("${zone/a/z}/${zone//./-}/${zone/#Zone/Z}/${zone/%c/d}", "Zone-z.b.c/Zone-a-b-c/Z-a.b.c/Zone-a.b.d"),
        ("${zone#*.}/${zone##*.}/${zone%.*}/${zone%%.*}", "b.c/c/Zone-a.b/Zone-a"),
        ("${zone^^}/${zone,,}/${zone,}/${#zone}", "ZONE-A.B.C/zone-a.b.c/zone-a.b.c/10"),
        ("$${zone} costs $$5", "${zone} costs $5"),
        ("${zone-a} ${zone", "${zone-a} ${zone"),
    ],
)
def test_variables_have_the_syntax_of_flux(text: str, expected: str) -> None:
    assert substitute(text.encode(), KNOWN).decode() == expected


def test_variables_that_may_be_set_elsewhere_are_kept() -> None:
    partly = Variables({"zone": FluxVariable("a")}, is_complete=False)
    assert substitute(b"${zone} ${other} ${more:=b}", partly) == b"a ${other} ${more:=b}"


def test_objects_can_disable_the_substitution() -> None:
    output = b"metadata:\n  name: ${zone}\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\n"
    assert substitute(output + b"---\nmetadata:\n  name: ${zone}\n", KNOWN) == output + b"---\nmetadata:\n  name: Zone-a.b.c\n"


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "${app:=web}"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: "${zone}"}
      containers: [{name: web, image: nginx}]
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  zone: ZONE
"""
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec:
  path: ./web
  postBuild:
    substituteFrom: [{kind: ConfigMap, name: settings}]
"""
TREE = {
    ".git/HEAD": "",
    "web/web.yaml": WEB,
    "clusters/a/web.yaml": KUSTOMIZATION,
    "clusters/a/settings.yaml": SETTINGS.replace("ZONE", "-a-"),
    "clusters/b/settings.yaml": SETTINGS.replace("ZONE", "-b-"),
}


def places(checking: Checking) -> list[tuple[str, list[str]]]:
    """Position and rule of each finding, with its related positions."""
    return [
        (
            f"{each['file']}:{each['line']}:{each['column']} {each['rule']}",
            [f"{one['file']}:{one['line']}" for one in each.get("related", [])],
        )
        for each in checking.report()["findings"]
    ]


def test_a_wrong_value_of_a_variable_is_reported_where_it_is_set(checking: Checking) -> None:
    write(TREE)
    assert places(checking) == [("clusters/a/settings.yaml:6:9 invalid-label-value", ["web/web.yaml:9"])]


def test_a_value_with_more_than_a_variable_is_reported_where_it_is_written(checking: Checking) -> None:
    write({**TREE, "web/web.yaml": WEB.replace("${zone}", "zone-${zone}")})
    assert places(checking) == [("web/web.yaml:9:51 invalid-label-value", ["clusters/a/settings.yaml:6"])]


def test_a_missing_quote_is_reported_where_the_variable_is_used(checking: Checking) -> None:
    write({**TREE, "web/web.yaml": WEB.replace('"${zone}"', "${zone}").replace("{topo", "\n        topo").replace("zone}}", "zone}")})
    write({"clusters/a/settings.yaml": SETTINGS.replace("ZONE", '"1"')})
    assert places(checking) == [("web/web.yaml:10:38 wrong-type", ["clusters/a/settings.yaml:6"])]


def test_none_of_two_config_maps_that_are_equally_near_counts(checking: Checking, project: Path) -> None:
    write(TREE)
    (project / "clusters/a/web.yaml").rename(project / "clusters/web.yaml")
    assert places(checking) == []


def test_variables_of_a_secret_stay_unknown(checking: Checking) -> None:
    """No variable is known to be unset."""
    both = "[{kind: ConfigMap, name: settings}, {kind: Secret, name: settings}]"
    tree = {**TREE, "clusters/a/web.yaml": KUSTOMIZATION.replace("[{kind: ConfigMap, name: settings}]", both)}
    write({**tree, "web/web.yaml": WEB.replace("${zone}", "${other:=-b-}")})
    assert places(checking) == []
    write({"web/web.yaml": WEB})
    assert [place for place, _ in places(checking)] == ["clusters/a/settings.yaml:6:9 invalid-label-value"]


@pytest.mark.parametrize(
    ("generator", "place"),
    [
        ("{name: settings, literals: [zone=-a-]}", "clusters/a/kustomization.yaml:2:50"),
        ("{name: settings, files: [zone=zone.txt]}", "web/web.yaml:9:51"),
    ],
)
def test_variables_of_a_generated_config_map(checking: Checking, generator: str, place: str) -> None:
    text = f"resources: [web.yaml]\nconfigMapGenerator: [{generator}]\ngeneratorOptions: {{disableNameSuffixHash: true}}\n"
    write({**TREE, "clusters/a/kustomization.yaml": text, "clusters/a/settings.yaml": "", "clusters/a/zone.txt": "-a-\n"})
    assert [found for found, _ in places(checking)] == [f"{place} invalid-label-value"]


def test_an_object_whose_name_has_a_variable_is_traced(checking: Checking) -> None:
    """Not to the first line of the kustomization."""
    pods = "{labelSelector: {matchLabels: {cluster: '${app}'}}, maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"
    web = WEB.replace("${app:=web}", "${app}").replace(
        "      nodeSelector", f"      topologySpreadConstraints: [{pods}]\n      nodeSelector"
    )
    settings = SETTINGS.replace("ZONE", "a\n  app: db")
    write({**TREE, "web/web.yaml": web, "clusters/a/settings.yaml": settings})
    assert [place.split(":")[:2] for place, _ in places(checking)] == [["web/web.yaml", "9"]]


# Values of charts.

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}
  valuesFrom: VALUES
"""
CHART = {
    ".git/HEAD": "",
    "charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}\n",
    "charts/web/values.yaml": "zone: a\nreplicas: 1\n",
    "charts/web/templates/web.yaml": WEB.replace("${app:=web}", "web")
    .replace("${zone}", "{{ .Values.zone }}")
    .replace("spec:\n  sel", "spec:\n  replicas: {{ .Values.replicas }}\n  sel"),
}
VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-values}
data:
  values.yaml: |
    # Values of the chart.
    zone: -b-
"""


def test_values_in_a_config_map_are_reported_there(checking: Checking) -> None:
    write({**CHART, "live/web.yaml": RELEASE.replace("VALUES", "[{kind: ConfigMap, name: web-values}]"), "live/values.yaml": VALUES})
    assert places(checking) == [("live/values.yaml:7:11 invalid-label-value", ["charts/web/templates/web.yaml:10"])]


def test_values_of_the_release_override_those_of_a_config_map(checking: Checking) -> None:
    release = RELEASE.replace("VALUES", "[{kind: ConfigMap, name: web-values}]") + "  values: {zone: -c-}\n"
    write({**CHART, "live/web.yaml": release, "live/values.yaml": VALUES})
    assert places(checking) == [("live/web.yaml:7:18 invalid-label-value", ["charts/web/templates/web.yaml:10"])]


def test_a_value_with_a_target_path(checking: Checking) -> None:
    values = VALUES.replace("values.yaml: |\n    # Values of the chart.\n    zone: -b-", 'count: "-2"')
    taken = "[{kind: ConfigMap, name: web-values, valuesKey: count, targetPath: replicas}]"
    write({**CHART, "live/web.yaml": RELEASE.replace("VALUES", taken), "live/values.yaml": values})
    assert places(checking) == [("live/values.yaml:5:10 invalid-replicas", ["charts/web/templates/web.yaml:5"])]


def test_values_of_a_secret_are_left_out(checking: Checking) -> None:
    write({**CHART, "live/web.yaml": RELEASE.replace("VALUES", "[{kind: Secret, name: web-values}]"), "live/values.yaml": VALUES})
    assert checking.report()["summary"]["rendered"]["charts"] == 1
    assert places(checking) == []


def test_values_of_a_generated_config_map_are_reported_in_their_file(checking: Checking) -> None:
    """Also if kustomize appends a hash to its name, and replaces the name in the release."""
    write(
        {
            **CHART,
            "live/web.yaml": RELEASE.replace("VALUES", "[{kind: ConfigMap, name: web-values}]"),
            "live/kustomization.yaml": "resources: [web.yaml]\nconfigurations: [names.yaml]\n"
            "configMapGenerator: [{name: web-values, files: [values.yaml=values/web.yaml]}]\n",
            "live/names.yaml": "nameReference:\n- kind: ConfigMap\n  fieldSpecs: [{path: spec/valuesFrom/name, kind: HelmRelease}]\n",
            "live/values/web.yaml": "# Values of the chart.\nzone: -b-\n",
        }
    )
    assert places(checking) == [("live/values/web.yaml:2:7 invalid-label-value", ["charts/web/templates/web.yaml:10"])]


# Patches.

POST_RENDERERS = """\
  postRenderers:
    - kustomize:
        patches:
          - target: {kind: Deployment}
            patch: |
              - op: add
                path: /spec/template/spec/tolerations
                value: [{key: a, operator: Is}]
  values:
    zone: -b-
"""


def test_post_renderers_change_the_output_of_a_chart(checking: Checking) -> None:
    """What a patch sets is reported in the patch, and other values where the chart has them from."""
    write({**CHART, "live/web.yaml": RELEASE.replace("  valuesFrom: VALUES\n", POST_RENDERERS)})
    assert places(checking) == [
        ("live/web.yaml:13:44 unknown-operator", []),
        ("live/web.yaml:15:11 invalid-label-value", ["charts/web/templates/web.yaml:10"]),
    ]


def test_post_renderers_that_fail_are_reported(checking: Checking) -> None:
    write({**CHART, "live/web.yaml": RELEASE.replace("  valuesFrom: VALUES\n", POST_RENDERERS.replace("op: add", "op: make"))})
    ((kind, name),) = [(each["kind"], each["name"]) for each in checking.report()["coverage"]["not_seen"]]
    assert (kind, name) == ("HelmRelease", "web")


def test_a_patch_of_a_kustomization_of_flux_is_reported_in_it(checking: Checking) -> None:
    patch = "  patches:\n  - target: {kind: Deployment}\n    patch: |\n      - op: add\n        path: /spec/replicas\n        value: -1\n"
    write({**TREE, "web/web.yaml": WEB.replace("${zone}", "a"), "clusters/a/web.yaml": KUSTOMIZATION + patch})
    assert places(checking) == [("clusters/a/web.yaml:13:16 invalid-replicas", [])]


@pytest.mark.parametrize(
    "text", ["${long}" * 100, "${long//a/" + "b" * 1000 + "}", "${none:-" + "${long}" * 100 + "}"], ids=["uses", "replaced", "nested"]
)
def test_values_are_inserted_up_to_a_total_size(text: str) -> None:
    long = Variables({"long": FluxVariable("a" * (1 << 19))})
    assert len(substitute(text.encode(), long)) < 17 << 20


LONG = Variables({"long": FluxVariable("ab" * 500), "longer": FluxVariable("a" * 2**20)})


@pytest.mark.parametrize(
    "use",
    ["${longer/b/c}", "${#longer}", "${longer:0:1}", "${longer^}", "${long##*c*}", "${long%%*ba*bb}", "${long#" + "*a" * 1_000 + "}"],
)
def test_variables_that_take_long_are_kept(use: str) -> None:
    """The values that are read are counted, also if nothing of them is inserted."""
    found = substitute((use + "\n").encode() * 10_000, LONG).decode()
    assert found.count(use) > 9_000


@pytest.mark.parametrize("pattern", ["[", "[z-a]", "[!", "[]", "[^", "[[:alpha:]]", "\\", "(", "*" * 900, "[a-\\d]", "a{2}", "?" * 900])
def test_patterns_of_variables_may_be_malformed(pattern: str) -> None:
    for operator in ("#", "##", "%", "%%"):
        assert isinstance(substitute(f"${{zone{operator}{pattern}}}".encode(), KNOWN), bytes)
