"""Charts that are not in the repository: `--render-network` fetches them with Helm, and `--offline` takes them from the cache.

The chart repository and the OCI registry of these tests listen on 127.0.0.1 only.
"""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from afflint.rendering import chart_archives
from afflint.rendering.chart_archives import ChartCache, DamagedArchiveError
from command_line import exit_code
from rendering.chart_servers import Server, packed, serving
from rendering.real_tools import on_path
from rendering.rendered_trees import Checking, reasons, write

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {zone: {{ .Values.zone }}}
      {{- if .Values.hard }}
      affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, preference: {matchFields: []}}]}}
      {{- end }}
      containers: [{name: web, image: nginx}]
"""
WEB = {"templates/web.yaml": DEPLOYMENT, "values.yaml": "zone: a\nreplicas: -1\nhard: false\n"}


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    on_path(monkeypatch, "kustomize", "helm")
    for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("helm")))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.add("web", "1.2.0", WEB)
        yield server


@pytest.fixture
def cache(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    return tmp_path_factory.mktemp("cache")


class Cached(Checking):
    """Runs `afflint check --render` with a cache."""

    def __init__(self, checking: Checking, cache: Path) -> None:
        super().__init__(checking._monkeypatch, checking._capfd)
        self._cache = cache

    def __call__(self, *words: str, code: int | None = None) -> str:
        ended = exit_code(self._monkeypatch, "check", "--cache-dir", str(self._cache), *words)
        out, err = self._capfd.readouterr()
        assert code is None or ended == code, out + err
        return out + err


@pytest.fixture
def cached(checking: Checking, cache: Path) -> Cached:
    return Cached(checking, cache)


def release(chart: str, values: str = "zone: 1") -> str:
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: shop, namespace: shops}}
spec:
  {chart}
  values:
    {values}
"""


def source(kind: str, spec: str) -> str:
    return f"apiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\nmetadata: {{name: charts, namespace: shops}}\nspec: {{{spec}}}\n"


IN_REPOSITORY = release("chart: {spec: {chart: web, version: 1.2.0, sourceRef: {kind: HelmRepository, name: charts}}}")
FROM_REGISTRY = release("chartRef: {kind: OCIRepository, name: charts}")


def flux(server: Server, version: str = "1.2.0", values: str = "zone: 1") -> dict[str, str]:
    """A release of the chart `web` from the chart repository."""
    return {
        ".git/HEAD": "",
        "apps/release.yaml": IN_REPOSITORY.replace("1.2.0", version).replace("zone: 1", values),
        "sources/charts.yaml": source("HelmRepository", f"url: '{server.repository}'"),
    }


SEEN = ["apps/release.yaml:7:11 wrong-type spec.template.spec.nodeSelector.zone ['chart web 1.2.0 (HelmRelease shop of apps)']"]


# Where charts come from.


def test_a_release_whose_chart_is_in_a_chart_repository_is_rendered(checking: Checking, server: Server) -> None:
    write(flux(server))
    assert reasons(checking.report()) == ["the chart web is not in the repository"]
    assert server.requests == []
    assert checking.messages("--render-network") == SEEN
    report = checking.report("--render-network")
    assert report["coverage"] == {"seen": [{"kind": "HelmRelease", "name": "shop", "file": "apps/release.yaml"}], "not_seen": []}


@pytest.mark.parametrize("ref", ["tag: 1.2.0", "semver: 1.x", "digest: 'DIGEST'"])
def test_a_release_whose_chart_is_in_a_registry_is_rendered(checking: Checking, server: Server, ref: str) -> None:
    digest = server.add("web", "1.2.0", WEB)
    spec = f"url: '{server.registry}/web', insecure: true, ref: {{{ref.replace('DIGEST', digest)}}}"
    write({".git/HEAD": "", "apps/release.yaml": FROM_REGISTRY, "apps/source.yaml": source("OCIRepository", spec)})
    (messages,) = checking.messages("--render-network")
    assert messages.startswith("apps/release.yaml:7:11 wrong-type spec.template.spec.nodeSelector.zone ['chart web ")


def test_only_tags_that_are_versions_can_be_fetched(checking: Checking, server: Server) -> None:
    spec = f"url: '{server.registry}/web', insecure: true, ref: {{tag: stable}}"
    write({".git/HEAD": "", "apps/release.yaml": FROM_REGISTRY, "apps/source.yaml": source("OCIRepository", spec)})
    assert reasons(checking.report("--render-network")) == ["Helm only fetches tags that are versions, and `stable` is not one"]


def test_a_release_may_name_its_chart_by_a_helm_chart(checking: Checking, server: Server) -> None:
    files = flux(server)
    files["apps/release.yaml"] = release("chartRef: {kind: HelmChart, name: charts}")
    files["apps/chart.yaml"] = source("HelmChart", "chart: web, version: 1.2.0, sourceRef: {kind: HelmRepository, name: charts}")
    write(files)
    assert checking.messages("--render-network") == SEEN


def test_a_helm_chart_of_k3s_is_rendered(checking: Checking, server: Server) -> None:
    helm_chart = f"""\
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {{name: shop, namespace: kube-system}}
spec:
  repo: {server.repository}
  chart: web
  targetNamespace: shop
  valuesContent: |
    zone: 1
"""
    write({".git/HEAD": "", "apps/shop.yaml": helm_chart})
    (messages,) = checking.messages("--render-network")
    assert messages.startswith("apps/shop.yaml:9:11 wrong-type spec.template.spec.nodeSelector.zone ['chart web")


def test_an_application_whose_chart_is_in_a_chart_repository_is_rendered(checking: Checking, server: Server) -> None:
    application = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: shop}}
spec:
  source:
    repoURL: {server.repository}
    chart: web
    targetRevision: 1.*
    helm:
      valuesObject:
        zone: 1
"""
    write({".git/HEAD": "", "apps/shop.yaml": application})
    assert checking.messages("--render-network") == [
        "apps/shop.yaml:11:15 wrong-type spec.template.spec.nodeSelector.zone ['chart web 1.* (Application shop of apps)']"
    ]


def test_an_application_set_names_the_chart_of_its_applications(checking: Checking, server: Server) -> None:
    applications = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: shops}}
spec:
  generators: [{{list: {{elements: [{{name: a, zone: 1}}, {{name: b, zone: c}}]}}}}]
  template:
    metadata: {{name: 'shop-{{{{name}}}}'}}
    spec:
      source:
        repoURL: {server.repository}
        chart: web
        targetRevision: 1.2.0
        helm: {{parameters: [{{name: zone, value: '{{{{zone}}}}'}}]}}
"""
    write({".git/HEAD": "", "apps/shops.yaml": applications})
    (messages,) = checking.messages("--render-network")
    place = "apps/shops.yaml:13:49 wrong-type spec.template.spec.nodeSelector.zone"
    assert messages == f"{place} ['chart web 1.2.0 (ApplicationSet shops, shop-a of apps)']"


def test_the_rendered_form_of_a_release_and_its_source_count(checking: Checking, server: Server) -> None:
    files = flux(server, values="replicas: 1")
    patch = "- {op: add, path: /spec/values/zone, value: 1}"
    files["apps/kustomization.yaml"] = f"resources: [release.yaml]\npatches:\n- target: {{kind: HelmRelease}}\n  patch: |\n    {patch}\n"
    write(files)
    (messages,) = checking.messages("--render-network")
    assert (
        messages
        == "apps/kustomization.yaml:5:49 wrong-type spec.template.spec.nodeSelector.zone ['chart web 1.2.0 (HelmRelease shop of apps)']"
    )
    assert len([each for each in server.requests if each.endswith(".tgz")]) == 1


def test_a_chart_gets_the_dependencies_that_it_lacks(checking: Checking, server: Server) -> None:
    server.add("web", "1.3.0", WEB)
    dependency = f"dependencies: [{{name: web, version: 1.x.x, repository: '{server.repository}'}}]"
    chart = f"apiVersion: v2\nname: shop\nversion: 1.0.0\n{dependency}\n"
    lock = f"dependencies:\n- {{name: web, version: 1.2.0, repository: '{server.repository}'}}\n"
    write({".git/HEAD": "", "shop/Chart.yaml": chart, "shop/Chart.lock": lock, "shop/values.yaml": "web:\n  replicas: 1\n  zone: 1\n"})
    assert checking.messages() == []
    assert checking.messages("--render-network") == ["shop/values.yaml:3:9 wrong-type spec.template.spec.nodeSelector.zone ['shop']"]
    assert "/charts/web-1.2.0.tgz" in server.requests
    assert "/charts/web-1.3.0.tgz" not in server.requests
    assert sorted(os.listdir("shop")) == ["Chart.lock", "Chart.yaml", "values.yaml"]


def test_a_chart_may_have_the_name_of_the_chart_that_it_wraps(checking: Checking, server: Server) -> None:
    chart = f"apiVersion: v2\nname: web\nversion: 1.2.0\ndependencies: [{{name: web, version: 1.2.0, repository: '{server.repository}'}}]\n"
    write({".git/HEAD": "", "web/Chart.yaml": chart, "web/values.yaml": "web:\n  replicas: 1\n  zone: 1\n"})
    (failed,) = checking.report()["summary"]["rendered"]["failed"]
    assert failed["reason"] == "it only contains charts that are not in the repository: `web`"
    assert checking.messages("--render-network") == ["web/values.yaml:3:9 wrong-type spec.template.spec.nodeSelector.zone ['web']"]


def test_a_chart_without_a_dependency_that_cannot_be_fetched_says_why(checking: Checking, server: Server) -> None:
    dependency = f"dependencies: [{{name: db, version: 1.2.0, repository: '{server.repository}'}}]"
    chart = f"apiVersion: v2\nname: shop\nversion: 1.0.0\n{dependency}\n"
    write({".git/HEAD": "", "shop/Chart.yaml": chart, "shop/values.yaml": "zone: 1\nreplicas: 1\nhard: no\n", **below("shop", WEB)})
    shown = checking("--render", "--render-network")
    assert "shop/values.yaml:1:7" in shown
    assert f'Left out: the chart db 1.2.0 cannot be fetched from {server.repository}: chart "db"' in shown


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items() if name.startswith("templates")}


def test_a_kustomization_gets_the_charts_that_it_names(checking: Checking, server: Server) -> None:
    chart = f"- {{name: web, repo: '{server.repository}', version: 1.2.0, releaseName: shop, valuesInline: {{zone: 1, replicas: 1}}}}"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {nodeSelector: {a: 1}, containers: [{name: web, image: nginx}]}\n"
    write({".git/HEAD": "", "app/kustomization.yaml": f"resources: [pod.yaml]\nhelmCharts:\n{chart}\n", "app/pod.yaml": pod})
    assert [each.split()[0] for each in checking.messages()] == ["app/pod.yaml:4:26"]
    messages = checking.messages("--render-network")
    assert [each.split()[:2] for each in messages] == [["app/kustomization.yaml:3:110", "wrong-type"], ["app/pod.yaml:4:26", "wrong-type"]]
    assert sorted(os.listdir("app")) == ["kustomization.yaml", "pod.yaml"]


# What is reported.


def test_only_what_the_values_of_the_user_cause_is_reported(checking: Checking, server: Server) -> None:
    write(flux(server, values="hard: true"))  # The chart itself has -1 replicas.
    messages = checking.messages("--render-network")
    assert {each.split()[0] for each in messages} == {"apps/release.yaml:5:25"}, messages
    write(flux(server, values="hard: false"))
    assert checking.messages("--render-network") == []
    chart = f"- {{name: web, repo: '{server.repository}', version: 1.2.0, releaseName: shop}}"
    write({"app/kustomization.yaml": f"helmCharts:\n{chart}\n"})
    assert checking.messages("--render-network", "app") == []


def test_what_does_not_fit_the_nodes_of_the_user_is_reported(checking: Checking, server: Server) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {zone: b}}\n"
    write({**flux(server, values="replicas: 1"), "nodes.yaml": node})
    (messages,) = checking.messages("--render-network", "--nodes", "nodes.yaml")
    assert messages.startswith("apps/release.yaml:5:25 unschedulable spec.template.spec.nodeSelector")


# The cache.


def test_what_was_fetched_is_rendered_offline_from_then_on(cached: Cached, cache: Path) -> None:
    with serving() as server:
        server.add("web", "1.2.0", WEB)
        write(flux(server))
        assert cached.messages("--render-network") == SEEN
        requests = len(server.requests)
        assert cached.messages("--render-network") == SEEN
        assert len(server.requests) == requests  # An exact version is fetched once.
    assert cached.messages("--offline") == SEEN
    assert cached.messages() == []  # Without an option, a report depends on nothing but the repository.
    (archive,) = (cache / "charts" / "archives").iterdir()
    archive.write_bytes(b"x")
    assert reasons(cached.report("--offline")) == ["the chart web 1.2.0 is damaged in the cache; `--render-network` fetches it"]


def test_a_damaged_archive_is_fetched_again(cached: Cached, cache: Path, server: Server) -> None:
    write(flux(server))
    cached.messages("--render-network")
    (archive,) = (cache / "charts" / "archives").iterdir()
    archive.write_bytes(b"x")
    assert cached.messages("--render-network") == SEEN
    assert cached.messages("--offline") == SEEN


WRONG = {
    "text": (b"<html>Sign in</html>", "cannot be unpacked: Not a gzipped file"),
    "another chart": (packed("other", "1.2.0", WEB), "contains `other` 1.2.0"),
    "another version": (packed("web", "9.9.9", WEB), "contains `web` 9.9.9"),
    "no chart": (gzip.compress(b"\0" * 1024), "contains no Chart.yaml"),
    "a name twice": (packed("web", "1.2.0", {"values.yaml": "a: b", "Values.yaml": "a: c"}), "`Values.yaml` cannot be unpacked"),
}


@pytest.mark.parametrize("answer", WRONG)
def test_what_a_server_sends_by_mistake_is_not_kept(answer: str, cached: Cached, cache: Path, server: Server) -> None:
    """As a proxy or the portal of a network may answer once."""
    data, reason = WRONG[answer]
    write(flux(server))
    server.files["/charts/web-1.2.0.tgz"] = data
    [messages] = reasons(cached.report("--render-network"))
    assert reason in messages
    assert not [*(cache / "charts").rglob("*.tgz")]
    del server.files["/charts/web-1.2.0.tgz"]
    assert cached.messages("--render-network") == SEEN


@pytest.mark.skipif(os.name != "posix", reason="the plugin is a shell script")
def test_an_address_in_the_index_starts_no_plugin_of_the_user(cached: Cached, server: Server, tmp_path: Path) -> None:
    plugin = Path(os.environ["HELM_DATA_HOME"]) / "plugins" / "s3x"
    plugin.mkdir(parents=True)
    (plugin / "plugin.yaml").write_text("name: s3x\nversion: 1.0.0\ndownloaders: [{command: run.sh, protocols: [s3x]}]\n")
    (plugin / "run.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (plugin / "run.sh").chmod(0o755)
    write(flux(server))
    entry = {"apiVersion": "v2", "name": "web", "version": "1.2.0", "urls": ["s3x://bucket/web-1.2.0.tgz"]}
    server.files["/charts/index.yaml"] = json.dumps({"apiVersion": "v1", "entries": {"web": [entry]}}).encode()
    assert len(reasons(cached.report("--render-network"))) == 1
    assert not (tmp_path / "started").exists()


def test_a_range_is_resolved_again_with_the_network_only(cached: Cached, server: Server) -> None:
    write(flux(server, "1.x"))
    found = "apps/release.yaml:7:11 wrong-type spec.template.spec.nodeSelector.zone ['chart web 1.x (HelmRelease shop of apps)']"
    assert cached.messages("--render-network") == [found]
    server.add("web", "1.3.0", {"templates/web.yaml": "", "values.yaml": ""})
    assert cached.messages("--offline") == [found]
    assert cached.messages("--render-network") == []
    assert cached.messages("--offline") == []


def test_a_chart_that_is_not_in_the_cache_is_not_seen_and_says_why(cached: Cached, server: Server) -> None:
    write(flux(server))
    assert reasons(cached.report("--offline")) == ["the chart web 1.2.0 is not in the cache; `--render-network` fetches it"]
    cached("--render", "--offline", "--fail-on-unrendered", code=1)
    cached("--render", "--render-network", "--offline", code=2)
    assert server.requests == []


def test_the_cache_deletes_what_was_not_used_for_the_longest_time(tmp_path: Path) -> None:
    kept = ChartCache(str(tmp_path), most=25)
    for number, name in enumerate("abc"):
        kept.keep([name], name.encode() * 10)
        os.utime(max((tmp_path / "charts" / "archives").iterdir(), key=os.path.getmtime), (number, number))
    assert [kept.find([name]) for name in "abc"] == [None, b"b" * 10, b"c" * 10]


def test_the_index_of_the_cache_has_a_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_archives, "_MOST_OF_INDEX", 250)
    kept = ChartCache(str(tmp_path))
    for name in "abcd":
        kept.keep([name], name.encode())
    assert len([*(tmp_path / "charts" / "index").iterdir()]) == 2


def test_a_damaged_index_is_noticed(tmp_path: Path) -> None:
    kept = ChartCache(str(tmp_path))
    kept.keep(["a"], b"a")
    (entry,) = (tmp_path / "charts" / "index").iterdir()
    for text in ("", "[]", '{"key": ["a"], "sha256": "../../x"}', '{"key": ["b"]}'):
        entry.write_text(text, encoding="utf-8")
        with pytest.raises(DamagedArchiveError):
            kept.find(["a"])
    assert kept.find(["b"]) is None


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "charts").write_text("a file", encoding="utf-8")
    kept = ChartCache(str(tmp_path))
    kept.keep(["a"], b"a")
    assert kept.find(["a"]) is None


# The tree is not trusted.


def test_credentials_in_the_tree_are_neither_used_nor_printed(checking: Checking, server: Server) -> None:
    files = flux(server)
    files["sources/charts.yaml"] = files["sources/charts.yaml"].replace("http://", "http://me:secret@")
    write(files)
    assert checking.messages("--render-network") == SEEN
    assert {*server.headers} == {""}
    files["sources/charts.yaml"] = source("HelmRepository", "url: 'http://me:secret@127.0.0.1:9/x'")
    write(files)
    assert "secret" not in checking("--render", "--render-network", "-v")


@pytest.mark.parametrize(
    "address", ["file:///etc", "/etc", "-x", "--post-renderer=x", "ftp://x/y", "git@x:y", "http://x/../y", "oci://-x/y"]
)
def test_only_addresses_of_servers_are_connected_to(checking: Checking, address: str, server: Server) -> None:
    files = flux(server)
    files["sources/charts.yaml"] = source("HelmRepository", f"url: '{address}'")
    write(files)
    (reason,) = reasons(checking.report("--render-network"))
    assert reason in ("the address of the repository of the chart `web` is not supported", "`web` is not the name of a chart")


@pytest.mark.parametrize("version", ["--devel", "1.2.0 --devel\n", "$(id)"])
def test_a_version_cannot_be_another_option(checking: Checking, server: Server, version: str) -> None:
    files = flux(server)
    files["apps/release.yaml"] = files["apps/release.yaml"].replace("version: 1.2.0", f"version: {version!r}".replace("'", '"'))
    write(files)
    assert len(reasons(checking.report("--render-network"))) == 1
    assert not [each for each in server.requests if each.endswith(".tgz")]


def test_a_release_says_why_its_chart_cannot_be_fetched(checking: Checking, server: Server) -> None:
    files = flux(server)
    write({**files, "sources/charts.yaml": ""})
    (reason,) = reasons(checking.report("--render-network"))
    assert reason == "`HelmRepository charts`, which says where its chart is, is not in the repository"
    write(flux(server, "9.9.9"))
    (reason,) = reasons(checking.report("--render-network"))
    assert reason.startswith(f"the chart web 9.9.9 cannot be fetched from {server.repository}: ")


def test_a_found_configuration_does_not_switch_the_network_on(checking: Checking, server: Server) -> None:
    write({**flux(server), ".afflint.yaml": "render: true\n"})
    checking(code=0)
    assert server.requests == []
