"""The settings of a configuration, the defaults, and how both are shown."""

import os
import pickle

import pytest
from configured import EVERYTHING, Load, Write

from afflint import config
from afflint.config import COMMAND_LINE, DEFAULT, KEYS, Config, ConfigError, CustomWorkloadSetting, StorageSetting
from afflint.config.display import describe
from afflint.findings.phrases import join_words
from afflint.policies.policy import Policy
from afflint.report import FORMATS


def test_every_key(load: Load) -> None:
    read = load(EVERYTHING)
    assert read._replace(origins={}) == Config(
        root=os.getcwd(),
        origins={},
        include=("deploy/**",),
        exclude=("vendor/", "!vendor/ours/"),
        context=("**/*.yaml",),
        complete=True,
        nodes=("nodes.yaml",),
        select=("admission", "labels"),
        ignore=("weight-out-of-range",),
        extend_select=("all",),
        severity={"empty-topology-key": "warning"},
        per_file_ignores={"legacy/**": ("labels",)},
        kubernetes_version="1.32",
        kubevirt_version="1.7",
        admission_plugins=("LimitPodHardAntiAffinityTopology",),
        feature_gates=("TaintTolerationComparisonOperators",),
        workloads=(CustomWorkloadSetting("argoproj.io/v1alpha1", "Rollout", ("spec", "template")),),
        policies=(
            Policy(
                "zones",
                "allowed-topology-keys",
                {"keys": "topology.kubernetes.io/zone"},
                {"kinds": ["Deployment"]},
                message="zones alone: nothing else",
            ),
        ),
        physical_host_key="example.com/host",
        storage={"fast": StorageSetting("zone", default=True)},
        baseline="known.json",
        fail_on="error",
        format=("sarif", "text"),
        output=("reports/afflint.sarif", "-"),
        jobs=3,
    )


def test_an_empty_file_sets_nothing(load: Load) -> None:
    for text in ("# nothing yet\n", "---\n", "{}\n", "\n"):
        assert load(text) == config.default()


def test_globs_may_be_relative_to_another_root(write: Write) -> None:
    write("ci/afflint.yaml", "exclude: [vendor/]\n")
    assert config.load("ci/afflint.yaml", rule_names=(), categories=()).root == os.path.join(os.getcwd(), "ci")
    assert config.load("ci/afflint.yaml", rule_names=(), categories=(), root=".").root == os.getcwd()


def test_a_configuration_can_be_sent_to_another_process(load: Load) -> None:
    read = load(EVERYTHING)
    assert pickle.loads(pickle.dumps(read)) == read


def test_anchors_are_understood(load: Load) -> None:
    read = load("ignore: &noisy [labels]\nper-file-ignores:\n  a: *noisy\n  b: *noisy\n")
    assert read.per_file_ignores == {"a": ("labels",), "b": ("labels",)}
    assert str(read.origins["per-file-ignores.b"]) == ".afflint.yaml:4:3"


def test_booleans_are_those_of_manifests(load: Load) -> None:
    """YAML 1.1, as the API server reads it: what is true in a manifest is true in its configuration."""
    for word in ("true", "yes", "On", "y"):
        assert load(f"complete: {word}\n").complete is True
    for word in ("false", "no", "OFF", "n"):
        assert load(f"complete: {word}\n").complete is False


def test_an_alias_may_end_the_file(load: Load) -> None:
    read = load("context: &globs [vendor/]\ninclude: *globs # as well\n# and no more\n...\n")
    assert read.include == read.context == ("vendor/",)


def test_merge_keys_are_understood(load: Load) -> None:
    read = load("severity:\n  <<: {empty-topology-key: info}\n")
    assert read.severity == {"empty-topology-key": "info"}
    assert str(read.origins["severity.empty-topology-key"]) == ".afflint.yaml:2:8"


def test_every_key_has_an_origin(load: Load) -> None:
    assert config.default().origins == dict.fromkeys(KEYS, DEFAULT)
    origins = load(EVERYTHING).origins
    assert set(KEYS) < set(origins)
    assert str(origins["complete"]) == ".afflint.yaml:4:1"
    assert str(origins["extends"]) == "default"


def test_describe_shows_each_value_and_its_origin(load: Load) -> None:
    read = config.with_overrides(load(EVERYTHING), nodes=["n.yaml"], extend_select=["fleet"])
    rows = {key: (value, origin) for key, value, origin in describe(read)}
    assert rows == {
        "extends": ("[]", "default"),
        "include": ("[deploy/**]", ".afflint.yaml:1:1"),
        "exclude": ("[vendor/, !vendor/ours/]", ".afflint.yaml:2:1"),
        "context": ("[**/*.yaml]", ".afflint.yaml:3:1"),
        "complete": ("true", ".afflint.yaml:4:1"),
        "nodes": ("[n.yaml]", "command line"),
        "complete-nodes": ("false", "default"),
        "select": ("[admission, labels]", ".afflint.yaml:6:1"),
        "ignore": ("[weight-out-of-range]", ".afflint.yaml:7:1"),
        "extend-select": ("[all, fleet]", ".afflint.yaml:8:1 and command line"),
        "severity.empty-topology-key": ("warning", ".afflint.yaml:10:3"),
        "per-file-ignores[legacy/**]": ("[labels]", ".afflint.yaml:12:3"),
        "kubernetes-version": ("1.32", ".afflint.yaml:13:1"),
        "kubevirt-version": ("1.7", ".afflint.yaml:14:1"),
        "admission-plugins": ("[LimitPodHardAntiAffinityTopology]", ".afflint.yaml:15:1"),
        "feature-gates": ("[TaintTolerationComparisonOperators]", ".afflint.yaml:16:1"),
        "workloads": ("[{apiVersion: argoproj.io/v1alpha1, kind: Rollout, template: spec.template}]", ".afflint.yaml:17:1"),
        "policies.zones": (
            (
                "{check: allowed-topology-keys, params: {keys: topology.kubernetes.io/zone}, "
                'match: {kinds: [Deployment]}, message: "zones alone: nothing else"}'
            ),
            ".afflint.yaml:22:3",
        ),
        "physical-host-key": ("example.com/host", ".afflint.yaml:27:1"),
        "storage.fast": ("{topology: zone, default: true}", ".afflint.yaml:29:3"),
        "render": ("[]", "default"),
        "baseline": ("known.json", ".afflint.yaml:30:1"),
        "fail-on": ("error", ".afflint.yaml:31:1"),
        "format": ("[sarif, text]", ".afflint.yaml:32:1"),
        "output": ("[reports/afflint.sarif, -]", ".afflint.yaml:33:1"),
        "jobs": ("3", ".afflint.yaml:34:1"),
    }


def test_describe_shows_what_holds_without_a_configuration() -> None:
    rows = [*describe(config.default())]
    assert [key for key, _, _ in rows] == [*KEYS]
    assert ("select", "(the default rules)", "default") in rows
    assert ("severity", "{}", "default") in rows


def test_describe_escapes_values(load: Load) -> None:
    rows = {key: value for key, value, _ in describe(load('exclude: ["\\e]2;x"]\nper-file-ignores: {"\\u202e": []}\n'))}
    assert rows["exclude"] == '["\\x1b]2;x"]'
    assert rows["per-file-ignores.\\u202e"] == "[]"


def test_the_command_line_beats_the_file(load: Load) -> None:
    read = load("kubernetes-version: '1.30'\nnodes: a.yaml\ncomplete: true\n")
    settings = config.with_overrides(read, kubernetes_version="1.34", nodes=("b.yaml", "c.yaml"))
    assert (settings.kubernetes_version, settings.nodes, settings.complete) == ("1.34", ("b.yaml", "c.yaml"), True)
    assert settings.origins["nodes"] == settings.origins["kubernetes-version"] == COMMAND_LINE
    assert str(settings.origins["nodes"]) == "command line"
    assert config.with_overrides(read) == read


def test_a_single_format_and_output_need_no_list(load: Load) -> None:
    read = load("format: json\noutput: afflint.json\n")
    assert (read.format, read.output) == (("json",), ("afflint.json",))


def test_who_names_a_format_or_an_output_on_the_command_line_names_both(load: Load) -> None:
    read = load("format: json\noutput: afflint.json\nfail-on: error\njobs: 2\n")
    settings = config.with_overrides(read, format=["concise"])
    assert (settings.format, settings.output, settings.fail_on, settings.jobs) == (("concise",), (), "error", 2)
    assert {str(settings.origins[key]) for key in ("format", "output")} == {"command line"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format: yaml", f"`format` must be {join_words(FORMATS, 'or')}, or a list of them"),
        ("format: [text, yaml]", f"`format[1]` must be {join_words(FORMATS, 'or')}"),
        ("jobs: 0", "`jobs` must be a number from 1 up"),
        ("fail-on: never", "unknown severity `never`; expected one of"),
        ("baseline: [a]", "`baseline` must be a path"),
    ],
)
def test_how_to_report_is_checked_like_the_rest(text: str, message: str, load: Load) -> None:
    with pytest.raises(ConfigError) as refused:
        load(f"{text}\n")
    assert message in str(refused.value)


def test_nodes_may_be_found_or_left_out(load: Load) -> None:
    """Two words do not name a file; a file of that name is `./none`."""
    assert load("nodes: auto\n").nodes == ()
    assert load("nodes: none\n").nodes == (config.NO_NODES,)
    assert load("nodes: [none]\n").nodes == (os.path.join(".", "none"),)
    assert load("nodes: ./none\n").nodes == (os.path.join(".", "none"),)
    assert config.with_overrides(load("nodes: none\n"), nodes=["auto"]).nodes == ()
    assert config.with_overrides(load("nodes: n.yaml\n"), nodes=["none"]).nodes == (config.NO_NODES,)
