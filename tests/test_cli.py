"""The command line: options, exit codes, one-line errors with the nearest known word, and where the reports go."""

import io
import json
import os
import platform
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from afflint.cli.output import ProgressLine, notify
from afflint.report import FORMATS
from checkout import clean_environment
from command_line import Afflint, Done, spawned

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - {name: web, image: "nginx:1.27"}
  nodeSelector:
    disktype: ssd
"""
NUMBER = POD.replace("disktype: ssd", "disktype: 1")
NUMBER_FOUND = "9:15: error the value of `disktype` must be a string"

# Its label is only a warning: no other workload selects it.
DEAD_ANTI_AFFINITY = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
  labels:
    tier: session
spec:
  replicas: 3
  selector: {matchLabels: {app: cart}}
  template:
    metadata:
      labels: {app: cart}
    spec:
      containers:
        - {name: cart, image: "cart:2"}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - labelSelector: {matchLabels: {tier: session}}
              topologyKey: kubernetes.io/hostname
"""

# Only information: nothing selects the virtual machine yet.
UNLABELLED_VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: db
  labels:
    app: db
spec:
  runStrategy: Always
  template:
    spec:
      domain: {memory: {guest: 4Gi}, devices: {}}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "AFFLINT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(**files: str) -> None:
    """Writes manifests into the working directory, named without their suffix."""
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")


def configure(text: str) -> None:
    Path(".afflint.yaml").write_text(text, encoding="utf-8")


class TestExitCodes:
    @pytest.mark.parametrize("start", [("-m", "afflint"), ("-c", "from afflint.__main__ import main; main()")])
    def test_130_when_it_is_interrupted_while_it_is_still_being_imported(self, start: tuple[str, ...]) -> None:
        Path("typing.py").write_text("raise KeyboardInterrupt")
        environment = clean_environment(PYTHONPATH=os.getcwd())
        done = subprocess.run([sys.executable, *start, "check"], env=environment, capture_output=True, encoding="utf-8", check=False)
        assert Done(done.returncode, done.stdout, done.stderr) == (130, "", "")

    def test_0_without_findings(self, afflint: Afflint) -> None:
        write(pod=POD)
        assert afflint("check") == (0, "No findings. Read 1 document in 1 file.\n", "")

    def test_1_with_findings(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        assert afflint("check", "pod.yaml").code == 1

    def test_0_when_no_file_is_there(self, afflint: Afflint) -> None:
        assert afflint("check") == (0, "No files were read.\n", "")

    @pytest.mark.parametrize(
        ("severity", "manifest", "code"),
        [
            ("error", NUMBER, 1),
            ("error", DEAD_ANTI_AFFINITY, 0),
            ("warning", DEAD_ANTI_AFFINITY, 1),
            ("warning", UNLABELLED_VM, 0),
            ("info", UNLABELLED_VM, 1),
            ("info", POD, 0),
        ],
    )
    def test_fail_on_is_the_lowest_severity_that_counts(self, afflint: Afflint, severity: str, manifest: str, code: int) -> None:
        write(manifest=manifest)
        assert afflint("check", "--fail-on", severity).code == code

    @pytest.mark.parametrize(("manifest", "code"), [(NUMBER, 1), (DEAD_ANTI_AFFINITY, 1), (UNLABELLED_VM, 0)])
    def test_warnings_fail_by_default_and_information_does_not(self, afflint: Afflint, manifest: str, code: int) -> None:
        write(manifest=manifest)
        assert afflint("check").code == code

    def test_exit_zero_reports_and_passes(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        done = afflint("check", "--exit-zero", "--format", "concise")
        assert (done.code, done.rules) == (0, ["wrong-type"])

    def test_exit_zero_does_not_hide_wrong_usage(self, afflint: Afflint) -> None:
        assert afflint("check", "--exit-zero", "missing.yaml").code == 2

    def test_3_for_a_fault_of_afflint(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("no such \x1b[2Jthing\nand more")

        write(pod=POD)
        monkeypatch.setattr("afflint.pipeline.run.run", broken)
        done = afflint("check")
        assert (done.code, done.out) == (3, "")
        assert done.err.splitlines() == [
            r"afflint: internal error: RuntimeError: no such \x1b[2Jthing",
            "This is a bug in afflint, not in your manifests. Please report it with the command line, the file if possible, and the",
            "output of `afflint --version -v`.",
            "Set AFFLINT_TRACEBACK=1 to print the traceback.",
        ]

        monkeypatch.setenv("AFFLINT_TRACEBACK", "1")
        assert "Traceback (most recent call last)" in afflint("check").err


class TestWhatIsNotRead:
    def test_documents_of_other_kinds_are_counted_and_named_by_kind(self, project: Path, afflint: Afflint) -> None:
        (project / "more.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n---\nkind: MachineSet\n---\nkind: ConfigMap\n---\na: 1\n")
        (project / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: List\nitems: []\n---\nkind: {a: b}\n")
        done = afflint("check", "-v", "pod.yaml", "more.yaml")
        assert done.out.split("\n")[:2] == [
            "No findings. Read 2 documents in 2 files, skipped 4 of other kinds.",
            "Skipped: ConfigMap (2), List (1), MachineSet (1).",
        ]

    def test_what_has_no_kind_is_not_a_manifest_even_if_it_mentions_kinds(self, project: Path, afflint: Afflint) -> None:
        """A baseline or a report of afflint's own, settings of a tool."""
        (project / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
        (project / "report.json").write_text('{"findings": [{"kind": "Deployment", "name": "web"}]}')
        done = afflint("check", "-v", "pod.yaml", "report.json")
        assert done.out.split("\n")[:2] == [
            "No findings. Read 1 document in 2 files, skipped 1 of other kinds.",
            "Skipped: no kind (1).",
        ]

    def test_a_file_that_cannot_be_read_has_no_advice_about_yaml(self, project: Path, afflint: Afflint) -> None:
        (project / "gone.yaml").symlink_to("nowhere.yaml")
        out = afflint("check", "gone.yaml").out
        assert "cannot be read: No such file or directory" in out
        assert "= help: Check that the file exists and is readable; it may be a broken symbolic link." in out

    def test_a_named_file_without_manifests_is_reported_one_in_a_folder_is_not(self, project: Path, afflint: Afflint) -> None:
        (project / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
        (project / "values.yaml").write_text("a: 1\n")
        assert "contains no manifest" not in afflint("check", ".").out
        assert afflint("check", "./values.yaml", "pod.yaml").out.split("\n")[1] == "values.yaml contains no manifest."

    @pytest.mark.parametrize(("options", "code"), [("", 0), ("--fail-on-empty", 1), ("--fail-on-empty --exit-zero", 0)])
    def test_a_run_that_finds_no_manifest_may_fail(self, project: Path, afflint: Afflint, options: str, code: int) -> None:
        (project / "values.yaml").write_text("a: 1\n")
        assert afflint("check", *options.split(), "values.yaml").code == code
        (project / "values.yaml").write_text("apiVersion: v1\nkind: Pod\n")
        assert afflint("check", *options.split(), "values.yaml").code == 0


class TestWhatIsAskedForAndCannotBe:
    @pytest.mark.parametrize(
        ("version", "known"),
        [("1.99", "newest supported version of Kubernetes is 1.37"), ("1.5", "oldest supported version of Kubernetes")],
    )
    def test_a_version_that_is_not_known_is_reported(self, afflint: Afflint, version: str, known: str) -> None:
        err = afflint("check", "--kubernetes-version", version).err
        assert known in err
        assert f": {version} is checked as 1." in err
        assert afflint("check", "--kubernetes-version", "1.10").err == ""

    def test_a_run_without_rules_is_reported_not_to_find_anything(self, project: Path, afflint: Afflint) -> None:
        (project / ".afflint.yaml").write_text("select: []\n")
        done = afflint("check")
        assert (done.code, done.err.partition(":")[2].partition(",")[0]) == (0, " no rule is selected")
        assert done.out == "Nothing was checked, because no rule is selected.\n"
        assert "no rule is selected" in afflint("check", "--no-config", "--ignore", "all").err
        (project / ".afflint.yaml").write_text("select: [empty-topology-key]\n")
        assert "Nothing was checked" not in afflint("check").out


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("check --select lables", "--select: unknown value 'lables'; did you mean 'labels'?"),
            ("check --select admission,wrong-typ", "--select: unknown value 'wrong-typ'; did you mean 'wrong-type'?"),
            ("check --ignore empty-topologi-key", "--ignore: unknown value 'empty-topologi-key'; did you mean 'empty-topology-key'?"),
            ("check --extend-select zzz", "--extend-select: unknown value 'zzz'; `afflint rule` lists all rules and categories"),
            ("check --format jsn", "--format: unknown value 'jsn'; did you mean 'json'?"),
            ("check --fail-on eror", "--fail-on: unknown value 'eror'; did you mean 'error'?"),
            ("check --color sometimes", "--color: unknown value 'sometimes'; use one of auto, always, never"),
            ("check --jobs 0", "--jobs takes a number of processes of at least 1"),
            ("check --kubernetes-version 2.1", "--kubernetes-version takes a version such as 1.34, not '2.1'"),
            ("check --config nowhere.yaml", "no such configuration file: 'nowhere.yaml'"),
            ("check --config a.yaml --no-config", "--config cannot be used with --no-config"),
            ("check --output a --output b", "more --output than --format options: each --output needs a --format"),
            ("check --format json --format sarif", "only one report can be written to standard output; the others need an --output FILE"),
            ("check manifests", "no such file or folder: 'manifests'"),
            ("check pods.yaml", "no such file or folder: 'pods.yaml'; did you mean 'pod.yaml'?"),
            ("check no*.yaml", "no file matches 'no*.yaml'"),
            ("rule empty-topology", "rule: unknown value 'empty-topology'; did you mean 'empty-topology-key'?"),
            ("rule --format yaml", "--format: unknown value 'yaml'; use one of text, json"),
            ("config --config nowhere.yaml", "no such configuration file: 'nowhere.yaml'"),
        ],
    )
    def test_a_mistake_is_reported_in_one_line(self, afflint: Afflint, arguments: str, message: str) -> None:
        write(pod=NUMBER)
        assert afflint(*arguments.split()) == (2, "", f"afflint: {message}\n")

    @pytest.mark.parametrize(
        ("arguments", "near"),
        [("check --selct labels", "--select"), ("check --exit-zeo", "--exit-zero"), ("rule --frmat json", "--format")],
    )
    def test_an_unknown_option_is_refused_with_the_nearest(self, afflint: Afflint, arguments: str, near: str) -> None:
        done = afflint(*arguments.split())
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert near in done.err

    def test_an_unknown_command_is_refused(self, afflint: Afflint) -> None:
        done = afflint("chek")
        assert (done.code, done.out) == (2, "")
        assert done.err.strip() == "afflint: No such command 'chek'. Did you mean 'check'?"
        assert afflint("version").err.strip() == "afflint: No such command 'version'. Did you mean '--version'?"
        assert afflint("drain", "w1").err.strip() == "afflint: No such command 'drain'. Did you mean 'place --drain'?"

    def test_a_word_is_never_shown_raw(self, afflint: Afflint) -> None:
        done = afflint("check", "--select", "\x1b[31mred")
        assert (done.code, "\x1b" in done.err) == (2, False)

    def test_the_version(self, afflint: Afflint) -> None:
        from afflint import __version__

        assert afflint("--version") == (0, f"afflint, version {__version__}\n", "")

    @pytest.mark.parametrize("words", ["--version -v", "-v --version", "--verbose --version"])
    def test_what_a_report_of_a_fault_needs(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
        from afflint import __version__

        monkeypatch.setenv("PATH", os.getcwd())
        done = afflint(*words.split())
        versions = dict(re.findall(r"(?m)^(\S+) +(.+)$", done.out))
        assert (done.code, done.err) == (0, "")
        assert [*versions] == ["afflint", "python", "platform", "libraries", "extras", "kustomize", "helm"]
        assert versions["afflint"] == __version__
        assert versions["python"].startswith(platform.python_version())
        assert re.search(r"ruamel\.yaml\.clib \d", versions["libraries"])
        assert versions["helm"] == versions["kustomize"] == "not found"
        assert os.getcwd() not in done.out, "what is pasted into a report names no folder"

    @pytest.mark.skipif(os.name == "nt", reason="a script replaces Helm")
    @pytest.mark.parametrize(
        ("script", "output"),
        [
            ('[ "$*" = "version --short" ] && echo v3.20.2', "v3.20.2"),
            ("printf 'a\\033[2Jb'", r"a\x1b[2Jb"),
            ("exit 1", "found, but does not print its version"),
            ("exit 0", "found, but does not print its version"),
        ],
    )
    def test_programs_say_their_version(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, script: str, output: str) -> None:
        Path("helm").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        Path("helm").chmod(0o755)
        monkeypatch.setenv("PATH", os.getcwd())
        assert afflint("--version", "-v").out.splitlines()[-1] == f"helm         {output}"

    @pytest.mark.parametrize("command", [(), ("check",), ("rule",), ("config",), ("lsp",)])
    def test_help(self, afflint: Afflint, command: tuple[str, ...]) -> None:
        done = afflint(*command, "--help")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("Usage: afflint")

    def test_without_a_command_there_is_help_and_no_success(self, afflint: Afflint) -> None:
        done = afflint()
        assert done.code == 2
        assert (done.out + done.err).startswith("Usage: afflint")


class TestSelection:
    """The manifest has one finding of the category admission and one of labels."""

    @pytest.mark.parametrize(
        ("arguments", "rules"),
        [
            ("", ["label-not-on-template", "wrong-type"]),
            ("--select all", ["label-not-on-template", "wrong-type"]),
            ("--select admission", ["wrong-type"]),
            ("--select labels", ["label-not-on-template"]),
            ("--select wrong-type,labels", ["label-not-on-template", "wrong-type"]),
            ("--select labels --select wrong-type", ["label-not-on-template", "wrong-type"]),
            ("--ignore admission", ["label-not-on-template"]),
            ("--ignore label-not-on-template", ["wrong-type"]),
            ("--ignore all", []),
            ("--select admission --ignore wrong-type", []),
            ("--select wrong-type --ignore admission", ["wrong-type"]),
            ("--select labels --extend-select wrong-type", ["label-not-on-template", "wrong-type"]),
            ("--ignore all --extend-select labels", ["label-not-on-template"]),
            ("--select cross-manifest", []),
        ],
    )
    def test_names_and_categories(self, afflint: Afflint, arguments: str, rules: list[str]) -> None:
        write(cart=DEAD_ANTI_AFFINITY + "      nodeSelector: {disktype: 1}\n")
        assert afflint("check", "--format", "concise", *arguments.split()).rules == rules

    def test_select_on_the_command_line_starts_afresh(self, afflint: Afflint) -> None:
        write(cart=DEAD_ANTI_AFFINITY + "      nodeSelector: {disktype: 1}\n")
        configure("ignore: [wrong-type]\n")
        assert afflint("check", "--format", "concise").rules == ["label-not-on-template"]
        assert afflint("check", "--format", "concise", "--select", "admission").rules == ["wrong-type"]

    def test_no_ignore_shows_what_comments_silence(self, afflint: Afflint) -> None:
        write(pod=NUMBER.replace("disktype: 1", "disktype: 1  # afflint: ignore[wrong-type] -- the installer quotes it"))
        assert afflint("check") == (0, "No findings. Read 1 document in 1 file. 1 finding suppressed.\n", "")
        assert afflint("check", "--no-ignore", "--format", "concise").rules == ["wrong-type"]

    def test_the_version_of_the_cluster_decides_what_it_serves(self, afflint: Afflint) -> None:
        write(
            job="""\
apiVersion: batch/v1beta1
kind: CronJob
metadata: {name: night}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: night, image: "night:1"}]
"""
        )
        assert afflint("check", "--kubernetes-version", "1.24").code == 0
        assert afflint("check", "--kubernetes-version", "1.25", "--format", "concise").rules == ["unserved-api-version"]
        configure('kubernetes-version: "1.24"\n')
        assert afflint("check").code == 0
        assert afflint("check", "--kubernetes-version", "v1.34.2", "--format", "concise").rules == ["unserved-api-version"]


class TestInput:
    def test_standard_input_has_a_name_in_reports(self) -> None:
        assert spawned("check", "-", "--format", "concise", stdin=NUMBER).out.startswith(f"<stdin>:{NUMBER_FOUND}")
        named = spawned("check", "-", "--stdin-filename", "deploy/pod.yaml", "--format", "concise", stdin=NUMBER)
        assert named.out.startswith(f"deploy/pod.yaml:{NUMBER_FOUND}")

    def test_standard_input_is_shown_and_follows_the_rules_for_its_name(self) -> None:
        assert "9 |     disktype: 1\n" in spawned("check", "-", stdin=NUMBER).out
        configure("per-file-ignores: {'legacy/**': [wrong-type]}\n")
        assert spawned("check", "-", "--stdin-filename", "legacy/pod.yaml", stdin=NUMBER).code == 0
        assert spawned("check", "-", "--stdin-filename", "pod.yaml", stdin=NUMBER).code == 1

    def test_standard_input_in_place_of_a_file_is_excluded_with_it_when_that_is_forced(self) -> None:
        configure("exclude: [legacy/]\n")
        named = ("check", "-", "--format", "concise", "--stdin-filename")
        assert spawned(*named, "legacy/pod.yaml", "--force-exclude", stdin=NUMBER) == (0, "", "")
        assert spawned(*named, "legacy/pod.yaml", stdin=NUMBER).out.startswith(f"legacy/pod.yaml:{NUMBER_FOUND}")
        assert spawned(*named, "pod.yaml", "--force-exclude", stdin=NUMBER).out.startswith(f"pod.yaml:{NUMBER_FOUND}")
        assert spawned("check", "-", "--force-exclude", stdin=NUMBER).code == 1

    def test_standard_input_and_files_are_one_run(self) -> None:
        write(pod=NUMBER)
        done = spawned("check", "pod.yaml", "-", "--format", "concise", stdin=NUMBER)
        assert [line.partition(":")[0] for line in done.out.splitlines()] == ["<stdin>", "pod.yaml"]

    def test_show_files_lists_and_stops(self, afflint: Afflint) -> None:
        Path(".git").mkdir()
        Path(".gitignore").write_text("generated/\n", encoding="utf-8")
        configure("exclude: [vendor/]\n")
        for name in ("a.yaml", "b.json", "c.txt", "deep/d.yml", "generated/e.yaml", "vendor/f.yaml"):
            path = Path(name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(NUMBER, encoding="utf-8")
        assert afflint("check", "--show-files") == (0, "a.yaml\nb.json\ndeep/d.yml\n", "")
        assert afflint("check", "--show-files", "vendor/f.yaml", "c.txt") == (0, "vendor/f.yaml\nc.txt\n", "")

    def test_a_folder_that_is_named_is_read_though_it_is_skipped_elsewhere(self, afflint: Afflint) -> None:
        Path(".git").mkdir()
        Path(".gitignore").write_text("generated/\n", encoding="utf-8")
        configure("exclude: [vendor/]\n")
        for name in ("generated", "vendor"):
            Path(name).mkdir()
            Path(name, "a.yaml").write_text(POD, encoding="utf-8")
        assert afflint("check", "--show-files").out == ""
        assert afflint("check", "--show-files", "generated", "vendor").out == "generated/a.yaml\nvendor/a.yaml\n"

    def test_configurations_and_reports_of_afflint_are_not_manifests(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        afflint("check", "--format", "gitlab", "--output", "quality.json")
        assert afflint("check", "--write-baseline").code == 0
        configure("format: [json, text]\noutput: [report.json, '-']\n")
        assert "\nFound 1 error. Read 1 document in 2 files.\n" in afflint("check").out
        assert (
            afflint("check", "--show-files").out == "pod.yaml\nquality.json\n"
        )  # The report of another run quotes an object, and is none.
        assert Path("report.json").exists()
        named = afflint("check", "quality.json", "pod.yaml", "--format", "text").out
        assert "\nFound 1 error. Read 1 document in 2 files.\nquality.json contains no manifest.\n" in named

    def test_a_file_that_cannot_be_read_is_not_counted_as_read(self, afflint: Afflint) -> None:
        Path("gone.yaml").symlink_to("nowhere")
        done = afflint("check", "gone.yaml")
        assert done.out.endswith("Found 1 error.\n1 file could not be read.\n")

    def test_a_file_of_nodes_that_is_not_there_is_the_fault_of_the_configuration(self, afflint: Afflint) -> None:
        write(pod=POD)
        configure("complete: true\nnodes: [nodes.yaml]\n")
        done = afflint("check")
        assert (done.code, done.err) == (2, "afflint: .afflint.yaml:2:1: `nodes`: the file `nodes.yaml` does not exist\n")

    def test_show_files_never_shows_a_name_raw(self, afflint: Afflint) -> None:
        Path("a\x1b[2J\n.yaml").write_text(POD, encoding="utf-8")
        assert afflint("check", "--show-files").out == "a\\x1b[2J\\n.yaml\n"


class TestReports:
    def test_several_reports_are_written_to_their_files(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        done = afflint("check", "--format", "sarif", "--output", "a.sarif", "--format", "json", "--output", "a.json", "--format", "concise")

        assert done.out.startswith(f"pod.yaml:{NUMBER_FOUND}")
        sarif, report = (json.loads(Path(name).read_text(encoding="utf-8")) for name in ("a.sarif", "a.json"))
        assert sarif["version"] == "2.1.0"
        assert [finding["rule"] for finding in report["findings"]] == ["wrong-type"]
        assert not [path for path in Path().iterdir() if path.name.endswith(".tmp")]

    def test_a_dash_is_standard_output(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        done = afflint("check", "--format", "json", "--output", "-", "--format", "github", "--output", "annotations")
        assert json.loads(done.out)["summary"]["errors"] == 1
        assert Path("annotations").read_text(encoding="utf-8").startswith("::error file=pod.yaml,line=9,col=15,")

    def test_an_output_without_a_format_is_text(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        assert afflint("check", "--output", "report.txt").out == ""
        assert Path("report.txt").read_text(encoding="utf-8").startswith("error[wrong-type]: ")

    @pytest.mark.parametrize("name", FORMATS)
    def test_every_format_names_the_place(self, afflint: Afflint, name: str) -> None:
        write(pod=NUMBER)
        done = afflint("check", "--format", name)
        assert (done.code, done.err) == (1, "")
        assert "pod.yaml" in done.out
        assert "9" in done.out
        assert "wrong-type" in done.out

    def test_a_file_that_cannot_be_written_is_an_error(self, afflint: Afflint) -> None:
        write(pod=POD)
        done = afflint("check", "--output", "no/such/report")
        assert done == (2, "", "afflint: cannot write 'no/such/report': No such file or directory\n")

    @pytest.mark.skipif(os.name == "nt", reason="limits the size of files, which Windows cannot")
    def test_what_cannot_be_written_whole_leaves_the_old_file(self) -> None:
        import resource

        def small_files_only() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        write(pod=NUMBER)
        Path("report.json").write_text("old", encoding="utf-8")
        command = [sys.executable, "-m", "afflint", "check", "--format", "json", "--output", "report.json"]
        environment = clean_environment(PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False, preexec_fn=small_files_only)

        assert (done.returncode, done.stderr) == (2, "afflint: cannot write 'report.json': File too large\n")
        assert Path("report.json").read_text(encoding="utf-8") == "old"
        assert sorted(path.name for path in Path().iterdir()) == ["pod.yaml", "report.json"]

    @pytest.mark.skipif(os.name == "nt", reason="links and modes as POSIX has them")
    def test_a_file_keeps_its_mode(self, afflint: Afflint) -> None:
        write(pod=POD)
        Path("report").write_text("old", encoding="utf-8")
        Path("report").chmod(0o600)
        assert afflint("check", "--output", "report").code == 0
        assert Path("report").read_text(encoding="utf-8").startswith("No findings.")
        assert Path("report").stat().st_mode & 0o777 == 0o600

    @pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
    def test_nothing_is_written_through_what_lies_in_the_way(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        write(pod=POD)
        Path("precious").write_text("mine")
        monkeypatch.setattr(os, "urandom", bytes)
        Path("report." + 16 * "0" + ".tmp").symlink_to("precious")
        done = afflint("check", "--output", "report", "pod.yaml")
        assert (done.code, done.err) == (2, "afflint: cannot write 'report': File exists\n")
        assert Path("precious").read_text() == "mine"
        assert not Path("report").exists()
        assert Path("report." + 16 * "0" + ".tmp").is_symlink()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk_is_not_a_fault_of_afflint(self) -> None:
        write(pod=NUMBER)
        command = f"exec {sys.executable} -m afflint check pod.yaml > /dev/full"
        done = subprocess.run(command, shell=True, env=clean_environment(), capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (2, "afflint: cannot write the report: No space left on device\n")

    @pytest.mark.skipif(os.name == "nt", reason="closes standard output with a shell")
    def test_closed_standard_output_is_not_a_fault_of_afflint(self) -> None:
        write(pod=NUMBER)
        command = f"exec {sys.executable} -m afflint check pod.yaml >&-"
        done = subprocess.run(command, shell=True, env=clean_environment(), stderr=subprocess.PIPE, encoding="utf-8", check=False)
        assert (done.returncode, done.stderr) == (2, "afflint: standard output is closed; write the report with --output FILE\n")

    def test_quiet_has_no_summary(self, afflint: Afflint) -> None:
        write(pod=POD)
        assert afflint("check", "--quiet").out == ""
        write(pod=NUMBER)
        assert "Found 1 error. Read 1 document in 1 file." in afflint("check").out
        quiet = afflint("check", "-q").out
        assert quiet.startswith("error[wrong-type]")
        assert "Found" not in quiet

    def test_verbose_says_more_about_each_finding(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        assert "afflint rule wrong-type" not in afflint("check").out
        assert "afflint rule wrong-type" in afflint("check", "-v").out

    def test_a_closed_pipe_ends_the_run_silently(self) -> None:
        write(**{f"pod{number}": NUMBER for number in range(400)})
        command = [sys.executable, "-m", "afflint", "check", "--jobs", "1"]
        with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline().startswith(b"error[wrong-type]")
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode in (0, 1)

    def test_a_terminal_that_cannot_show_a_name_does_not_end_the_run(self) -> None:
        Path("köln.yaml").write_text(NUMBER, encoding="utf-8")
        done = spawned("check", "--format", "concise", PYTHONIOENCODING="ascii")
        assert (done.code, done.err) == (1, "")
        assert done.out.startswith(rf"k\xf6ln.yaml:{NUMBER_FOUND}")


class TestColours:
    COLOURED = "\x1b[1;31merror[wrong-type]\x1b[0m"

    @pytest.mark.parametrize(
        ("arguments", "environment", "coloured"),
        [
            ("", {}, False),
            ("--color always", {}, True),
            ("--color never", {"FORCE_COLOR": "1"}, False),
            ("", {"FORCE_COLOR": "1"}, True),
            ("", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            ("--color always", {"NO_COLOR": "1"}, True),
            ("", {"FORCE_COLOR": ""}, False),
        ],
    )
    def test_when(
        self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, arguments: str, environment: dict[str, str], coloured: bool
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        write(pod=NUMBER)
        assert (self.COLOURED in afflint("check", *arguments.split()).out) == coloured

    def test_a_file_has_none(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        afflint("check", "--color", "always", "--output", "report.txt")
        assert "\x1b" not in Path("report.txt").read_text(encoding="utf-8")

    @pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
    @pytest.mark.parametrize(
        ("environment", "coloured"), [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)]
    )
    def test_a_terminal_has_them(self, environment: dict[str, str], coloured: bool) -> None:
        write(pod=NUMBER)
        assert (self.COLOURED in self.on_a_terminal(**environment)) == coloured

    @staticmethod
    def on_a_terminal(**environment: str) -> str:
        ours, theirs = os.openpty()
        command = [sys.executable, "-m", "afflint", "check", "pod.yaml"]
        subprocess.run(command, env=clean_environment(**environment), stdin=subprocess.DEVNULL, stdout=theirs, check=False)
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:  # Linux says so at the end of a pseudo-terminal
            pass
        finally:
            os.close(ours)
        return shown.decode()


class TestProgress:
    class Terminal(io.StringIO):
        def __init__(self) -> None:
            super().__init__()
            self.written = threading.Event()

        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            number = super().write(text)
            self.written.set()
            return number

        def wait_for(self, text: str) -> None:
            while text not in self.getvalue():
                assert self.written.wait(60), f"{text!r} never appears"
                self.written.clear()

    def terminal(self, monkeypatch: pytest.MonkeyPatch) -> Terminal:
        """Make standard error a terminal on which the line changes all the time."""
        monkeypatch.setattr(ProgressLine, "FIRST", 0.001)
        monkeypatch.setattr(ProgressLine, "EVERY", 0.001)
        terminal = self.Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        return terminal

    @pytest.fixture(autouse=True)
    def long_run(self) -> None:
        write(**{f"pod{number:03}": POD for number in range(130)})

    def test_a_long_run_on_a_terminal_shows_how_far_it_is(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = self.terminal(monkeypatch)
        note = ProgressLine.report

        def report(line: ProgressLine, doing: str, done: int, total: int) -> None:
            note(line, doing, done, total)
            if done == 64:
                terminal.wait_for("64/130 files")

        monkeypatch.setattr(ProgressLine, "report", report)
        assert afflint("check", "--jobs", "1").code == 0
        assert "64/130 files" in terminal.getvalue()
        assert terminal.getvalue().endswith("\r\x1b[K"), "and takes it away again"

    def test_place_shows_what_it_is_doing(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = self.terminal(monkeypatch)
        write(nodes="nodes: [{name: n1}, {name: n2}]\n")
        note = ProgressLine.report

        def report(line: ProgressLine, doing: str, done: int, total: int) -> None:
            note(line, doing, done, total)
            terminal.wait_for(f"{done}/{total} {doing}" if total else doing)

        monkeypatch.setattr(ProgressLine, "report", report)
        afflint("place", "--lose", "each:node", "--summary")
        for each in ("reading the input", "scheduling pods", "1/2 simulating failures and drains"):
            assert each in terminal.getvalue()

    def test_a_message_is_not_written_into_the_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        terminal = self.terminal(monkeypatch)
        with ProgressLine() as line:
            line.report("reading the input", 0, 0)
            terminal.wait_for("reading the input")
            notify("a message")
        assert re.search(r"\x1b\[Ka message\n", terminal.getvalue())

    def test_elsewhere_it_is_silent(self, afflint: Afflint) -> None:
        assert afflint("check", "--jobs", "1").err == ""


class TestJobs:
    def test_the_number_of_processes_does_not_show(self) -> None:
        manifests = (POD, NUMBER, DEAD_ANTI_AFFINITY, UNLABELLED_VM, "kind: Pod\n{{ if }}\n", "kind: Pod\na: [\n")
        for number in range(400):
            path = Path(f"deploy/{number % 7}/{number}.yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(manifests[number % len(manifests)].replace("name: ", f"name: n{number}-"), encoding="utf-8")
        arguments = ("check", "deploy", "--format", "json", "--output", "report.json", "--format", "text", "--jobs")

        alone = spawned(*arguments, "1")
        alone_json = Path("report.json").read_bytes()
        together = spawned(*arguments, "3")
        assert together == alone
        assert Path("report.json").read_bytes() == alone_json
        summary = json.loads(alone_json)["summary"]
        assert (summary["files"], summary["info"]) == (400, 67)
        assert summary["errors"] + summary["warnings"] == 67 + 67 + 66


class TestRendering:
    """The user's own programs render; here they are scripts that print their arguments in a comment before a manifest."""

    @pytest.fixture(autouse=True)
    def programs(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if os.name == "nt":
            pytest.skip("the programs are shell scripts")
        (project / "bin").mkdir()
        (project / "chart").mkdir()
        (project / "pod.txt").write_text(NUMBER, encoding="utf-8")
        for name in ("helm", "kustomize"):
            script = project / "bin" / name
            # It starts in an empty folder.
            script.write_text(f'#!/bin/sh\necho "$@" > {project}/arguments\ncat {project}/pod.txt\n', encoding="utf-8")
            script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{project / 'bin'}{os.pathsep}{os.defpath}")

    def test_kustomize(self, afflint: Afflint, project: Path) -> None:
        done = afflint("check", "--kustomize", "chart", "--format", "concise")
        assert (done.code, done.out.startswith(f"<kustomize chart>:{NUMBER_FOUND}")) == (1, True)
        assert Path("arguments").read_text(encoding="utf-8") == f"build {project}/chart\n"

    def test_helm_with_values(self, afflint: Afflint, project: Path) -> None:
        done = afflint("check", "--helm", "chart", "--values", "a.yaml", "--values", "b.yaml", "--format", "concise")
        assert (done.code, done.out.startswith(f"<helm chart>:{NUMBER_FOUND}")) == (1, True)
        assert Path("arguments").read_text(encoding="utf-8") == f"template release {project}/chart --values a.yaml --values b.yaml\n"

    def test_with_files_beside_it(self, afflint: Afflint) -> None:
        write(pod=POD)
        assert afflint("check", "pod.yaml", "--kustomize", "chart").out.endswith("Read 2 documents in 2 files.\n")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--kustomize nowhere", "--kustomize requires a folder with a kustomization: 'nowhere' is not a folder"),
            ("--helm nowhere", "--helm requires a chart: 'nowhere' does not exist"),
            ("--values a.yaml", "--values FILE needs --helm CHART"),
        ],
    )
    def test_mistakes_are_reported_in_one_line(self, afflint: Afflint, arguments: str, message: str) -> None:
        assert afflint("check", *arguments.split()) == (2, "", f"afflint: {message}\n")

    def test_what_the_program_says_when_it_fails_is_passed_on_harmlessly(self, afflint: Afflint) -> None:
        Path("bin/helm").write_text("#!/bin/sh\nprintf 'Error: \\033[2Jno\\nsuch chart' >&2\nexit 7\n", encoding="utf-8")
        done = afflint("check", "--helm", "chart")
        assert (done.code, done.out) == (2, "")
        assert done.err == "afflint: helm failed with exit code 7 for <helm chart>: Error: \\x1b[2Jno such chart\n"

    def test_a_program_that_is_not_there(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        done = afflint("check", "--helm", "chart")
        assert done == (2, "", "afflint: --helm needs `helm` on PATH; or pipe its output into `afflint check -`\n")


class TestBaseline:
    def test_what_was_there_stays_silent_and_what_is_new_does_not(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        assert afflint("check", "--write-baseline").out == (
            "Wrote 1 finding to .afflint-baseline.json; `--baseline .afflint-baseline.json` leaves them out.\n"
        )
        done = afflint("check", "--baseline", ".afflint-baseline.json", "pod.yaml")
        assert done == (0, "No findings. Read 1 document in 1 file. 1 finding suppressed.\n", "")

        write(pod="# one line more\n" + NUMBER + "    zone: 2\n")
        done = afflint("check", "--baseline", ".afflint-baseline.json", "--format", "concise", "pod.yaml")
        assert (done.code, done.out.startswith("pod.yaml:11:11: error the value of `zone`")) == (1, True)

    def test_what_is_fixed_is_counted(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        afflint("check", "--write-baseline", "--baseline", "known.json")
        write(pod=POD)
        done = afflint("check", "--baseline", "known.json", "pod.yaml")
        assert (done.code, done.err) == (0, "afflint: 1 entry of the baseline no longer occurs; --write-baseline removes it\n")

    @pytest.mark.parametrize("text", [None, "", "[]", '{"version": 2, "findings": []}', '{"version": 1, "findings": [3]}'])
    def test_one_that_is_none(self, afflint: Afflint, text: str | None) -> None:
        if text is not None:
            Path("known.json").write_text(text, encoding="utf-8")
        done = afflint("check", "--baseline", "known.json")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "'known.json'" in done.err


class TestStatistics:
    def test_counts_replace_findings(self, afflint: Afflint) -> None:
        write(a=NUMBER, b=NUMBER.replace("name: web", "name: api"), cart=DEAD_ANTI_AFFINITY)
        done = afflint("check", "--statistics")
        assert (done.code, [line.split() for line in done.out.splitlines()]) == (
            1,
            [["2", "wrong-type", "error", "admission"], ["1", "label-not-on-template", "warning", "labels"]],
        )

    def test_of_nothing(self, afflint: Afflint) -> None:
        write(pod=POD)
        assert afflint("check", "--statistics") == (0, "No findings.\n", "")


class TestContext:
    """A virtual machine whose label is asked for in another file."""

    ASKING = POD.replace("nodeSelector:\n    disktype: ssd\n", "") + (
        "affinity:\n    podAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
        "        - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}\n"
    )

    def severity(self, done: Done) -> str:
        """How bad the label of the virtual machine is."""
        return next(line.split()[1] for line in done.out.splitlines() if line.startswith("db.yaml:6:5:"))

    def test_one_file_gets_the_answer_of_a_full_run(self, afflint: Afflint) -> None:
        write(db=UNLABELLED_VM, web=self.ASKING)
        arguments = ("check", "--select", "label-not-on-template", "--format", "concise")
        assert self.severity(afflint(*arguments)) == "error"
        assert self.severity(afflint(*arguments, "db.yaml")) == "info"

        configure("context: ['*.yaml']\n")
        assert afflint(*arguments, "db.yaml") == afflint(*arguments)


class TestCopies:
    """A repository with the same objects for several clusters, right for one and wrong for the other."""

    FIXED = DEAD_ANTI_AFFINITY.replace("labels: {app: cart}", "labels: {app: cart, tier: session}")

    def test_the_right_copy_does_not_excuse_the_wrong_one(self, afflint: Afflint) -> None:
        write(production=self.FIXED, staging=DEAD_ANTI_AFFINITY)
        done = afflint("check", "--format", "concise")
        assert done.out.startswith("staging.yaml:6:5: warning the label `tier: session` is set only on the Deployment itself")
        assert done.rules == ["label-not-on-template"]

    def test_copies_are_not_others_who_depend_on_a_label(self, afflint: Afflint) -> None:
        write(production=DEAD_ANTI_AFFINITY, staging=DEAD_ANTI_AFFINITY)
        assert [line.split()[1] for line in afflint("check", "--format", "concise").out.splitlines()] == ["warning", "warning"]


class TestNodes:
    def test_a_file_of_nodes(self, afflint: Afflint) -> None:
        write(pod=POD, nodes="nodes:\n- {name: worker-1, labels: {disktype: ssd}}\n- {name: worker-2, labels: {disktype: hdd}}\n")
        assert afflint("check", "--nodes", "nodes.yaml", "pod.yaml").code == 0

    @pytest.mark.parametrize("text", [None, "nodes: [3]\n", "a: [\n", POD])
    def test_one_that_holds_none(self, afflint: Afflint, text: str | None) -> None:
        if text is not None:
            write(nodes=text)
        done = afflint("check", "--nodes", "nodes.yaml", "--exit-zero")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "nodes.yaml" in done.err


class TestConfiguration:
    def test_the_nearest_upward_holds(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
        configure("ignore: [wrong-type]\n")
        Path("deep").mkdir()
        monkeypatch.chdir(project / "deep")
        write(pod=NUMBER)
        assert afflint("check").code == 0
        assert afflint("check", "--no-config").code == 1

    def test_config_takes_another(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        configure("ignore: [wrong-type]\n")
        Path("other.yaml").write_text("severity: {wrong-type: info}\n", encoding="utf-8")
        done = afflint("check", "--config", "other.yaml", "--format", "concise", "pod.yaml")
        assert (done.code, done.out.split()[1]) == (0, "info")

    def test_pyproject_is_one_too(self, afflint: Afflint) -> None:
        write(pod=NUMBER)
        Path("pyproject.toml").write_text('[tool.afflint.per-file-ignores]\n"p*.yaml" = ["admission"]\n', encoding="utf-8")
        assert afflint("check").code == 0

    @pytest.mark.parametrize("command", ["check", "config"])
    def test_mistakes_are_shown_at_their_line(self, afflint: Afflint, command: str) -> None:
        configure("excludes: [vendor/]\nseverity:\n  wrong-typ: error\nselect: [label]\n")
        done = afflint(command)
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines() == [
            "afflint: .afflint.yaml:1:1: unknown key `excludes`; did you mean `exclude`?",
            "afflint: .afflint.yaml:3:3: unknown rule `wrong-typ`; did you mean `wrong-type`?",
            "afflint: .afflint.yaml:4:10: unknown rule or category `label`; did you mean `labels`?",
        ]

    def test_mistakes_in_pyproject_as_well(self, afflint: Afflint) -> None:
        Path("pyproject.toml").write_text('[project]\nname = "shop"\n\n[tool.afflint]\nignored = []\n', encoding="utf-8")
        assert (
            afflint("check").err == "afflint: pyproject.toml:1:1: `tool.afflint.ignored`: unknown key `ignored`; did you mean `ignore`?\n"
        )

    def test_config_shows_every_value_and_its_origin(self, afflint: Afflint) -> None:
        from afflint.config import KEYS

        configure("ignore:\n- labels\nseverity: {wrong-type: info}\n")
        done = afflint("config")
        assert (done.code, done.err) == (0, "")
        lines = [line.split() for line in done.out.splitlines()]
        assert ["ignore", "[labels]", ".afflint.yaml:1:1"] in lines
        assert ["severity.wrong-type", "info", ".afflint.yaml:3:12"] in lines
        assert ["complete", "false", "default"] in lines
        assert {words[0].split(".")[0] for words in lines} == {*KEYS}

    def test_config_without_one(self, afflint: Afflint) -> None:
        configure("ignore: [labels]\n")
        assert all(line.endswith(" default") for line in afflint("config", "--no-config").out.splitlines())


class TestReportOfTheConfiguration:
    """What every hook, CI job and editor would have to repeat is in the configuration."""

    def test_the_baseline_the_level_and_the_reports(self, afflint: Afflint, project: Path) -> None:
        (project / "pod.yaml").write_text(NUMBER)
        (project / ".afflint.yaml").write_text("baseline: known.json\nformat: [json, concise]\noutput: afflint.json\n")
        assert afflint("check", "pod.yaml", "--write-baseline").out.startswith("Wrote 1 finding to known.json")
        assert afflint("check", "pod.yaml") == (0, "", "")
        assert json.loads((project / "afflint.json").read_text())["summary"]["suppressed"] == 1

    def test_the_command_line_wins(self, afflint: Afflint, project: Path) -> None:
        (project / "pod.yaml").write_text(NUMBER)
        (project / ".afflint.yaml").write_text("format: json\noutput: afflint.json\nfail-on: info\njobs: 1\n")
        assert afflint("check", "pod.yaml", "--format", "concise").rules == ["wrong-type"]
        assert not (project / "afflint.json").exists()

    def test_the_level(self, afflint: Afflint, project: Path) -> None:
        (project / "pod.yaml").write_text(DEAD_ANTI_AFFINITY)
        assert afflint("check", "pod.yaml").code == 1
        (project / ".afflint.yaml").write_text("fail-on: error\n")
        assert afflint("check", "pod.yaml").code == 0
        assert afflint("check", "pod.yaml", "--fail-on", "warning").code == 1

    def test_two_reports_for_one_standard_output(self, afflint: Afflint, project: Path) -> None:
        (project / ".afflint.yaml").write_text("format: [json, text]\n")
        done = afflint("check")
        assert (done.code, done.err) == (
            2,
            "afflint: only one report can be written to standard output; the others need an --output FILE\n",
        )

    def test_place_has_reports_of_its_own(self, afflint: Afflint, project: Path) -> None:
        (project / ".afflint.yaml").write_text("format: sarif\noutput: a.sarif\n")
        (project / "nodes.yaml").write_text("nodes:\n- name: n1\n")
        assert "0 of 0 replicas" in afflint("place").out
        assert not (project / "a.sarif").exists()


class TestRule:
    def test_the_table_has_every_rule(self, afflint: Afflint) -> None:
        from afflint.checks.registry import rules

        lines = afflint("rule").out.splitlines()
        assert [line.split()[0] for line in lines if line.startswith("  ")] == sorted(
            rules(), key=lambda name: (lines.index(rules()[name].category), name)
        )

    def test_a_page(self, afflint: Afflint) -> None:
        done = afflint("rule", "empty-topology-key")
        assert done.out.startswith("empty-topology-key  admission, error, since afflint 0.1.0\n")
        assert "How to fix it\n" in done.out
        assert "```" not in done.out
        assert "\x1b" not in done.out

    def test_a_page_fits_a_narrow_terminal(self) -> None:
        from afflint.checks.registry import rules
        from afflint.report import rule_pages

        for rule in rules().values():
            whole, narrow = rule_pages.page(rule, color=False), rule_pages.page(rule, color=False, width=60)
            assert whole.split() == narrow.split(), "the same words"
            fenced = [line for line in whole.splitlines() if line.startswith("    ")]
            assert [line for line in narrow.splitlines() if line.startswith("    ")] == fenced, "examples are left as they are"
            prose = narrow.partition("Examples\n")[0].splitlines()[1:]
            assert all(len(line) <= 60 or " " not in re.sub(r"`[^`]+`", "", line.strip().removeprefix("- ")).strip() for line in prose)

    def test_a_page_in_colour(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert afflint("rule", "empty-topology-key").out.startswith("\x1b[1mempty-topology-key\x1b[0m")

    def test_a_category_gives_its_rules(self, afflint: Afflint) -> None:
        lines = afflint("rule", "spread").out.splitlines()
        assert lines[0] == "spread"
        assert "spread-misses-itself" in {line.split()[0] for line in lines[1:]}
        assert {each["category"] for each in json.loads(afflint("rule", "spread", "--format", "json").out)} == {"spread"}
        assert afflint("rule", "policy").out == "No policies are configured.\n"

    def test_json_is_one_or_all(self, afflint: Afflint) -> None:
        one = json.loads(afflint("rule", "wrong-type", "--format", "json").out)
        every = json.loads(afflint("rule", "--format", "json").out)
        assert (one["name"], one["category"], one["fix"]) == ("wrong-type", "admission", "safe")
        assert one in every


class TestImports:
    """Start-up is the cost of checking one file: a plain run imports its own modules and nothing else, not even click or ruamel.yaml."""

    NEEDED = "import typing, runpy, __future__"
    # In C and small.
    CHEAP = frozenset(("gc", "time", "bisect", "_bisect", "errno"))

    @staticmethod
    def imported(*command: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command], env=clean_environment(), capture_output=True, encoding="utf-8", check=True
        )
        return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}

    def test_of_the_first_module(self) -> None:
        assert self.imported("-c", "import afflint.__main__") - self.imported("-c", "") == {"afflint", "afflint.__main__"}

    def test_of_a_plain_run(self) -> None:
        write(pod=POD)
        modules = self.imported("-m", "afflint", "check", "pod.yaml") - self.imported("-c", self.NEEDED)
        foreign = {name for name in modules if name.partition(".")[0] != "afflint"}
        assert not foreign - self.CHEAP, "neither json nor jsonschema, pathspec, concurrent, difflib, pathlib or any other"

        own = {name.removeprefix("afflint.") for name in modules if name.startswith("afflint.")}
        for report in (*FORMATS[2:], "place", "policies", "html_page", "check_page", "fix_lines", "rule_pages"):
            assert not [name for name in own if name.startswith(f"report.{report}")]
        packages = ("policies", "checks.policies", "config.", "placement", "rendering", "admission", "init", "lsp", "fix.")
        settings = {"config.discovery", "config.selection", "config.settings", "policies", "policies.policy"}
        assert not [name for name in own - settings if name.startswith(packages)]
        modules_of_policies = {"checks.policies.evaluation", "rendered.rendered_run", "simulation.inputs"}
        assert not own & modules_of_policies
        import afflint

        assert all((Path(afflint.__file__).parent / f"{name.replace('.', '/')}.py").is_file() for name in modules_of_policies)
