"""Where workloads stand with policies as one self-contained HTML page, for those who are responsible for the platform.

It is complete without scripts. The one small script that it has adds a search and filters, and keeps them in the address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from afflint.findings.phrases import pluralize
from afflint.report.compliance import Compliance, ComplianceVerdict, PolicyCompliance, WorkloadGroup, grouped, number_new, oldest
from afflint.report.html_page import page, shown
from afflint.report.phrases import html_words

_MOST = 400
"""So many workloads of a policy are told with what is wrong, and as many names of others; JSON has all."""
_OPEN = 3
"""With up to as many policies that are not met, what is to be done is unfolded."""
_MOST_GROUPS = 200
_UNKNOWN = '<td class="number none">\u2013</td>'
_NOBODY = "about no workload that is here"

_KEY = (
    '<p class="key"><span><span class="bar"><i class="met"></i></span>met</span>'
    '<span><span class="bar"><i class="excepted"></i></span>excepted: a comment or the configuration lets it be</span>'
    '<span><span class="bar"><i class="unmet"></i></span>not met</span></p>\n'
)


def render(standing: Compliance) -> Iterator[str]:
    """The page. The same standing gives the same bytes, and they can be encoded as UTF-8 whatever the manifests hold."""
    unmet = [each for each in standing.policies if each.unmet()]
    title = _title(standing)
    parts = {
        "title": title,
        "lead": shown(_lead(standing)),
        "notes": _notes(standing),
        "heads": _heads(standing),
        "policies": "".join(_row(each, number, standing) for number, each in enumerate(standing.policies, 1)),
        "key": _KEY,
        "groups": "".join(_groups(standing)),
        "find": _find(standing) if unmet else "",
        "details": "".join("".join(_details(each, number, standing, len(unmet))) for number, each in enumerate(standing.policies, 1)),
    }
    yield page("policy_page", f"afflint: {title}", standing.made, parts, _widths(parts))


def _title(standing: Compliance) -> str:
    asked = standing.asked
    met, undecided = sum(each.is_met for each in asked), sum(each.is_undecided for each in asked)
    return f"{met} of {pluralize(len(asked), 'policy')} met" + (f", {undecided} undecided" if undecided else "")


def _lead(standing: Compliance) -> str:
    about = pluralize(standing.workloads, "workload")
    outside = f", {standing.outside} of them under no policy" if standing.outside else ""
    unmet = [verdict for policy in standing.policies for verdict in policy.unmet()]
    excepted = sum(policy.number("excepted") for policy in standing.policies)
    said = [f"{about}{outside}.", f"{pluralize(len(unmet), 'demand')} not met" if unmet else _nothing_unmet(standing)]
    day = oldest(each.since for each in unmet)
    if unmet and standing.baseline:
        said[-1] += f", {number_new(unmet) or 'none'} of them new" + (f", the oldest since {day}" if day else "")
    said[-1] += f"; {pluralize(excepted, 'exception')}." if excepted else "."
    return " ".join(said)


def _nothing_unmet(standing: Compliance) -> str:
    return "No demand is known not to be met" if any(each.is_undecided for each in standing.policies) else "Every demand is met"


def _notes(standing: Compliance) -> str:
    if standing.baseline or not any(each.unmet() for each in standing.policies):
        return ""
    return '<p class="notes">A baseline would tell since when: <code>afflint check --write-baseline</code> keeps the days.</p>\n'


def _heads(standing: Compliance) -> str:
    words = ["Met", "Of", "Not met", "Excepted", *(["Undecided"] if standing.leaves_some_undecided else [])]
    words += ["New", "Since"] if standing.baseline else []
    return "".join(f'<th scope="col" class="number">{word}</th>' for word in words)


def _row(policy: PolicyCompliance, number: int, standing: Compliance) -> str:
    unmet, excepted, met = policy.unmet(), policy.number("excepted"), policy.number("met")
    name = f'<tr><th scope="row"><a href="#p{number}"><code>{shown(policy.name)}</code></a></th><td>{_severity(policy)}</td>'
    if policy.unasked or not (policy.verdicts or policy.only_unmet):
        width = 8 if standing.leaves_some_undecided else 7
        return f'{name}<td colspan="{width}" class="none">{html_words(policy.unasked or _NOBODY)}</td></tr>\n'
    known = [_UNKNOWN, _UNKNOWN] if policy.only_unmet else [_number(met), _number(len(policy.verdicts))]
    cells = [*known, _number(len(unmet), todo=True), _number(excepted)]
    if standing.leaves_some_undecided:
        cells.append(_number(policy.number("undecided")))
    if standing.baseline:
        cells += [_number(number_new(unmet), todo=True), f'<td class="number">{_day(oldest(each.since for each in unmet))}</td>']
    return f"{name}<td>{'' if policy.only_unmet else _bar(met, len(unmet), excepted)}</td>{''.join(cells)}</tr>\n"


def _severity(policy: PolicyCompliance) -> str:
    return f'<span class="state {policy.severity}">{policy.severity}</span>'


def _number(number: int, *, todo: bool = False) -> str:
    marks = " none" if not number else " todo" if todo else ""
    return f'<td class="number{marks}">{number}</td>'


def _day(day: str | None) -> str:
    return day if day else "" if day is None else "before days were kept"


def _bar(met: int, unmet: int, excepted: int) -> str:
    """A bar with the shares. Its numbers stand beside it."""
    total = met + unmet + excepted
    if not total:
        return '<span class="bar"></span>'
    parts = (("met", met), ("excepted", excepted), ("unmet", unmet))
    # What is there at all can be seen.
    drawn = "".join(f'<i class="{name} w{max(1, round(100 * number / total))}"></i>' for name, number in parts if number)
    return f'<span class="bar" aria-hidden="true">{drawn}</span>'


def _widths(parts: dict[str, str]) -> str:
    """The rules of style for the widths of bars: the page's policy allows no style in an element."""
    used = [each for each in range(1, 101) if any(f' w{each}"' in part for part in parts.values())]
    return "".join(f".bar .w{each} {{ width: {each}%; }}\n" for each in used)


# By namespace and by owner.


def _groups(standing: Compliance) -> Iterator[str]:
    tables = [("namespaces", "By namespace", "Namespace", grouped(standing, "namespace"))]
    if standing.owner_key:
        tables.append(("owners", f"By owner (<code>{shown(standing.owner_key)}</code>)", "Owner", grouped(standing, "owner")))
    tables = [each for each in tables if each[3]]
    if not tables:
        return
    yield f'<div class="views{" two" if len(tables) > 1 else ""}">\n'
    for anchor, heading, head, groups in tables:
        since = '<th scope="col" class="number">Since</th>' if standing.baseline else ""
        yield f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{heading}</h2>\n'
        yield '<div class="scroll" tabindex="0"><table class="standing">\n'
        yield f'<thead><tr><th scope="col">{head}</th><th scope="col">Content</th>'
        yield f'<th scope="col" class="number">Workloads</th><th scope="col" class="number">Not met</th>{since}</tr></thead>\n<tbody>\n'
        yield from (_group(each, standing) for each in groups[:_MOST_GROUPS])
        yield "</tbody>\n</table></div>\n"
        if len(groups) > _MOST_GROUPS:
            yield f'<p class="soft">and {len(groups) - _MOST_GROUPS} more</p>\n'
        yield "</section>\n"
    yield "</div>\n"


def _group(group: WorkloadGroup, standing: Compliance) -> str:
    name = f"<code>{shown(group.name)}</code>" if group.name else '<span class="soft">none</span>'
    since = f'<td class="number">{_day(group.since)}</td>' if standing.baseline else ""
    bar = _bar(group.content, group.workloads - group.content, 0)
    return f'<tr><th scope="row">{name}</th><td>{bar}</td>{_number(group.workloads)}{_number(group.unmet, todo=True)}{since}</tr>\n'


# Policy by policy.


def _find(standing: Compliance) -> str:
    """The search and the filters; the script that makes them work also brings them to light."""
    unmet = [verdict.workload for policy in standing.policies for verdict in policy.unmet()]
    owner = f'<label>Owner <select id="owner">{_options(each.owner for each in unmet)}</select></label>\n' if standing.owner_key else ""
    return (
        '<div class="find" id="find" hidden>\n'
        '<label>Find <input type="search" id="words" placeholder="a policy, an object, a word"></label>\n'
        f'<label>Namespace <select id="namespace">{_options(each.namespace for each in unmet)}</select></label>\n{owner}'
        '<output id="found"></output>\n</div>\n'
    )


def _options(words: Iterable[str]) -> str:
    known = "".join(f'<option value="={shown(word)}">{shown(word) or "none"}</option>' for word in sorted({*words}))
    return f'<option value="">all</option>{known}'


def _details(policy: PolicyCompliance, number: int, standing: Compliance, breached: int) -> Iterator[str]:
    unmet = policy.unmet()
    opened = " open" if unmet and breached <= _OPEN else ""
    count = (
        "not asked"
        if policy.unasked
        else f"{len(unmet)} not met"
        if unmet
        else "undecided"
        if policy.is_undecided
        else "met"
        if policy.verdicts or policy.only_unmet
        else "about nobody"
    )
    yield f'<details class="policy" id="p{number}" data-name="{shown(policy.name)}"{opened}>\n'
    yield f"<summary>{_severity(policy)}<h3><code>{shown(policy.name)}</code></h3>"
    yield f'<span class="count">{count}</span><span class="soft">{html_words(policy.demand)}</span></summary>\n<div class="body">\n'
    if policy.unasked:
        yield f'<p class="notes">{html_words(policy.unasked)}</p>\n'
    mandatory = "\nmandatory: true" if policy.mandatory else ""
    yield f"<pre>{_lines(policy.said + mandatory)}</pre>\n"
    if unmet:
        yield from _breaches(unmet, standing)
    yield from (f'<p class="notes">{html_words(reason)}</p>\n' for reason in dict.fromkeys(each.reason for each in policy.undecided()))
    for state, heading in (("undecided", "Undecided"), ("excepted", "Excepted"), ("met", "Meet it")):
        alike = [each for each in policy.verdicts if each.state == state]
        if alike:
            yield f'<details class="fold"><summary>{heading}: {len(alike)}</summary>\n<ul class="names">\n'
            yield from (f"<li>{_name(each)}</li>\n" for each in alike[:_MOST])
            yield f"<li>and {len(alike) - _MOST} more</li>\n" if len(alike) > _MOST else ""
            yield "</ul>\n</details>\n"
    yield "</div>\n</details>\n"


def _lines(text: str) -> str:
    """Lines of a configuration: what is in a line stays there."""
    return "\n".join(map(shown, text.split("\n")))


def _name(verdict: ComplianceVerdict) -> str:
    workload = verdict.workload
    return f'{shown(workload.title)} <span class="soft">{shown(workload.file)}</span>'


def _breaches(unmet: Sequence[ComplianceVerdict], standing: Compliance) -> Iterator[str]:
    owner = '<th scope="col">Owner</th>' if standing.owner_key else ""
    since = '<th scope="col">Since</th>' if standing.baseline else ""
    yield f'<div class="scroll" tabindex="0"><table class="breaches">\n<thead><tr><th scope="col">Workload</th>{owner}{since}'
    yield '<th scope="col">What keeps it from that</th></tr></thead>\n<tbody>\n'
    for verdict in unmet[:_MOST]:
        workload = verdict.workload
        yield f'<tr data-namespace="{shown(workload.namespace)}" data-owner="{shown(workload.owner)}">'
        space = f'<br><span class="soft">{shown(workload.namespace)}</span>' if workload.namespace else ""
        yield f'<th scope="row">{shown(workload.title)}{space}</th>'
        yield f"<td>{shown(workload.owner)}</td>" if standing.owner_key else ""
        yield f'<td class="day">{_since(verdict.since)}</td>' if standing.baseline else ""
        said = "<br>\n".join(
            f'{html_words(each.message)} <code class="where">{shown(each.file)}:{each.line}</code>' for each in verdict.breaches
        )
        yield f'<td class="what">{said}</td></tr>\n'
    yield "</tbody>\n</table></div>\n"
    if len(unmet) > _MOST:
        yield f'<p class="soft">and {len(unmet) - _MOST} more; <code>--format json</code> has all</p>\n'


def _since(day: str | None) -> str:
    return "<b>new</b>" if day is None else _day(day)
