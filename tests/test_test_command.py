"""`afflint test`: examples of policies and rules, in pages and in files, are held to what they say."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from afflint.cli.click_app import cli
from afflint.findings.errors import UserError

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {disk: %s}
  containers: [{name: web, image: web}]
"""
BAD, GOOD = POD % "1", POD % '"1"'
MARKED = BAD.replace("  containers", "  #                    ^ finding\n  containers")


class Done(NamedTuple):
    """What a command line came to."""

    code: int
    out: str


Examples = Callable[..., Done]


@pytest.fixture
def tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Examples:
    """Runs the command over files by their names."""
    monkeypatch.chdir(tmp_path)

    def run(files: dict[str, str], *words: str) -> Done:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        result = CliRunner().invoke(cli, ["test", *(words or (".",))], standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return Done(result.return_value, result.output)

    return run


def page(*examples: tuple[str, str]) -> str:
    """A page with fences."""
    return "# Examples\n\n```sh\nafflint test .\n```\n\n" + "\n".join(f"```yaml {info}\n{text}```\n" for info, text in examples)


def test_a_page_that_is_called_like_a_rule_is_about_it(tested: Examples) -> None:
    assert tested({"wrong-type.md": page(("bad", MARKED), ("good", GOOD))}) == (0, "2 examples, all as expected\n")


def test_what_is_not_found_and_what_is_not_expected_is_reported_at_its_line(tested: Examples) -> None:
    done = tested({"wrong-type.md": page(("bad", GOOD.replace("  containers", "  #^ finding\n  containers")), ("good", BAD))})
    assert done.code == 1
    assert done.out.splitlines() == [
        "./wrong-type.md:12:4: expected a finding of `wrong-type`, but got none",
        "./wrong-type.md:22:24: not expected: the value of `disk` must be a string, but unquoted `1` is a number [wrong-type]",
        "2 examples, 2 not as expected",
    ]


def test_other_rules_do_not_matter_to_a_page(tested: Examples) -> None:
    both = MARKED.replace("{name: web}", "{name: web, labels: {tier: -db}}", 1)
    assert tested({"wrong-type.md": page(("bad", both))}).code == 0
    named = both.replace("spec:", "#                                    ^ finding: invalid-label-value\nspec:")
    assert tested({"wrong-type.md": page(("bad", named))}).code == 0


@pytest.mark.parametrize(
    "bad, good",
    [
        ("wrong-type.bad.yaml", "wrong-type.good.yaml"),
        ("wrong-type/bad.yaml", "wrong-type/good.yml"),
        ("wrong-type/bad/one.yaml", "wrong-type/good/one.yaml"),
        ("bad-wrong-type.yaml", "wrong-type-good.yaml"),
        ("wrong-type.numbers.bad.yaml", "wrong-type/good-numbers.yaml"),
    ],
)
def test_files_say_by_their_names_what_they_are_examples_of(tested: Examples, bad: str, good: str) -> None:
    assert tested({bad: BAD, good: GOOD, "other.yaml": "not: read"}) == (0, "2 examples, all as expected\n")
    swapped = tested({bad: GOOD, good: BAD})
    assert swapped.code == 1
    assert sorted(line.split(":", 3)[3].split(" [")[0] for line in swapped.out.splitlines()[:-1]) == [
        " bad example, but `wrong-type` reports nothing",
        " not expected: the value of `disk` must be a string, but unquoted `1` is a number",
    ]


def test_a_bad_file_with_markers_is_held_to_them(tested: Examples) -> None:
    assert tested({"wrong-type.bad.yaml": MARKED}).code == 0
    done = tested({"wrong-type.bad.yaml": MARKED.replace("   ^ finding", "  ^ finding")})
    assert done.out.splitlines()[0] == "./wrong-type.bad.yaml:5:23: expected a finding of `wrong-type`, but got none"


def test_the_nodes_of_an_example_are_its_inventory(tested: Examples) -> None:
    node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {disk: %s}}\n"
    files = {"unschedulable.bad.yaml": GOOD + node % "ssd", "unschedulable.good.yaml": GOOD + node % '"1"'}
    assert tested(files) == (0, "2 examples, all as expected\n")


def test_the_report_as_data(tested: Examples) -> None:
    done = tested({"wrong-type.good.yaml": BAD}, ".", "--format", "json")
    assert json.loads(done.out) == {
        "version": 1,
        "examples": [
            {
                "file": "./wrong-type.good.yaml",
                "line": 1,
                "rule": "wrong-type",
                "bad": False,
                "passed": False,
                "notes": [],
                "differences": [
                    {
                        "line": 5,
                        "column": 24,
                        "message": "not expected: the value of `disk` must be a string, but unquoted `1` is a number [wrong-type]",
                    }
                ],
            }
        ],
        "summary": {"examples": 1, "failed": 1, "policies": 0, "unexercised": []},
    }


NODE = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {rank: 1}}\n"


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("pod.md", page(("bad", BAD)), "7:1: a bad example must mark its findings, and a good example must not have any"),
        ("pod.md", page(("wrong", BAD)), "7:1: an example must begin with ```yaml bad or ```yaml good, not with ```yaml wrong"),
        (
            "pod.md",
            page(("bad", MARKED.replace("^ f", "^f"))),
            "13:1: write a marker as `# ^ finding`, not as '#                    ^finding'",
        ),
        ("pod.md", "---\nname: pod\n", "1:1: front matter must be enclosed in two `---` lines"),
        ("wrong-type.good.yaml", MARKED, "1:1: a bad example must mark its findings, and a good example must not have any"),
        ("wrong-type.good.yaml", "# Käse\n".encode("latin-1"), "1:1: it is not UTF-8"),
        ("wrong-type.good.yaml", GOOD.encode() + b"# K\xe4se\n", "7:1: it is not UTF-8"),
        ("wrong-type.bad.yaml", "", "1:1: it contains no manifest"),
        ("wrong-type.good.yaml", "{{ if .web }}\n" + GOOD + "{{ end }}\n", "1:1: it contains Go templates, which afflint does not read"),
        ("wrong-type.good.yaml", GOOD + NODE, "10:37: the node label 'rank' must be a string, not 1: put it in quotes"),
        (
            "pod.md",
            page(("bad", MARKED.replace("finding", "finding: wrong-typ"))),
            "12:1: a marker names `wrong-typ`, which is neither a rule nor a policy of the configuration; did you mean `wrong-type`?",
        ),
    ],
)
def test_what_is_not_an_example_is_reported_at_its_line_counts_as_failed_and_the_others_are_tested(
    tested: Examples, tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = tested({"other/wrong-type.bad.yaml": BAD, "wrong-type/good.yaml": BAD})
    assert done.code == 1
    assert done.out.splitlines() == [
        f"./{name}:{message}",
        "./wrong-type/good.yaml:5:24: not expected: the value of `disk` must be a string, but unquoted `1` is a number [wrong-type]",
        "3 examples, 2 not as expected",
    ]


@pytest.mark.parametrize("name", ["wrong-type.good.yaml", "wrong-type.bad.yaml"])
def test_a_manifest_that_cannot_be_read_is_never_as_expected(tested: Examples, name: str) -> None:
    done = tested({name: BAD + "  volumes: [\n"})
    message = f"./{name}:8:1: not expected: a value is missing or cut off here [unreadable-manifest]\n"
    assert done == (1, message + "1 example, 1 not as expected\n")


def test_an_example_of_what_cannot_be_read_is_one(tested: Examples) -> None:
    assert tested({"unreadable-manifest.bad.yaml": BAD + "  volumes: [\n"}).code == 0


def test_a_file_that_cannot_be_opened_does_not_stop_the_others(tested: Examples, tmp_path: Path) -> None:
    (tmp_path / "wrong-type.bad.yaml").symlink_to("gone.yaml")
    done = tested({"wrong-type.good.yaml": GOOD})
    assert done == (1, "./wrong-type.bad.yaml:1:1: cannot read it: No such file or directory\n2 examples, 1 not as expected\n")


def test_a_folder_that_cannot_be_read_does_not_stop_the_others(tested: Examples, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def forbidding(path: str) -> object:
        if path == "./secret":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbidding)
    done = tested({"secret/wrong-type.bad.yaml": BAD, "wrong-type.good.yaml": GOOD})
    assert done == (1, "./secret:1:1: cannot read it: Permission denied\n2 examples, 1 not as expected\n")


def test_what_is_not_an_example_is_neither_bad_nor_good_in_the_report_as_data(tested: Examples) -> None:
    done = tested({"wrong-type.md": page(("bad", BAD))}, ".", "--format", "json")
    [example] = json.loads(done.out)["examples"]
    assert (example["bad"], example["passed"], example["line"]) == (None, False, 7)
    assert example["differences"] == [
        {"line": 7, "column": 1, "message": "a bad example must mark its findings, and a good example must not have any"}
    ]


def test_where_there_is_no_example_the_command_says_what_one_is(tested: Examples) -> None:
    with pytest.raises(UserError) as raised:
        tested({})
    assert str(raised.value) == (
        "no examples in '.': examples are fences ```yaml bad and ```yaml good in pages, or files such as "
        "`POLICY.bad.yaml` and `POLICY.good.yaml`"
    )


POLICIES = """\
policies:
- {name: no-names, check: no-pinning}
- {name: light, check: maximum-weight, params: {weight: 50}}
"""
PINNED = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeName: n1\n  containers: [{name: web, image: web}]\n"


def test_a_line_says_which_policies_no_example_exercises(tested: Examples) -> None:
    files = {".afflint.yaml": POLICIES, "no-names.bad.yaml": PINNED, "no-names.good.yaml": GOOD, "light.good.yaml": GOOD}
    done = tested(files)
    assert done == (0, "3 examples, all as expected\n1 of 2 policies exercised; no bad example violates `light`\n")
    assert tested({}, ".", "--format", "json").out.endswith(
        '"summary": {\n    "examples": 3,\n    "failed": 0,\n    "policies": 2,\n    "unexercised": [\n      "light"\n    ]\n  }\n}\n'
    )


def test_what_takes_nodes_to_decide_says_where_an_example_has_them(tested: Examples) -> None:
    policy = "policies:\n- {name: has-room, check: fits}\n"
    done = tested({".afflint.yaml": policy, "has-room.bad.yaml": PINNED})
    assert done.out.splitlines()[:2] == [
        "./has-room.bad.yaml:1:1: bad example, but `has-room` reports nothing",
        "  policy `has-room`: not evaluated because no nodes are known; add objects of `kind: Node` to the example",
    ]
    node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\n"
    assert tested({"has-room.bad.yaml": PINNED + node, "has-room.good.yaml": PINNED + node.replace("n2", "n1")}).code == 0


def test_the_configuration_is_that_of_the_examples_and_says_nothing_of_files(tested: Examples) -> None:
    more = "select: [affinity]\nexclude: ['*']\nbaseline: gone.json\nper-file-ignores: {'*': [no-names]}\n"
    files = {"policies/.afflint.yaml": POLICIES + more, "policies/examples/no-names.bad.yaml": PINNED}
    done = tested(files, "policies/examples")
    assert done.out.splitlines()[0] == "1 example, all as expected"


def test_a_page_about_no_single_policy_is_judged_by_all_of_them(tested: Examples) -> None:
    marked = PINNED.replace("  containers", "  #         ^ finding: no-names\n  containers")
    files = {".afflint.yaml": POLICIES, "README.md": page(("bad", marked), ("good", PINNED))}
    done = tested(files)
    assert (done.code, done.out.splitlines()[0].split(": ")[1]) == (1, "not expected")


def test_an_example_may_say_which_file_it_replaces(tested: Examples) -> None:
    policy = "policies:\n- {name: no-names, check: no-pinning, match: {files: [prod/]}}\n"
    files = {".afflint.yaml": policy, "no-names.bad.yaml": "# file: prod/web.yaml\n" + PINNED, "no-names.good.yaml": PINNED}
    assert tested(files).code == 0
