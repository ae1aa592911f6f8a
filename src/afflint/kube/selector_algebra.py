"""How selectors relate: whether one implies another, where they differ, and which requirements cannot be met together."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.kube.selectors import INT64_MAX, LABEL_OPERATORS, NODE_NAME, AnyOf, Requirement, Selection, Selector, is_met, parse_int64

# Implication between two lists of ORed terms is as hard as propositional logic; a hostile manifest must not stall the run.
_MAX_STEPS = 100_000
# A larger conflict on one key is not minimised: that takes time that grows with the square of its size.
_MAX_MINIMISED = 100

# A finite number of requirements distinguishes only finitely many values of a label: absence, each value they list, and for
# Gt and Lt each interval between their operands. One sample of each such class represents all of it, so that a requirement
# becomes a finite set of samples, a selector a box (one set per key), and every question one about finite sets.

Key = tuple[str, bool]
"""A label, or a field if the second item is set."""
Sample = str | None
"""The value of a label; None if it is absent."""
Box = dict[Key, frozenset[Sample]]
"""The values of each key that a selector allows."""


class Witness(NamedTuple):
    """Labels that one selection matches and another does not.

    ``selector`` is the index of the selector of the first selection that matches; ``labels`` are the values by key (and whether it is a
    field), None for an absent label.
    """

    selector: int
    labels: dict[Key, Sample]


def implies(first: Selection, second: Selection) -> bool:
    """Return whether ``second`` matches everything that ``first`` matches.

    Exact, except for selections with too many overlapping terms, whose proof would take too many steps: those count as not implied.
    """
    try:
        return _outside(first, second, zeros=True) is None
    except _TooManyStepsError:
        return False


def find_difference(first: Selection, second: Selection) -> Witness | None:
    """Return labels that ``first`` matches and ``second`` does not; None if they do not exist, or the search takes too many steps.

    An absent label is preferred to a listed value, and that to any other. Numbers are written without leading zeros: the scheduler reads 05
    as 5, but such labels are not used in practice.
    """
    try:
        return _outside(first, second, zeros=False)
    except _TooManyStepsError:
        return None


class _TooManyStepsError(Exception):
    """Raised when a question takes more steps than it is worth."""


def _outside(first: Selection, second: Selection, *, zeros: bool) -> Witness | None:
    left, right = _selectors(first), _selectors(second)
    samples = _samples((*left, *right), zeros=zeros)
    cover = [_box(selector, samples) for selector in right]
    steps = iter(range(_MAX_STEPS))
    for number, selector in enumerate(left):
        part = _find_uncovered(_box(selector, samples), cover, samples, steps)
        if part is not None:
            shown = {key: next(sample for sample in samples[key] if sample in allowed) for key, allowed in part.items()}
            return Witness(number, shown)
    return None


def conflict(requirements: Sequence[Requirement]) -> tuple[int, ...]:
    """Return the indexes of the fewest requirements that cannot be met together: one or two if possible; empty if all can be met.

    Requirements of several selectors that must be met together (a nodeSelector and a term) are passed in one sequence.
    """
    by_key = grouped((_key(requirement), index) for index, requirement in enumerate(requirements))
    if len(by_key) == len(requirements) and all(_can_hold(each) for each in requirements):
        return ()  # One requirement for each label, and each can be met.
    conflicts = []
    for members in by_key.values():
        if not can_hold_together([requirements[index] for index in members]):
            conflicts.append(_smallest_conflict(members, requirements))
    return min(conflicts, key=len, default=())


def sample_values(requirements: Sequence[Requirement]) -> list[str | None]:
    """Return values of one label that meet all requirements on it: None for its absence first, then listed values, then others.

    One value for each class that the requirements distinguish; empty if they cannot be met together.
    """
    compact = _compact(requirements)
    samples = _values(_key(compact[0]), compact)
    universe = frozenset(samples)
    admitted = universe.intersection(*(_admitted(each, universe) for each in compact))
    return [sample for sample in samples if sample in admitted]


def can_hold_together(requirements: Sequence[Requirement]) -> bool:
    """Return whether requirements on one key can all be met. If one of them lists values or requires absence, only those are tried."""
    for each in requirements:
        if each.field:
            break
        if each.operator == "In":
            return bool(frozenset(each.values).intersection(*(_admitted(other, each.values) for other in requirements)))
        if each.operator == "DoesNotExist":
            return all(is_met(other, None) for other in requirements)
    return bool(sample_values(requirements))


def _can_hold(requirement: Requirement) -> bool:
    """Return whether a requirement can certainly be met by some value of a label; False proves nothing."""
    return not requirement.field and requirement.operator in LABEL_OPERATORS and (requirement.operator != "In" or bool(requirement.values))


def _smallest_conflict(members: list[int], requirements: Sequence[Requirement]) -> tuple[int, ...]:
    for index in members:
        if not can_hold_together([requirements[index]]):
            return (index,)
    if len(members) > _MAX_MINIMISED:
        return _approximate_conflict(members, requirements)
    universe = frozenset(_values(_key(requirements[members[0]]), [requirements[index] for index in members]))
    admitted = {index: _admitted(requirements[index], universe) for index in members}
    for position, first in enumerate(members):
        for second in members[position + 1 :]:
            if admitted[first].isdisjoint(admitted[second]):
                return (first, second)
    # The requirement that empties the intersection belongs to the conflict; keep it and look for the next among those before it.
    core: list[int] = []
    rest = members
    while True:
        remaining = universe.intersection(*(admitted[index] for index in core))
        if not remaining:
            return tuple(sorted(core))
        for position, index in enumerate(rest):
            remaining &= admitted[index]
            if not remaining:
                core.append(index)
                rest = rest[:position]
                break


def _approximate_conflict(members: list[int], requirements: Sequence[Requirement]) -> tuple[int, ...]:
    """Return two conflicting requirements if one conflicts with the first that cannot be met any more, else all up to that one."""
    holding, clashing = 0, len(members)
    while clashing - holding > 1:
        middle = (holding + clashing) // 2
        if can_hold_together([requirements[index] for index in members[:middle]]):
            holding = middle
        else:
            clashing = middle
    last = members[clashing - 1]
    for index in members[: clashing - 1]:
        if not can_hold_together((requirements[index], requirements[last])):
            return (index, last)
    return tuple(members[:clashing])


def _selectors(selection: Selection) -> tuple[Selector, ...]:
    return tuple(map(_compacted, selection.selectors if isinstance(selection, AnyOf) else (selection,)))


@lru_cache(maxsize=64)
def _compacted(selector: Selector) -> Selector:
    """Return a selector that matches the same with few requirements for each key."""
    by_key = grouped((_key(requirement), requirement) for requirement in selector.requirements)
    if len(by_key) == len(selector.requirements):
        return selector
    return Selector(tuple(requirement for requirements in by_key.values() for requirement in _compact(requirements)))


def _compact(requirements: Sequence[Requirement]) -> list[Requirement]:
    """Combine requirements on one key by operator: the values that all In share, those of any NotIn, the tightest Gt and Lt."""
    by_operator = grouped((requirement.operator, requirement) for requirement in requirements)
    compact = []
    for operator, alike in by_operator.items():
        first, *others = alike
        if others and operator == "In":
            shared = set(first.values).intersection(*(each.values for each in others))
            first = first._replace(values=tuple(value for value in first.values if value in shared))
        elif others and operator == "NotIn":
            first = first._replace(values=tuple(dict.fromkeys(value for each in alike for value in each.values)))
        elif others and operator in ("Gt", "Lt"):
            first = _tightest(alike, operator)
        compact.append(first)
    return compact


def _tightest(requirements: Sequence[Requirement], operator: str) -> Requirement:
    """Return the strictest of several Gt or several Lt; one whose operand is not an integer never matches."""
    operands = [(parse_int64(each.values[0]), each) for each in requirements]
    for operand, each in operands:
        if operand is None:
            return each
    chosen = max if operator == "Gt" else min
    return chosen(operands, key=lambda pair: pair[0] or 0)[1]


def _key(requirement: Requirement) -> Key:
    return requirement.key, requirement.field


def _samples(selectors: Iterable[Selector], *, zeros: bool) -> dict[Key, list[Sample]]:
    """Return one value of every class that the selectors distinguish, by key: absence first, then listed values, then new ones.

    With ``zeros``, numbers with leading zeros are included.
    """
    by_key = grouped((_key(requirement), requirement) for selector in selectors for requirement in selector.requirements)
    return {key: _values(key, requirements, zeros=zeros) for key, requirements in by_key.items()}


def _values(key: Key, requirements: list[Requirement], *, zeros: bool = True) -> list[Sample]:
    name, is_field = key
    if is_field and name != NODE_NAME:
        return [""]
    listed = dict.fromkeys(value for r in requirements if r.operator in ("In", "NotIn") for value in r.values)
    samples: list[Sample] = [] if is_field else [None]
    samples += listed
    word = "other" if listed else "any"
    samples.append(next(text for text in _numbered(word) if text not in listed))
    for low, high in _intervals(requirements):
        text = next((text for text in _spellings(low, high, zeros=zeros) if text not in listed), None)
        if text is not None:
            samples.append(text)
    return samples


def _numbered(word: str) -> Iterator[str]:
    yield word
    for number in range(2, 10**9):
        yield f"{word}{number}"


def _intervals(requirements: list[Requirement]) -> Iterator[tuple[int, int]]:
    """Yield the intervals of integers that Gt and Lt distinguish. Negative ones are left out: a label value cannot start with a sign."""
    operands = {parse_int64(r.values[0]) for r in requirements if r.operator in ("Gt", "Lt")}
    if not operands:
        return
    starts = {0}
    for operand in operands:
        if operand is not None:
            starts |= {operand, operand + 1}
    cuts = sorted(start for start in starts if 0 <= start <= INT64_MAX)
    for low, following in zip(cuts, (*cuts[1:], INT64_MAX + 1), strict=True):
        yield low, following - 1


def _spellings(low: int, high: int, *, zeros: bool) -> Iterator[str]:
    """Yield label values that read as an integer of the interval: plain ones first, then those with leading ``zeros``."""
    for leading in range(63 if zeros else 1):
        for number in range(low, high + 1):
            text = "0" * leading + str(number)
            if len(text) <= 63:
                yield text


def _admitted(requirement: Requirement, samples: Iterable[Sample]) -> frozenset[Sample]:
    """Return the samples that meet the requirement."""
    if requirement.operator == "In":
        return frozenset(requirement.values).intersection(samples)
    if requirement.operator == "NotIn":
        return frozenset(samples) - frozenset(requirement.values)
    return frozenset(sample for sample in samples if is_met(requirement, sample))


def _box(selector: Selector, samples: dict[Key, list[Sample]]) -> Box:
    box: Box = {}
    for requirement in selector.requirements:
        key = _key(requirement)
        admitted = _admitted(requirement, samples[key])
        box[key] = box[key] & admitted if key in box else admitted
    return box


def _overlap(first: Box, second: Box) -> bool:
    if not (all(first.values()) and all(second.values())):
        return False
    return not any(key in second and allowed.isdisjoint(second[key]) for key, allowed in first.items())


def _find_uncovered(box: Box, cover: Sequence[Box], samples: dict[Key, list[Sample]], steps: Iterator[int]) -> Box | None:
    """Return a part of the box that is in none of the covering boxes, or None. What is outside one box may be inside the next."""
    pending = [(box, 0)]
    while pending:
        part, position = pending.pop()
        if not all(part.values()):
            continue
        if position == len(cover):
            return part
        if next(steps, None) is None:
            raise _TooManyStepsError
        if not _overlap(part, cover[position]):
            pending.append((part, position + 1))
            continue
        for key, allowed in cover[position].items():
            within = part.get(key, frozenset(samples[key]))
            pending.append(({**part, key: within - allowed}, position + 1))
            part = {**part, key: within & allowed}
    return None
