"""Each mistake in a configuration is reported at its line and column, with a hint at the correct form."""

from textwrap import dedent

import pytest
from configured import Mistakes, Write

from afflint.config import ConfigError, load
from afflint.findings.finding import Span

MISTAKES = {
    "an unknown key": (
        "ingore: [all]\n",
        ".afflint.yaml:1:1: unknown key `ingore`; did you mean `ignore`?",
    ),
    "a key with an underscore": (
        "complete: true\nPer_File_Ignores: {}\n",
        ".afflint.yaml:2:1: unknown key `Per_File_Ignores`; did you mean `per-file-ignores`?",
    ),
    "an unknown key like no other": (
        "zzz: 1\n",
        ".afflint.yaml:1:1: unknown key `zzz`",
    ),
    "a key that is set twice": (
        "select: [all]\ncomplete: true\nselect: [admission]\n",
        ".afflint.yaml:3:1: duplicate key `select`; first set on line 1",
    ),
    "a key that is set twice, deeper": (
        "severity: {empty-topology-key: info, empty-topology-key: error}\n",
        ".afflint.yaml:1:38: duplicate key `empty-topology-key`; first set on line 1",
    ),
    "a key that is not text": (
        "? [a, b]\n: 1\n",
        (
            ".afflint.yaml:1:3: cannot be read: a key that is a list or a map: "
            "the API server accepts only strings, numbers and booleans as keys"
        ),
    ),
    "an unknown rule": (
        "select:\n- admission\n- empty-topologykey\n",
        ".afflint.yaml:3:3: unknown rule or category `empty-topologykey`; did you mean `empty-topology-key`?",
    ),
    "an unknown category": (
        "extend-select: [ALL, flet]\n",
        """\
        .afflint.yaml:1:17: unknown rule or category `ALL`; did you mean `all`?
        .afflint.yaml:1:22: unknown rule or category `flet`; did you mean `fleet`?""",
    ),
    "an unknown rule for some files": (
        'per-file-ignores:\n  "legacy/**": [weight-out-of-rnage]\n',
        ".afflint.yaml:2:17: unknown rule or category `weight-out-of-rnage`; did you mean `weight-out-of-range`?",
    ),
    "a severity for an unknown rule": (
        "severity:\n  empty-topology: info\n",
        ".afflint.yaml:2:3: unknown rule `empty-topology`; did you mean `empty-topology-key`?",
    ),
    "a severity for a category": (
        "severity:\n  admission: info\n  all: info\n",
        """\
        .afflint.yaml:2:3: `admission` is not a rule; set the severity of each rule separately
        .afflint.yaml:3:3: `all` is not a rule; set the severity of each rule separately""",
    ),
    "an unknown severity": (
        "severity:\n  empty-topology-key: Eror\n",
        ".afflint.yaml:2:23: unknown severity `Eror`; did you mean `error`?",
    ),
    "a severity that YAML takes for a boolean": (
        "severity:\n  empty-topology-key: off\n",
        ".afflint.yaml:2:23: `severity.empty-topology-key` must be error, warning or info, not `off`, which is false in YAML",
    ),
    "an unknown severity like no other": (
        "severity:\n  empty-topology-key: none\n",
        ".afflint.yaml:2:23: unknown severity `none`; expected one of `error`, `warning`, `info`",
    ),
    "a severity that is not a string": (
        "severity:\n  empty-topology-key: 3\n",
        ".afflint.yaml:2:23: `severity.empty-topology-key` must be error, warning or info, not the number `3`",
    ),
    "a version as a number": (
        "kubernetes-version: 1.30\n",
        '.afflint.yaml:1:21: `kubernetes-version` must be quoted: write "1.30", because the number 1.30 is 1.3',
    ),
    "a version of KubeVirt as a number": (
        "kubevirt-version: 1.7\n",
        '.afflint.yaml:1:19: `kubevirt-version` must be quoted: write "1.7"',
    ),
    "a version that is none": (
        'kubernetes-version: "v1.34.1"\n',
        '.afflint.yaml:1:21: `kubernetes-version` must be a quoted version such as "1.34", not the string `v1.34.1`',
    ),
    "a version with a line break": (
        "kubernetes-version: |\n  1.34\n",
        '.afflint.yaml:1:21: `kubernetes-version` must be a quoted version such as "1.34", not the string `1.34\\n`',
    ),
    "text for a list": (
        "select: admission\n",
        ".afflint.yaml:1:9: `select` must be a list of rules and categories, not the string `admission`",
    ),
    "nothing for a list": (
        "exclude:\n",
        ".afflint.yaml:1:9: `exclude` must be a list of globs, not null",
    ),
    "a number in a list": (
        "context:\n- deploy/\n- 3\n",
        ".afflint.yaml:3:3: `context[1]` must be a glob, not the number `3`",
    ),
    "a map for a path": (
        "nodes: {file: nodes.yaml}\n",
        ".afflint.yaml:1:8: `nodes` must be a path or a list of paths, not a map",
    ),
    "text for true": (
        'complete: "yes"\n',
        ".afflint.yaml:1:11: `complete` must be true or false, not the string `yes`",
    ),
    "true for a list": (
        "admission-plugins: true\n",
        ".afflint.yaml:1:20: `admission-plugins` must be a list of names of admission plugins, not true",
    ),
    "a label key that is none": (
        "physical-host-key: rack/host/x\n",
        ".afflint.yaml:1:20: `physical-host-key` must be a node label key such as example.com/host, not the string `rack/host/x`",
    ),
    "a glob that cannot match": (
        'include: ["[z-a].yaml", "/"]\n',
        """\
        .afflint.yaml:1:11: `[z-a].yaml` is a glob that matches nothing
        .afflint.yaml:1:25: `/` is a glob that matches nothing""",
    ),
    "globs with the separator of Windows": (
        r"""
exclude: ['vendor\charts', 'deploy\**', 'old\*.yaml', '\#note', '\!a', 'a\ ', 'star\*', 'back\\slash', '*\.yaml']
per-file-ignores: {'legacy\**': [all]}
""",
        """\
        .afflint.yaml:2:11: `vendor\\charts`: use `/` to separate folders in a glob, on Windows too
        .afflint.yaml:2:28: `deploy\\**`: use `/` to separate folders in a glob, on Windows too
        .afflint.yaml:2:41: `old\\*.yaml`: use `/` to separate folders in a glob, on Windows too
        .afflint.yaml:3:20: `legacy\\**`: use `/` to separate folders in a glob, on Windows too""",
    ),
    "an empty glob": (
        'exclude: [""]\n',
        ".afflint.yaml:1:11: `exclude[0]` must be a glob, not an empty string",
    ),
    "a glob that takes back where there is nothing to take back": (
        'per-file-ignores:\n  "!deploy/**": [all]\n',
        ".afflint.yaml:2:3: `!deploy/**`: a glob of `per-file-ignores` cannot begin with `!`",
    ),
    "a workload with a misspelt key": (
        "workloads:\n- apiVersion: example.com/v1\n  kind: Web\n  tempalte: spec.template\n",
        ".afflint.yaml:4:3: unknown key `tempalte` in `workloads[0]`; did you mean `template`?",
    ),
    "a workload with a key too many": (
        "workloads:\n- {apiVersion: example.com/v1, kind: Web, template: spec.template, x: 1}\n",
        ".afflint.yaml:2:68: unknown key `x` in `workloads[0]`; valid keys are `apiVersion`, `kind`, `template`",
    ),
    "a workload with keys too few": (
        "workloads:\n- kind: Web\n",
        """\
        .afflint.yaml:2:3: missing key `apiVersion` in `workloads[0]`
        .afflint.yaml:2:3: missing key `template` in `workloads[0]`""",
    ),
    "a workload with wrong values": (
        "workloads:\n- apiVersion: Example\n  kind: web\n  template: .spec.template\n",
        """\
        .afflint.yaml:2:15: `workloads[0].apiVersion` must be an API version such as example.com/v1, not the string `Example`
        .afflint.yaml:3:9: `workloads[0].kind` must be a kind such as Rollout, not the string `web`
        .afflint.yaml:4:13: `workloads[0].template` must be a dotted path such as spec.template, not the string `.spec.template`""",
    ),
    "policies that take names": (
        (
            "policies:\n- {name: admission, check: no-pinning}\n- {name: own, check: no-pinning}\n- {name: own, check: no-pinning}\n"
            "- {name: Own, check: no-pinning}\n"
        ),
        """\
        .afflint.yaml:2:10: `admission` is the name of a rule or category of afflint; choose another name for the policy
        .afflint.yaml:4:10: duplicate policy name `own`
        .afflint.yaml:5:10: `policies[3].name` must be a name of lower-case letters, digits and dashes, not the string `Own`""",
    ),
    "no map": (
        "- select\n",
        ".afflint.yaml:1:1: the configuration must be a map of keys, not a list",
    ),
    "a second document": (
        "complete: true\n---\ncomplete: false\n",
        ".afflint.yaml:2:1: the configuration must be one YAML document; a second one begins here",
    ),
    "a second document behind the end of the first": (
        "complete: true\n...\ncomplete: false\n",
        ".afflint.yaml:3:1: the configuration must be one YAML document; a second one begins here",
    ),
    "a mistake in what an alias repeats": (
        "context: &globs [3]\n# the same\ninclude: *globs\n",
        """\
        .afflint.yaml:1:18: `context[0]` must be a glob, not the number `3`
        .afflint.yaml:1:18: `include[0]` must be a glob, not the number `3`""",
    ),
    "a number that JSON does not know": (
        "complete: .nan\n",
        ".afflint.yaml:1:11: cannot be read: `.nan` is infinity or not a number, which JSON cannot represent",
    ),
    "a tag": (
        "complete: !!bool yes\n",
        ".afflint.yaml:1:11: tags are not supported in a configuration",
    ),
    "an alias without an anchor": (
        "select: *rules\n",
        ".afflint.yaml:1:9: cannot be read: an alias to an anchor that is not defined in this document",
    ),
    "YAML that is none": (
        "select:\n- a: b: c\n",
        ".afflint.yaml:2:7: cannot be read: `: ` is not allowed here: the previous line is incomplete or the indentation is wrong",
    ),
    "an unclosed list": (
        "select: [all\ncomplete: true\n",
        ".afflint.yaml:1:9: cannot be read: this `[` is not closed: expected `,` or `]`",
    ),
    "a control character": (
        "# é\nselect: [\x07]\n",
        ".afflint.yaml:2:10: cannot be read: a control character, which YAML does not allow",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_shown_where_it_is(mistakes: Mistakes, name: str) -> None:
    text, message = MISTAKES[name]
    assert mistakes(text) == dedent(message)


def test_all_mistakes_are_shown_at_once_in_the_order_of_the_file(mistakes: Mistakes) -> None:
    text = """\
    exclude: vendor
    select: [flet]
    severity: {no-single-target: high}
    complete: 1
    """
    assert mistakes(text) == dedent("""\
        .afflint.yaml:1:10: `exclude` must be a list of globs, not the string `vendor`
        .afflint.yaml:2:10: unknown rule or category `flet`; did you mean `fleet`?
        .afflint.yaml:3:30: unknown severity `high`; expected one of `error`, `warning`, `info`
        .afflint.yaml:4:11: `complete` must be true or false, not the number `1`""")


def test_a_mistake_carries_its_span(write: Write) -> None:
    write(".afflint.yaml", "select: [admission, 'flet']\n")
    with pytest.raises(ConfigError) as caught:
        load(".afflint.yaml", rule_names=(), categories=("admission", "fleet"))
    (problem,) = caught.value.problems
    assert problem.span == Span(1, 21, 1, 27)
    assert problem.file == ".afflint.yaml"
    assert problem.message == "unknown rule or category `flet`; did you mean `fleet`?"


def test_columns_count_characters_and_lines_end_as_editors_end_them(mistakes: Mistakes) -> None:
    # U+2028 is a line break to YAML 1.1, not to an editor; a character outside the basic plane is one column.
    assert mistakes("# \u2028\r\n'\U0001f600': 1\r\nselct: []\r\n") == (
        ".afflint.yaml:2:1: unknown key `\U0001f600`\n.afflint.yaml:3:1: unknown key `selct`; did you mean `select`?"
    )


def test_the_content_of_a_file_is_never_printed_unescaped(mistakes: Mistakes) -> None:
    assert mistakes('"\\e[31mred": 1\n"right-to-left \\u202e": 2\n') == (
        ".afflint.yaml:1:1: unknown key `\\x1b[31mred`\n.afflint.yaml:2:1: unknown key `right-to-left \\u202e`"
    )


def test_long_values_are_cut(mistakes: Mistakes) -> None:
    assert mistakes(f"complete: {'y' * 1000}\n") == f".afflint.yaml:1:11: `complete` must be true or false, not the string `{'y' * 59}…`"


def test_a_file_that_cannot_be_read(mistakes: Mistakes, write: Write) -> None:
    assert mistakes("none.yaml") == "none.yaml:1:1: cannot be read: No such file or directory"
    write("folder/x", "")
    assert mistakes("folder") == "folder:1:1: cannot be read: Is a directory"


def test_a_file_that_is_not_utf8(mistakes: Mistakes, write: Write) -> None:
    write(".afflint.yaml", "").write_bytes("\ufeff# é\n- ".encode() + b"\xe9\n")
    assert mistakes(".afflint.yaml") == ".afflint.yaml:2:3: not UTF-8: byte 0xe9"


def test_a_configuration_that_is_too_large_or_too_deep_is_rejected(mistakes: Mistakes, write: Write) -> None:
    write("big.yaml", "# " + "x" * (1 << 20))
    assert mistakes("big.yaml") == "big.yaml:1:1: is larger than 1 MiB, too large for a configuration"
    assert mistakes(f"x: {'[' * 40}{']' * 40}") == ".afflint.yaml:1:4: too large or too deeply nested for a configuration"
    assert mistakes("x: " + "[" * 100_000) == ".afflint.yaml:1:303: cannot be read: nested more than 300 levels deep"
    assert mistakes("x:\n" + "- a\n" * 200_000) == ".afflint.yaml:2:1: too large or too deeply nested for a configuration"
    aliased = f"a: &a [{', '.join('x' * 80)}]\nb: [{', '.join(['*a'] * 150)}]\n"
    assert mistakes(aliased) == ".afflint.yaml:2:4: too large or too deeply nested for a configuration"
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert mistakes(bomb) == (
        ".afflint.yaml:3:5: cannot be read: excessive aliasing: the aliases expand to far more data than the document contains"
    )


def test_of_one_file_a_hundred_mistakes_are_enough(mistakes: Mistakes) -> None:
    assert len(mistakes("".join(f"zz{n}: 1\n" for n in range(5000))).splitlines()) == 100
