"""Pod affinities checked against all other manifests: pods that wait, that exclude each other, and terms that select no pod."""

import pytest

from afflint.checks.match import Target
from afflint.kube import NEWEST
from linting import lint, messages_of, places

COMPLETE = Target(NEWEST, complete=True)


def deployment(name: str, labels: str = "", *terms: str, namespace: str = "", replicas: int | None = None, kind: str = "Deployment") -> str:
    """A Deployment whose pods have ``app: name`` and further labels; ``terms`` of its affinity are from line 13 on, one on each line."""
    own = f"app: {name}{', ' if labels else ''}{labels}"
    return f"""\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}{f", namespace: {namespace}" if namespace else ""}}}
spec:
  {"minReadySeconds: 0" if replicas is None else f"replicas: {replicas}"}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{{own}}}}}
    spec:
      containers: [{{name: c, image: busybox}}]
      affinity:
{affinity(*terms)}"""


def affinity(*terms: str) -> str:
    """Each term as ``+ app: db @ zone`` for a required affinity to ``app: db`` over ``zone``, with ``-`` for an anti-affinity."""
    if not terms:
        return "        {}\n"
    text = ""
    for sign, field in (("+", "podAffinity"), ("-", "podAntiAffinity")):
        chosen = [term[2:] for term in terms if term.startswith(sign)]
        if chosen:
            text += f"        {field}: {{requiredDuringSchedulingIgnoredDuringExecution: [\n"
            for term in chosen:
                selector, _, where = term.partition(" @ ")
                key, _, names = where.partition(" in ")
                text += f"          {{labelSelector: {{matchLabels: {{{selector}}}}}, topologyKey: {KEYS.get(key, key)}"
                text += (f", namespaces: [{names}]" if names else "") + "},\n"
            text += "        ]}\n"
    return text


KEYS = {"host": "kubernetes.io/hostname", "zone": "topology.kubernetes.io/zone"}


class TestAffinityCycle:
    def test_a_circle_of_three(self) -> None:
        files = {
            "a.yaml": deployment("a", "", "+ app: b @ zone"),
            "b.yaml": deployment("b", "", "+ app: c @ zone"),
            "c.yaml": deployment("c", "", "+ app: a @ zone"),
        }
        assert messages_of(files, "affinity-cycle")[0] == (
            "13:12 no pod can be scheduled first, so all stay Pending: Deployment a waits for Deployment b,"
            " Deployment b waits for Deployment"
            " c and Deployment c waits for Deployment a"
        )

    def test_a_workload_that_waits_for_a_circle_waits_for_ever(self) -> None:
        files = {
            "a.yaml": deployment("a", "", "+ app: b @ zone"),
            "b.yaml": deployment("b", "", "+ app: a @ zone"),
            "c.yaml": deployment("c", "", "+ app: a @ zone"),
        }
        assert messages_of(files, "affinity-cycle")[2] == (
            "13:12 this waits for Deployment a, which can never be scheduled because of a cycle of required podAffinity"
        )

    def test_a_way_out_opens_it(self) -> None:
        files = {
            "a.yaml": deployment("a", "tier: x", "+ app: b @ zone"),
            "b.yaml": deployment("b", "", "+ tier: x @ zone"),
            "free.yaml": deployment("free", "tier: x"),
        }
        assert lint(files) == []

    def test_a_group_in_which_any_may_be_first(self) -> None:
        files = {
            "a.yaml": deployment("a", "tier: x", "+ tier: x @ zone"),
            "b.yaml": deployment("b", "tier: x", "+ tier: x @ zone"),
        }
        assert lint(files) == []

    def test_the_first_pod_must_match_all_of_its_terms_in_a_namespace_they_cover(self) -> None:
        files = {
            "a.yaml": deployment("a", "tier: x", "+ tier: x @ zone in back", namespace="front"),
            "b.yaml": deployment("b", "tier: x", "+ app: a @ zone in front", namespace="back"),
        }
        assert places(lint(files)) == ["a.yaml:13:12 error affinity-cycle", "b.yaml:13:12 error affinity-cycle"]

    def test_applications_at_both_ends_of_the_tree_do_not_wait_for_each_other(self) -> None:
        files = {
            "one/x/a.yaml": deployment("a", "", "+ app: b @ zone"),
            "two/y/b.yaml": deployment("b", "", "+ app: a @ zone"),
            "two/y/more.yaml": deployment("more", "app.kubernetes.io/name: b"),
            "one/x/more.yaml": deployment("a2", "app.kubernetes.io/name: a"),
        }
        assert places(lint({**files, "three/z/b.yaml": deployment("b", "", "+ app: a @ zone")})) == []

    def test_the_jobs_of_a_set_wait_for_their_leader(self) -> None:
        text = """\
            apiVersion: jobset.x-k8s.io/v1alpha2
            kind: JobSet
            metadata: {name: train}
            spec:
              replicatedJobs:
                - name: leader
                  template: {spec: {template: {
                    metadata: {labels: {role: leader}},
                    spec: {containers: [{name: c, image: busybox}]}}}}
                - name: worker
                  template: {spec: {template: {
                    metadata: {labels: {role: worker}},
                    spec: {containers: [{name: c, image: busybox}], affinity: {podAffinity: {
                      requiredDuringSchedulingIgnoredDuringExecution: [
                        {labelSelector: {matchLabels: {role: leader}}, topologyKey: kubernetes.io/hostname}]}}}}}}
            """
        assert lint(text) == []


class TestAffinityConflict:
    def test_the_target_keeps_away_from_its_seeker(self) -> None:
        files = {
            "cache.yaml": deployment("cache", "", "- tier: front @ zone", replicas=1),
            "web.yaml": deployment("web", "tier: front", "+ app: cache @ host"),
        }
        assert messages_of(files, "affinity-conflict") == [
            (
                "13:12 the pods must share `kubernetes.io/hostname` with Deployment cache, but the required podAntiAffinity of"
                " Deployment cache over `topology.kubernetes.io/zone` forbids it"
            )
        ]

    def test_the_same_zone_and_another_host(self) -> None:
        files = {
            "cache.yaml": deployment("cache", "", "- tier: front @ host", replicas=1),
            "web.yaml": deployment("web", "tier: front", "+ app: cache @ zone", "- app: cache @ host"),
        }
        assert lint(files) == []

    def test_another_target_will_do(self) -> None:
        files = {
            "cache.yaml": deployment("cache", "kind: cache", "- tier: front @ host"),
            "spare.yaml": deployment("spare", "kind: cache"),
            "web.yaml": deployment("web", "tier: front", "+ kind: cache @ host"),
        }
        assert lint(files) == []

    def test_with_and_without_the_same_pods_of_any_workload(self) -> None:
        text = deployment("web", "", "+ app: db, tier: data @ host", "- app: db @ host")
        assert messages_of(text, "affinity-conflict") == [
            (
                "13:12 the pods must share `kubernetes.io/hostname` with pods that have `app: db, tier: data`,"
                " but their own required podAntiAffinity over `kubernetes.io/hostname` forbids it"
            )
        ]
        assert lint(deployment("web", "", "+ app: db @ host", "- app: db, tier: data @ host")) == []

    def test_an_unknown_namespace_proves_nothing(self) -> None:
        files = {
            "cache.yaml": deployment("cache", "", "- tier: front @ host"),
            "web.yaml": deployment("web", "tier: front", "+ app: cache @ host in data"),
        }
        assert lint(files) == []

    @pytest.mark.parametrize("namespaces", ["{matchLabels: {team: red}}", "{}"])
    def test_namespaces_that_only_the_cluster_knows_prove_nothing(self, namespaces: str) -> None:
        keeps_away = deployment("cache", "", "- tier: front @ zone", replicas=1)
        files = {"cache.yaml": keeps_away, "web.yaml": deployment("web", "tier: front", "+ app: cache @ host")}
        assert [each.rule for each in lint(files)] == ["affinity-conflict"]
        assert lint({**files, "cache.yaml": keeps_away.replace("topologyKey:", f"namespaceSelector: {namespaces}, topologyKey:")}) == []

    def test_in_one_namespace_the_two_meet_and_in_two_they_do_not(self) -> None:
        cache = deployment("cache", "", "- tier: front @ zone", namespace="data", replicas=1)
        web = deployment("web", "tier: front", "+ app: cache @ host in data", namespace="shop")
        assert messages_of({"cache.yaml": cache, "web.yaml": web}, "affinity-conflict") == []
        assert len(messages_of({"cache.yaml": cache, "web.yaml": web.replace("shop", "data")}, "affinity-conflict")) == 1

    def test_an_anti_affinity_that_names_the_other_namespace_reaches_into_it(self) -> None:
        files = {
            "cache.yaml": deployment("cache", "", "- tier: front @ zone in shop", namespace="data", replicas=1),
            "web.yaml": deployment("web", "tier: front", "+ app: cache @ host in data", namespace="shop"),
        }
        assert [each.rule for each in lint(files)] == ["affinity-conflict"]


class TestNoSingleTarget:
    def test_one_that_meets_all_is_enough(self) -> None:
        files = {
            "a.yaml": deployment("a"),
            "b.yaml": deployment("b", "tier: x"),
            "c.yaml": deployment("c", "tier: x, role: r"),
            "seeker.yaml": deployment("seeker", "", "+ tier: x @ zone", "+ role: r @ zone"),
        }
        assert lint(files) == []

    def test_a_patch_among_them_may_be_the_one(self) -> None:
        patch = """
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: b}
            spec: {template: {metadata: {labels: {role: r}}}}
            """
        files = {"a.yaml": deployment("a"), "b.yaml": patch, "seeker.yaml": deployment("seeker", "", "+ app: a @ zone", "+ role: r @ zone")}
        assert lint(files) == []


class TestAffinityTargetMissing:
    @pytest.mark.parametrize(
        ("asked", "own", "column"),
        [("app: biling", "app: billing", 25), ("component: api", "app.kubernetes.io/component: api", 39)],
        ids=["a typo in the value", "a similar key"],
    )
    def test_it_points_at_the_label_in_the_template_that_was_probably_meant(self, asked: str, own: str, column: int) -> None:
        text = deployment("billing", "app.kubernetes.io/component: api", f"+ {asked} @ host", replicas=2)
        text = text.replace(
            "metadata: {name: billing}", "metadata: {name: billing, labels: {app: billing, app.kubernetes.io/component: api}}"
        )
        [found] = lint(text)
        assert found.message == f"no pod has `{asked}`, which this required podAffinity selects; `{own}` is on its own pods"
        [related] = found.related
        assert (found.rule, found.span.line, related.span.line, related.span.column) == ("affinity-target-missing", 13, 8, column)

    def test_a_slip_with_the_label_where_it_reaches_no_pod(self) -> None:
        files = {
            "vm.yaml": """\
                apiVersion: kubevirt.io/v1
                kind: VirtualMachine
                metadata:
                  name: first-vm
                  labels:
                    app: fedora
                spec:
                  runStrategy: Always
                  template: {metadata: {labels: {size: small}}, spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
                """,
            "web.yaml": deployment("web", "", "+ app: fedroa @ host"),
        }
        (found,) = lint(files)
        assert found.message == (
            "no pod has `app: fedroa`, which this required podAffinity selects;"
            " `app: fedora` is on VirtualMachine first-vm, but only in metadata.labels"
        )
        assert [(each.file, each.span.line) for each in found.related] == [("vm.yaml", 6)]

    def test_the_rest_of_the_selector_must_fit(self) -> None:
        files = {"db.yaml": deployment("storage", "tier: data"), "web.yaml": deployment("web", "", "+ app: storge, tier: cache @ host")}
        assert lint(files) == []

    def test_a_slip_in_an_anti_affinity_to_others(self) -> None:
        files = {"db.yaml": deployment("database"), "web.yaml": deployment("web", "", "- app: databse @ host")}
        assert places(lint(files)) == ["web.yaml:13:12 warning affinity-target-missing"]

    @pytest.mark.parametrize("asked, there", [("web-1", "web-2"), ("node-a", "node-b"), ("cart", "card"), ("blue", "glue"), ("db", "dc")])
    def test_names_of_two_things(self, asked: str, there: str) -> None:
        files = {"there.yaml": deployment(there), "seeker.yaml": deployment("seeker", "", f"+ app: {asked} @ zone")}
        assert lint(files) == []

    def test_slips_far_away_are_chance(self) -> None:
        files = {"one/x/db.yaml": deployment("database"), "two/y/web.yaml": deployment("web", "", "+ app: databse @ host")}
        assert lint(files) == []
        files = {"one/db.yaml": deployment("database"), "two/web.yaml": deployment("web", "", "+ app: databse @ host")}
        assert lint(files) == []

    def test_one_namespace_brings_far_files_together_unless_it_is_the_default_one(self) -> None:
        def far_apart(namespace: str) -> dict[str, str]:
            return {
                "one/x/db.yaml": deployment("database", namespace=namespace),
                "two/y/web.yaml": deployment("web", "", "+ app: databse @ host", namespace=namespace),
            }

        assert places(lint(far_apart("shop"))) == ["two/y/web.yaml:13:12 warning affinity-target-missing"]
        assert lint(far_apart("default")) == []

    def test_a_complete_context_proves_it(self) -> None:
        text = deployment("web", "", "+ app: database @ host")
        assert lint(text) == []
        assert messages_of(text, "affinity-target-missing", target=COMPLETE) == [
            "13:12 no pod has `app: database`, and the configuration sets `complete: true`: the pods stay Pending"
        ]


class TestNamespaceMissesTarget:
    def test_many_tenants_with_the_same_application(self) -> None:
        tenants = {f"tenants/{number}.yaml": deployment("cache", namespace=f"tenant-{number}") for number in range(30)}
        seeker = {"tenants/web.yaml": deployment("web", "", "+ app: cache @ zone", namespace="tenant-29")}
        assert lint({**tenants, **seeker}) == []

    def test_the_namespaces_of_several_candidates_prove_nothing(self) -> None:
        files = {
            "a.yaml": deployment("cache", namespace="a"),
            "b.yaml": deployment("cache", namespace="b"),
            "web.yaml": deployment("web", "", "+ app: cache @ zone", namespace="c"),
        }
        assert lint(files) == []

    def test_named_namespaces_leave_out_the_own(self) -> None:
        files = {
            "cache.yaml": deployment("cache", namespace="shop"),
            "web.yaml": deployment("web", "", "+ app: cache @ zone in data", namespace="shop"),
        }
        assert messages_of(files, "namespace-misses-target") == [
            (
                "13:12 `app: cache` is on Deployment cache in namespace `shop`,"
                " but this required podAffinity selects pods only in the namespace `data`"
            )
        ]

    def test_an_empty_selector_of_namespaces_covers_them_all_and_an_absent_one_its_own(self) -> None:
        web = deployment("web", "", "+ app: cache @ zone", namespace="shop")
        files = {"cache.yaml": deployment("cache", namespace="data"), "web.yaml": web}
        assert places(lint(files)) == ["web.yaml:13:12 warning namespace-misses-target"]
        assert lint({**files, "web.yaml": web.replace("topologyKey:", "namespaceSelector: {}, topologyKey:")}) == []
        null = web.replace("topologyKey:", "namespaceSelector: null, topologyKey:")
        assert places(lint({**files, "web.yaml": null})) == ["web.yaml:13:12 warning namespace-misses-target"]

    def test_a_namespace_that_no_manifest_states_may_be_any(self) -> None:
        files = {"cache.yaml": deployment("cache"), "web.yaml": deployment("web", "", "+ app: cache @ zone", namespace="shop")}
        assert lint(files) == []
        files = {"cache.yaml": deployment("cache", namespace="data"), "web.yaml": deployment("web", "", "+ app: cache @ zone")}
        assert lint(files) == []
        stated = {
            "cache.yaml": deployment("cache", namespace="default"),
            "web.yaml": deployment("web", "", "+ app: cache @ zone", namespace="shop"),
        }
        assert places(lint(stated)) == ["web.yaml:13:12 warning namespace-misses-target"]


class TestAntiAffinityMissesItself:
    def test_one_replica_needs_no_distance(self) -> None:
        assert lint(deployment("billing", "", "- app: biling @ host", replicas=1)) == []

    def test_an_autoscaler_may_add_more(self) -> None:
        assert places(lint(deployment("billing", "", "- app: biling @ host"))) == ["a.yaml:13:12 warning anti-affinity-misses-itself"]

    def test_another_application_with_a_name_like_it(self) -> None:
        files = {
            "billing.yaml": deployment("billing", "", "- app: billings @ host", replicas=2),
            "billings.yaml": deployment("billings", replicas=2),
        }
        assert lint(files) == []

    def test_another_name_is_distinguished_from_a_mistake_only_in_a_complete_context(self) -> None:
        text = deployment("router", "", "- app: database @ host", replicas=2)
        assert lint(text) == []
        assert messages_of(text, "anti-affinity-misses-itself", target=COMPLETE) == [
            "13:12 this required podAntiAffinity separates no pods: it selects `app In [database]`, but the pods have `app: router`"
        ]

    @pytest.mark.parametrize(
        ("labels", "asked", "reported"),
        [
            ("tier: web", "name: billing", True),
            ("tier: web", "component: billing", True),
            ("component: zookeeper", "app: zookeeper", True),
            ("app.kubernetes.io/name: api, app.kubernetes.io/instance: prod", "name: api, release: prod", True),
            ("app.kubernetes.io/name: api, app.kubernetes.io/instance: prod", "name: api, release: test", False),
            ("tier: web", "zone-group: billing", False),
            ("app.kubernetes.io/component: api", "component: billing", True),
            ("tier: frontend", "k8s-app: frontend", False),
            ("tier: web", "app: biling, tier: wep", False),
            ("tier: web", "app: biling, tier: web", True),
            ("tier: web", "app: database", False),
            ("component: bookie", "app: billing-bookie, component: bookie", True),
            ("component: bookie", "app: billing-bookie", True),
            ("component: bookie", "app: bookie_billing, component: bookie", True),
            ("component: bookie", "app: billing-cache, component: bookie", False),
            ("component: bookie", "app: billing-bookie, component: broker", False),
            ("team: platform", "app: billing, owner: platform", True),
            ("team: platform", "owner: platform", False),
            ('critical: "true"', 'app: billing, exclusive: "true"', False),
            ("shard: one", "app: billing, shard: one-1", False),
        ],
        ids=[
            "another key of a name",
            "the name under the key of a part",
            "the name of a part under the key of a name",
            "two labels under older keys",
            "one of two labels with another value",
            "a key of something else",
            "a similar key with another value",
            "a name under a key of something else",
            "two labels",
            "one of two labels",
            "another name",
            "two of the own values, and another label",
            "two of the own values",
            "two of the own values in another order",
            "an own value with another part",
            "two labels, one of them made of two own values",
            "a value that the pods have under any key, and another label",
            "a value that the pods have under any key",
            "a value that means nothing without its key",
            "a number behind an own value",
        ],
    )
    def test_which_labels_a_selector_probably_means(self, labels: str, asked: str, *, reported: bool) -> None:
        found = lint(deployment("billing", labels, f"- {asked} @ host", replicas=2))
        assert places(found) == ["a.yaml:13:12 warning anti-affinity-misses-itself"] * reported

    def test_pods_of_the_run_may_be_meant(self) -> None:
        files = {
            "a.yaml": deployment("pulsar", "component: zookeeper", "- app: zookeeper @ host", replicas=2),
            "b.yaml": deployment("zookeeper", replicas=2),
        }
        assert lint(files) == []

    def test_the_value_under_a_key_akin_to_it(self) -> None:
        text = deployment("web", "app.kubernetes.io/component: api", "- component: api @ host", replicas=2)
        assert places(lint(text)) == ["a.yaml:13:12 warning anti-affinity-misses-itself"]


class TestAccidentalAntiAffinity:
    def test_a_selector_of_the_whole_application_is_intended(self) -> None:
        part = "app.kubernetes.io/part-of: shop"
        assert lint({"a.yaml": deployment("a", part, f"- {part} @ host"), "b.yaml": deployment("b", part)}) == []

    def test_two_releases_of_one_chart(self) -> None:
        chart = "app.kubernetes.io/name: redis"
        files = {
            "a.yaml": deployment("redis-a", chart, f"- {chart} @ host"),
            "b.yaml": deployment("redis-b", chart, f"- {chart} @ host"),
        }
        assert places(lint(files)) == ["a.yaml:13:12 info accidental-anti-affinity", "b.yaml:13:12 info accidental-anti-affinity"]

    def test_pods_in_other_namespaces_are_not_selected(self) -> None:
        files = {
            "a.yaml": deployment("a", "tier: x", "- tier: x @ host", namespace="one"),
            "b.yaml": deployment("b", "tier: x", namespace="two"),
        }
        assert lint(files) == []


def test_label_keys_that_are_not_a_list_are_left_to_admission() -> None:
    text = deployment("web", "", "- app: web @ host").replace("topologyKey:", "matchLabelKeys: 5, topologyKey:")
    assert [each.rule for each in lint(text)] == ["wrong-type"]


def test_answers_do_not_depend_on_which_file_comes_first() -> None:
    files = {
        "a.yaml": deployment("a", "tier: x", "- tier: x @ host", replicas=2),
        "b.yaml": deployment("b", "tier: x", "+ app: a @ host"),
        "c.yaml": deployment("c", "tier: x", "+ app: b @ zone"),
        "d.yaml": deployment("d", "", "+ tier: y @ zone", "+ app: aa @ zone"),
    }
    assert lint(files) == lint(dict(reversed(files.items())))


def beside_db_in(labels: str) -> str:
    """A Deployment that must be where pods with ``app: db`` run, in namespaces with these labels."""
    text = deployment("web", "", "+ app: db @ zone", namespace="shop")
    return text.replace("topologyKey", f"namespaceSelector: {{matchLabels: {{{labels}}}}}, topologyKey")


def test_a_namespace_selector_that_asks_for_a_name_is_the_same_as_the_name() -> None:
    web = beside_db_in("kubernetes.io/metadata.name: team-x")
    db = deployment("db", namespace="store")
    [found] = messages_of(f"{web}---\n{db}", "namespace-misses-target")
    assert "selects pods only in the namespace `team-x`" in found
    assert messages_of(f"{web}---\n{db.replace('store', 'team-x')}", "namespace-misses-target") == []


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        pytest.param({"store": "team: red", "shop": "team: blue"}, [], id="selected"),
        pytest.param({"store": "team: blue", "shop": "team: red"}, ["the namespace `shop`"], id="another one is selected"),
        pytest.param({"shop": "team: red"}, [], id="the labels of the target's namespace are unknown"),
        pytest.param({"store": "team: blue", "shop": "team: blue"}, [], id="none is selected: it may be made later"),
    ],
)
def test_a_namespace_selector_is_checked_against_a_complete_context_only(namespaces: dict[str, str], expected: list[str]) -> None:
    objects = [
        f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n" for name, labels in namespaces.items()
    ]
    text = "---\n".join([*objects, beside_db_in("team: red"), deployment("db", namespace="store")])
    found = messages_of(text, "namespace-misses-target", target=COMPLETE)
    assert [part for part in expected for each in found if part in each] == expected
    assert len(found) == len(expected)
    assert messages_of(text, "namespace-misses-target") == []


def test_the_anti_affinity_of_a_bare_pod_can_only_mean_other_pods() -> None:
    pods = "".join(
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}, job: nccl}}}}\nspec:\n"
        "  affinity:\n    podAntiAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
        "      - {labelSelector: {matchLabels: {job: nccl}}, topologyKey: kubernetes.io/hostname}\n"
        "  containers: [{name: c, image: i}]\n"
        for name in ("one", "two")
    )
    assert lint(pods) == []


class TestAntiAffinityToOwnLabelsInOtherNamespaces:
    OWN = deployment("web", "tier: x", "- tier: x @ zone in data", namespace="shop")
    FOUND = ("web.yaml:13:12 warning namespace-misses-target",)

    def test_it_does_not_separate_the_pods(self) -> None:
        assert places(lint({"web.yaml": self.OWN})) == [*self.FOUND]

    def test_a_copy_for_another_cluster_may_be_in_any_namespace_and_proves_nothing(self) -> None:
        copy = deployment("web", "tier: x")
        assert places(lint({"other/web.yaml": copy, "web.yaml": self.OWN})) == [*self.FOUND]

    def test_other_pods_may_be_in_the_named_namespace(self) -> None:
        for other in (deployment("web", "tier: x", namespace="data"), deployment("front", "tier: x")):
            assert lint({"other.yaml": other, "web.yaml": self.OWN}) == []
