"""The pages about policies that are made: the checks with their parameters, and the sets that come with afflint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from afflint.policies.params import fields_of
from afflint.policies.registry import CHECKS, PolicyCheck
from website.links import with_links_of_the_site
from website.reference import cell

PROFILES = Path(__file__).parents[1] / "rules" / "profiles"
_EXAMPLE = re.compile(r"^```yaml (?P<verdict>bad|good)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r" *# *\^ finding")
_CHECKS = """\
# Checks for policies

A policy is a rule of your own: an entry below `policies` in the [configuration](configuration.md#keys) that names one of these checks, its
parameters, and what it is about. A check decides by what constraints mean, not by how they are written.

```yaml
policies:
  - name: databases-on-fast-nodes
    check: required-node-labels
    params: {labels: {performance: high}}
    match: {names: ["*-db"]}
    severity: error
    message: "{object} has to run on a fast node"
```

[Ready-made sets](rules/profiles/strict.md) can be extended. Below, parameters in bold have to be there.

"""


def checks_page() -> str:
    """Each check with what it demands and its parameters."""
    return "".join(_checks())


def _checks() -> Iterator[str]:
    yield _CHECKS
    for name, check in CHECKS.items():
        yield f"## {name}\n\n{check.about} {_notes(check)}\n\n| parameter | takes | |\n|---|---|---|\n"
        module, _, parameters = check.params.partition(":")
        for key, takes, about, required in fields_of(getattr(import_module(module), parameters)):
            shown = f"**`{key}`**" if required else f"`{key}`"
            yield f"| {shown} | {cell(str(takes.schema.get('title', '')))} | {cell(about)} |\n"
        yield f"\n{check.remedy}\n\n"


def _notes(check: PolicyCheck) -> str:
    notes = ["Needs nodes."] if check.subject == "outcome" else []
    notes += ["With `--unsafe-fixes`, `--fix` adds what is missing."] if check.fix == "unsafe" else []
    return " ".join(notes)


def profile_names() -> list[str]:
    """The sets that come with afflint."""
    return sorted(path.stem for path in PROFILES.glob("*.md"))


def profile_page(name: str) -> str:
    """The page of a set, its examples as the site shows them, and the set itself."""
    text = with_links_of_the_site((PROFILES / f"{name}.md").read_text(encoding="utf-8"), f"rules/profiles/{name}.md")
    file = (PROFILES / f"{name}.yaml").read_text(encoding="utf-8")
    return f"{_EXAMPLE.sub(_example, text)}\n## The set\n\n```yaml\n{file}```\n"


def _example(found: re.Match[str]) -> str:
    if found["verdict"] == "good":
        return f'```yaml title="Right"\n{found["text"]}```'
    marked = [number for number, line in enumerate(found["text"].splitlines()) if _MARKER.match(line)]
    lines = f' hl_lines="{" ".join(map(str, marked))}"' if marked else ""
    return f'```yaml title="Wrong"{lines}\n{found["text"]}```'
