"""Node pools as classes of nodes: how many there are at least and at most, and which pools may create more."""

import pytest

from afflint.findings.finding import NO_OBJECT, Site
from afflint.inventory.node_classes import UnknownPoolError, classes_of, growing
from afflint.kube.taints import Taint
from afflint.pools.pool import Pool, PoolPart, PoolTaint
from afflint.pools.references import Pools

BASE = Pool("workers", "NodePool", Site(0, 0, ()), NO_OBJECT, (), "own")


def bounds(pool: Pool, **counts: int) -> tuple[int, int | None]:
    [found] = classes_of([pool], counts)
    return found.least, found.count


def test_a_pool_has_the_declared_number_of_nodes_or_the_requested_one() -> None:
    assert bounds(BASE._replace(least=1, most=3)) == (1, 3)
    assert bounds(BASE._replace(least=None, most=None)) == (0, None)
    assert bounds(BASE._replace(least=1, most=3), workers=7) == (7, 7)
    assert bounds(BASE._replace(least=1, most=3), workers=0) == (0, 0)


def test_a_number_per_zone_counts_in_each_zone() -> None:
    zonal = BASE._replace(least=1, most=3, zones=("a", "b"), per_zone=True)
    assert bounds(zonal) == (2, 6)
    assert bounds(zonal._replace(per_zone=False)) == (1, 3)
    assert bounds(zonal._replace(most=None)) == (2, None)
    assert bounds(zonal, workers=3) == (3, 3)


def test_the_nodes_of_a_class_have_the_taints_of_the_pool() -> None:
    taint = Taint("gpu", "", "NoSchedule")
    [found] = classes_of([BASE._replace(taints=(PoolTaint(taint, ()),))], {})
    assert (found.name, found.taints) == ("workers", (taint,))


def test_a_pool_grows_if_it_may_have_more_nodes_than_at_least() -> None:
    """How many nodes it has already is unknown, so there is no limit."""
    elastic, endless, fixed = (BASE._replace(least=least, most=most) for least, most in ((1, 3), (1, None), (3, 3)))
    assert [each.count for each in growing([elastic])] == [None]
    assert [each.count for each in growing([endless])] == [None]
    assert growing([fixed]) == []


def test_a_number_for_an_unknown_pool_is_refused() -> None:
    with pytest.raises(UnknownPoolError, match=r"^--count: no node pool is named `worker`; did you mean `workers`\?$"):
        classes_of([BASE], {"worker": 1})


def test_pools_of_another_cluster_are_here_only_if_the_user_names_them() -> None:
    other = BASE._replace(whose="other")
    assert [Pools((), named=named).is_here(pool) for pool in (BASE, other) for named in (False, True)] == [True, True, False, True]
    assert not Pools(())
    assert Pools((BASE,))
    assert Pools((), (PoolPart(("", "MachineAutoscaler", "a"), BASE.site),))
