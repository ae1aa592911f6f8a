"""The index over all manifests: it answers as a search through all of them would, and its work grows with their number only."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.checks.match import Target
from afflint.checks.registry import REGISTRY, bind_rules
from afflint.controllers.replica_counts import ReplicaRange
from afflint.findings.finding import ObjectRef, Site
from afflint.findings.similarity import Slips, is_likely_typo
from afflint.index.facts import PREFERRED_ANTI_AFFINITY, REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, SPREAD, Facts, Pods, SelectorRef
from afflint.index.manifest_index import IDENTITY, ManifestIndex, close, covers, own_near_miss
from afflint.kube import NEWEST
from afflint.kube.selectors import Requirement, Selector, is_met, matches

TEMPLATE = ("spec", "template")


def site_in(file: str) -> Site:
    """The first object of a file, whose number replaces its name."""
    return Site(int.from_bytes(file.encode(), "big"), 0, (), tuple(file.split("/")[:-1]))


def pods_of(file: str, labels: dict[str, str], *, own: dict[str, str] | None = None, namespace: str | None = None) -> Pods:
    site = site_in(file)
    ref = ObjectRef("apps/v1", "Deployment", namespace, file)
    return Pods(site, ref, f"Deployment {file}", False, namespace, own or {}, labels, TEMPLATE, True, False, ReplicaRange(2, 2, 2))


def reach_of(
    file: str,
    selector: Selector,
    *,
    what: str = REQUIRED_AFFINITY,
    namespace: str | None = None,
    names: tuple[str, ...] = (),
    everywhere: bool = False,
) -> SelectorRef:
    ref = ObjectRef("apps/v1", "Deployment", namespace, file)
    path = (*TEMPLATE, "spec", "affinity", what, 0, "labelSelector")
    title, key = f"Deployment {file}", "kubernetes.io/hostname"
    return SelectorRef(site_in(file), ref, title, what, path, namespace, names, everywhere, selector, key, TEMPLATE, None, 1)


# Small universes, in which chance brings selectors and labels together often.

KEYS, VALUES = ("app", "app.kubernetes.io/name", "tier"), ("front", "fornt", "back", "backs")
NAMESPACES = (None, "one", "two")
files = st.sampled_from(("a.yaml", "b.yaml", "x/a.yaml", "x/y/z/a.yaml", "y/a.yaml"))
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
requirements = st.one_of(
    st.builds(
        lambda key, operator, values: Requirement(key, operator, tuple(values)),
        st.sampled_from(KEYS),
        st.sampled_from(("In", "NotIn")),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=2),
    ),
    st.builds(lambda key, operator: Requirement(key, operator), st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist"))),
)
selectors = st.lists(requirements, max_size=3).map(lambda each: Selector(tuple(each)))
some_pods = st.builds(
    lambda file, given, own, namespace: pods_of(file, given, own=own, namespace=namespace),
    files,
    labels,
    labels,
    st.sampled_from(NAMESPACES),
)
some_reaches = st.builds(
    lambda file, selector, namespace, names, everywhere: reach_of(file, selector, namespace=namespace, names=names, everywhere=everywhere),
    files,
    selectors,
    st.sampled_from(NAMESPACES),
    st.lists(st.sampled_from(("one", "two")), max_size=2).map(tuple),
    st.booleans(),
)
fleets = st.lists(some_pods, max_size=8)


@given(fleets, some_reaches)
def test_selecting_finds_what_a_search_finds(pods: list[Pods], ref: SelectorRef) -> None:
    manifest_index = ManifestIndex([Facts(tuple(pods))])
    here = [each for each in pods if covers(ref, each.namespace)]
    selected = [each for each in here if matches(ref.selector, each.template_labels)]
    assert counted(manifest_index.selected(ref)) == counted(selected)
    assert manifest_index.is_selected(ref) == bool(selected)
    assert counted(manifest_index.selected_anywhere(ref)) == counted(each for each in pods if matches(ref.selector, each.template_labels))
    lacking = [each for each in here if each.labels.keys() - each.template_labels.keys()]
    nearly = [each for each in lacking if matches(ref.selector, each.merged_labels)]
    assert counted(manifest_index.nearly_selected(ref)) == counted(nearly)


@given(fleets, some_reaches, some_reaches)
def test_one_pod_must_meet_all_terms(pods: list[Pods], first: SelectorRef, second: SelectorRef) -> None:
    both = [
        each for each in pods if all(covers(ref, each.namespace) and matches(ref.selector, each.template_labels) for ref in (first, second))
    ]
    assert counted(ManifestIndex([Facts(tuple(pods))]).selected_by_all([first, second])) == counted(both)


@given(fleets, some_reaches)
def test_a_near_miss_is_found_exactly_when_there_is_one(pods: list[Pods], ref: SelectorRef) -> None:
    found = ManifestIndex([Facts(tuple(pods))]).near_miss(ref)
    on_templates = list(near_misses(pods, ref, lambda each: each.template_labels))
    merged = [] if on_templates else list(near_misses([each for each in pods if each.labels], ref, lambda each: each.merged_labels))
    renamed = [] if on_templates or merged else [each for each in pods if close(ref, each) and own_near_miss(ref, each) is not None]
    if found is None:
        assert not on_templates
        assert not merged
    elif renamed:
        assert found == own_near_miss(ref, found.pods)
        assert found.pods in renamed
    else:
        assert found.in_template == bool(on_templates)
        assert (found.asked, found.pods, found.key, found.value) in (on_templates or merged)


def near_misses(
    pods: list[Pods], ref: SelectorRef, labels_of: Callable[[Pods], dict[str, str]]
) -> Iterator[tuple[Requirement, Pods, str, str]]:
    """All labels that are easily mistaken for one that is asked for, on pods that the rest of the selector matches."""
    for asked in ref.selector.requirements:
        for each in pods:
            given = labels_of(each)
            rest = all(is_met(other, given.get(other.key)) for other in ref.selector.requirements if other is not asked)
            if asked.operator != "In" or not rest or not covers(ref, each.namespace) or not close(ref, each):
                continue
            for key, value in given.items():
                slip = key == asked.key and any(is_likely_typo(wanted, value) for wanted in asked.values)
                same = key != asked.key and value in asked.values and {key, asked.key} <= {*IDENTITY}
                if slip or same:
                    yield asked, each, key, value


@given(fleets, st.lists(some_reaches, max_size=4), st.randoms())
def test_the_order_of_files_makes_no_difference(pods: list[Pods], selector_refs: list[SelectorRef], random: Any) -> None:
    """Objects of one file keep their order; files may come in any."""
    by_file: dict[int, Facts] = {}
    for each in pods:
        facts = by_file.get(each.site.file, Facts())
        by_file[each.site.file] = facts._replace(pods=(*facts.pods, each))
    for ref in selector_refs:
        facts = by_file.get(ref.site.file, Facts())
        by_file[ref.site.file] = facts._replace(selector_refs=(*facts.selector_refs, ref))
    given = list(by_file.values())
    mixed = random.sample(given, len(given))
    one, other = ManifestIndex(given), ManifestIndex(mixed)
    assert (one.pods, one.selector_refs) == (other.pods, other.selector_refs)


def counted(pods: Any) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in pods:
        counts[id(each)] = counts.get(id(each), 0) + 1
    return counts


# Slips.

words = st.text("abAB-1", min_size=1, max_size=7)


@given(st.lists(words, max_size=12), words)
def test_slips_are_found_without_comparing_all(known: list[str], asked: str) -> None:
    assert Slips(known).of(asked) == sorted({word for word in known if is_likely_typo(asked, word)})


@given(words, words)
def test_a_slip_is_one_in_both_directions(one: str, other: str) -> None:
    assert is_likely_typo(one, other) == is_likely_typo(other, one)


@pytest.mark.parametrize(
    "one, other",
    [
        ("fedora", "fedroa"), ("fedora", "Fedora"), ("web-server", "webserver"), ("worker", "workers"), ("node", "nodes"),
        ("storage", "storge"), ("payment-api", "payemnt-api"), ("billing", "billling"), ("redis_cache", "redis-cache"),
        ("server-12", "sevrer-12"), ("fedora38", "fedroa38"), ("DB", "db"),
    ],
)  # fmt: skip
def test_slips(one: str, other: str) -> None:
    assert is_likely_typo(one, other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("web-1", "web-2"), ("web-12", "web-21"), ("app-1-1", "app-11"), ("zone-a", "zone-b"), ("vm-a", "vm-b"), ("cart", "card"),
        ("chart", "cart"), ("frontend", "backend"), ("redis", "redis-cache"), ("blue", "glue"), ("", "a"), ("a", "b"), ("web", "web"),
        ("east", "west"), ("db", "dbs"), ("web-12", "wbe-12"), ("c3f9ac2e", "c3f9ac2d"), ("1a2b3c", "1a2b3d"),
    ],
)  # fmt: skip
def test_names_of_two_things(one: str, other: str) -> None:
    assert not is_likely_typo(one, other)


# Growth.


def one_label(value: str, key: str = "app") -> Selector:
    return Selector((Requirement(key, "In", (value,)),))


def distinct(number: int) -> Facts:
    """Workloads in folders of their own, each with a selector for a label that no workload has."""
    return asking(number, one_label(f"target-{letters(number)}"), {"app": f"web-{letters(number)}"})


def same(number: int) -> Facts:
    """Workloads that all ask for the label which all of them have."""
    return asking(number, one_label("web"), {"app": "web"})


def same_and_missing(number: int) -> Facts:
    """Workloads with a selector for a label that no workload has, and with a similar label."""
    return asking(number, one_label("storefront"), {"app": "storefornt"})


def waiting(number: int) -> Facts:
    """Workloads of two groups; each group waits for the other."""
    groups = ("egg", "hen")
    return asking(number, one_label(groups[number % 2]), {"app": groups[1 - number % 2]})


def on_the_object_only(number: int) -> Facts:
    """Workloads whose label is at the wrong level, and that all select it."""
    return asking(number, one_label("web", "tier"), {"app": f"web-{letters(number)}"}, own={"tier": "web"})


def tenants(number: int) -> Facts:
    """The same application in a namespace each."""
    return asking(number, one_label("cache"), {"app": "web"}, namespace=f"tenant-{number}")


def letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


def asking(
    number: int, selector: Selector, given: dict[str, str], own: dict[str, str] | None = None, namespace: str | None = None
) -> Facts:
    file = f"apps/{number // 20}/{number}.yaml"
    kinds = (REQUIRED_AFFINITY, REQUIRED_ANTI_AFFINITY, PREFERRED_ANTI_AFFINITY, SPREAD)
    selector_refs = tuple(reach_of(file, selector, what=what, namespace=namespace) for what in kinds)
    return Facts((pods_of(file, given, own=own, namespace=namespace),), selector_refs)


@pytest.mark.parametrize("shape", [distinct, same, same_and_missing, waiting, on_the_object_only, tenants])
def test_the_work_grows_with_the_number_of_workloads(shape: Callable[[int], Facts]) -> None:
    few, many = (work([shape(number) for number in range(count)]) for count in (150, 600))
    assert many < 5.5 * few, f"four times the workloads, {many / few:.1f} times the work"


def work(facts: list[Facts]) -> int:
    """How many function calls all checks across manifests take together: the same on every machine."""
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        manifest_index = ManifestIndex(facts)
        bound = bind_rules(each.rule for each in REGISTRY["cross-manifest"])
        for rule in [each for each in bound if each.subject == "cross-manifest"]:
            check, asking = rule.check()
            for _ in check(manifest_index, Target(NEWEST, complete=True)) if asking else check(manifest_index):
                pass
    finally:
        sys.setprofile(previous)
    return calls
