"""`afflint check --fix`, `--unsafe-fixes` and `--diff`: what is written and what is not, what is said, and the exit codes."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from afflint.source import atomic_write
from checkout import clean_environment
from command_line import Afflint, Done, exit_code

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - {name: web, image: "nginx:1.27"}
  nodeSelector:
    disktype: 1  # of the rack
"""
FIXED = POD.replace("disktype: 1", 'disktype: "1"')
MISSPELT = POD.replace("disktype: 1", "disktype: ssd") + "  tolerationz:\n    - {key: gpu, operator: Exists}\n"
BOTH = MISSPELT.replace("disktype: ssd", "disktype: 1")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def afflint(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Afflint:
    """Runs the command line in this process."""

    def afflint(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        code = exit_code(monkeypatch, "check", *arguments)
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return afflint


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


class TestFix:
    def test_what_is_safe_is_fixed_and_nothing_else(self, afflint: Afflint) -> None:
        path = write("pod.yaml", BOTH)
        done = afflint("--fix")
        assert path.read_text() == BOTH.replace("disktype: 1", 'disktype: "1"')
        assert (done.code, done.out.split("\n")[0]) == (
            1,
            "error[unknown-field]: unknown field `tolerationz` in this pod spec; did you mean `tolerations`?",
        )
        assert done.out.splitlines()[-2:] == [
            "Found 2 findings: fixed 1; remaining: 1 error. Read 1 document in 1 file.",
            "1 fixable with --fix --unsafe-fixes, which may change the meaning of the manifests.",
        ]

    def test_what_is_unsafe_is_fixed_if_asked_for(self, afflint: Afflint) -> None:
        path = write("pod.yaml", BOTH)
        done = afflint("--fix", "--unsafe-fixes")
        assert path.read_text() == BOTH.replace("disktype: 1", 'disktype: "1"').replace("tolerationz", "tolerations")
        assert done == Done(0, "Found 2 findings: all fixed. Read 1 document in 1 file.\n", "")

    def test_a_second_run_changes_nothing(self, afflint: Afflint) -> None:
        path = write("pod.yaml", POD)
        assert afflint("--fix").code == 0
        before = path.stat()
        assert afflint("--fix") == Done(0, "No findings. Read 1 document in 1 file.\n", "")
        assert path.stat().st_mtime_ns == before.st_mtime_ns

    def test_only_the_rules_that_are_asked_for(self, afflint: Afflint) -> None:
        path = write("pod.yaml", BOTH)
        assert afflint("--fix", "--unsafe-fixes", "--select", "unknown-field").code == 0
        assert path.read_text() == BOTH.replace("tolerationz", "tolerations")

    def test_without_fix_they_are_counted(self, afflint: Afflint) -> None:
        path = write("pod.yaml", BOTH)
        assert afflint().out.endswith("\n[*] 1 fixable with --fix (1 more with --unsafe-fixes).\n")
        assert afflint("--unsafe-fixes").out.endswith("\n[*] 2 fixable with --fix --unsafe-fixes.\n")
        assert afflint("--unsafe-fixes").out.count("]: [*] ") == 2
        assert afflint().out.count("]: [*] ") == 1
        assert path.read_text() == BOTH

    def test_the_json_report_says_how_many(self, afflint: Afflint) -> None:
        write("pod.yaml", BOTH)
        report = json.loads(afflint("--fix", "--format", "json").out)
        assert (report["summary"]["fixed"], [each["rule"] for each in report["findings"]]) == (1, ["unknown-field"])

    def test_what_is_silenced_is_not_fixed(self, afflint: Afflint) -> None:
        silenced = POD.replace("# of the rack", "# afflint: ignore[wrong-type] -- as it was")
        path = write("pod.yaml", silenced)
        assert afflint("--fix").code == 0
        assert path.read_text() == silenced

    def test_nor_is_what_a_baseline_holds(self, afflint: Afflint) -> None:
        path = write("pod.yaml", POD)
        afflint("--write-baseline")
        assert afflint("--fix", "--baseline", ".afflint-baseline.json").code == 0
        assert path.read_text() == POD

    def test_what_is_left_can_go_into_a_baseline(self, afflint: Afflint) -> None:
        path = write("pod.yaml", BOTH)
        done = afflint("--fix", "--write-baseline")
        assert done.out == "Wrote 1 finding to .afflint-baseline.json; `--baseline .afflint-baseline.json` leaves them out.\n"
        assert path.read_text() == BOTH.replace("disktype: 1", 'disktype: "1"')

    def test_a_suppression_that_silences_nothing_goes(self, afflint: Afflint) -> None:
        path = write("pod.yaml", FIXED.replace("  # of the rack", "  # afflint: ignore[wrong-type] -- why"))
        assert afflint("--fix").code == 0
        assert path.read_text() == FIXED.replace("  # of the rack", "")

    def test_templates_are_left_alone(self, afflint: Afflint) -> None:
        chart = POD.replace("disktype: 1", 'disktype: 1\n    zone: "{{ .Values.zone }}"')
        path = write("templates/pod.yaml", chart)
        assert afflint("--fix").code == 1
        assert path.read_text() == chart
        filled = write("filled.yaml", POD.replace("name: web\nspec", "name: {{ .name }}\nspec"))
        before = filled.read_text()
        assert afflint("--fix", "filled.yaml").code == 1
        assert filled.read_text() == before

    def test_a_fix_that_brings_another_error_is_not_made(self, afflint: Afflint) -> None:
        text = POD.replace("disktype: 1", "disktype: -1")
        path = write("pod.yaml", text)
        done = afflint("--fix")
        assert (done.code, path.read_text()) == (1, text)
        assert "fixable" not in done.out

    def test_what_only_a_fix_shows_is_counted_and_named(self, afflint: Afflint) -> None:
        """No rule can say anything about a number where the name of a node is expected."""
        pod = "{nodeName: 5, nodeSelector: {disk: 1}, containers: [{name: web, image: web}]}"
        template = f"{{metadata: {{labels: {{app: web}}}}, spec: {pod}}}"
        spec = f"{{selector: {{matchLabels: {{app: web}}}}, template: {template}}}"
        text = f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {spec}}}\n"
        write("a.yaml", text)
        assert afflint("a.yaml").out.endswith("Found 2 errors. Read 1 document in 1 file.\n[*] 2 fixable with --fix.\n")
        summary = json.loads(afflint("--fix", "--format", "json", "a.yaml").out)["summary"]
        assert (summary["fixed"], summary["uncovered"], summary["errors"], summary["warnings"]) == (2, ["pinned-node"], 0, 1)
        write("a.yaml", text)
        assert "Found 2 findings: fixed 2, then found 1 more (pinned-node); remaining: 1 warning." in afflint("--fix", "a.yaml").out

    def test_a_label_that_a_selector_in_another_file_asks_for(self, afflint: Afflint) -> None:
        machine = (
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: db\n  labels: {app: db, tier: back}\nspec:\n"
            "  runStrategy: Always\n  template:\n    # the machine\n    spec:\n      domain: {devices: {}}\n"
        )
        web = (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: web}]\n  affinity:\n"
            "    podAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n"
            "      - labelSelector: {matchLabels: {app: db, tier: back}}\n        topologyKey: kubernetes.io/hostname\n"
        )
        path = write("db.yaml", machine)
        write("web.yaml", web)
        done = afflint("--fix", "--unsafe-fixes")
        assert path.read_text() == machine.replace(
            "    # the machine\n", "    metadata:\n      labels:\n        app: db\n        tier: back\n    # the machine\n"
        )
        assert done.out == "Found 2 findings: all fixed. Read 2 documents in 2 files.\n"

    @pytest.mark.parametrize("known", [False, True])
    def test_with_several_processes_and_what_is_known_from_an_earlier_run(self, afflint: Afflint, known: bool) -> None:
        for number in range(320):
            write(f"many/{number}.yaml", POD.replace("name: web\nspec", f"name: web-{number}\nspec"))
        if known:
            afflint("--cache-dir", "cache")
        done = afflint("--fix", "--jobs", "2", "--cache-dir", "cache")
        assert done.out == "Found 320 findings: all fixed. Read 320 documents in 320 files.\n"
        assert all('disktype: "1"  # of the rack' in path.read_text() for path in Path("many").iterdir())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_line_ends_byte_order_marks_and_encodings_stay(afflint: Afflint, newline: str, encoding: str) -> None:
    def encoded(text: str) -> bytes:
        return text.replace("\n", newline).replace("rack", "r\u00e4ck \U0001f600").encode(encoding)

    path = write("pod.yaml", "")
    path.write_bytes(encoded(POD))
    assert afflint("--fix").code == 0
    assert path.read_bytes() == encoded(FIXED)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_a_diff_applies_whatever_the_encoding(tmp_path: Path, encoding: str, newline: str, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")

    def encoded(text: str) -> bytes:
        # U+0A0A has two bytes that look like line feeds.
        return text.replace("\n", newline).replace("rack", "r\u00e4ck \U0001f600 \u0a0a").encode(encoding)

    path = tmp_path / "pod.yaml"
    path.write_bytes(encoded(POD))
    command = [sys.executable, "-m", "afflint", "check", "--no-config", "--diff", "."]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, env=clean_environment())
    assert made.returncode == 1
    apply = ["git", "apply", "-p0", "--whitespace=nowarn"] if tool == "git" else ["patch", "-p0", "--binary", "--fuzz=0"]
    subprocess.run(apply, cwd=tmp_path, input=made.stdout, check=True, env=clean_environment())
    assert path.read_bytes() == encoded(FIXED)


class TestDiff:
    def test_nothing_is_written_and_1_says_that_there_is_something(self, afflint: Afflint) -> None:
        path = write("deploy/pod.yaml", BOTH)
        done = afflint("--diff", "deploy")
        assert done.out == (
            "--- deploy/pod.yaml\n+++ deploy/pod.yaml\n@@ -6,6 +6,6 @@\n   containers:\n"
            '     - {name: web, image: "nginx:1.27"}\n   nodeSelector:\n'
            '-    disktype: 1  # of the rack\n+    disktype: "1"  # of the rack\n'
            "   tolerationz:\n     - {key: gpu, operator: Exists}\n"
        )
        assert (done.code, done.err) == (1, "Would fix 1 finding in 1 file (1 more with --unsafe-fixes).\n")
        assert path.read_text() == BOTH

    def test_0_when_there_is_nothing_though_something_is_found(self, afflint: Afflint) -> None:
        write("pod.yaml", MISSPELT)
        assert afflint("--diff") == Done(0, "", "Nothing to fix (1 more with --unsafe-fixes).\n")
        assert afflint("--diff", "--quiet", "--fix") == Done(0, "", "")
        assert afflint("--diff", "--unsafe-fixes", "--exit-zero").code == 0

    @pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
    def test_patch_takes_it(self, afflint: Afflint, ending: str) -> None:
        path = write("pod.yaml", POD.rstrip("\n").replace("\n", ending or "\n") + ending)
        diff = afflint("--diff").out
        subprocess.run(["git", "apply", "-p0", "--whitespace=nowarn"], input=diff.encode(), check=True, env=clean_environment())
        assert path.read_bytes() == FIXED.rstrip("\n").replace("\n", ending or "\n").encode() + ending.encode()

    def test_it_excludes_reports(self, afflint: Afflint) -> None:
        for option in ("--statistics", "--write-baseline", "--format=json", "--output=x"):
            done = afflint("--diff", option)
            assert (done.code, done.err.startswith("afflint: --diff cannot be used with")) == (2, True)


class TestStandardInput:
    def test_the_text_goes_to_standard_output_and_the_report_beside_it(self, afflint: Afflint) -> None:
        done = afflint("--fix", "--stdin-filename", "pod.yaml", "-", stdin=BOTH.encode())
        assert (done.code, done.out) == (1, BOTH.replace("disktype: 1", 'disktype: "1"'))
        assert done.err.startswith("error[unknown-field]: unknown field `tolerationz`")
        assert not Path("pod.yaml").exists()

    def test_it_replaces_its_file_which_does_not_change(self, afflint: Afflint) -> None:
        path = write("pod.yaml", MISSPELT)
        done = afflint("--fix", "--stdin-filename", "pod.yaml", "-", ".", stdin=POD.encode())
        assert (done.code, done.out, path.read_text()) == (0, FIXED, MISSPELT)

    @pytest.mark.parametrize("text", [FIXED, "", "no: manifest\n", "a: [", "\ufeff{{ if }}\r\n"])
    def test_what_needs_no_fix_goes_through(self, afflint: Afflint, text: str) -> None:
        assert afflint("--fix", "-", stdin=text.encode()).out == text

    def test_also_when_its_file_is_excluded(self, afflint: Afflint) -> None:
        write(".afflint.yaml", "exclude: [pod.yaml]\n")
        assert afflint("--fix", "--force-exclude", "--stdin-filename", "pod.yaml", "-", stdin=POD.encode()).out == POD

    def test_as_a_diff(self, afflint: Afflint) -> None:
        done = afflint("--diff", "--stdin-filename", "pod.yaml", "-", stdin=POD.encode())
        assert (done.code, done.out.splitlines()[0], '+    disktype: "1"  # of the rack' in done.out) == (1, "--- pod.yaml", True)


class TestWriting:
    """A file is fixed as a whole or not at all, and keeps its mode."""

    def test_its_mode_stays(self, afflint: Afflint) -> None:
        path = write("pod.yaml", POD)
        path.chmod(0o640)
        assert afflint("--fix").code == 0
        assert (path.stat().st_mode & 0o7777, os.listdir()) == (0o640, ["pod.yaml"])

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
    def test_its_owner_stays(self, afflint: Afflint) -> None:
        path = write("pod.yaml", POD)
        os.chown(path, 4711, 4712)
        assert afflint("--fix").code == 0
        assert (path.stat().st_uid, path.stat().st_gid, path.read_text()) == (4711, 4712, FIXED)

    def test_a_link_stays_and_its_file_is_fixed(self, afflint: Afflint) -> None:
        path = write("base/pod.yaml", POD)
        Path("link.yaml").symlink_to("base/pod.yaml")
        for arguments in (("link.yaml",), (".",), ("base", "link.yaml")):
            path.write_text(POD)
            assert afflint("--fix", *arguments).code == 0
            assert (path.read_text(), os.readlink("link.yaml")) == (FIXED, "base/pod.yaml")

    def test_no_link_in_a_folder_leads_out_of_it(self, afflint: Afflint) -> None:
        path = write("elsewhere/pod.yaml", POD)
        Path("here").mkdir()
        Path("here/link.yaml").symlink_to("../elsewhere/pod.yaml")
        done = afflint("--fix", "here")
        assert (done.code, path.read_text()) == (1, POD)
        assert done.err == ("afflint: here/link.yaml is left unchanged: it is a symbolic link that leads out of the named folders\n")
        assert afflint("--fix", "here/link.yaml").code == 0

    def test_of_hard_links_only_the_named_one_is_fixed(self, afflint: Afflint) -> None:
        path = write("pod.yaml", POD)
        os.link("pod.yaml", "other.txt")
        assert afflint("--fix").code == 0
        assert (path.read_text(), Path("other.txt").read_text()) == (FIXED, POD)

    def test_a_file_that_is_read_only(self, afflint: Afflint) -> None:
        path, other = write("pod.yaml", POD), write("zebra.yaml", POD)
        path.chmod(0o444)
        done = afflint("--fix")
        assert (done.code, done.err) == (2, "afflint: cannot fix 'pod.yaml': it is read-only\n")
        assert (path.read_text(), other.read_text()) == (POD, FIXED)
        assert "Found 2 findings: fixed 1; remaining: 1 error." in done.out

    def test_a_file_that_has_changed_meanwhile(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write("pod.yaml", POD)
        real = atomic_write.read_regular

        def read(*arguments: Any) -> bytes:
            path.write_text(POD.replace("web", "wob"))
            return real(*arguments)

        monkeypatch.setattr(atomic_write, "read_regular", read)
        done = afflint("--fix")
        assert (done.code, done.err) == (2, "afflint: cannot fix 'pod.yaml': it has changed since it was read; run afflint again\n")
        assert path.read_text() == POD.replace("web", "wob")

    @pytest.mark.parametrize("name", ["fsync", "replace", "fchmod"])
    def test_a_disk_that_fails_half_way(self, afflint: Afflint, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        path = write("pod.yaml", POD)

        def fail(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(os, name, fail)
            done = afflint("--fix")
        assert done.err == "afflint: cannot fix 'pod.yaml': No space left on device\n"
        assert (done.code, path.read_text(), os.listdir()) == (2, POD, ["pod.yaml"])

    def test_a_pipe_is_only_read(self) -> None:
        command = f"{sys.executable} -m afflint check --fix --format concise <(cat)"
        done = subprocess.run(
            ["bash", "-c", command], input=POD, env=clean_environment(), capture_output=True, encoding="utf-8", check=False
        )
        assert (done.returncode, done.stdout.count("[wrong-type]")) == (1, 1)
