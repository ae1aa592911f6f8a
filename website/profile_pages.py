"""Generate the pages of the policy sets."""

from __future__ import annotations

import re
from pathlib import Path

from website.links import convert_links

PROFILES = Path(__file__).parents[1] / "rules" / "profiles"
_EXAMPLE = re.compile(r"^```yaml (?P<verdict>bad|good)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r" *# *\^ finding")


def profile_names() -> list[str]:
    """Return the names of the policy sets."""
    return sorted(path.stem for path in PROFILES.glob("*.md"))


def index_page() -> str:
    """Return the list of policy sets."""
    rows = []
    for name in profile_names():
        _, about, *_ = (PROFILES / f"{name}.md").read_text(encoding="utf-8").split("\n\n")
        rows.append(f"- [`{name}`]({name}.md): {' '.join(about.split())}\n")
    use = 'Use a set with `extends: ["afflint:NAME"]` in the configuration. Each policy of a set can be changed or turned off.'
    heading = f"# Policy sets\n\n{use}\n\n"
    return heading + "".join(rows)


def profile_page(name: str) -> str:
    """Return the page of a policy set, with its examples and its file."""
    text = convert_links((PROFILES / f"{name}.md").read_text(encoding="utf-8"), f"rules/profiles/{name}.md")
    file = (PROFILES / f"{name}.yaml").read_text(encoding="utf-8")
    return f"{_EXAMPLE.sub(_example, text)}\n## The set\n\n```yaml\n{file}```\n"


def _example(found: re.Match[str]) -> str:
    if found["verdict"] == "good":
        return f'```yaml title="Right"\n{found["text"]}```'
    highlighted = [number for number, line in enumerate(found["text"].splitlines()) if _MARKER.match(line)]
    lines = f' hl_lines="{" ".join(map(str, highlighted))}"' if highlighted else ""
    return f'```yaml title="Wrong"{lines}\n{found["text"]}```'
