"""The reports in the README, and its numbers of rules and findings."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.generate import GeneratedFile, missing_programs, with_parts
from tools.generate.pages import RENDERERS, make_change

from afflint.checks.registry import rules
from checkout import ROOT, clean_environment, run
from rendering.real_tools import found_tool

README = ROOT / "README.md"
AFFLINT = (sys.executable, "-m", "afflint")


def files() -> Iterator[GeneratedFile]:
    """Yield the README."""
    yield GeneratedFile(README, _readme, missing_programs(*RENDERERS))


def _reports() -> dict[str, str]:
    """Return the text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``, by name."""
    manifest = "examples/shop/cart.yaml"
    report = run((*AFFLINT, "check", "--no-config", manifest), ROOT, expect=1)
    lost = ("place", "--no-config", "examples/customapp", "--drain", "each:node")
    plan = run((*AFFLINT, *lost), ROOT, environment=clean_environment(COLUMNS="100"), expect=1)
    losses = plan[plan.index("7 drains, worst first") :]
    with tempfile.TemporaryDirectory() as folder:
        make_change(Path(folder))
        change = run((*AFFLINT, "diff", "--no-config"), Path(folder), expect=1)
    return {
        "change": f"```console\n$ afflint diff\n{change}```\n",
        "losses": f"```console\n{losses}```\n",
        "manifest": f"```yaml\n{(ROOT / manifest).read_text(encoding='utf-8')}```\n",
        "report": f"```console\n$ afflint check {manifest}\n{report}```\n",
    }


def _gitops() -> dict[str, str]:
    """Return the part that needs kustomize and Helm, if they are installed."""
    if missing_programs(*RENDERERS):
        return {}
    folders = [os.path.dirname(found_tool(name) or "") for name in RENDERERS]
    words = ("check", "--render", "--format", "concise", "examples/gitops")
    environment = clean_environment(PATH=os.pathsep.join([*folders, os.environ["PATH"]]))
    report = run((*AFFLINT, *words, "--no-config"), ROOT, environment=environment, expect=1)
    return {"gitops": f"```console\n$ afflint {' '.join(words)}\n{report}```\n"}


def _readme() -> str:
    """Return the README with its generated parts and the numbers of its table."""
    readme = with_parts(README.read_text(encoding="utf-8"), {**_reports(), **_gitops()})
    shop = run((*AFFLINT, "check", "--no-config", "examples/shop"), ROOT, expect=1)
    total = shop.rpartition("Found ")[2].partition(". Read")[0]
    readme = re.sub(r"finds mistakes \([^)]*\)", f"finds mistakes ({total})", readme)
    counts = Counter(rule.category for rule in rules().values())
    return re.sub(r"^\| `([a-z-]+)` \| \d+ \|", lambda row: f"| `{row[1]}` | {counts[row[1]]} |", readme, flags=re.MULTILINE)
