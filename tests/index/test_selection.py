"""Which pods a selector may mean: by the namespaces of its term, by label keys, and by how near the files of two objects are."""

import pytest

from afflint.checks.match import Target
from afflint.index.facts import Facts, SelectorRef
from afflint.index.manifest_index import ManifestIndex
from afflint.kube import NEWEST
from afflint.kube.selectors import Requirement, Selector
from afflint.pipeline.map_step import Checker, MapSettings, default_settings
from cluster_objects import HOST, REQUIRED
from linting import messages_of

SETTINGS = default_settings()


def facts_of(text: str, settings: MapSettings = SETTINGS, *, number: int = 0) -> Facts:
    return Checker(settings).check("a.yaml", text.encode()).facts.of_file(number, ())


def web(term: str, *, name: str = "web", labels: str = "", namespace: str = "shop", own: str = "", kind: str = "podAffinity") -> str:
    """A Deployment with one required term; its pods have ``app: NAME`` and more labels."""
    where = f", namespace: {namespace}" if namespace else ""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}{where}, labels: {{{own}}}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}{labels and ", "}{labels}}}}}
    spec:
      affinity: {{{kind}: {{{REQUIRED}: [{{topologyKey: {HOST}, {term}}}]}}}}
      containers: [{{name: c, image: busybox}}]
"""


def pods(name: str, labels: str, *, namespace: str = "", own: str = "") -> str:
    return web("labelSelector: {}", name=name, labels=labels, namespace=namespace, own=own, kind="unused")


def ref(term: str) -> SelectorRef:
    [found] = facts_of(web(f"labelSelector: {{matchLabels: {{tier: db}}}}, {term}")).selector_refs
    return found


# Namespaces


@pytest.mark.parametrize(
    ("term", "scope"),
    [
        ("namespaces: []", ("shop",)),
        ("namespaces: [data, team]", ("data", "team")),
        ("namespaceSelector: {}", None),
        ("namespaceSelector: {matchLabels: {team: red}}", None),
        ("namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: data}}", ("data",)),
        ("namespaces: [team], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: data}}", ("team", "data")),
        ("namespaceSelector: {matchLabels: 5}", None),
        ("namespaces: ['${TEAM}']", None),
    ],
)
def test_a_term_covers_the_namespaces_that_it_names_or_may_select(term: str, scope: tuple[str, ...] | None) -> None:
    assert ref(term).scope == scope


def test_with_all_namespaces_known_a_selector_of_namespaces_covers_those_that_it_matches() -> None:
    def scope(selector: str, **teams: str) -> tuple[str, ...] | None:
        """The scope of a term in namespace shop, with the manifests of some namespaces."""
        texts = [web(f"labelSelector: {{matchLabels: {{app: db}}}}, namespaceSelector: {selector}"), pods("db", "", namespace="data")]
        texts += [
            f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {team}}}}}\n" for name, team in teams.items()
        ]
        index = ManifestIndex([facts_of(text, number=number) for number, text in enumerate(texts)], complete=True)
        [found] = index.selector_refs
        return found.scope

    red = "{matchLabels: {team: red}}"
    assert scope(red, data="red", shop="green") == ("data",)
    assert scope(red, data="red") is None, "the labels of namespace shop are unknown"
    assert scope(red, data="blue", shop="green") is None, "no namespace matches yet"
    assert scope("{}", data="red", shop="green") is None


# Label keys


def test_label_keys_add_the_labels_of_the_pods_to_the_selector() -> None:
    def requirements(more: str) -> tuple[Requirement, ...]:
        [found] = facts_of(web(f"labelSelector: {{matchLabels: {{app: db}}}}, {more}", labels="team: red")).selector_refs
        return found.selector.requirements

    db, red = Requirement("app", "In", ("db",)), ("red",)
    assert requirements("namespaces: []") == (db,)
    assert requirements("matchLabelKeys: [team]") == (db, Requirement("team", "In", red))
    assert requirements("mismatchLabelKeys: [team]") == (db, Requirement("team", "NotIn", red))
    assert requirements("matchLabelKeys: [tier]") == (db,)


# Near misses


MISSPELT = "labelSelector: {matchLabels: {tier: databse}}"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("web.yaml", "db.yaml", True),
        ("web.yaml", "x/y/db.yaml", True),
        ("x/y/web.yaml", "db.yaml", True),
        ("web.yaml", "x/y/z/db.yaml", False),
        ("shop/web.yaml", "data/db.yaml", False),
    ],
)
def test_a_misspelt_label_is_reported_if_the_pods_are_in_the_folder_or_two_levels_below(one: str, other: str, *, near: bool) -> None:
    found = messages_of({one: web(MISSPELT, namespace=""), other: pods("db", "tier: database")}, "affinity-target-missing")
    assert [each.partition(" ")[0] for each in found] == (["10:119"] if near else [])


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [("shop/web.yaml", "data/db.yaml", True), ("shop/web.yaml", "data/x/db.yaml", True), ("shop/web.yaml", "data/x/y/db.yaml", False)],
)
def test_the_parts_of_one_application_may_be_in_neighbouring_folders(one: str, other: str, *, near: bool) -> None:
    part = "app.kubernetes.io/part-of: shop"
    files = {one: web(MISSPELT, namespace="", own=part), other: pods("db", "tier: database", own=part)}
    assert bool(messages_of(files, "affinity-target-missing")) is near
    files[other] = pods("db", "tier: database", own="app.kubernetes.io/part-of: data")
    assert messages_of(files, "affinity-target-missing") == []


def test_so_may_the_objects_of_one_namespace_but_not_of_the_default_one() -> None:
    for namespace, near in (("shop", True), ("default", False)):
        files = {"a/b/c/web.yaml": web(MISSPELT, namespace=namespace), "x/y/z/db.yaml": pods("db", "tier: database", namespace=namespace)}
        assert bool(messages_of(files, "affinity-target-missing")) is near
    files["x/y/z/db.yaml"] = pods("db", "tier: database", namespace="other")
    assert messages_of(files, "affinity-target-missing") == []


@pytest.mark.parametrize(
    ("selector", "labels", "meant"),
    [
        ("tier: fornt", "tier: front", "tier: front"),
        ("app.kubernetes.io/name: web", "", "app: web"),
        ("example.com/tier: front", "tier: front", "tier: front"),
        ("teir: front", "tier: front", "tier: front"),
        ("role: front", "tier: front", ""),
        ("role: web", "", ""),
        ("app: api", "", ""),
        ("app: api, tier: fornt", "tier: front", ""),
        ("app: web, tier: fornt", "tier: front", "tier: front"),
    ],
)
def test_a_term_that_nearly_selects_its_own_pods_probably_means_them(selector: str, labels: str, meant: str) -> None:
    text = web(f"labelSelector: {{matchLabels: {{{selector}}}}}", labels=labels, kind="podAntiAffinity")
    found = messages_of(text, "anti-affinity-misses-itself")
    assert len(found) == bool(meant)
    assert all(f"`{meant}`" in each for each in found)


def test_one_of_several_values_may_be_misspelt() -> None:
    text = web(
        "labelSelector: {matchExpressions: [{key: tier, operator: In, values: [edge, fornt]}]}",
        labels="tier: front",
        kind="podAntiAffinity",
    )
    [found] = messages_of(text, "anti-affinity-misses-itself")
    assert "`tier: front`" in found


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [("one/a.yaml", "other/b.yaml", True), ("one/a.yaml", "other/x/b.yaml", True), ("one/a.yaml", "other/x/y/b.yaml", False)],
)
def test_labels_that_no_other_pods_have_relate_neighbouring_folders(one: str, other: str, *, related: bool) -> None:
    first, second = (
        web(f"labelSelector: {{matchLabels: {{app: {target}}}}}", name=name, namespace="") for name, target in (("a", "b"), ("b", "a"))
    )
    assert bool(messages_of({one: first, other: second}, "affinity-cycle")) is related


def test_the_name_of_a_namespace_decides_without_its_manifest() -> None:
    index = ManifestIndex([])
    named = Requirement("kubernetes.io/metadata.name", "NotIn", ("shop",))
    assert index.matches_namespace(Selector((named,)), "shop") is False
    assert index.matches_namespace(Selector((named,)), "data") is True
    both = Selector((Requirement("team", "In", ("red",)), named))
    assert (index.matches_namespace(both, "shop"), index.matches_namespace(both, "data")) == (False, None)


# Labels of pods


def test_labels_that_a_template_lacks_are_those_of_the_selector() -> None:
    """A patch repeats only some labels; a base may leave all of them to a kustomization."""

    def labels(text: str) -> dict[str, str]:
        [found] = facts_of(text).pods
        return dict(found.template_labels)

    full = pods("web", "tier: front")
    assert labels(full) == {"app": "web", "tier": "front"}
    assert labels(full.replace("{app: web, tier: front}", "{tier: front}")) == {"tier": "front"}, "its own mistake"
    assert labels(full.replace("labels: {app: web, tier: front}", "annotations: {}")) == {"app": "web"}
    patch = full.replace("      containers: [{name: c, image: busybox}]\n", "").replace("{app: web, tier: front}", "{tier: front}")
    assert labels(patch) == {"app": "web", "tier": "front"}
    job = full.replace("apps/v1", "batch/v1").replace("Deployment", "Job").replace("labels: {app: web, tier: front}", "annotations: {}")
    assert labels(job) == {}, "the selector of a Job is generated"


def test_a_patch_of_a_kustomization_creates_no_pods() -> None:
    facts = facts_of(pods("web", ""), SETTINGS._replace(inventory=True))
    assert [each.pod_source is None for each in (*facts.pods, *facts.of_patches().pods)] == [False, True]
    assert [(each.partial, each.labels_known) for each in facts.of_patches().pods] == [(True, False)]


# Objects that are read for others


def test_the_annotations_of_a_namespace_without_a_name_are_for_no_pods() -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {NAME: shop, annotations: {openshift.io/node-selector: tier=web}}\n"
    assert [each.namespace for each in facts_of(namespace.replace("NAME", "name")).about_pods] == ["shop"]
    assert facts_of(namespace.replace("NAME", "generateName")).about_pods == ()


def test_only_named_claims_are_facts_about_storage() -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {NAME}\nspec: {accessModes: [ReadWriteOnce]}\n"
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}}\n"
    assert [each.name for each in facts_of(claim.replace("NAME", "name: data")).storage] == ["data"]
    assert facts_of(claim.replace("NAME", "generateName: data-")).storage == ()
    assert facts_of(service).storage == ()


def test_a_malformed_service_is_unusable_at_its_place() -> None:
    service = "# services\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: [web]}\n"
    found = facts_of(service, SETTINGS._replace(inventory=True))
    assert (found.services, [(each.document, each.span.line) for each in found.unusable]) == ((), [(0, 3)])
    assert facts_of(service).unusable == (), "only a run with nodes reads services"


def test_malformed_pods_are_unusable_at_their_place() -> None:
    text = pods("db", "").replace("containers:", "tolerations: all\n      containers:")
    found = facts_of(text, SETTINGS._replace(inventory=True))
    assert [(each.document, each.span.line) for each in found.unusable] == [(0, 9)]
    assert facts_of(pods("db", ""), SETTINGS._replace(inventory=True)).unusable == ()


def test_a_cluster_knows_all_namespaces_only_if_the_target_is_complete() -> None:
    files = {"web.yaml": web("labelSelector: {matchLabels: {app: db}}"), "db.yaml": pods("db", "", namespace="data")}
    assert messages_of(files, "affinity-target-missing", target=Target(NEWEST, complete=True)) != []
    files["db.yaml"] = pods("db", "", namespace="shop")
    assert messages_of(files, "affinity-target-missing", target=Target(NEWEST, complete=True)) == []
