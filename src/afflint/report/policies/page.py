"""The compliance report as one self-contained HTML page, for platform teams.

The page is complete without scripts. Its one small script adds a search and filters, and keeps them in the address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.phrases import pluralize
from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped, number_new, oldest
from afflint.report.html_page import asset, bullets, column_heads, details, fragment, options, page, shown, state, wide_table
from afflint.report.phrases import html_words
from afflint.report.policies.text import day_words, policy_rows
from afflint.report.trends import page as trends

_MAX_WORKLOADS = 400
"""Up to this many violating workloads of a policy are listed, and as many names of others; JSON has all."""
_OPEN = 3
"""Up to this many violated policies are unfolded."""
_MAX_GROUPS = 200
_UNKNOWN = '<td class="number none">\u2013</td>'
_NOT_APPLICABLE = "applies to no workload"


def render(compliance: Compliance) -> Iterator[str]:
    """Yield the page. The same compliance gives the same bytes, and they can always be encoded as UTF-8."""
    unmet = [each for each in compliance.policies if each.unmet()]
    title = _title(compliance)
    parts = {
        "title": title,
        "lead": shown(_lead(compliance)),
        "skip": "todo" if compliance.policies else f"{compliance.trends[0].subject[0]}h" if compliance.trends else "policies",
        "hidden": "" if compliance.policies else " hidden",
        "trends": "".join("".join(trends.render(each)) for each in compliance.trends),
        "notes": "" if compliance.baseline or not unmet else asset("policy_notes.html"),
        "heads": column_heads((word.capitalize() for word in next(policy_rows(compliance))[1:]), "number"),
        "policies": "".join(_row(each, number, compliance) for number, each in enumerate(compliance.policies, 1)),
        "groups": "".join(_groups(compliance)),
        "find": _find(compliance) if unmet else "",
        "details": "".join(_details(each, number, compliance, len(unmet)) for number, each in enumerate(compliance.policies, 1)),
    }
    yield page("policy_page", f"afflint: {title}", compliance.made, parts, _widths(parts))


def _title(compliance: Compliance) -> str:
    applicable = compliance.applicable
    if not compliance.policies and compliance.trends:
        last = compliance.trends[0].points[-1]
        return f"{pluralize(last.total, 'finding')} on {last.date}"
    if not compliance.workloads:
        return "no workload found"
    met, undecided = sum(each.is_met for each in applicable), sum(each.is_undecided for each in applicable)
    return f"{met} of {pluralize(len(applicable), 'policy')} met" + (f", {undecided} not evaluated" if undecided else "")


def _lead(compliance: Compliance) -> str:
    if not compliance.policies:
        return ""
    about = pluralize(compliance.workloads, "workload")
    outside = f", {compliance.outside} without a policy" if compliance.outside else ""
    unmet = [verdict for policy in compliance.policies for verdict in policy.unmet()]
    excepted = sum(policy.number("excepted") for policy in compliance.policies)
    nothing = "No known violations" if any(each.is_undecided for each in compliance.policies) else "No violations"
    sentences = [f"{about}{outside}.", f"{pluralize(len(unmet), 'violation')}" if unmet else nothing]
    day = oldest(each.since for each in unmet)
    if unmet and compliance.baseline:
        sentences[-1] += f", {number_new(unmet) or 'none'} of them new" + (f", the oldest since {day}" if day else "")
    sentences[-1] += f"; {pluralize(excepted, 'exemption')}." if excepted else "."
    return " ".join(sentences)


def _row(policy: PolicyCompliance, number: int, compliance: Compliance) -> str:
    unmet, excepted, met = policy.unmet(), policy.number("excepted"), policy.number("met")
    name = f'<tr><th scope="row"><a href="#p{number}"><code>{shown(policy.name)}</code></a></th><td>{state(policy.severity)}</td>'
    if policy.unasked or not (policy.verdicts or policy.only_unmet):
        width = 8 if compliance.has_undecided else 7
        return f'{name}<td colspan="{width}" class="none">{html_words(policy.unasked or _NOT_APPLICABLE)}</td></tr>\n'
    known = [_UNKNOWN, _UNKNOWN] if policy.only_unmet else [_number(met), _number(len(policy.verdicts))]
    cells = [*known, _number(len(unmet), todo=True), _number(excepted)]
    if compliance.has_undecided:
        cells.append(_number(policy.number("undecided")))
    if compliance.baseline:
        cells += [_number(number_new(unmet), todo=True), f'<td class="number">{day_words(oldest(each.since for each in unmet))}</td>']
    return f"{name}<td>{'' if policy.only_unmet else _bar(met, len(unmet), excepted)}</td>{''.join(cells)}</tr>\n"


def _number(number: int, *, todo: bool = False) -> str:
    marks = " none" if not number else " todo" if todo else ""
    return f'<td class="number{marks}">{number}</td>'


def _bar(met: int, unmet: int, excepted: int) -> str:
    """Return a bar with the shares; the numbers are next to it."""
    total = met + unmet + excepted
    if not total:
        return '<span class="bar"></span>'
    parts = (("met", met), ("excepted", excepted), ("unmet", unmet))
    # Every nonzero share is visible.
    drawn = "".join(f'<i class="{name} w{max(1, round(100 * number / total))}"></i>' for name, number in parts if number)
    return f'<span class="bar" aria-hidden="true">{drawn}</span>'


def _widths(parts: dict[str, str]) -> str:
    """Return the CSS for the widths of bars: the content security policy does not allow style attributes."""
    used = [each for each in range(1, 101) if any(f' w{each}"' in part for part in parts.values())]
    return "".join(f".bar .w{each} {{ width: {each}%; }}\n" for each in used)


# By namespace and by owner.


def _groups(compliance: Compliance) -> Iterator[str]:
    tables = [("namespaces", "By namespace", "Namespace", grouped(compliance, "namespace"))]
    if compliance.owner_key:
        tables.append(("owners", f"By owner (<code>{shown(compliance.owner_key)}</code>)", "Owner", grouped(compliance, "owner")))
    tables = [each for each in tables if each[3]]
    if not tables:
        return
    yield f'<div class="views{" two" if len(tables) > 1 else ""}">\n'
    for anchor, heading, head, groups in tables:
        numbers = ["Workloads", "Violations", *["Since"] * bool(compliance.baseline)]
        heads = column_heads([head, "Compliant"]) + column_heads(numbers, "number")
        rows = [_group(each, compliance) for each in groups[:_MAX_GROUPS]]
        yield f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{heading}</h2>\n'
        yield wide_table("compliance", f'aria-labelledby="{anchor}"', heads, rows, len(groups) - _MAX_GROUPS)
        yield "</section>\n"
    yield "</div>\n"


def _group(group: WorkloadGroup, compliance: Compliance) -> str:
    name = f"<code>{shown(group.name)}</code>" if group.name else '<span class="soft">none</span>'
    since = f'<td class="number">{day_words(group.since)}</td>' if compliance.baseline else ""
    bar = _bar(group.content, group.workloads - group.content, 0)
    return f'<tr><th scope="row">{name}</th><td>{bar}</td>{_number(group.workloads)}{_number(group.unmet, todo=True)}{since}</tr>\n'


# Policy by policy.


def _find(compliance: Compliance) -> str:
    """Return the search and the filters; they are hidden until the script runs."""
    unmet = [verdict.workload for policy in compliance.policies for verdict in policy.unmet()]
    owner = f'<label>Owner <select id="owner">{_options(each.owner for each in unmet)}</select></label>\n' if compliance.owner_key else ""
    return fragment("policy_find", namespaces=_options(each.namespace for each in unmet), owner=owner)


def _options(words: Iterable[str]) -> str:
    known = sorted({*words})
    return options(["all", *(word or "none" for word in known)], ["", *(f"={word}" for word in known)])


def _details(policy: PolicyCompliance, number: int, compliance: Compliance, breached: int) -> str:
    unmet = policy.unmet()
    if policy.unasked or (policy.is_undecided and not unmet):
        count = "not evaluated"
    elif unmet:
        count = f"{len(unmet)} violating"
    else:
        count = "compliant" if policy.verdicts or policy.only_unmet else "not applicable"
    summary = f'<span class="count">{count}</span><span class="soft">{html_words(policy.demand)}</span>'
    return details(
        "policy",
        f"{state(policy.severity)}<h3><code>{shown(policy.name)}</code></h3>{summary}",
        f'<div class="body">\n{"".join(_body(policy, compliance))}</div>\n',
        opened=0 < breached <= _OPEN and bool(unmet),
        more=f' id="p{number}" data-name="{shown(policy.name)}"',
    )


def _body(policy: PolicyCompliance, compliance: Compliance) -> Iterator[str]:
    unmet = policy.unmet()
    if policy.unasked:
        yield f'<p class="notes">{html_words(policy.unasked)}</p>\n'
    # Line by line, so that no value adds a line.
    lines = "\n".join(map(shown, [*policy.configuration.split("\n"), *["mandatory: true"] * policy.mandatory]))
    yield f"<pre>{lines}</pre>\n"
    if unmet:
        yield _breaches(unmet, compliance)
    yield from (f'<p class="notes">{html_words(reason)}</p>\n' for reason in dict.fromkeys(each.reason for each in policy.undecided()))
    for state_, heading in (("undecided", "Not evaluated"), ("excepted", "Exempt"), ("met", "Compliant")):
        alike = [each.workload for each in policy.verdicts if each.state == state_]
        if alike:
            items = [f'{shown(each.title)} <span class="soft">{shown(each.file)}</span>' for each in alike[:_MAX_WORKLOADS]]
            yield details("fold", f"{heading}: {len(alike)}", bullets(items, "names", left_out=len(alike) - _MAX_WORKLOADS))


def _breaches(unmet: Sequence[ComplianceVerdict], compliance: Compliance) -> str:
    heads = column_heads(["Workload", *["Owner"] * bool(compliance.owner_key), *["Since"] * bool(compliance.baseline), "Violation"])
    rows = [_breach(each, compliance) for each in unmet[:_MAX_WORKLOADS]]
    more = "more; <code>--format json</code> has all workloads"
    return wide_table("breaches", 'aria-label="Violations"', heads, rows, len(unmet) - _MAX_WORKLOADS, more)


def _breach(verdict: ComplianceVerdict, compliance: Compliance) -> str:
    namespace, owner = shown(verdict.workload.namespace), shown(verdict.workload.owner)
    space = f'<br><span class="soft">{namespace}</span>' if namespace else ""
    cells = f"<td>{owner}</td>" if compliance.owner_key else ""
    if compliance.baseline:
        cells += f'<td class="day">{"<b>new</b>" if verdict.since is None else day_words(verdict.since)}</td>'
    messages = "<br>\n".join(
        f'{html_words(each.message)} <code class="where">{shown(each.file)}:{each.line}</code>' for each in verdict.breaches
    )
    title = f'<th scope="row">{shown(verdict.workload.title)}{space}</th>'
    return f'<tr data-namespace="{namespace}" data-owner="{owner}">{title}{cells}<td class="what">{messages}</td></tr>\n'
