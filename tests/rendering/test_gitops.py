"""Applications of Argo CD and Kustomizations of Flux define what is rendered, in which namespace, with which values."""

import base64
import json
from pathlib import Path

import pytest

from afflint.rendering.application_sets import ArgoClusters, Generators
from afflint.rendering.boundary import Boundary
from afflint.rendering.flux_variables import FluxVariable, Variables, substitute
from afflint.rendering.gitops import hints
from afflint.rendering.set_templates import fill_template
from growth import assert_linear, calls
from rendering.rendered_trees import Checking, write

pytestmark = pytest.mark.usefixtures("tools")

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector:
        zone: ${zone:=a}
        disktype: ssd
      containers: [{name: web, image: "nginx:1.27"}]
"""
TEMPLATE = DEPLOYMENT.replace("${zone:=a}", "{{ .Values.zone }}").replace("replicas: 2", "replicas: {{ .Values.replicas }}")
CHART = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/values.yaml": "zone: a\nreplicas: 1\n",
    "charts/web/templates/web.yaml": DEPLOYMENT.replace("${zone:=a}", "{{ .Values.zone }}").replace(
        "replicas: 2", "replicas: {{ .Values.replicas }}"
    ),
    ".git/HEAD": "ref: refs/heads/main\n",
}


def application(source: str, name: str = "shop") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}}}
spec:
  destination: {{namespace: shop, server: https://kubernetes.default.svc}}
  source: {source}
"""


def test_an_application_gives_a_chart_its_values(checking: Checking) -> None:
    one = application("{path: charts/web, helm: {valueFiles: [../../live.yaml], parameters: [{name: replicas, value: '-2'}]}}", "live")
    other = application("{path: charts/web, helm: {valuesObject: {zone: b}}}", "test")
    write({**CHART, "apps/live.yaml": one, "apps/test.yaml": other, "live.yaml": "zone: 1\n"})
    report = checking.report()
    assert report["summary"]["rendered"]["charts"] == 2
    assert [(each["file"], each["line"], each["rule"], each["rendered_in"]) for each in report["findings"]] == [
        ("apps/live.yaml", 6, "invalid-replicas", ["charts/web (Application live)"]),
        ("live.yaml", 1, "wrong-type", ["charts/web (Application live)"]),
    ]


def test_an_application_names_a_kustomization_that_another_one_uses(checking: Checking) -> None:
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "base/web.yaml": DEPLOYMENT.replace("ssd", "true"),
            "base/kustomization.yaml": "resources: [web.yaml]\n",
            "overlay/kustomization.yaml": "resources: [../base]\n",
            "apps/shop.yaml": application("{path: base, kustomize: {namePrefix: shop-}}"),
        }
    )
    (finding,) = checking.report()["findings"]
    assert finding["rendered_in"] == ["base (Application shop)", "overlay"]


def test_the_namespace_of_an_application_is_used(checking: Checking) -> None:
    """A selector in another namespace does not reach it."""
    affinity = (
        "{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]}}"
    )
    web = DEPLOYMENT.replace("      containers", f"      affinity: {affinity}\n      containers")
    database = DEPLOYMENT.replace("web", "db").replace("name: db\n", "name: db\n  namespace: data\n", 1)
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "web/all.yaml": f"{web}---\n{database}",
            "web/kustomization.yaml": "resources: [all.yaml]\n",
        }
    )
    assert checking.messages() == []
    write({"apps/shop.yaml": application("{path: web}")})
    assert [each.split()[1] for each in checking.messages()] == ["namespace-misses-target"]


def test_flux_substitutes_variables_and_adds_patches_and_a_namespace(checking: Checking) -> None:
    write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "web/web.yaml": DEPLOYMENT,
            "web/kustomization.yaml": "resources: [web.yaml]\n",
            "clusters/live/web.yaml": """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web}
spec:
  path: ./web
  targetNamespace: shop
  postBuild: {substitute: {zone: "1"}}
  patches:
    - target: {kind: Deployment}
      patch: |
        - {op: replace, path: /spec/replicas, value: 3}
""",
        }
    )
    (finding,) = checking.report()["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["rule"]) == ("web/web.yaml", 12, 15, "wrong-type")
    assert finding["rendered_in"] == ["web (Kustomization web)"]


def test_options_of_helm_in_an_application(checking: Checking) -> None:
    """A parameter from a file, the version of Kubernetes and the namespace."""
    template = TEMPLATE.replace("name: web\n", "name: web-{{ .Release.Namespace }}-{{ .Capabilities.KubeVersion.Minor }}\n", 1)
    helm = "{fileParameters: [{name: zone, path: zone.txt}], kubeVersion: '1.31', namespace: shop-2}"
    write({**CHART, "charts/web/templates/web.yaml": template, "charts/web/zone.txt": "-a-"})
    write({"apps/live.yaml": application(f"{{path: charts/web, helm: {helm}}}", "live")})
    (finding,) = checking.report()["findings"]
    assert (finding["rule"], finding["object"]["name"]) == ("invalid-label-value", "web-shop-2-31")


@pytest.mark.parametrize(("more", "expected"), [("", []), (", labelWithoutSelector: true", ["selector-template-mismatch"])])
def test_options_of_kustomize_in_an_application(checking: Checking, more: str, expected: list[str]) -> None:
    """A label that replaces one of the pods, with or without the selector."""
    kustomize = f"{{commonLabels: {{app: shop}}{more}{', labelIncludeTemplates: true' if more else ''}, images: ['nginx=a/b:1@sha256:0']}}"
    write({".git/HEAD": "", "web/web.yaml": DEPLOYMENT, "web/kustomization.yaml": "resources: [web.yaml]\n"})
    write({"apps/shop.yaml": application(f"{{path: web, kustomize: {kustomize}}}")})
    assert [each["rule"] for each in checking.report()["findings"]] == expected


def test_a_folder_of_another_repository_is_not_a_root(checking: Checking) -> None:
    write({"apps/far.yaml": application("{path: ../../etc}"), "apps/none.yaml": application("{path: nowhere}")})
    assert "No kustomization or chart found to render." in checking("--render", code=0)


# Values that an object gives by itself.


def where(checking: Checking) -> list[tuple[str, int, int, str, list[str]]]:
    """File, line, column, rule and roots of each finding."""
    return [(each["file"], each["line"], each["column"], each["rule"], each["rendered_in"]) for each in checking.report()["findings"]]


def test_findings_in_values_of_an_application_are_reported_there(checking: Checking) -> None:
    write({**CHART, "apps/live.yaml": application("{path: charts/web, helm: {valuesObject: {zone: 1}}}", "live")})
    assert where(checking) == [("apps/live.yaml", 6, 58, "wrong-type", ["charts/web (Application live)"])]


def test_findings_in_a_block_of_values_are_reported_there(checking: Checking) -> None:
    source = "\n    path: charts/web\n    helm:\n      values: |\n        replicas: 2\n        zone: 1"
    write({**CHART, "apps/live.yaml": application(source, "live")})
    assert where(checking) == [("apps/live.yaml", 11, 15, "wrong-type", ["charts/web (Application live)"])]


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  chart:
    spec:
      chart: ./charts/web
      sourceRef: {kind: GitRepository, name: shop}
      valuesFiles: [./live.yaml]
  values:
    zone: 1
"""


def test_a_release_of_flux_gives_a_chart_of_the_repository_its_values(checking: Checking) -> None:
    write({**CHART, "clusters/live/web.yaml": RELEASE, "live.yaml": "replicas: -2\n"})
    assert where(checking) == [
        ("clusters/live/web.yaml", 11, 11, "wrong-type", ["charts/web (HelmRelease web)"]),
        ("live.yaml", 1, 11, "invalid-replicas", ["charts/web (HelmRelease web)"]),
    ]


def test_a_release_of_another_chart_is_ignored(checking: Checking) -> None:
    write({"release.yaml": RELEASE.replace("./charts/web", "web"), **CHART})
    assert checking.report()["summary"]["rendered"]["charts"] == 1
    assert checking.messages() == []


def test_values_files_from_the_top_of_the_repository(checking: Checking) -> None:
    """Those that begin with a slash, and those of another source, which is called by a name."""
    sources = "[{path: charts/web, helm: {valueFiles: [/live/zone.yaml, $values/live/count.yaml]}}, {ref: values, repoURL: here}]"
    one = application("{}", "live").replace("source: {}", f"sources: {sources}")
    write({**CHART, "apps/live.yaml": one, "live/zone.yaml": "zone: 1\n", "live/count.yaml": "replicas: 3\n"})
    assert where(checking) == [("live/zone.yaml", 1, 7, "wrong-type", ["charts/web (Application live)"])]


# Sets of Applications.


def application_set(generators: str, source: str, name: str = "'web-{{env}}'") -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: web}}
spec:
  goTemplate: true
  generators: {generators}
  template:
    metadata: {{name: {name}}}
    spec:
      destination: {{namespace: shop, server: https://kubernetes.default.svc}}
      source: {source}
"""


def test_a_list_in_a_set_gives_values_files(checking: Checking) -> None:
    generators = "[{list: {elements: [{env: test}, {env: live}]}}]"
    one = application_set(generators, "{path: charts/web, helm: {valueFiles: ['values-{{env}}.yaml']}}")
    write({**CHART, "set.yaml": one, "charts/web/values-test.yaml": "zone: b\n", "charts/web/values-live.yaml": "zone: 1\n"})
    assert where(checking) == [("charts/web/values-live.yaml", 1, 7, "wrong-type", ["charts/web (ApplicationSet web, web-live)"])]
    assert checking.report()["summary"]["rendered"]["charts"] == 2


@pytest.mark.parametrize(
    ("generator", "path", "name"),
    [
        ("{git: {directories: [{path: apps/*}, {path: apps/old, exclude: true}]}}", "'{{path}}'", "'{{path.basename}}'"),
        ("{git: {directories: [{path: apps/*}, {path: apps/old, exclude: true}]}}", "'{{ .path.path }}'", "'{{.path.basename}}'"),
        ("{git: {files: [{path: apps/*/app.json}]}}", "'apps/{{.app.folder}}'", "'{{.app.folder}}'"),
        (
            "{matrix: {generators: [{git: {directories: [{path: apps/s*}]}}, {clusters: {}}]}}",
            "'{{ index .path.segments 0 }}/{{path[1]}}'",
            "'{{path.basename}}'",
        ),
        (
            "{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: shop}]}}, {list: {elements: [{a: shop, at: apps/shop}]}}]}}",
            "'{{at}}'",
            "'{{a}}'",
        ),
    ],
)
def test_generators_that_the_repository_can_answer(checking: Checking, generator: str, path: str, name: str) -> None:
    write({".git/HEAD": "ref: refs/heads/main\n", "set.yaml": application_set(f"[{generator}]", f"{{path: {path}}}", name)})
    for app in ("shop", "old"):
        write({f"apps/{app}/web.yaml": DEPLOYMENT, f"apps/{app}/kustomization.yaml": "resources: [web.yaml]\n"})
    write({"apps/shop/app.json": '{"app": {"folder": "shop"}}', "apps/shop/web.yaml": DEPLOYMENT.replace("ssd", "1")})
    assert where(checking) == [("apps/shop/web.yaml", 13, 19, "wrong-type", ["apps/shop (ApplicationSet web, shop)"])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ .app | lower | replace "." "-" }}', "shop-web"),
        ('{{ printf "%s-%s" .env .app | trunc 8 }}', "live-Sho"),
        ('{{ default "b" .zone }}/{{ .env | default "test" }}', "b/live"),
        ('{{ index .path.segments 1 }}/{{ index .labels "team" | quote }}', 'x/"a"'),
        ("{{ .env | upper -}}/{{ normalize .app }}", "LIVE/shop.web"),
        ('{{ if eq .env "live" }}', '{{ if eq .env "live" }}'),
        ("{{ .app | sha256sum }} {{ .other }}", "{{ .app | sha256sum }} {{ .other }}"),
    ],
)
def test_templates_of_a_set_may_use_plain_functions(text: str, expected: str) -> None:
    parameters = {"app": "Shop.Web", "env": "live", "path.segments[1]": "x", "labels.team": "a"}
    assert fill_template(text, parameters, is_complete=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{{ ternary "gpu" "cpu" .gpu }}',
        "{{ not .gpu }}",
        "{{ toYaml .app }}",
        "{{ len .count }}",
        '{{ printf "%d" .count }}',
        '{{ env "HOME" | default "a" }}',
        '{{ eq .gpu "false" }}',
        '{{ index $other.app "a" }}',
        "{{ index .labels .nothing }}",
        "{{ .app " + "| lower " * 400 + "}}",
    ],
)
def test_what_a_set_knows_only_as_text_is_not_evaluated(text: str) -> None:
    """Argo CD knows whether a parameter is a boolean or a number. A long pipeline does not end in a fault."""
    parameters = {"gpu": "false", "app": "a", "count": "100", "app.a": "x", "labels.None": "x", "labels.": "x"}
    assert fill_template(text, parameters) == text


@pytest.mark.parametrize("part", [" ", "{{ ", '{{"', "{{`", '{{ "a" | '])
def test_unclosed_actions_are_kept(part: str) -> None:
    def fill(count: int) -> None:
        text = "{{" + part * count
        assert fill_template(text, {"a": "b"}) == text

    assert_linear(fill, 100_000)


def test_the_parameters_and_functions_of_a_template_cannot_make_it_grow_without_end() -> None:
    assert len(fill_template("{{a}}" * 100, {"a": "b" * 100_000})) < 2 << 20
    longer = f'| replace "a" "{"a" * 500}" '
    text = f'{{{{ "a" {longer * 20}}}}}'
    assert fill_template(text, {}) == text


def test_a_selector_and_elements_in_yaml(checking: Checking) -> None:
    elements = "- {env: test, zone: '2'}\\n- {env: live, zone: '1'}\\n- {env: lab}"
    selector = "{matchExpressions: [{key: env, operator: In, values: [live, lab]}, {key: zone, operator: Exists}]}"
    generators = f'[{{list: {{elementsYaml: "{elements}"}}, selector: {selector}}}]'
    write({**CHART, "set.yaml": application_set(generators, "{path: charts/web, helm: {values: 'zone: {{ .zone }}'}}")})
    assert [(rule, roots) for _, _, _, rule, roots in where(checking)] == [("wrong-type", ["charts/web (ApplicationSet web, web-live)"])]


def test_a_patch_of_the_template_of_a_set(checking: Checking) -> None:
    patch = "  templatePatch: |\n    spec: {source: {helm: {valueFiles: ['values-{{ .env }}.yaml']}}}\n"
    one = application_set("[{list: {elements: [{env: live}]}}]", "{path: charts/web}")
    write({**CHART, "set.yaml": one + patch, "charts/web/values-live.yaml": "zone: 1\n"})
    assert where(checking) == [("charts/web/values-live.yaml", 1, 7, "wrong-type", ["charts/web (ApplicationSet web, web-live)"])]
    write({"set.yaml": one + patch.replace("spec:", "{{- if .env }}\n    spec:").replace("]}}}\n", "]}}}\n    {{- end }}\n")})
    why = "its template uses `{{- if .env }}`, which is not supported"
    assert checking.report()["summary"]["rendered"]["unread"] == [{"object": "ApplicationSet web", "reason": why}]
    write({"set.yaml": one + patch.replace("spec:", "{{ eq .env '\"' }}\n    spec:")})
    why = "its template uses `{{ eq .env '\"' }}`, which is not supported"
    assert checking.report()["summary"]["rendered"]["unread"] == [{"object": "ApplicationSet web", "reason": why}]


@pytest.mark.parametrize("kind", ["list", "matrix"])
def test_the_number_of_applications_of_a_set_is_limited(kind: str) -> None:
    generator: dict[str, object] = {"list": {"elements": [{"a": "x"}] * 20_000}}
    if kind == "matrix":
        generator = {"matrix": {"generators": [generator] * 3}}
    applications = Generators([], ArgoClusters([])).parameters
    assert len(applications([generator] * 1_000)) == 500
    assert calls(lambda: applications([generator] * 1_000)) < 3_000_000


def test_unclosed_variables_are_kept() -> None:
    def check(count: int) -> None:
        output = b"a: ${b}\n" + b"${b:=" * count
        assert substitute(output, Variables({"b": FluxVariable("c")}, is_complete=False)) == output.replace(b"${b}", b"c")

    assert_linear(check, 100_000)


def test_a_set_with_unsupported_generators_is_reported(checking: Checking) -> None:
    one = application_set("[{clusters: {}}]", "{path: 'charts/{{name}}'}")
    write({**CHART, "set.yaml": one})
    why = "its generator `clusters` depends on clusters whose Secrets are not in the repository"
    assert checking.report()["summary"]["rendered"]["unread"] == [{"object": "ApplicationSet web", "reason": why}]
    assert f"Cannot determine what ApplicationSet web renders: {why}" in checking("--render", code=0)


def cluster(name: str, data: str = "", labels: str = "") -> str:
    labels = f"argocd.argoproj.io/secret-type: cluster{labels}"
    data = data or f"stringData: {{name: {name}, server: 'https://{name}.example.com'}}"
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n{data}\n"


ENCODED = f"data: {{name: {base64.b64encode(b'live').decode()}, server: {base64.b64encode(b'https://live.example.com').decode()}}}"
EXTERNAL = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\nspec: {target: {template: {metadata: LABELS}}}\n"


@pytest.mark.parametrize(
    ("settings", "rendered"),
    [
        ("{}", ["in-cluster", "live", "test"]),
        ("{selector: {matchLabels: {env: production}}}", ["live"]),
        ("{selector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}", ["test"]),
    ],
)
def test_clusters_whose_secrets_are_in_the_repository(checking: Checking, settings: str, rendered: list[str]) -> None:
    """Without a selector, the cluster that Argo CD runs in is one of them."""
    one = application_set(f"[{{clusters: {settings}}}]", "{path: charts/web, helm: {valueFiles: ['values-{{.name}}.yaml']}}", "'{{.name}}'")
    for name in ("in-cluster", "live", "test"):
        write({f"charts/web/values-{name}.yaml": "zone: 1\n"})
    secrets = {"clusters/live.yaml": cluster("live", ENCODED, ", env: production"), "clusters/test.yaml": cluster("test")}
    write({**CHART, **secrets, "set.yaml": one})
    assert [roots for *_, roots in where(checking)] == [[f"charts/web (ApplicationSet web, {name})"] for name in rendered]


@pytest.mark.parametrize(
    "text",
    [cluster("b", "data: {name: '***'}"), EXTERNAL.replace("LABELS", "{labels: {argocd.argoproj.io/secret-type: cluster}}")],
    ids=["encrypted", "created by another object"],
)
def test_clusters_that_cannot_be_read_are_unknown(checking: Checking, text: str) -> None:
    one = application_set("[{clusters: {}}]", "{path: 'charts/{{name}}'}")
    write({**CHART, "set.yaml": one, "clusters/a.yaml": cluster("a"), "clusters/b.yaml": text})
    why = "its generator `clusters` depends on clusters whose Secrets are not in the repository"
    assert checking.report()["summary"]["rendered"]["unread"] == [{"object": "ApplicationSet web", "reason": why}]


WRONG = "tolerations: [{key: a, operator: Is}]\n"
ALONE = "nodeSelector: {pool: a b}\n"
"""A mistake in a file that only its name, or another file, shows to be values."""


def test_values_of_a_chart_in_another_repository_are_checked_by_shape(checking: Checking) -> None:
    """The files that an Application and a release name, whatever they are called."""
    chart = "{chart: web, repoURL: 'https://charts.example.com', helm: {valueFiles: [$values/env/live.yaml]}}"
    one = application("{}", "live").replace("source: {}", f"sources: [{chart}, {{ref: values, repoURL: here}}]")
    write({".git/HEAD": "ref: refs/heads/main\n", "apps/live.yaml": one, "env/live.yaml": ALONE, "env/other.yaml": ALONE})
    release = RELEASE.replace("  values:\n    zone: 1\n", "").replace("./live.yaml", "./env/more.yaml")
    write({"release.yaml": release, "env/more.yaml": ALONE})
    assert [each.split()[0] for each in checking.messages()] == ["env/live.yaml:1:22", "env/more.yaml:1:22"]


CHART_OF_A_KUSTOMIZATION = (
    "{name: web, repo: 'https://charts.example.com', valuesFile: main.yaml, additionalValuesFiles: [more/a.yaml, gone.yaml]}"
)


def test_values_files_that_a_kustomization_names(checking: Checking) -> None:
    """For a chart that it fills, by itself or through a generator; whether or not the chart can be had."""
    generator = f"apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {{name: web}}\n{CHART_OF_A_KUSTOMIZATION[1:-1]}"
    generator = generator.replace(", valuesFile", "\nvaluesFile").replace(", repo", "\nrepo").replace(", additional", "\nadditional")
    write({".git/HEAD": "ref: refs/heads/main\n", "web/kustomization.yaml": f"helmCharts:\n- {CHART_OF_A_KUSTOMIZATION}\n"})
    write({"web/main.yaml": ALONE, "web/more/a.yaml": ALONE, "web/other.yaml": ALONE})
    write({"far/kustomization.yaml": "generators: [chart.yaml]\n", "far/chart.yaml": generator, "far/main.yaml": ALONE})
    assert [each.split()[0] for each in checking.messages()] == ["far/main.yaml:1:22", "web/main.yaml:1:22", "web/more/a.yaml:1:22"]


@pytest.mark.parametrize(
    "chart",
    ["7", "[]", "{valuesFile: 7, additionalValuesFiles: {}}", '{valuesFile: "a\\0b"}', "{valuesFile: 'https://example.com/a.yaml'}"],
)
def test_malformed_charts_of_a_kustomization_are_ignored(checking: Checking, chart: str) -> None:
    write({".git/HEAD": "ref: refs/heads/main\n", "kustomization.yaml": f"helmCharts: [{chart}]\n", "a.yaml": ALONE})
    assert checking.messages() == []


def test_values_that_a_kustomization_stores_for_a_release(checking: Checking) -> None:
    """Reported once, in the file, and not in the ConfigMap that is generated from it."""
    release = RELEASE.partition("  values:\n")[0] + "  valuesFrom: [{kind: ConfigMap, name: web}]\n"
    files = "[values.yaml=web.yaml, notes.yaml=notes.yaml]"
    write({"kustomization.yaml": f"resources: [release.yaml]\nconfigMapGenerator: [{{name: web, files: {files}}}]\n"})
    write({".git/HEAD": "ref: refs/heads/main\n", "release.yaml": release, "web.yaml": ALONE, "notes.yaml": ALONE})
    assert [each.split()[0] for each in checking.messages()] == ["web.yaml:1:22"]


def test_findings_in_a_string_of_values_are_reported_at_their_line(checking: Checking) -> None:
    values = "  values.yaml: |\n    # Of the shop.\n    server:\n      " + WRONG
    config = "# Values.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: web\ndata:\n" + values.replace("\n    ", "\n        ")
    text = "\n    chart: web\n    helm:\n      values: |\n        server:\n          " + WRONG
    write({"kustomization.yaml": "resources: [config.yaml, live.yaml]\nnamePrefix: a-\n"})
    write({".git/HEAD": "ref: refs/heads/main\n", "config.yaml": config, "live.yaml": application(text.rstrip("\n"), "live")})
    assert [(*place[:3], place[4]) for place in where(checking)] == [("config.yaml", 10, 44, ["."]), ("live.yaml", 11, 44, ["."])]


SET = {"list": {"elements": [{"name": f"a{number}"} for number in range(30)]}}
GROWN, NONE = {"name": "a", "values": "x" * 1_000}, {"matchLabels": {"name": "b"}}
CUT: dict[str, tuple[list[object], str]] = {
    "a list": ([{"list": {"elements": [{"name": "a"}] * 501}}], "more than 500 combinations of parameters"),
    "a matrix": ([{"matrix": {"generators": [SET, SET]}}], "more than 500 combinations of parameters"),
    "several generators": ([SET] * 20, "more than 500 combinations of parameters"),
    "combinations that are not selected": (
        [{"matrix": {"generators": [{"list": {"elements": [GROWN] * 30}}, {"list": {"elements": [{"b": "c"}] * 500}, "selector": NONE}]}}],
        "more combinations of parameters than afflint evaluates",
    ),
    "values that double": (
        [
            {
                "matrix": {
                    "generators": [
                        {"list": {"elements": [{"a": "x" * 1_000}], "values": {"a": "{{ a }}{{ a }}"}}},
                        *[{"list": {"elements": [{"name": "a"}], "values": {"a": "{{ values.a }}{{ values.a }}"}}}] * 90,
                    ]
                }
            }
        ]
        * 40,
        "more combinations of parameters than afflint evaluates",
    ),
    "patterns": ([{"git": {"files": [{"path": f"a{number}*"} for number in range(201)]}}], "more than 200 patterns of files and folders"),
}


@pytest.mark.parametrize(("generators", "cut"), CUT.values(), ids=CUT)
def test_what_exceeds_a_limit_of_a_set_is_reported(tmp_path: Path, generators: list[object], cut: str) -> None:
    spec = {"generators": generators, "template": {"metadata": {"name": "{{ name }}"}, "spec": {"source": {"path": "charts/web"}}}}
    written = json.dumps({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "web"}, "spec": spec})
    (tmp_path / ".git").mkdir()
    (tmp_path / "set.yaml").write_text(written, encoding="utf-8")
    found = hints([str(tmp_path / "set.yaml")], Boundary([str(tmp_path)]), ArgoClusters([]))
    assert f"it has {cut}, and the rest was not checked" in [each.reason for each in found.unsupported]


def test_a_long_template_is_filled_for_fewer_combinations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afflint.rendering.argo_applications._MOST_GENERATED", 1 << 17)
    elements = "".join(f"      - {{name: a{number}}}\n" for number in range(400))
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\nspec:\n  generators:\n  - list:\n      elements:\n"
        f"{elements}  template: {{metadata: {{name: '{{{{ name }}}}'}}, spec: {{source: {{path: x}}}}}}\n  templatePatch: |\n"
        + "    a: {{ name }}\n"
        * 310
    )
    (tmp_path / ".git").mkdir()
    (tmp_path / "set.yaml").write_text(text, encoding="utf-8")
    found = hints([str(tmp_path / "set.yaml")], Boundary([str(tmp_path)]), ArgoClusters([]))
    reason = "it has a template that is too long for more than 29 combinations of parameters, and the rest was not checked"
    assert [each.reason for each in found.unsupported] == [reason]


@pytest.mark.parametrize("template", ['""', "null", "[]", "7", "{}"])
def test_a_set_without_a_template_renders_nothing(tmp_path: Path, template: str) -> None:
    text = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\n"
    (tmp_path / "set.yaml").write_text(f"{text}spec: {{generators: [{{list: {{elements: [{{a: b}}]}}}}], template: {template}}}\n")
    assert hints([str(tmp_path / "set.yaml")], Boundary([str(tmp_path)]), ArgoClusters([])).hints == []
