"""Which of many pools meet what is asked: the index answers as each pool does, and does not ask each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afflint.findings.finding import NO_FILE, NO_OBJECT, Site
from afflint.kube.selectors import Requirement
from afflint.pools import matching
from afflint.pools.matching import PoolIndex, PoolLabels, declared_keys
from afflint.pools.pool import Label, Pool

KEYS = ("team", "tier", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "nvidia.com/gpu")
VALUES = ("a", "b", "3", "5")


def pool(*requirements: Requirement, closed: bool = True) -> Pool:
    site = Site(NO_FILE, 0, ())
    return Pool("p", "NodePool", site, NO_OBJECT, (), "own", labels=tuple(map(Label, requirements)), closed=closed)


def requirements() -> st.SearchStrategy[Requirement]:
    of_label = st.just(False)
    several = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True).map(tuple)
    number = st.sampled_from(("3", "5")).map(lambda each: (each,))
    return st.one_of(
        st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("In", "NotIn")), several, of_label),
        st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist")), st.just(()), of_label),
        st.builds(Requirement, st.sampled_from(KEYS), st.sampled_from(("Gt", "Lt")), number, of_label),
    )


def pools_of() -> st.SearchStrategy[list[Pool]]:
    one = st.builds(lambda labels, closed: pool(*labels, closed=closed), st.lists(requirements(), max_size=3), st.booleans())
    return st.lists(one, max_size=5)


@given(pools_of(), st.lists(requirements(), max_size=4))
def test_the_index_says_what_each_pool_says(pools: list[Pool], asked: list[Requirement]) -> None:
    keys = declared_keys(pools)
    index = PoolIndex(pools, keys)
    unmet = [PoolLabels(each, keys).unmet(asked) for each in pools]
    assert [[place for place, mask in enumerate(index.unmet(asked)) if mask >> number & 1] for number in range(len(pools))] == unmet
    fitting = [labels.pool for labels in index.chosen(index.fitting(asked))]
    assert fitting == [each for each, lacking in zip(pools, unmet, strict=True) if not lacking]


def test_what_is_asked_for_by_value_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools and workloads by the hundred: what they say is not compared one by one."""
    calls = 0

    def counted(_text: Any) -> bool:
        nonlocal calls
        calls += 1
        return True

    pools = [pool(Requirement("team", "In", (f"team-{number}",)), Requirement("tier", "Exists")) for number in range(300)]
    index = PoolIndex(pools, declared_keys(pools))
    monkeypatch.setattr(matching, "can_hold_together", counted)
    for number in range(300):
        fitting = index.fitting([Requirement("team", "In", (f"team-{number}",)), Requirement("tier", "In", (f"t{number}",))])
        assert [each.pool for each in index.chosen(fitting)] == [pools[number]]
    assert calls <= 300
