"""Any content of a configuration file results in settings, or in a ConfigError with a position in the file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from afflint import config

quick = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])

NAMES = st.sampled_from(["all", "admission", "empty-topology-key", "flet", "", "a b", "\x1b", "!", "[", "../x", "1.34"])
SCALARS = NAMES | st.sampled_from(["1.30", "true", "yes", "~", "''", "9" * 5000, "1e999", ".nan", "*a", "&a x", "!!x y", "|\n  x", "'"])
KEYS = st.sampled_from([*config.KEYS, "ingore", "<<", "? [x]", "apiVersion", "name", "check", "template", "empty-topology-key", '"\\0"'])
FLOW = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(KEYS, inner, max_size=3).map(lambda map_: "{" + ", ".join(f"{key}: {value}" for key, value in map_.items()) + "}")
    ),
    max_leaves=6,
)
YAML = st.lists(st.tuples(KEYS, FLOW), max_size=4).map(lambda pairs: "".join(f"{key}: {value}\n" for key, value in pairs))


def _load(directory: Path, name: str, content: bytes) -> None:
    """Loads a configuration; when it is refused, each problem must point into the file."""
    path = directory / name
    path.write_bytes(content)
    lines = content.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for problem in _problems(path):
        assert problem.file == str(path)
        assert 1 <= problem.span.line <= problem.span.end_line <= len(lines)
        assert 1 <= problem.span.column <= len(lines[problem.span.line - 1]) + 1
        assert str(problem).isprintable()


def _problems(path: Path) -> tuple[config.ConfigProblem, ...]:
    try:
        config.load(str(path), rule_names=("empty-topology-key",), categories=("admission",))
    except config.ConfigError as error:
        return error.problems or pytest.fail("an error without a problem")
    return ()


@quick
@given(YAML)
@example("per-file-ignores: {'[z-a]': [all]}\n")
@example("select: &a [*a]\n")
def test_any_small_yaml(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    _load(tmp_path_factory.getbasetemp(), "any.yaml", text.encode())


@quick
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
@example(b"\xff\xfes\x00")
@example("\ufeffselect: []".encode())
@example("\u0085a: b\u2028c".encode())
@example(b"!")
@example(b"%YAML 9.9\n---\n")
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    _load(tmp_path_factory.getbasetemp(), "any.yaml", content)
    _load(tmp_path_factory.getbasetemp(), "any.toml", b"[tool.afflint]\n" + content)


TOML_KEYS = st.sampled_from(["a", "b-c", '"d.e"', "'f g'", '"\\u0068"'])
TOML_SCALARS = st.sampled_from(
    [
        "1",
        "-1.5e3",
        "true",
        '"x, ]"',
        "'y}'",
        '"""z\n"q" \\""""',
        "'''w # '''''",
        '""',
        "1979-05-27 07:32:00",
        "07:32:00",
        "inf",
        '"\\""',
        '""""""',
    ]
)
TOML_VALUES = st.recursive(
    TOML_SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[ " + ", # ]\n ".join(items) + " ]")
        | st.dictionaries(TOML_KEYS, inner, max_size=2).map(lambda map_: "{ " + ", ".join(f"{k} = {v}" for k, v in map_.items()) + " }")
    ),
    max_leaves=5,
)
TOML_BODIES = st.dictionaries(TOML_KEYS | st.tuples(TOML_KEYS, TOML_KEYS).map(" . ".join), TOML_VALUES, max_size=3).map(
    lambda pairs: "".join(f"{key} = {value} # = [x]\n" for key, value in pairs.items())
)
TOML_HEADERS = st.sampled_from(
    ["[tool.afflint.t]", "[[ tool . afflint.u ]]", "[tool.afflint.u.v]", "[[tool.afflint.u.w]]", "[tool.other]", "[x]"]
)
TOML = st.tuples(TOML_BODIES, st.lists(st.tuples(TOML_HEADERS, TOML_BODIES), max_size=4)).map(
    lambda parts: f"[tool.afflint]\n{parts[0]}" + "".join(f"{header}\n{body}" for header, body in parts[1])
)


@quick
@given(TOML)
def test_any_small_toml(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    _load(tmp_path_factory.getbasetemp(), "any.toml", text.encode())
