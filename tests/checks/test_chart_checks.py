"""Values of charts: places that the chart does not read, and selectors that miss its pods."""

import textwrap

import pytest

from fixed_text import becomes
from linting import lint, messages_of, places

IGNORED, SPREAD, ANTI, TARGET = "ignored-chart-value", "spread-misses-itself", "anti-affinity-misses-itself", "affinity-target-missing"


def flux(chart: str, values: str, *, version: str = "", repository: str = "", name: str = "web", more: str = "") -> str:
    """A HelmRelease of Flux with these values, which begin on line 11."""
    head = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}}}
spec:
  chart:
    spec:
      chart: {chart}
      version: {version or '"*"'}
      sourceRef: {{kind: HelmRepository, name: {repository or chart}}}
  values:
"""
    return head + textwrap.indent(textwrap.dedent(values).strip("\n"), "    ") + "\n" + more


TOLERATIONS = "[{key: a, operator: Exists}]"
NODE_AFFINITY = (
    "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "{nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}"
)
SPREADS = "[{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}]"


class TestIgnored:
    def test_root_keys_of_a_chart_of_several_components(self) -> None:
        text = flux("kube-prometheus-stack", f"tolerations: {TOLERATIONS}\nprometheus: {{prometheusSpec: {{tolerations: {TOLERATIONS}}}}}")
        assert messages_of(text, IGNORED) == ["11:5 kube-prometheus-stack does not read `tolerations`: it reaches no pod"]

    def test_a_node_affinity_that_is_not_indented_is_reported_once(self) -> None:
        values = """
            affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                - matchExpressions: [{key: disk, operator: Exists}]
        """
        assert places(lint(flux("prometheus-smartctl-exporter", values, version="0.16.0"))) == ["a.yaml:12:5 warning misplaced-constraint"]

    def test_the_help_names_places_that_the_chart_reads(self) -> None:
        (finding,) = lint(flux("ingress-nginx", f"tolerations: {TOLERATIONS}"))
        assert (
            finding.help
            == "Set `controller.tolerations`, `controller.admissionWebhooks.patch.tolerations` or `defaultBackend.tolerations` instead."
        )

    @pytest.mark.parametrize(
        ("values", "place"),
        [
            ("nodeSelector: {disk: ssd}", "nodeSelector"),
            ("pod: {nodeSelector: {disk: ssd}}", "pod.nodeSelector"),
            ("controllers: {main: {nodeSelector: {disk: ssd}}}", "controllers.main.nodeSelector"),
            ("controllers: {main: {containers: {app: {nodeSelector: {disk: ssd}}}}}", "controllers.main.containers.app.nodeSelector"),
            ("controllers: {main: {pods: {nodeSelector: {disk: ssd}}}}", "controllers.main.pods.nodeSelector"),
            ("defaultPodOptions: {pod: {nodeSelector: {disk: ssd}}}", "defaultPodOptions.pod.nodeSelector"),
        ],
    )
    def test_the_common_library_reads_only_the_options_of_pods(self, values: str, place: str) -> None:
        (message,) = messages_of(flux("app-template", values, version="4.1.1", repository="bjw-s"), IGNORED)
        assert message.endswith(f"app-template does not read `{place}`: it reaches no pod")

    @pytest.mark.parametrize(
        "values",
        [
            "defaultPodOptions: {nodeSelector: {disk: ssd}}",
            "controllers: {main: {pod: {nodeSelector: {disk: ssd}}}}",
            "rawResources: {a: {spec: {nodeSelector: {disk: ssd}}}}",
        ],
    )
    def test_its_places_are_silent(self, values: str) -> None:
        assert lint(flux("app-template", values, version="4.1.1", repository="bjw-s")) == []

    def test_the_first_version_read_the_root(self) -> None:
        values = "nodeSelector: {disk: ssd}"
        assert messages_of(flux("app-template", values, version="1.5.1", repository="bjw-s"), IGNORED) == []
        assert messages_of(flux("app-template", values, repository="bjw-s"), IGNORED) == []
        assert messages_of(flux("app-template", values + "\ncontrollers: {main: {containers: {app: {image: a}}}}"), IGNORED) != []

    def test_facts_of_one_version_apply_to_this_major_version(self) -> None:
        values = f"tolerations: {TOLERATIONS}"
        assert messages_of(flux("postgresql", values, version="17.0.0", repository="bitnami"), IGNORED) != []
        assert messages_of(flux("postgresql", values, version="9.0.0", repository="bitnami"), IGNORED) == []
        assert messages_of(flux("redis", values, version="10.0.0", repository="bitnami"), IGNORED) != []

    def test_a_place_that_a_chart_reads_elsewhere_since_a_version(self) -> None:
        values = f"cronjob: {{tolerations: {TOLERATIONS}, affinity: {NODE_AFFINITY}}}"
        (finding, other) = lint(flux("nextcloud", values, version="9.0.3"))
        assert (finding.rule, finding.message) == (IGNORED, "nextcloud does not read `cronjob.tolerations`: it reaches no pod")
        assert (other.rule, other.message) == (IGNORED, "nextcloud does not read `cronjob.affinity`: it reaches no pod")
        assert other.help == "Set `cronjob.cronjob.affinity` instead."
        assert lint(flux("nextcloud", f"cronjob: {{cronjob: {{affinity: {NODE_AFFINITY}}}}}", version="9.0.3")) == []

    def test_an_older_version_did_not_read_it(self) -> None:
        values = "priorityClassName: high"
        assert lint(flux("nextcloud", f"affinity: {NODE_AFFINITY}\n{values}", version="8.1.0")) == []
        assert messages_of(flux("nextcloud", f"topologySpreadConstraints: {SPREADS}", version="7.1.0"), IGNORED) == [
            "11:5 nextcloud does not read `topologySpreadConstraints`: it reaches no pod"
        ]

    def test_without_a_version_only_what_all_versions_ignore_is_known(self) -> None:
        assert messages_of(flux("nextcloud", f"topologySpreadConstraints: {SPREADS}"), IGNORED) == []

    def test_values_of_a_dependency_go_into_its_own_chart(self) -> None:
        values = f"postgresql: {{persistence: {{affinity: {NODE_AFFINITY}}}}}"
        (finding,) = lint(flux("home-assistant", values, version="12.0.1", repository="k8s-at-home-charts"))
        assert (finding.rule, finding.message) == (IGNORED, "postgresql does not read `persistence.affinity`: it reaches no pod")
        assert finding.help == "Set `primary.affinity` or `readReplicas.affinity` instead."

    def test_values_at_the_root_of_dependencies(self) -> None:
        values = """
            nodeSelector: {disk: ssd}
            postgresql: {nodeSelector: {disk: ssd}, primary: {nodeSelector: {disk: ssd}}}
            redis: {nodeSelector: {disk: ssd}, master: {nodeSelector: {disk: ssd}}}
        """
        assert messages_of(flux("authentik", values, version="5.2.1", repository="authentik-charts"), IGNORED) == [
            "12:18 postgresql does not read `nodeSelector`: it reaches no pod",
            "13:13 redis does not read `nodeSelector`: it reaches no pod",
        ]

    @pytest.mark.parametrize(
        ("chart", "repository", "version", "values"),
        [
            ("home-assistant", "k8s-at-home-charts", "12.0.1", f"postgresql: {{primary: {{affinity: {NODE_AFFINITY}}}}}"),
            ("home-assistant", "k8s-at-home-charts", "1.0.0", f"postgresql: {{persistence: {{affinity: {NODE_AFFINITY}}}}}"),
            ("home-assistant", "other", "12.0.1", f"postgresql: {{persistence: {{affinity: {NODE_AFFINITY}}}}}"),
            ("sonarr", "k8s-at-home", "16.0.0", f"affinity: {NODE_AFFINITY}\npod: {{affinity: {NODE_AFFINITY}}}"),
            ("own-chart", "k8s-at-home", "1.0.0", f"postgresql: {{persistence: {{affinity: {NODE_AFFINITY}}}}}"),
        ],
    )
    def test_other_versions_and_publishers_are_not_known(self, chart: str, repository: str, version: str, values: str) -> None:
        assert lint(flux(chart, values, version=version, repository=repository)) == []

    @pytest.mark.parametrize("repository", ["other", "https://charts.example.com"])
    def test_a_name_of_many_publishers_is_not_enough(self, repository: str) -> None:
        assert lint(flux("redis", f"tolerations: {TOLERATIONS}", version="23.0.0", repository=repository)) == []

    def test_a_chart_of_bitnami_is_another_one(self) -> None:
        values = f"tolerations: {TOLERATIONS}"
        assert messages_of(flux("ingress-nginx", values, repository="bitnami"), IGNORED) == []
        assert messages_of(flux("ingress-nginx", values, repository="mirror"), IGNORED) != []

    def test_an_affinity_where_the_chart_has_words_of_its_own(self) -> None:
        real = (
            "global: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a, labelSelector: {}}]}}}"
        )
        own = "global: {affinity: {podAntiAffinity: hard, nodeAffinity: {type: soft}}}"
        (message,) = messages_of(flux("argo-cd", real), IGNORED)
        assert message == "11:14 argo-cd does not read `global.affinity` as an affinity of Kubernetes: it reaches no pod"
        assert messages_of(flux("argo-cd", own), IGNORED) == []

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                f"defaultpodOptions: {{tolerations: {TOLERATIONS}}}",
                "app-template does not read `defaultpodOptions`: `tolerations` reaches no pod; did you mean `defaultPodOptions`?",
            ),
            (
                f"controller: {{main: {{pod: {{tolerations: {TOLERATIONS}}}}}}}",
                "app-template does not read `controller`: `tolerations` reaches no pod; did you mean `controllers`?",
            ),
        ],
    )
    def test_a_misspelt_key(self, values: str, message: str) -> None:
        assert messages_of(flux("app-template", values, version="4.0.0"), IGNORED) == [f"11:5 {message}"]

    def test_a_misspelt_field_next_to_others(self) -> None:
        values = f"prometheus: {{prometheusSpec: {{tolerations: {TOLERATIONS}, nodeSelectors: {{disk: ssd}}}}}}"
        (message,) = messages_of(flux("kube-prometheus-stack", values), IGNORED)
        assert message.endswith("`prometheus.prometheusSpec.nodeSelectors`: it reaches no pod; did you mean `nodeSelector`?")

    def test_a_constraint_as_text_is_not_at_the_root(self) -> None:
        text = flux("vault", "server:\n  tolerations: |\n    - key: arm\n      operator: Exists", version="0.17.1", repository="hashicorp")
        assert lint(text) == []

    def test_an_unknown_key_that_resembles_nothing_is_silent(self) -> None:
        assert lint(flux("kube-prometheus-stack", f"windows: {{tolerations: {TOLERATIONS}}}")) == []

    def test_node_affinity_outside_of_the_affinity(self) -> None:
        values = """
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]
        """
        assert messages_of(flux("metrics-server", values, version="3.12.0"), IGNORED) == [
            "11:5 metrics-server does not read `nodeAffinity`: it reaches no pod"
        ]

    def test_a_preset_beside_an_affinity(self) -> None:
        terms = "[{matchExpressions: [{key: a, operator: Exists}]}]"
        affinity = f"affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}"
        text = flux("redis", f"master:\n  {affinity}\n  podAntiAffinityPreset: hard", repository="bitnami")
        (message,) = messages_of(text, IGNORED)
        assert message.startswith("13:7 `podAntiAffinityPreset` has no effect, because `affinity` is set")
        assert messages_of(flux("redis", f"master:\n  {affinity}\n  podAntiAffinityPreset: soft", repository="bitnami"), IGNORED) == []


class TestWhichChart:
    def test_a_source_in_another_file(self) -> None:
        release = """
            apiVersion: helm.toolkit.fluxcd.io/v2
            kind: HelmRelease
            metadata: {name: plex}
            spec:
              chartRef: {kind: OCIRepository, name: plex}
              values:
                tolerations: [{key: a, operator: Exists}]
        """
        source = """
            apiVersion: source.toolkit.fluxcd.io/v1
            kind: OCIRepository
            metadata: {name: plex}
            spec: {url: "oci://ghcr.io/bjw-s-labs/helm/app-template", ref: {tag: 4.1.1}}
        """
        assert places(lint({"a.yaml": release, "b.yaml": source})) == [f"a.yaml:8:5 warning {IGNORED}"]
        assert lint(release) == []
        assert lint({"a.yaml": release, "b.yaml": source.replace("4.1.1", "1.5.1")}) == []
        assert lint({"a.yaml": release, "b.yaml": source.replace("app-template", "plex")}) == []

    @pytest.mark.parametrize(
        "holder", ["valuesObject: {tolerations: [{key: a, operator: Exists}]}", "values: |\n  tolerations: [{key: a, operator: Exists}]"]
    )
    @pytest.mark.parametrize("listed", [False, True])
    def test_argo_cd(self, holder: str, listed: bool) -> None:
        helm = textwrap.indent(holder, "      ")
        source = f"    repoURL: https://argoproj.github.io/argo-helm\n    chart: argo-cd\n    targetRevision: 6.0.0\n    helm:\n{helm}\n"
        source = "  sources:\n  -" + source[3:] if listed else "  source:\n" + source
        text = f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: argo}}\nspec:\n{source}"
        (message,) = messages_of(text, IGNORED)
        assert message.endswith("argo-cd does not read `tolerations`: it reaches no pod")

    def test_a_chart_in_the_repository_of_its_publisher(self) -> None:
        text = """
            apiVersion: argoproj.io/v1alpha1
            kind: Application
            metadata: {name: monitoring}
            spec:
              source:
                repoURL: https://github.com/prometheus-community/helm-charts.git
                targetRevision: kube-prometheus-stack-56.6.2
                path: charts/kube-prometheus-stack
                helm: {valuesObject: {tolerations: [{key: a, operator: Exists}]}}
        """
        assert messages_of(text, IGNORED) == ["10:27 kube-prometheus-stack does not read `tolerations`: it reaches no pod"]
        assert messages_of(text.replace("prometheus-community/helm-charts", "me/gitops"), IGNORED) == []

    def test_k3s(self) -> None:
        text = """
            apiVersion: helm.cattle.io/v1
            kind: HelmChart
            metadata: {name: metallb, namespace: kube-system}
            spec:
              chart: metallb
              repo: https://metallb.github.io/metallb
              valuesContent: |
                tolerations: [{key: a, operator: Exists}]
        """
        assert messages_of(text, IGNORED) == ["9:5 metallb does not read `tolerations`: it reaches no pod"]

    def test_values_of_a_dependency_below_its_name(self) -> None:
        text = f"kube-prometheus-stack:\n  tolerations: {TOLERATIONS}\n"
        assert places(lint({"values.yaml": text})) == [f"values.yaml:2:3 warning {IGNORED}"]

    JUPYTERHUB = "hub: {db: {pvc: {storage: 1Gi}}}\nproxy:\n  nodeSelector: {pool: core}\nsingleuser: {cpu: {limit: 1}}\n"

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            (JUPYTERHUB, 3),
            ("jupyterhub:\n" + textwrap.indent(JUPYTERHUB, "  "), 4),
            ("binderhub:\n  jupyterhub:\n" + textwrap.indent(JUPYTERHUB, "    "), 5),
        ],
    )
    def test_the_maps_of_a_dependency_show_the_chart(self, text: str, line: int) -> None:
        """JupyterHub has read `proxy.chp.nodeSelector` since 0.10; its values are usually in files of a chart around it."""
        (finding,) = [each for each in lint({"values.yaml": text}) if each.rule == IGNORED]
        assert (finding.span.line, finding.message) == (line, "jupyterhub does not read `proxy.nodeSelector`: it reaches no pod")
        assert finding.help == "Set `proxy.chp.nodeSelector` or `proxy.traefik.nodeSelector` instead."
        assert lint({"values.yaml": text.replace("nodeSelector: {pool: core}", "chp: {nodeSelector: {pool: core}}")}) == []

    @pytest.mark.parametrize(
        ("values", "use"),
        [
            ("nodeSelector: {pool: core}", 4),
            ("prePuller: {nodeSelector: {pool: core}}", 1),
            (f"singleuser: {{tolerations: {TOLERATIONS}}}", 1),
            (f"scheduling: {{tolerations: {TOLERATIONS}}}", 1),
        ],
    )
    def test_other_values_that_jupyterhub_does_not_read(self, values: str, use: int) -> None:
        (finding,) = lint(flux("jupyterhub", values, version="4.4.0"))
        assert (finding.rule, finding.help.count("`") // 2) == (IGNORED, min(use, 3))
        assert lint(flux("jupyterhub", values, version="0.9.1")) == [], "its templates are not known"

    def test_one_map_shows_no_chart(self) -> None:
        assert lint({"values.yaml": "jupyterhub: {proxy: {nodeSelector: {pool: core}}}\n"}) == []

    def test_values_that_only_one_chart_has(self) -> None:
        text = f"prometheus:\n  tolerations: {TOLERATIONS}\n  prometheusSpec: {{replicas: 2}}\n"
        assert places(lint({"values.yaml": text})) == [f"values.yaml:2:3 warning {IGNORED}"]
        assert lint({"values.yaml": f"prometheus:\n  tolerations: {TOLERATIONS}\n"}) == []


def spread(labels: str) -> str:
    return (
        "[{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {"
        + labels
        + "}}}]"
    )


def anti(labels: str) -> str:
    term = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {" + labels + "}}}"
    return "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + term + "]}}"


def helmfile(chart: str, values: str, *, version: str = "", more: str = "") -> dict[str, str]:
    """A helmfile with a release `web` of a chart with these values, which begin on line 8."""
    head = f"""\
repositories:
- {{name: own, url: https://prometheus-community.github.io/helm-charts}}
releases:
- name: web
  chart: {chart}
  version: "{version}"
  values:
"""
    return {"helmfile.yaml": f"{head}  - {values}\n{more}"}


class TestReleasesOfAHelmfile:
    @pytest.mark.parametrize(
        ("chart", "values", "key"),
        [
            ("own/kube-prometheus-stack", f"prometheus: {{tolerations: {TOLERATIONS}}}", "prometheus.tolerations"),
            ("ingress-nginx/ingress-nginx", f"tolerations: {TOLERATIONS}", "tolerations"),
            ("oci://ghcr.io/jupyterhub/jupyterhub", f"singleuser: {{tolerations: {TOLERATIONS}}}", "singleuser.tolerations"),
        ],
    )
    def test_a_value_that_the_chart_does_not_read(self, chart: str, values: str, key: str) -> None:
        text = helmfile(chart, values)
        (finding,) = lint(text)
        assert (finding.rule, finding.span.line) == (IGNORED, 8)
        assert finding.message == f"{chart.rpartition('/')[2]} does not read `{key}`: it reaches no pod"
        assert lint(helmfile("./charts/own", values)) == []

    @pytest.mark.parametrize(
        ("name", "more", "count"),
        [
            ("web", "", 0),
            ("job", "", 1),
            ("job", "  - other.yaml\n", 0),
            ("job", "  set: [{name: nameOverride, value: job}]\n", 0),
        ],
    )
    def test_the_labels_of_its_pods_have_the_name_of_the_release(self, name: str, more: str, count: int) -> None:
        """Other values may change the labels."""
        constraint = f"{SPREADS[1:-2]}, labelSelector: {{matchLabels: {{app.kubernetes.io/name: {name}}}}}}}"
        values = f"controllers: {{web: {{containers: {{a: {{}}}}}}}}\n    defaultPodOptions: {{topologySpreadConstraints: [{constraint}]}}"
        found = lint(helmfile("bjw-s/app-template", values, version="3.5.1", more=more))
        assert [(each.rule, each.span.line) for each in found] == [(SPREAD, 9)] * count

    @pytest.mark.parametrize("release", ["[]", "a", "{values: {}}", "{chart: 1, values: [{nodeSelector: {a/b: c}}]}"])
    def test_malformed_releases(self, release: str) -> None:
        assert lint({"helmfile.yaml": f"repositories: [a]\nreleases: [{release}]\nx: {{tolerations: {TOLERATIONS}}}\n"}) == []
        assert lint({"helmfile.yaml": f"repositories: a\nreleases: {release}\nx: {{tolerations: {TOLERATIONS}}}\n"}) == []


class TestSelectors:
    def test_a_spread_constraint_with_the_name_of_the_release(self) -> None:
        values = "controller: {topologySpreadConstraints: " + spread("app.kubernetes.io/name: nginx-external") + "}"
        (message,) = messages_of(flux("ingress-nginx", values, version="4.8.3", name="nginx-external"), SPREAD)
        assert message.endswith(
            "this spread constraint does not count its own pods: it selects `app.kubernetes.io/name In [nginx-external]`,"
            " but ingress-nginx sets `app.kubernetes.io/name: ingress-nginx`"
        )

    @pytest.mark.parametrize(("spec", "release"), [("", "web"), ("releaseName: edge, ", "edge"), ("targetNamespace: net, ", "net-web")])
    def test_the_name_of_the_release(self, spec: str, release: str) -> None:
        def text(asked: str) -> str:
            labels = spread(f"app.kubernetes.io/instance: {asked}")
            return (
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n"
                f"spec: {{{spec}chart: {{spec: {{chart: ingress-nginx, version: 4.8.3}}}},"
                f" values: {{controller: {{topologySpreadConstraints: {labels}}}}}}}\n"
            )

        assert messages_of(text(release), SPREAD) == []
        assert len(messages_of(text("other"), SPREAD)) == 1

    @pytest.mark.parametrize("more", ["nameOverride: edge", "controller: {labels: {app.kubernetes.io/name: edge}}"])
    def test_values_that_change_the_labels_are_silent(self, more: str) -> None:
        labels = spread("app.kubernetes.io/name: edge")
        if more.startswith("controller"):
            values = more[:-1] + f", topologySpreadConstraints: {labels}}}"
        else:
            values = f"{more}\ncontroller: {{topologySpreadConstraints: {labels}}}"
        assert messages_of(flux("ingress-nginx", values, version="4.8.3"), SPREAD) == []

    @pytest.mark.parametrize(
        ("more", "messages"),
        [
            ("replicaCount: 2", 1),
            ("k8sAppLabelOverride: kube-dns", 0),  # Measured.
            ("k8sAppLabel: kube-dns", 0),  # Its name says so.
            ("k8sAppLabelOverride: ''", 1),
            ("serviceNameOverride: kube-dns", 1),
        ],
    )
    def test_a_value_that_replaces_another_label_than_that_of_the_name(self, more: str, messages: int) -> None:
        values = f"{more}\ntopologySpreadConstraints: {spread('k8s-app: kube-dns')}"
        assert len(messages_of(flux("coredns", values, version="1.46.2"), SPREAD)) == messages

    @pytest.mark.parametrize("name", ["${APP}", "CHANGEME", "$app"])
    def test_a_selector_with_a_placeholder(self, name: str) -> None:
        values = f"topologySpreadConstraints: {spread(f'k8s-app: {name}')}"
        assert messages_of(flux("coredns", values, version="1.46.2"), SPREAD) == []

    @pytest.mark.parametrize(("more", "messages"), [("{", 1), ("{name: edge, ", 0)])
    def test_the_name_of_a_component_that_is_its_label(self, more: str, messages: int) -> None:
        values = f"server: {more}topologySpreadConstraints: {spread('app.kubernetes.io/component: edge')}}}"
        assert len(messages_of(flux("prometheus", values, version="29.27.0", repository="prometheus-community"), SPREAD)) == messages

    def test_the_label_of_the_controller_depends_on_the_version(self) -> None:
        def values(key: str) -> str:
            return f"controllers: {{api: {{containers: {{}}, pod: {{topologySpreadConstraints: {spread(f'{key}: api')}}}}}}}"

        old, new = values("app.kubernetes.io/component"), values("app.kubernetes.io/controller")
        assert messages_of(flux("app-template", old, version="3.7.3"), SPREAD) == []
        assert messages_of(flux("app-template", new, version="4.1.1"), SPREAD) == []
        (message,) = messages_of(flux("app-template", old, version="4.1.1"), SPREAD)
        assert (
            "app-template does not set the label `app.kubernetes.io/component`; the pods have `app.kubernetes.io/controller: api`"
            in message
        )
        assert len(messages_of(flux("app-template", new, version="3.7.3"), SPREAD)) == 1
        assert messages_of(flux("app-template", old), SPREAD) == messages_of(flux("app-template", new), SPREAD) == []

    def test_defaults_apply_to_every_controller(self) -> None:
        controllers = "controllers: {api: {containers: {}}, db: {containers: {}}}\n"

        def text(name: str) -> str:
            constraint = spread(f"app.kubernetes.io/controller: {name}")
            return flux("app-template", f"{controllers}defaultPodOptions: {{topologySpreadConstraints: {constraint}}}", version="4.1.1")

        assert messages_of(text("db"), SPREAD) == []
        assert len(messages_of(text("cache"), SPREAD)) == 1

    def test_a_controller_replaces_the_default_of_the_same_field(self) -> None:
        def text(own: str, more: str = "") -> str:
            constraint = spread("app.kubernetes.io/controller: db")
            controllers = f"controllers: {{api: {{containers: {{}}}}, db: {{containers: {{}}, pod: {{{own}}}}}}}\n"
            return flux(
                "app-template", f"{controllers}{more}defaultPodOptions: {{topologySpreadConstraints: {constraint}}}", version="4.1.1"
            )

        replaced = f"topologySpreadConstraints: {spread('app.kubernetes.io/controller: db')}"
        (message,) = messages_of(text(replaced), SPREAD)
        assert message.endswith("app-template sets `app.kubernetes.io/controller: api`")
        assert messages_of(text("nodeSelector: {disk: ssd}"), SPREAD) == []
        assert messages_of(text("topologySpreadConstraints: []"), SPREAD) == []
        assert messages_of(text(replaced, "defaultPodOptionsStrategy: merge\n"), SPREAD) == []

    def test_a_default_that_every_controller_replaces_reaches_no_pod(self) -> None:
        own = f"pod: {{topologySpreadConstraints: {spread('app.kubernetes.io/name: web')}}}"
        default = f"defaultPodOptions: {{topologySpreadConstraints: {spread('app.kubernetes.io/name: other')}}}"
        values = f"controllers: {{api: {{containers: {{}}, {own}}}}}\n{default}"
        assert messages_of(flux("app-template", values, version="4.1.1"), SPREAD) == []

    def test_pods_of_an_operator(self) -> None:
        values = f"prometheus: {{prometheusSpec: {{affinity: {anti('app: prometheus')}}}}}"
        (message,) = messages_of(flux("kube-prometheus-stack", values, version="60.0.0"), ANTI)
        assert message.endswith(
            "this required podAntiAffinity separates no pods: it selects `app In [prometheus]`,"
            " but the operator does not set the label `app`; the pods have `app.kubernetes.io/name: prometheus`"
        )
        assert messages_of(flux("kube-prometheus-stack", values, version="12.0.0"), ANTI) == []

    def test_a_value_that_is_made_of_two_labels(self) -> None:
        values = (
            "controller: {affinity: " + anti("app.kubernetes.io/name: web-ingress-nginx, app.kubernetes.io/component: controller") + "}"
        )
        (message,) = messages_of(flux("ingress-nginx", values, version="4.8.3"), ANTI)
        assert message.endswith("but ingress-nginx sets `app.kubernetes.io/name: ingress-nginx`")

    def test_anti_affinity_to_other_pods_is_silent(self) -> None:
        values = f"controller: {{affinity: {anti('app: kube-vip')}}}"
        assert messages_of(flux("ingress-nginx", values, version="4.8.3"), ANTI) == []

    def test_values_and_patches_elsewhere_may_add_labels(self) -> None:
        values = f"controller: {{topologySpreadConstraints: {spread('tier: edge')}}}"
        assert len(messages_of(flux("ingress-nginx", values, version="4.8.3"), SPREAD)) == 1
        for more in ("  valuesFrom: [{kind: ConfigMap, name: a}]\n", "  postRenderers: [{kustomize: {}}]\n"):
            assert messages_of(flux("ingress-nginx", values, version="4.8.3", more=more), SPREAD) == []
        assert (
            len(messages_of(flux("ingress-nginx", values, version="4.8.3", more="  valuesFrom: [{kind: Secret, name: a}]\n"), SPREAD)) == 1
        )

    def test_affinity_to_another_controller_of_the_release(self) -> None:
        def text(key: str, value: str) -> str:
            term = (
                f"{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app.kubernetes.io/name: web, {key}: {value}}}}}}}"
            )
            affinity = f"{{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
            controllers = f"controllers: {{api: {{containers: {{}}}}, search: {{containers: {{}}, pod: {{affinity: {affinity}}}}}}}"
            return flux("app-template", controllers, version="4.1.1")

        assert messages_of(text("app.kubernetes.io/controller", "api"), TARGET) == []
        (message,) = messages_of(text("app.kubernetes.io/component", "api"), TARGET)
        assert message.endswith(
            "no pod of the release `web` has `app.kubernetes.io/component In [api]`, which this required podAffinity selects:"
            " app-template does not set the label `app.kubernetes.io/component`; the pods have `app.kubernetes.io/controller: api`"
        )
        assert len(messages_of(text("app.kubernetes.io/controller", "apo"), TARGET)) == 1
        assert messages_of(text("app.kubernetes.io/component", "api").replace("name: web,", "name: other,"), TARGET) == []

    @staticmethod
    def copied(name: str, selected: str, more: str = "replicaCount: 2", chart: str = "unknown") -> str:
        return flux(chart, f"affinity: {anti(f'app.kubernetes.io/name: {selected}')}\n{more}", name=name)

    def test_a_term_that_was_copied_from_another_release(self) -> None:
        files = {"a.yaml": self.copied("coredns", "blocky"), "b.yaml": self.copied("blocky", "blocky")}
        (message,) = messages_of(files, ANTI)
        assert message.endswith(
            "this required podAntiAffinity does not separate the pods of coredns from each other: it selects those of"
            " HelmRelease blocky, which has the same one, so it is probably a copy"
        )
        assert [each.severity for each in lint(files)] == ["info"]

    @pytest.mark.parametrize(
        "release",
        [
            ("coredns", "blocky", "replicaCount: 1"),
            ("coredns", "blocky", "replicaCount: two"),
            ("coredns", "blocky", f"replicaCount: 2\ntopologySpreadConstraints: {spread('app.kubernetes.io/name: coredns')}"),
            ("blocky-secondary", "blocky"),
            ("coredns", "blocky", "replicaCount: 2\nnameOverride: blocky"),
            ("coredns", "blocky", "replicaCount: 2", "blocky"),
            ("coredns", "unbound"),
            ("coredns", "coredns"),
        ],
        ids=["one pod", "an unknown number", "spread", "a part of the name", "a name", "the chart", "another release", "its own pods"],
    )
    def test_a_term_that_may_be_meant_for_other_pods(self, release: tuple[str, ...]) -> None:
        assert messages_of({"a.yaml": self.copied(*release), "b.yaml": self.copied("blocky", "blocky")}, ANTI) == []

    NEIGHBOUR = flux("app-template", "controllers: {web: {containers: {}}, jobs: {containers: {}}}", version="3.1.0")

    @staticmethod
    def backup(*labels: str) -> str:
        """A release of an unknown chart that must run beside pods with labels."""
        term = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {" + ", ".join(labels) + "}}}"
        return flux("backup", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + term + "]}}", name="backup")

    def test_a_pod_of_another_release(self) -> None:
        name = "app.kubernetes.io/name: web"
        files = {"web.yaml": self.NEIGHBOUR, "a.yaml": self.backup(name, "app.kubernetes.io/component: api")}
        (message,) = messages_of(files, TARGET)
        assert message.endswith(
            "no pod of the release `web` has `app.kubernetes.io/component In [api]`, which this required podAffinity selects:"
            " app-template sets `app.kubernetes.io/component: web`"
        )
        assert messages_of({**files, "a.yaml": self.backup(name, "app.kubernetes.io/component: jobs")}, TARGET) == []
        assert messages_of({**files, "a.yaml": self.backup(name)}, TARGET) == []

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("chart: app-template", "chart: other"),
            ("name: web}", "name: web, namespace: shop}"),
            ("  values:", "  valuesFrom: [{kind: ConfigMap, name: values}]\n  values:"),
            ("  values:", "  postRenderers: [{kustomize: {}}]\n  values:"),
            ("jobs: {", "jobs: {labels: {app.kubernetes.io/component: api}, "),
            ("controllers:", "global: {nameOverride: other}\n    controllers:"),
            ("name: web}", "name: store}"),
        ],
        ids=["chart", "namespace", "other values", "patches of the output", "labels of its own", "another name", "an unknown release"],
    )
    def test_a_release_whose_pods_are_not_known(self, old: str, new: str) -> None:
        selecting = self.backup("app.kubernetes.io/instance: web", "app.kubernetes.io/component: api")
        selecting = selecting.replace("name: backup}", "name: backup, namespace: backups}")
        assert self.NEIGHBOUR.count(old) == 1
        assert messages_of({"web.yaml": self.NEIGHBOUR.replace(old, new), "a.yaml": selecting}, TARGET) == []

    def test_one_of_two_releases_with_the_name(self) -> None:
        other = flux("app-template", "controllers: {api: {containers: {}}}", version="3.1.0")
        selecting = self.backup("app.kubernetes.io/name: web", "app.kubernetes.io/component: api")
        assert messages_of({"web.yaml": self.NEIGHBOUR, "other.yaml": other, "a.yaml": selecting}, TARGET) == []

    def test_a_release_that_is_selected_by_an_expression(self) -> None:
        expressions = (
            "{key: app.kubernetes.io/name, operator: In, values: [web]}, {key: app.kubernetes.io/component, operator: In, values: [api]}"
        )
        selecting = self.backup().replace("matchLabels: {}", f"matchExpressions: [{expressions}]")
        assert len(messages_of({"web.yaml": self.NEIGHBOUR, "a.yaml": selecting}, TARGET)) == 1

    def test_the_labels_of_an_operators_pods_are_all_known(self) -> None:
        fragment = "prometheus:\n  prometheusSpec:\n    topologySpreadConstraints: " + spread("app: prometheus") + "\n"
        assert places(lint({"prometheus.yaml": fragment})) == [f"prometheus.yaml:3:117 warning {SPREAD}"]
        assert lint({"prometheus.yaml": fragment + "    podMetadata: {labels: {app: prometheus}}\n"}) == []
        assert lint({"prometheus.yaml": fragment.replace("app:", "operator.prometheus.io/shard:")}) == []

    def test_a_fix_moves_the_value_to_the_only_place(self) -> None:
        text = flux("app-template", "controllers:\n  main:\n    nodeSelector: {disk: ssd}\n    containers: {}", version="4.1.1")
        (finding,) = lint(text)
        assert finding.help == "Set `controllers.main.pod.nodeSelector` instead."
        moved = "controllers:\n  main:\n    containers: {}\n    pod:\n      nodeSelector: {disk: ssd}"
        assert becomes(IGNORED, text, flux("app-template", moved, version="4.1.1"))


def test_charts_of_a_kustomization() -> None:
    text = """
        apiVersion: kustomize.config.k8s.io/v1beta1
        kind: Kustomization
        helmCharts:
          - name: metallb
            repo: https://metallb.github.io/metallb
            releaseName: metallb
            valuesInline:
              tolerations: [{key: a, operator: Exists}]
    """
    assert messages_of(text, IGNORED) == ["9:7 metallb does not read `tolerations`: it reaches no pod"]


@pytest.mark.parametrize(
    "spec",
    [
        "valuesFrom: 5",
        "chart: 5",
        "chart: {spec: 5}",
        "chartRef: {name: 5}",
        "targetNamespace: [a]",
        "releaseName: {a: b}",
        "chart: {spec: {chart: [a]}}",
    ],
)
def test_malformed_releases_are_read_as_far_as_they_go(spec: str) -> None:
    values = f"{{controllers: {{a: {{containers: {{}}, tolerations: {TOLERATIONS}}}}}, b: {{topologySpreadConstraints: {spread('a: b')}}}}}"
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n"
    assert all(each.rule == IGNORED for each in lint(f"{head}spec:\n  {spec}\n  values: {values}\n"))


class TestDefaultOptions:
    """A controller of app-template takes the default options of pods that it does not set."""

    ARM = "nodeSelector: {kubernetes.io/arch: arm64}"
    AMD = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:"
        " [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]}}}"
    )

    def found(self, own: str, default: str) -> list[str]:
        values = f"controllers: {{api: {{containers: {{}}, pod: {{{own}}}}}}}\ndefaultPodOptions: {{{default}}}"
        return messages_of(flux("app-template", values, version="4.1.1"), "contradictory-requirements")

    def test_a_node_selector_that_contradicts_the_default_affinity(self) -> None:
        (message,) = self.found(self.ARM, self.AMD)
        assert message == (
            "11:47 no node can satisfy `kubernetes.io/arch In [arm64]` and also `kubernetes.io/arch In [amd64]`;"
            " the affinity is that of `defaultPodOptions`"
        )

    def test_an_affinity_that_contradicts_the_default_node_selector(self) -> None:
        (message,) = self.found(self.AMD, self.ARM)
        assert message.endswith("the nodeSelector is that of `defaultPodOptions`")

    def test_a_controller_that_sets_the_field_itself(self) -> None:
        assert self.found(f"{self.ARM}, affinity: {{}}", self.AMD) == []
        assert self.found(self.ARM, self.ARM.replace("arm64", "amd64")) == []

    def test_an_affinity_that_contradicts_itself_is_reported_once(self) -> None:
        expressions = "{key: a, operator: Exists}, {key: a, operator: DoesNotExist}"
        itself = self.AMD.replace("{key: kubernetes.io/arch, operator: In, values: [amd64]}", expressions)
        assert len(self.found(itself, self.ARM)) == 1

    def test_other_charts_have_no_such_defaults(self) -> None:
        values = f"controllers: {{api: {{pod: {{{self.ARM}}}}}}}\ndefaultPodOptions: {{{self.AMD}}}"
        assert messages_of(flux("some-chart", values), "contradictory-requirements") == []
