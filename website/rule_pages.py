"""Generate the page of each rule from ``rules/``, with examples and related rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from afflint.checks.registry import CATEGORIES, Rule
from website.links import convert_links, outside_fences

CATEGORY_ABOUT = {
    "admission": "The API server or KubeVirt rejects the object, or its pods.",
    "labels": "Accepted, but selects the wrong pods, or none.",
    "affinity": "Node and pod affinity that can never be met, or does not do what it says.",
    "spread": "Spread constraints without effect.",
    "tolerations": "Tolerations that have no effect, or tolerate too much.",
    "kubevirt": "Mistakes that are specific to virtual machines.",
    "volumes": "Volumes that pods cannot reach or share, and rollouts that wait for a volume.",
    "cross-manifest": "Manifests that contradict each other.",
    "nodes": "With nodes: node labels that contradict each other, or that make constraints ineffective.",
    "placement": "With nodes: replicas that cannot be scheduled now, during an update or after a failure.",
    "policy": "The requirements of your own organisation.",
    "afflint": "Suppression comments.",
}
_EXAMPLE = re.compile(
    r"^```yaml (?P<verdict>bad|good)[^\n]*\n(?P<text>.*?)^```\n(?:\n```said\n(?P<said>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
_NAMED = re.compile(r"(?<!\[)`([a-z][a-z-]+)`")
_INDEX = """\
# Rules

afflint has {count} rules. Each has a name, a severity and a page; `afflint rule NAME` shows the page in a terminal.

An **error** is rejected by the cluster, or can never be met. A **warning** is accepted by the cluster but does not do what its author
expects. An **info** is worth a look and never fails a run. `[*]` marks rules with a fix that `--fix` applies.

<input class="filter" type="search" placeholder="Filter by name or description" aria-label="Filter the rules">

"""
_FIXES = {"none": "no fix", "safe": "a safe fix", "unsafe": "an unsafe fix"}


def rule_page(rule: Rule, known: Mapping[str, Rule], named_by: Mapping[str, list[str]]) -> str:
    """Return the page of a rule. ``named_by`` lists, for each rule, the rules whose pages name it."""
    title, _, rest = rule.page().strip().partition("\n")
    summary, _, rest = rest.strip().partition("\n\n")
    body = convert_links(f"{summary}\n\n{_facts(rule)}\n\n{rest}\n", f"rules/{rule.name}.md")
    body = outside_fences(body, lambda prose: _NAMED.sub(lambda each: _link(each, rule, known), prose))
    body = _EXAMPLE.sub(_example, body)
    related = sorted({*_names_in(rule, known), *named_by.get(rule.name, ())} - {rule.name})
    return f"{title}\n\n{body}\n{''.join(_end(rule, related, known))}"


def names_by_page(known: Mapping[str, Rule]) -> dict[str, list[str]]:
    """Return for each rule the rules whose pages name it."""
    found: dict[str, list[str]] = {}
    for rule in known.values():
        for name in _names_in(rule, known):
            found.setdefault(name, []).append(rule.name)
    return found


def index_page(known: Mapping[str, Rule]) -> str:
    """Return all rules by category, in tables with a filter."""
    return "".join(_index(known))


def _index(known: Mapping[str, Rule]) -> Iterator[str]:
    yield _INDEX.format(count=len(known))
    for category in CATEGORIES:
        chosen = [each for each in known.values() if each.category == category]
        if chosen:
            yield f"## {category}\n\n{CATEGORY_ABOUT[category]}\n\n| rule | severity | |\n|---|---|---|\n"
            for each in chosen:
                mark, off = " `[*]`" if each.fix == "safe" else "", "" if each.default else " *(off until selected)*"
                yield f"| [`{each.name}`]({each.name}.md){mark} | {each.severity} | {each.summary()}{off} |\n"
            yield "\n"


def _facts(rule: Rule) -> str:
    parts = [f"**{rule.severity}**{{ .{rule.severity} }}", f"[{rule.category}](index.md#{rule.category})", _FIXES[rule.fix]]
    parts += [] if rule.default else ["off until it is selected"]
    return " · ".join([*parts, f"since afflint {rule.since}"]) + "\n{ .facts }"


def _link(named: re.Match[str], rule: Rule, known: Mapping[str, Rule]) -> str:
    return f"[`{named[1]}`]({named[1]}.md)" if named[1] in known and named[1] != rule.name else named[0]


def _names_in(rule: Rule, known: Mapping[str, Rule]) -> set[str]:
    return {name for name in re.findall(r"`([a-z][a-z-]+)`", rule.page()) if name in known and name != rule.name}


def _example(found: re.Match[str]) -> str:
    if found["verdict"] == "good":
        return f'```yaml title="Right"\n{found["text"]}```\n'
    report = found["said"] or ""
    lines = sorted({int(number) for number in re.findall(r"(?m)^(\d+):\d+:", report)})
    highlighted = f' hl_lines="{" ".join(map(str, lines))}"' if lines else ""
    return (
        f'```yaml title="Wrong" linenums="1"{highlighted}\n{found["text"]}```\n\n```{{ .text .said title="afflint says" }}\n{report}```\n'
    )


def _end(rule: Rule, related: list[str], known: Mapping[str, Rule]) -> Iterator[str]:
    if related:
        yield "\n## Related rules\n\n" + "".join(f"- [`{name}`]({name}.md): {known[name].summary()}\n" for name in related)
    yield "\n## In your configuration\n\n```yaml\n"
    yield "" if rule.default else f"extend-select: [{rule.name}]\n"
    yield f"severity:\n  {rule.name}: {'warning' if rule.severity == 'error' else 'error'}\n"
    yield f'per-file-ignores:\n  "legacy/**": [{rule.name}]\n```\n\n'
    yield f"To ignore a single finding, add a comment with the reason: `# afflint: ignore[{rule.name}] -- why`."
    yield " See [Suppress findings](../suppressions.md).\n"
