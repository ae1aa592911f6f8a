"""[tool.afflint] in pyproject.toml: the same settings and the same mistakes, which name their keys."""

import sys
from textwrap import dedent

import pytest
from configured import Load, Mistakes, Write

from afflint.config import CustomWorkloadSetting

PYPROJECT = """\
[project]
name = "web" # tool.afflint
description = '''
[tool.afflint]
select = ["not ours"]
'''

[tool.afflint]
select = [
  "admission", # [tool.afflint]
  "fleet",
]
kubernetes-version = "1.33"
severity.empty-topology-key = "info"
per-file-ignores = { "legacy/**" = ["all"], 'a b' = ['labels'] }

[[tool.afflint.workloads]]
apiVersion = "example.com/v1"
kind = "Web"
template = "spec.template"

[[tool.afflint.workloads]]
apiVersion = "example.com/v1"
kind = "Queue"
template = "spec.worker.template"
"""


def test_a_table_in_pyproject_configures(write: Write, load: Load) -> None:
    write("pyproject.toml", PYPROJECT)
    config = load("pyproject.toml")
    assert config.select == ("admission", "fleet")
    assert config.kubernetes_version == "1.33"
    assert config.severity == {"empty-topology-key": "info"}
    assert config.per_file_ignores == {"legacy/**": ("all",), "a b": ("labels",)}
    assert config.workloads == (
        CustomWorkloadSetting("example.com/v1", "Web", ("spec", "template")),
        CustomWorkloadSetting("example.com/v1", "Queue", ("spec", "worker", "template")),
    )


def test_its_values_have_origins(write: Write, load: Load) -> None:
    write("pyproject.toml", PYPROJECT)
    origins = load("pyproject.toml").origins
    for key in ("select", "severity.empty-topology-key", "per-file-ignores[legacy/**]", "workloads"):
        assert str(origins[key]) == "pyproject.toml:1:1"
    assert str(origins["exclude"]) == "default"


def test_python_3_10_has_no_tomllib(write: Write, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tomli", reason="tomli is installed where it is needed, on Python 3.10")
    monkeypatch.setitem(sys.modules, "tomllib", None)
    write("pyproject.toml", PYPROJECT)
    with monkeypatch.context() as python_3_10:
        python_3_10.setattr(sys, "version_info", (3, 10, 0, "final", 0))
        assert load("pyproject.toml").select == ("admission", "fleet")


MISTAKES = {
    "an unknown key": (
        "[tool.afflint]\ningore = []\n",
        "pyproject.toml:1:1: `tool.afflint.ingore`: unknown key `ingore`; did you mean `ignore`?",
    ),
    "an unknown table": (
        "[tool.afflint.severities]\nempty-topology-key = 'info'\n",
        "pyproject.toml:1:1: `tool.afflint.severities`: unknown key `severities`; did you mean `severity`?",
    ),
    "an unknown rule": (
        "[tool.afflint]\nselect = [\n  # first\n  'all',\n  \"flet\"\n]\n",
        "pyproject.toml:1:1: `tool.afflint.select[1]`: unknown rule or category `flet`; did you mean `fleet`?",
    ),
    "an unknown severity in a sub-table": (
        "[tool.afflint]\n\n  [tool.afflint.severity]\n  empty-topology-key = 'eror'\n",
        "pyproject.toml:1:1: `tool.afflint.severity.empty-topology-key`: unknown severity `eror`; did you mean `error`?",
    ),
    "a version as a number": (
        "[tool.afflint]\nkubernetes-version = 1.30\n",
        (
            "pyproject.toml:1:1: `tool.afflint.kubernetes-version`: "
            '`kubernetes-version` must be quoted: write "1.30", because the number 1.30 is 1.3'
        ),
    ),
    "a date": (
        "[tool.afflint]\ncomplete = 2024-05-01 10:00:00Z # when\n",
        "pyproject.toml:1:1: `tool.afflint.complete`: `complete` must be true or false, not the date `2024-05-01 10:00:00+00:00`",
    ),
    "a workload in a list of tables": (
        (
            "[[tool.afflint.workloads]]\napiVersion = 'v1'\nkind = 'Web'\ntemplate = 'spec'\n"
            "[[tool.afflint.workloads]]\napiVersion = 'v1'\nkind = 'Web'\n"
        ),
        "pyproject.toml:1:1: `tool.afflint.workloads[1]`: missing key `template` in `workloads[1]`",
    ),
    "parameters of the second policy": (
        (
            "[[tool.afflint.policies]]\nname = 'a'\ncheck = 'no-pinning'\n"
            "[[tool.afflint.policies]]\nname = 'b'\ncheck = 'no-pinning'\nparams = 1\n"
            "match.kinds = ['Web']\n[tool.other]\nparams = 2\n"
        ),
        "pyproject.toml:1:1: `tool.afflint.policies[1].params`: `policies[1].params` must be a map of parameters, not the number `1`",
    ),
    "a key that is set twice": (
        "[tool.afflint]\nselect = ['all']\nselect = [\n  'fleet',\n]\n",
        "pyproject.toml:5:2: not valid TOML: cannot overwrite a value",
    ),
    "a key that is set twice on a line": (
        "[tool.afflint]\nseverity = { empty-topology-key = 'info', empty-topology-key = 'error' }\n",
        "pyproject.toml:2:71: not valid TOML: duplicate inline table key 'empty-topology-key'",
    ),
    "a table that is defined twice": (
        "[tool.afflint]\n[tool.other]\n[tool.afflint]\n",
        "pyproject.toml:3:14: not valid TOML: cannot declare ('tool', 'afflint') twice",
    ),
    "a value that is none": (
        "[tool.afflint]\ncomplete = yes\n",
        "pyproject.toml:2:12: not valid TOML: invalid value",
    ),
    "an unclosed list": (
        "[tool.afflint]\nselect = [",
        "pyproject.toml:2:11: not valid TOML: invalid value",
    ),
    "no table": (
        "[project]\nname = 'web'\n",
        "pyproject.toml:1:1: the file does not have a table [tool.afflint]",
    ),
    "a value for the table": (
        "[tool]\nafflint = 3\n",
        "pyproject.toml:1:1: [tool.afflint] must be a table",
    ),
    "a number beyond measure": (
        f"[tool.afflint]\ncomplete = 0x{'f' * 5000}\n",
        "pyproject.toml:1:1: `tool.afflint.complete`: the number does not fit in 64 bits",
    ),
    "nesting beyond measure": (
        f"[tool.afflint]\nparams = {'[' * 40}{']' * 40}\n",
        "pyproject.toml:1:1: `tool.afflint.params`: too large or too deeply nested for a configuration",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_its_key(write: Write, mistakes: Mistakes, name: str) -> None:
    text, message = MISTAKES[name]
    write("pyproject.toml", text)
    assert mistakes("pyproject.toml") == dedent(message)


def test_nesting_that_the_parser_gives_up_on_is_a_mistake_too(write: Write, mistakes: Mistakes) -> None:
    write("pyproject.toml", f"[tool.afflint]\nselect = {'[' * 100_000}")
    assert mistakes("pyproject.toml") == "pyproject.toml:1:1: nested too deeply for a configuration"


def test_a_key_without_end_never_reaches_the_parser(write: Write, mistakes: Mistakes) -> None:
    write("pyproject.toml", f"[tool.afflint]\n[x]\n{'a.' * 100_000}b = 1\n")
    assert mistakes("pyproject.toml") == "pyproject.toml:1:1: a key has too many parts for a configuration"


def test_messages_of_the_parser_are_escaped(write: Write, mistakes: Mistakes) -> None:
    write("pyproject.toml", '[tool.afflint]\n"\\q" = 1\nselect = ["\x1b"]\n')
    message = mistakes("pyproject.toml")
    assert message.startswith("pyproject.toml:2:")
    assert message.isprintable()
