"""Workloads about which nothing is proved, because something that decides their nodes is unknown."""

from afflint.index.manifest_index import ManifestIndex
from afflint.inventory.simulation_input import undecidable_workloads
from afflint.pipeline.map_step import Checker, default_settings
from cluster_objects import HOST, REQUIRED, ZONE
from on_nodes import apart, spread, workload

CHECKER = Checker(default_settings()._replace(inventory=True))


def index_of(*texts: str, whole: ManifestIndex | None = None) -> ManifestIndex:
    """The index of some files, or of those of one cluster among a whole."""
    files = [CHECKER.check("a.yaml", text.encode()).facts.of_file(number, ()) for number, text in enumerate(texts)]
    return ManifestIndex(files, whole=whole)


def reasons(index: ManifestIndex) -> dict[str, str]:
    """Why each undecidable workload is undecidable, by its name."""
    titles = {pods.key: pods.ref.name or "" for pods in index.pods}
    return {titles[key]: reason for key, reason in undecidable_workloads(index).items()}


def near(name: str, kind: str = "podAffinity", *, required: bool = True, more: str = "") -> str:
    """An affinity to the pods of another workload."""
    term = f"{{labelSelector: {{matchLabels: {{app: {name}}}}}, topologyKey: {HOST}{more}}}"
    if required:
        return f"affinity: {{{kind}: {{{REQUIRED}: [{term}]}}}}"
    return f"affinity: {{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {term}}}]}}}}"


UNKNOWN = ", namespaceSelector: {matchLabels: {team: red}}"
CACHE = workload(name="cache")
FILLED_LATER = workload('nodeSelector: {disk: "${DISK}"}', name="cache")


def test_a_placeholder_makes_a_workload_undecidable() -> None:
    assert reasons(index_of(CACHE)) == {}
    assert reasons(index_of(FILLED_LATER)) == {"cache": "`${DISK}` is a placeholder; the simulation uses it literally"}


def test_so_are_those_that_must_be_near_its_pods_and_near_theirs() -> None:
    web, api = workload(near("cache")), workload(near("web"), name="api")
    assert reasons(index_of(FILLED_LATER, web, api)) == {
        "cache": "`${DISK}` is a placeholder; the simulation uses it literally",
        "web": "",
        "api": "",
    }
    assert set(reasons(index_of(FILLED_LATER, workload(spread(ZONE, "cache"))))) == {"cache", "web"}


def test_those_that_avoid_its_pods_or_only_prefer_them_are_decided() -> None:
    for other in (near("cache", "podAntiAffinity"), near("cache", required=False), spread(ZONE, "cache", hard=False), near("db")):
        assert set(reasons(index_of(FILLED_LATER, workload(other)))) == {"cache"}


def test_labels_of_an_unknown_namespace_decide_only_about_required_terms() -> None:
    unknown = "labels of namespace `shop`, which no manifest defines"
    reason = f"a namespaceSelector requires {unknown}; the simulation assumes that it has only the label with its name"
    for kind in ("podAffinity", "podAntiAffinity"):
        assert reasons(index_of(CACHE, workload(near("cache", kind, more=UNKNOWN)))) == {"web": reason}
        assert reasons(index_of(CACHE, workload(near("cache", kind, required=False, more=UNKNOWN)))) == {}
    assert reasons(index_of(CACHE, workload(near("db", more=UNKNOWN)))) == {}, "no pods are selected in any namespace"
    both = near("db").replace("}]}}", f"}}, {near('cache', more=UNKNOWN).partition('[')[2]}")
    assert reasons(index_of(CACHE, workload(both))) == {"web": reason}
    anywhere = CACHE.replace(", namespace: shop", "")
    assert "labels of a namespace that no manifest names; " in reasons(index_of(anywhere, workload(near("cache", more=UNKNOWN))))["web"]


def test_a_namespace_that_two_manifests_define_is_unknown() -> None:
    shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: TEAM}}\n"
    web = workload(near("cache", more=UNKNOWN))
    assert reasons(index_of(CACHE, web, shop.replace("TEAM", "red"))) == {}
    found = reasons(index_of(CACHE, web, shop.replace("TEAM", "red"), shop.replace("TEAM", "blue")))
    assert "namespace `shop`, which several manifests define" in found["web"]


def test_pods_that_only_another_cluster_has_may_be_in_this_one_after_all() -> None:
    """Which manifests are for which cluster is only guessed."""
    web = workload(near("cache"))
    whole = index_of(web, CACHE)
    reason = "its podAffinity requires pods that seem to belong to another cluster"
    assert reasons(whole) == {}
    assert reasons(index_of(web, whole=whole)) == {"web": reason}
    assert reasons(index_of(web, CACHE, whole=whole)) == {}
    assert reasons(index_of(web, whole=index_of(web))) == {}, "no cluster has them"
    for other in (near("cache", "podAntiAffinity"), near("cache", required=False), apart(HOST)):
        assert reasons(index_of(workload(other), whole=index_of(workload(other), CACHE))) == {}
