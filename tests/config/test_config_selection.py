"""Which rules run, and on which files: as ruff does it, the most specific name wins."""

import pytest
from configured import Load

from afflint import config
from afflint.config import Config, covers, ignores, matcher, selected, unknown_name, with_overrides

RULES = (
    ("empty-topology-key", "admission", True),
    ("weight-out-of-range", "admission", True),
    ("label-not-on-template", "labels", True),
    ("no-single-target", "fleet", False),
)
DEFAULT = {"empty-topology-key", "weight-out-of-range", "label-not-on-template"}
EVERY = DEFAULT | {"no-single-target"}

SELECTIONS = {
    "nothing said: the default rules": ("complete: false", DEFAULT),
    "select replaces the default set": ("select: [labels]", {"label-not-on-template"}),
    "nothing selected": ("select: []", set()),
    "all means all": ("select: [all]", EVERY),
    "a category includes what is off by default": ("select: [fleet]", {"no-single-target"}),
    "extend-select adds to the default set": ("extend-select: [fleet]", EVERY),
    "extend-select adds to the selected": ("select: [labels]\nextend-select: [fleet]", {"label-not-on-template", "no-single-target"}),
    "ignore takes from the default set": ("ignore: [admission]", {"label-not-on-template"}),
    "ignore all": ("ignore: [all]", set()),
    "at equal rank ignore wins": ("select: [labels, fleet]\nignore: [labels]", {"no-single-target"}),
    "a rule beats its category": ("select: [empty-topology-key]\nignore: [admission]", {"empty-topology-key"}),
    "a category beats all": ("select: [admission]\nignore: [all]", {"empty-topology-key", "weight-out-of-range"}),
    "ignoring a rule beats selecting its category": ("select: [admission]\nignore: [weight-out-of-range]", {"empty-topology-key"}),
    "a rule is taken out of an ignored category": (
        "extend-select: [empty-topology-key]\nignore: [admission, labels]",
        {"empty-topology-key"},
    ),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selection(load: Load, name: str) -> None:
    text, expected = SELECTIONS[name]
    assert selected(RULES, load(f"{text}\n")) == expected


def test_select_on_the_command_line_starts_afresh(load: Load) -> None:
    read = load("ignore: [empty-topology-key]\nextend-select: [fleet]\n")
    assert selected(RULES, with_overrides(read, select=["empty-topology-key"])) == {"empty-topology-key"}
    assert selected(RULES, with_overrides(read, select=["admission"], ignore=["empty-topology-key"])) == {"weight-out-of-range"}


def test_ignore_and_extend_select_on_the_command_line_add(load: Load) -> None:
    read = load("ignore: [label-not-on-template]\n")
    assert selected(RULES, with_overrides(read, ignore=["empty-topology-key"])) == {"weight-out-of-range"}
    assert selected(RULES, with_overrides(read, extend_select=["fleet"])) == EVERY - {"label-not-on-template"}
    assert selected(RULES, with_overrides(read, extend_select=["label-not-on-template"])) == DEFAULT


def test_origins_say_when_both_had_a_part(load: Load) -> None:
    chosen = with_overrides(load("ignore: [labels]\n"), ignore=["fleet"], extend_select=["all"])
    assert str(chosen.origins["ignore"]) == ".afflint.yaml:1:1 and command line"
    assert str(chosen.origins["extend-select"]) == "command line"


def test_unknown_names_on_the_command_line() -> None:
    assert unknown_name("empty-topology-key", ["empty-topology-key"], ["admission"]) is None
    assert unknown_name("all", [], []) is None
    assert (
        unknown_name("Admision", ["empty-topology-key"], ["admission"]) == "unknown rule or category `Admision`; did you mean `admission`?"
    )
    assert unknown_name("\x1b", ["empty-topology-key"], ["admission"]) == "unknown rule or category `\\x1b`"


def test_versions_on_the_command_line() -> None:
    assert [text for text in ("1.0", "1.9", "1.34", "1.99") if not config.is_version(text)] == []
    assert [
        text for text in ("", "1", "1.", "1.034", "1.100", "2.0", "v1.34", "1.34.1", "1.34\n", "1.-1", "1.٣") if config.is_version(text)
    ] == []


MATCHES = {
    ("*.yaml",): {"a.yaml", "deploy/a.yaml", "deploy/x/b.yaml", "vendor/c.yaml"},
    ("/*.yaml",): {"a.yaml"},
    ("vendor/",): {"vendor/", "vendor/c.yaml"},
    ("vendor",): {"vendor/", "vendor/c.yaml"},
    ("deploy/*.yaml",): {"deploy/a.yaml"},
    ("deploy/**",): {"deploy/a.yaml", "deploy/x/b.yaml"},
    ("deploy/**/b.yaml",): {"deploy/x/b.yaml"},
    ("*.yaml", "!a.yaml"): {"deploy/x/b.yaml", "vendor/c.yaml"},
    ("!a.yaml",): set(),
    ("#gen.txt",): {"#gen.txt"},
    (): set(),
}


@pytest.mark.parametrize("globs", MATCHES)
def test_globs_are_read_as_in_gitignore(globs: tuple[str, ...]) -> None:
    paths = ("a.yaml", "deploy/a.yaml", "deploy/x/b.yaml", "vendor/", "vendor/c.yaml", "#gen.txt")
    matches = matcher(globs)
    assert {path for path in paths if matches(path)} == MATCHES[globs]


def test_per_file_ignores_add_up(load: Load) -> None:
    names = ignores(load('per-file-ignores:\n  "legacy/**": [labels]\n  "*.gen.yaml": [empty-topology-key]\n'))
    assert names("web.yaml") == frozenset()
    assert names("legacy/web.yaml") == {"labels"}
    assert names("legacy/web.gen.yaml") == {"labels", "empty-topology-key"}
    assert ignores(Config("", {}))("web.yaml") == frozenset()


def test_names_cover_rules() -> None:
    for names, covered in (({"labels"}, True), ({"label-not-on-template"}, True), ({"all"}, True), ({"fleet"}, False), (set(), False)):
        assert covers(frozenset(names), "label-not-on-template", "labels") is covered
