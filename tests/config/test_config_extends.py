"""A configuration can extend others: its own keys take precedence, lists are replaced, maps are merged key by key."""

import os

from configured import Load, Mistakes, Write


def test_the_extending_file_wins(write: Write, load: Load) -> None:
    write(
        "shared/base.yaml",
        """\
        select: [admission, fleet]
        complete: true
        severity:
          empty-topology-key: info
          no-single-target: error
        """,
    )
    config = load("""\
        extends: shared/base.yaml
        select: [labels]
        severity:
          no-single-target: info
        """)
    assert config.select == ("labels",)  # lists replace
    assert config.severity == {"empty-topology-key": "info", "no-single-target": "info"}  # maps merge
    assert config.complete is True  # what is not said is inherited
    assert str(config.origins["select"]) == ".afflint.yaml:2:1"
    assert str(config.origins["complete"]) == os.path.join("shared", "base.yaml") + ":2:1"
    assert str(config.origins["severity.empty-topology-key"]) == os.path.join("shared", "base.yaml") + ":4:3"
    assert str(config.origins["severity.no-single-target"]) == ".afflint.yaml:4:3"


def test_the_later_of_several_files_wins_and_files_can_form_a_chain(write: Write, load: Load) -> None:
    write("root.yaml", "kubernetes-version: '1.30'\nnodes: n0.yaml\n")
    write("a.yaml", "extends: root.yaml\nnodes: n1.yaml\nexclude: [a]\n")
    write("b.yaml", "exclude: [b]\n")
    config = load("extends: [a.yaml, b.yaml]\n")
    assert (config.kubernetes_version, config.nodes, config.exclude) == ("1.30", ("n1.yaml",), ("b",))
    assert config.extends == ("a.yaml", "b.yaml")


def test_two_may_extend_the_same_third(write: Write, load: Load) -> None:
    write("root.yaml", "exclude: [root]\n")
    write("a.yaml", "extends: root.yaml\nexclude: [a]\n")
    write("b.yaml", "extends: root.yaml\n")
    assert load("extends: [b.yaml, a.yaml]\n").exclude == ("a",)
    assert load("extends: [a.yaml, b.yaml]\n").exclude == ("root",)


def test_paths_are_relative_to_their_file_and_globs_to_the_root(write: Write, load: Load) -> None:
    write("shared/base.yaml", "nodes: [inventory/nodes.yaml, /etc/nodes.yaml]\nexclude: [vendor/]\n")
    config = load("extends: [shared/base.yaml]\n")
    assert config.nodes == (os.path.join("shared", "inventory", "nodes.yaml"), "/etc/nodes.yaml")
    assert config.exclude == ("vendor/",)
    assert config.root == os.getcwd()


def test_yaml_may_extend_toml_and_the_reverse(write: Write, load: Load) -> None:
    write("pyproject.toml", "[tool.afflint]\nextends = 'base.yaml'\ncomplete = true\n")
    write("base.yaml", "exclude: [vendor/]\n")
    config = load("extends: pyproject.toml\n")
    assert (config.complete, config.exclude) == (True, ("vendor/",))


def test_a_file_may_name_the_policies_of_another(write: Write, load: Load) -> None:
    write("base.yaml", "policies:\n- {name: spread-zones, check: allowed-topology-keys, params: {keys: zone}, severity: error}\n")
    config = load("extends: base.yaml\nignore: [spread-zones]\nseverity: {spread-zones: info}\n")
    assert [policy.name for policy in config.policies] == ["spread-zones"]
    assert config.policies[0].params == {"keys": "zone"}
    assert (config.policies[0].severity, config.policies[0].message) == ("error", None)


def test_cycles_are_rejected_where_they_close(write: Write, mistakes: Mistakes) -> None:
    write("a.yaml", "complete: true\nextends: [b.yaml]\n")
    write("b.yaml", "extends:\n- ./a.yaml\n")
    assert mistakes("a.yaml") == "b.yaml:2:3: `./a.yaml` creates a cycle: it already extends this file"
    assert mistakes("extends: .afflint.yaml\n") == ".afflint.yaml:1:10: `.afflint.yaml` is this file itself"


def test_endless_chains_are_rejected(write: Write, mistakes: Mistakes) -> None:
    for number in range(40):
        write(f"{number}.yaml", f"extends: {number + 1}.yaml\n")
    assert mistakes("0.yaml") == ("32.yaml:1:10: `33.yaml` is too deep in a chain of more than 32 configurations that extend each other")


def test_an_unreadable_file_is_a_mistake_in_the_file_that_names_it(mistakes: Mistakes) -> None:
    assert mistakes('extends: [none.yaml, "nul\\0.yaml"]\n') == (
        ".afflint.yaml:1:11: `none.yaml` cannot be read: No such file or directory\n"
        ".afflint.yaml:1:22: `nul\\x00.yaml` cannot be read: embedded null byte"
    )


def test_mistakes_of_all_files_are_shown_at_once(write: Write, mistakes: Mistakes) -> None:
    write("a.yaml", "selct: []\n")
    write("b.yaml", "select: [")
    write("c.yaml", "severity: {flet: info}\n")
    assert mistakes("extends: [c.yaml, a.yaml, b.yaml]\ncomplete: 0\n").splitlines() == [
        ".afflint.yaml:2:11: `complete` must be true or false, not the number `0`",
        "c.yaml:1:12: unknown rule `flet`",
        "a.yaml:1:1: unknown key `selct`; did you mean `select`?",
        "b.yaml:1:10: cannot be read: a value is missing or cut off here",
    ]
