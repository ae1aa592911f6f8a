"""Every rule page is complete, agrees with its check, and its examples give exactly the findings that they mark."""

import re

import pytest

import rule_pages
from afflint import __version__
from afflint.checks import registry
from afflint.checks.match import Target
from afflint.kube.constraints import NONE
from afflint.manifests.manifest import Workload
from afflint.manifests.reader import manifests_in
from afflint.yaml.documents import read, split
from edited import edited
from rule_pages import CHECKS, Example, findings_in

EXAMPLES = rule_pages.examples()
BAD = [example for example in EXAMPLES if example.info.startswith("yaml bad")]
LONGEST_HELP = 200

each_page = pytest.mark.parametrize("name", rule_pages.names())
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)
each_bad_example = pytest.mark.parametrize("example", BAD, ids=str)


# The examples.


@each_example
def test_an_example_gives_exactly_the_findings_that_it_marks(example: Example) -> None:
    found = findings_in(example.text, example.rule)
    described = [f"{each.span.line}:{each.span.column} {each.rule}" for each in found]
    wanted = [f"{line}:{column} {rule}" for line, column, rule in example.expected()]
    assert described == wanted, [f"{each.span.line}:{each.span.column} {each.message}" for each in found]


@each_page
def test_a_page_shows_the_mistake_and_its_fix(name: str) -> None:
    verdicts = [example.bad for example in rule_pages.page(name).examples]
    assert True in verdicts
    assert False in verdicts
    assert len(verdicts) <= 6


@each_bad_example
def test_messages_and_helps_read_like_all_others(example: Example) -> None:
    for finding in findings_in(example.text, example.rule):
        assert finding.message.strip()
        assert not finding.message.endswith("."), "a message is not a sentence and has no full stop"
        assert finding.help.endswith("."), "a help is a sentence"
        assert "TODO" not in finding.help
        assert len(finding.help) <= LONGEST_HELP


@each_page
def test_the_page_says_what_kind_of_fix_its_examples_are_offered(name: str) -> None:
    found = [each for example in BAD if example.rule == name for each in findings_in(example.text, name, "unsafe")]
    offered = any(finding.fix is not None for finding in found)
    assert offered == (rule_pages.page(name).front["fix"] != "none")


@each_bad_example
def test_a_fix_resolves_its_finding(example: Example) -> None:
    found = findings_in(example.text, example.rule)
    fixes = [finding.fix for finding in found if finding.fix is not None]
    fixed = edited(example.text, [edit for fix in fixes for edit in fix.edits])
    remaining = [finding for finding in findings_in(fixed, example.rule) if finding.fix is not None]
    assert remaining == []
    assert len(findings_in(fixed, example.rule)) == len(found) - len(fixes)


# The pages.


@each_page
def test_front_matter_has_the_known_keys(name: str) -> None:
    front = rule_pages.page(name).front
    assert {"category", "severity", "fix", "check", "since"} <= front.keys() <= {"category", "severity", "default", "fix", "check", "since"}
    assert front["severity"] == "error" or front["category"] != "admission", "whatever the cluster refuses is an error"


@each_page
def test_sections_are_in_order_under_the_name_of_the_rule(name: str) -> None:
    page = rule_pages.page(name)
    own = registry.rules()[name].category == "afflint"
    sources = [] if own else ["## Sources"]
    assert page.headings == [f"# {name}", "## Why it matters", "## How to fix it", "## When it is silent", "## Examples", *sources]


@each_page
def test_a_page_says_since_when_there_is_the_rule(name: str) -> None:
    """A version of the changelog, or the one that is being made."""
    released = re.findall(r"(?m)^## (\d\S*)", (rule_pages.FOLDER.parent / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert rule_pages.page(name).front["since"] in (*released, __version__)


@each_page
def test_a_page_says_when_the_rule_is_silent(name: str) -> None:
    """Each item is a case that looks like the mistake but is not reported; "`rule` reports this" names the rule that reports it."""
    text = (rule_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    silent = text.partition("\n## When it is silent\n\n")[2].partition("\n\n## ")[0]
    items = re.findall(r"(?m)^- (.+(?:\n  .+)*)", silent)
    assert silent == "\n".join(f"- {item}" for item in items)
    assert len(items) >= 2
    assert all(item.endswith(".") for item in items)
    rule_list = r"`[a-z][a-z-]*`(?:(?:, | or | and )`[a-z][a-z-]*`)*"
    references = re.findall(rf"see {rule_list}|{rule_list} reports? (?:this|that|it|them)", " ".join(silent.split()))
    named = {each for reference in references for each in re.findall(r"`([a-z-]+)`", reference)}
    assert named <= set(rule_pages.names()) - {name}


@each_page
def test_a_rule_about_nodes_says_that_it_needs_some(name: str) -> None:
    subjects = {each.subject for each in registry.bind_rules([name])}
    assert ("\n- No nodes are known:" in (rule_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")) == (subjects == {"nodes"})


@each_page
def test_a_page_names_what_it_is_drawn_from(name: str) -> None:
    """Links to the documentation or the code of those who decide: what afflint says of its own comments needs none."""
    _, found, sources = (rule_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("\n## Sources\n\n")
    assert bool(found) == (registry.rules()[name].category != "afflint")
    assert all(re.fullmatch(r"- \[[^]]+\]\(https://[^ )]+\)", line) for line in sources.splitlines())


@each_page
def test_the_first_paragraph_is_one_sentence(name: str) -> None:
    summary = registry.rules()[name].summary()
    assert summary.endswith(".")
    assert ". " not in summary
    assert "TODO" not in summary


@each_page
def test_the_remedy_is_a_short_sentence(name: str) -> None:
    remedy = registry.rules()[name].remedy()
    assert remedy.endswith(".")
    assert "TODO" not in remedy
    assert len(remedy) <= LONGEST_HELP


@each_page
def test_the_prose_says_something_and_can_be_printed_line_by_line(name: str) -> None:
    """A terminal shows the lines as they are, code spans coloured: a span that goes on in the next line would colour the rest."""
    for line in rule_pages.page(name).prose:
        assert "TODO" not in line
        assert len(line) <= 120 or line.startswith("- ["), "only a link may be longer"
        assert line.count("`") % 2 == 0, line


# Pages and checks.


@each_page
def test_a_page_names_the_function_that_checks_it(name: str) -> None:
    check = rule_pages.page(name).front["check"]
    assert check == name.replace("-", "_")
    if CHECKS[name].subject != "run":
        assert CHECKS[name].check()[0].__name__ == check


def test_every_check_has_a_page_and_every_page_a_check() -> None:
    registered = {each.rule for checks in registry.REGISTRY.values() for each in checks}
    assert set(rule_pages.names()) == registered == registry.rules().keys()


# How examples are read.


def example_of(text: str) -> Example:
    (example,) = rule_pages.parse("sample", f"---\nfix: none\n---\n# sample\n\n{text}")
    return example


def test_a_marker_means_the_line_above_it_and_the_column_of_its_caret() -> None:
    example = example_of('```yaml bad\nkind: Pod\nspec: {a: "", b: ""}\n#        ^ finding\n#               ^ finding\n```\n')
    assert example.bad
    assert example.expected() == [(2, 10, "sample"), (2, 17, "sample")]
    assert example.line == 6


def test_a_marker_may_name_the_rule() -> None:
    assert example_of("```yaml bad\nkind: Pod\n# ^ finding: wrong-type\n```\n").expected() == [(1, 3, "wrong-type")]


def test_a_fence_may_say_where_its_finding_is() -> None:
    assert example_of("```yaml bad line=2 column=1\nkind: Pod\nspec: {}\n```\n").expected() == [(2, 1, "sample")]


@pytest.mark.parametrize(
    "text, message",
    [
        ("```yaml\nkind: Pod\n```\n", "line 6: an example must begin with ```yaml bad or ```yaml good, not with ```yaml"),
        ("```yaml bad\nkind: Pod\n# ^finding\n```\n", "line 8: write a marker as `# ^ finding`, not as '# ^finding'"),
        ("```yaml bad\nkind: Pod # ^ finding\n```\n", "line 7: write a marker as `# ^ finding`, not as 'kind: Pod # ^ finding'"),
        ("```yaml bad\nkind: Pod\n```\n", "line 6: a bad example must mark its findings, and a good example must not have any"),
        (
            "```yaml good\nkind: Pod\n# ^ finding\n```\n",
            "line 6: a bad example must mark its findings, and a good example must not have any",
        ),
        ("```yaml bad row=2\nkind: Pod\n```\n", "line 6: the position of a finding must be written as line=N column=N, not as 'row=2'"),
    ],
)
def test_examples_that_cannot_be_understood_say_so(text: str, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        example_of(text).expected()
    assert str(raised.value) == message


def test_checks_of_constraints_say_nothing_about_workloads_without_any() -> None:
    """They are not asked about these: the registry says so, and this holds it to that."""
    asked = [each.check() for each in registry.bind_rules(registry.rules()) if each.subject == "constrained"]
    unconstrained = 0
    for example in EXAMPLES:
        for index, (piece, line, _) in enumerate(split(example.text.encode())):
            for manifest in manifests_in(read(piece, index, line)):
                if isinstance(manifest, Workload) and manifest.constraints is NONE:
                    unconstrained += 1
                    found = [match for check, asking in asked for match in (check(manifest, Target()) if asking else check(manifest))]
                    assert found == [], example
    assert unconstrained > 20
