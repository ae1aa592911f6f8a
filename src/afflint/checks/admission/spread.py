"""Topology spread constraints that the cluster refuses."""

from __future__ import annotations

from collections.abc import Iterator

from afflint.checks.match import Match, Target
from afflint.checks.wording import nearest, quoted
from afflint.findings import Path
from afflint.kube.constraints import Item
from afflint.kube.manifests import Manifest, Workload

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def invalid_spread_constraint(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """maxSkew, minDomains, whenUnsatisfiable and the two policies outside what they may be."""
    if isinstance(manifest, Workload):
        for spread in manifest.constraints.spreads:
            yield from _max_skew(spread, manifest)
            yield from _action(spread, manifest)
            yield from _min_domains(spread)
            for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                policy = spread.data.get(field)
                if type(policy) is str and policy not in _POLICIES:
                    yield _wrong_word(spread, field, policy, _POLICIES)


def duplicate_spread_constraint(manifest: Manifest, _target: Target) -> Iterator[Match]:
    """Two spread constraints with the same topology key and the same action."""
    if isinstance(manifest, Workload):
        first: dict[tuple[str, str], Item] = {}
        for spread in manifest.constraints.spreads:
            key, action = spread.data.get("topologyKey") or "", spread.data.get("whenUnsatisfiable") or ""
            if type(key) is not str or type(action) is not str:
                continue
            earlier = first.setdefault((key, action), spread)
            if earlier is not spread:
                # The API server names the earlier one, KubeVirt's schema the later one.
                field: Path = spread.path if manifest.kind.kubevirt else (*earlier.path, "{topologyKey, whenUnsatisfiable}")
                yield Match(
                    (*spread.path, "topologyKey") if "topologyKey" in spread.data else spread.path,
                    f"a second spread constraint over {quoted(key)} with {action or 'the same action'}",
                    "Merge the two; over one topology key there may be one DoNotSchedule and one ScheduleAnyway.",
                    field=field,
                )


def _max_skew(spread: Item, workload: Workload) -> Iterator[Match]:
    skew = spread.data.get("maxSkew")
    path = (*spread.path, "maxSkew")
    if skew is None and not workload.partial:
        yield Match(path, "a spread constraint without maxSkew", "Add `maxSkew: 1` for the most even spread.")
    elif isinstance(skew, (int, float)) and skew < 1:
        yield Match(path, f"maxSkew must be at least 1, not {quoted(skew)}", "Write `maxSkew: 1` for the most even spread.")


def _action(spread: Item, workload: Workload) -> Iterator[Match]:
    action = spread.data.get("whenUnsatisfiable")
    if action is None and not workload.partial:
        yield Match(
            (*spread.path, "whenUnsatisfiable"),
            "a spread constraint without whenUnsatisfiable",
            "Write DoNotSchedule for a requirement, ScheduleAnyway for a preference.",
        )
    elif type(action) is str and action not in _ACTIONS:
        yield _wrong_word(spread, "whenUnsatisfiable", action, _ACTIONS)


def _min_domains(spread: Item) -> Iterator[Match]:
    domains = spread.data.get("minDomains")
    if not isinstance(domains, (int, float)):
        return
    path = (*spread.path, "minDomains")
    if domains < 1:
        yield Match(
            path, f"minDomains must be at least 1, not {quoted(domains)}", "Write how many domains must be in use, or remove minDomains."
        )
    elif spread.data.get("whenUnsatisfiable") != "DoNotSchedule":
        yield Match(
            path, "minDomains works only with whenUnsatisfiable: DoNotSchedule", "Remove minDomains, or make the constraint required."
        )


def _wrong_word(spread: Item, field: str, word: str, known: tuple[str, ...]) -> Match:
    close = nearest(word, known)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    return Match((*spread.path, field), f"{field} cannot be {quoted(word)}{hint}", f"Write {' or '.join(known)}.", replacement=close)
