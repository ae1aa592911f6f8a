"""The image, as far as that goes without one: what is copied is enough for what is run, and what is run makes an afflint that works."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from checkout import ROOT, clean_environment, run

LINES = [line for line in (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
INSTRUCTIONS = [(line.partition(" ")[0], line.partition(" ")[2]) for line in LINES]
UNCOMPILED = """
import sys
from importlib.util import cache_from_source
from pathlib import Path
from afflint.cli import _exit_code
_exit_code()
modules = [each for each in sys.modules.values() if "SourceFileLoader" in str(getattr(getattr(each, "__spec__", 0), "loader", 0))]
print("not compiled:", [each.__name__ for each in modules if not Path(cache_from_source(each.__file__)).exists()])
"""
"""Runs afflint, and says for which modules there was no compiled one."""


def messages(name: str) -> list[str]:
    return [rest for instruction, rest in INSTRUCTIONS if instruction == name]


def test_instructions_are_known_and_the_second_stage_is_without_what_only_builds() -> None:
    assert {name for name, _ in INSTRUCTIONS} <= {"FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert len({base.split()[0] for base in messages("FROM")}) == 1
    last = INSTRUCTIONS.index(("FROM", messages("FROM")[-1]))
    assert not [name for name, _ in INSTRUCTIONS[last:] if name == "RUN"]
    assert [rest for name, rest in INSTRUCTIONS[last:] if name == "COPY"] == ["--from=build /opt/afflint /opt/afflint"]


def test_it_runs_as_an_unprivileged_user() -> None:
    """By number: Kubernetes cannot tell from a name whether it is root."""
    assert messages("USER") == ["65534:65534"]


def test_what_is_copied_is_sent_to_the_builder_and_nothing_else() -> None:
    copied = {source for rest in messages("COPY") if not rest.startswith("--from") for source in rest.split()[:-1]}
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8")
    assert {line[1:] for line in ignored.splitlines() if line.startswith("!")} == copied
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8") == ignored


@pytest.mark.skipif(os.name == "nt", reason="the image has a POSIX shell")
def test_what_is_run_makes_an_afflint_that_checks(tmp_path: Path) -> None:
    """Needs the package index, as the tests of the wheel do."""
    for rest in messages("COPY"):
        *sources, target = rest.split()
        if not rest.startswith("--from"):
            for source in sources:
                place = tmp_path / target.strip("/") / (source if target.endswith("/") else "")
                place.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, place)
    path = {"PATH": f"{tmp_path / 'tools'}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "tools").mkdir()
    for name, module in (("python", ""), ("pip", "-m pip ")):
        tool = tmp_path / "tools" / name
        tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module}"$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    for command in messages("RUN"):
        inside = command.replace("/opt/", f"{tmp_path}/opt/").replace(" /src", f" {tmp_path}/src")
        run(("sh", "-c", inside), tmp_path, environment=clean_environment(**path, PYTHONDONTWRITEBYTECODE=""))
    shutil.rmtree(tmp_path / "src")
    ((entry,), words) = (json.loads(messages(name)[0]) for name in ("ENTRYPOINT", "CMD"))
    command = (tmp_path / "opt" / "afflint" / "bin" / entry, *words)
    # A user without a home, in a folder that is not theirs: what CI has mounted.
    given = dict(each.replace("/opt/", f"{tmp_path}/opt/").split("=") for each in messages("ENV"))
    environment = clean_environment(**{**given, "HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"})
    del environment["AFFLINT_NO_CACHE"]
    report = run((*command, "--format", "concise"), ROOT / "examples" / "shop", environment=environment, expect=1)
    assert report.count(" error ") == 6
    assert run((*command, "."), ROOT / "examples" / "fixed", environment=environment).startswith("No findings.")
    # Nothing is compiled at a start, of afflint or of Python: that would take longer than the run.
    shown = run((command[0].parent / "python", "-c", UNCOMPILED, *words, "."), ROOT / "examples" / "shop", environment=environment)
    assert shown.splitlines()[-1] == "not compiled: []"
