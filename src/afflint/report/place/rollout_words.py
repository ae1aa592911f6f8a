"""Rollouts in words, for the text report and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import domain_noun
from afflint.placement.plan import RolloutEffect, RolloutResult, RolloutStep

ROLLOUT_RESULTS: tuple[RolloutResult, ...] = ("blocked", "may-block", "unjudged", "completes", "manual")
"""Worst first."""

RESULT_WORDS: dict[RolloutResult, str] = {
    "blocked": "never completes",
    "may-block": "may not complete",
    "unjudged": "not evaluated",
    "completes": "completes",
    "manual": "no rollout",
}
"""The words for people; JSON keeps the values."""

ROLLOUT_NOTE = "the template changes, its placement constraints do not"
_MOST_OUTCOMES = 4
_MOST_STEPS = 8


def ranked_rollouts(rollouts: Sequence[RolloutEffect]) -> list[RolloutEffect]:
    """Order rollouts, worst first: those that do not complete, then those that may lose most domains."""
    return sorted(rollouts, key=lambda each: (ROLLOUT_RESULTS.index(each.result), -lost_domains(each)))


def result_words(rollout: RolloutEffect, key: str) -> str:
    """Return the result of a rollout in words; of one that completes, whether it may lose a domain."""
    if rollout.result == "completes" and lost_domains(rollout) > 0:
        return f"may lose a {domain_noun(key)}"
    if rollout.result == "completes" and _worse_by_race(rollout):
        return f"rarely loses a {domain_noun(key)}"
    return RESULT_WORDS[rollout.result]


def lost_domains(rollout: RolloutEffect) -> int:
    """Return in how many domains fewer than before all replicas may be after a rollout."""
    return max([len(rollout.before) - len(each) for each in rollout.outcomes], default=0)


def _worse_by_race(rollout: RolloutEffect) -> list[Mapping[str, int]]:
    """Return the outcomes of a race that are in fewer domains than all others, and than before."""
    return [each for each in rollout.rare if len(each) < min([len(rollout.before), *map(len, rollout.outcomes)])]


def rollout_tally(rollouts: Sequence[RolloutEffect], key: str) -> str:
    """Return how many rollouts complete, do not, and may lose domains: ``1 never completes, 2 may lose a zone``."""
    parts = []
    for result in ROLLOUT_RESULTS:
        number = sum(each.result == result and not (result == "completes" and lost_domains(each) > 0) for each in rollouts)
        losing = sum(each.result == result == "completes" and lost_domains(each) > 0 for each in rollouts)
        if losing:
            parts.append(f"{losing} may lose a {domain_noun(key)}")
        if number:
            parts.append(f"{number} {_COUNTED[result][number > 1]}")
    return ", ".join(parts)


_COUNTED: dict[RolloutResult, tuple[str, str]] = {
    "blocked": ("never completes", "never complete"),
    "may-block": ("may not complete", "may not complete"),
    "unjudged": ("is not evaluated", "are not evaluated"),
    "completes": ("completes", "complete"),
    "manual": ("is not replaced by a controller", "are not replaced by a controller"),
}


def rollout_lines(rollout: RolloutEffect, key: str, *, verbose: bool = False) -> Iterator[str]:
    """Yield what a rollout does: where the replicas may be in the end and meanwhile, why it stops, and an example of its steps.

    ``key`` is the label of the topology domains.
    """
    if rollout.why:
        yield rollout.why
    noun = domain_noun(key)
    if rollout.result in ("completes", "may-block"):
        yield _end_words(rollout, noun)
    if rollout.outcomes and rollout.fewest < min(len(rollout.before), min(map(len, rollout.outcomes))):
        yield f"meanwhile, all ready replicas may be {'on' if noun == 'node' else 'in'} {pluralize(rollout.fewest, noun)}"
    if rollout.outcomes and not rollout.least_ready:
        yield "meanwhile, no replica may be ready"
    if rollout.steps:
        yield f"for example: {_steps_words(rollout.steps, len(rollout.steps) if verbose else _MOST_STEPS)}"
    worse = _worse_by_race(rollout)
    if worse:
        ends = _alternatives([domains_words(each, noun) for each in worse])
        yield f"rarely, if a new pod is scheduled before an old one is removed, the replicas end with {ends}"


def _end_words(rollout: RolloutEffect, noun: str) -> str:
    """Return where the replicas may be after a rollout."""
    where = "on" if noun == "node" else "in"
    orders = "" if _worse_by_race(rollout) else ", in every order" if rollout.exhaustive else ", in all orders that were tried"
    before = len(rollout.before)
    fewer = [each for each in rollout.outcomes if len(each) < before]
    if fewer:
        fewest = len(fewer[0])
        shown = [domains_words(each, noun) for each in fewer if len(each) == fewest]
        return f"the replicas may end {where} {pluralize(fewest, noun)} instead of {before}: {_alternatives(shown)}"
    skew = _skew(rollout.before, before)
    uneven = [each for each in rollout.outcomes if len(each) == before and _skew(each, before) > max(skew, 1)]
    if uneven:
        shown = [domains_words(each, noun) for each in uneven]
        return f"the replicas stay {where} {pluralize(before, noun)}, but may be distributed unevenly: {_alternatives(shown)}"
    fewest = min([len(each) for each in rollout.outcomes], default=before)
    more = " or more" if any(len(each) > fewest for each in rollout.outcomes) else ""
    return f"the replicas end {where} {pluralize(fewest, noun)}{more}{orders}"


def _alternatives(shown: Sequence[str]) -> str:
    more = [f"{len(shown) - _MOST_OUTCOMES} other ways"] if len(shown) > _MOST_OUTCOMES else []
    return ", or ".join([*shown[:_MOST_OUTCOMES], *more])


def _skew(domains: Mapping[str, int], number: int) -> int:
    return max(domains.values(), default=0) - (min(domains.values(), default=0) if len(domains) == number else 0)


def domains_words(domains: Mapping[str, int], noun: str) -> str:
    """Return ``2 in a and 1 in b``: how many replicas are in each domain."""
    where = "on" if noun == "node" else "in"
    return join_words([f"{count} {where} {domain or f'no {noun}'}" for domain, count in domains.items()])


def _steps_words(steps: Sequence[RolloutStep], limit: int) -> str:
    words = [
        f"{step.pod} is scheduled on {step.node}"
        if step.action == "scheduled"
        else f"{step.pod} is removed{f' from {step.node}' if step.node else ''}"
        for step in steps
    ]
    shown = words[:limit] + ([f"and {len(words) - limit} more steps"] if len(words) > limit else [])
    return ", ".join(shown)
