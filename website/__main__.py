"""``python -m website``: generate the pages, build the site with Zensical with warnings as errors, and check the result."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from afflint.checks.registry import rules
from playground import __main__ as playground
from website import made_pages, profile_pages, reference, rule_pages
from website.links import PAGES, LinkError, convert_links, faults
from website.navigation import as_toml, navigation, pages_in
from website.search import SearchError, add_words

_ROOT = Path(__file__).parents[1]
_SETTINGS = Path(__file__).parent / "zensical.toml"


class SiteError(Exception):
    """A site that cannot be built; the message names the reason."""


def make_pages(target: Path) -> None:
    """Write all pages of the site to a folder, those of ``docs/`` and the generated ones.

    Deletes the previous contents. Raises LinkError.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(_ROOT / "docs", target)
    shutil.copytree(_ROOT / "schemas", target / "schemas")
    for source in (*(f"docs/{path.name}" for path in sorted((_ROOT / "docs").glob("*.md"))), *PAGES):
        text = (_ROOT / source).read_text(encoding="utf-8")
        _write(target / (PAGES.get(source) or source.removeprefix("docs/")), convert_links(text, source))
    known = rules()
    named_by = rule_pages.names_by_page(known)
    _write(target / "rules" / "index.md", rule_pages.index_page(known))
    for rule in known.values():
        _write(target / "rules" / f"{rule.name}.md", rule_pages.rule_page(rule, known, named_by))
    for name in reference.command_names():
        _write(target / "commands" / f"{name}.md", made_pages.command_page(name))
    _write(target / "configuration.md", made_pages.configuration_page())
    _write(target / "catalogue.md", made_pages.catalogue_page())
    _write(target / "rules" / "profiles" / "index.md", profile_pages.index_page())
    for name in profile_pages.profile_names():
        _write(target / "rules" / "profiles" / f"{name}.md", profile_pages.profile_page(name))


def build(folder: Path) -> Path:
    """Build the site in a folder and return its path. Raises SiteError, LinkError and SearchError."""
    pages = folder / "pages"
    make_pages(pages)
    entries = navigation(pages, rules())
    forgotten = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")} - pages_in(entries)
    if forgotten:
        raise SiteError(f"the navigation does not lead to {', '.join(sorted(forgotten))}")
    settings = _SETTINGS.read_text(encoding="utf-8").replace("[project]\n", f"[project]\nnav = {as_toml(entries)}\n", 1)
    _write(folder / "zensical.toml", settings)
    shutil.rmtree(folder / "site", ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    if subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=False).returncode:
        raise SiteError("Zensical rejected the pages: see above")
    add_words(folder / "site" / "search.json")
    # Only the page: `python -m playground` downloads the files that it runs.
    playground.write_page(folder / "site" / "playground")
    wrong = list(faults(folder / "site"))
    if wrong:
        raise SiteError("\n".join(wrong))
    return folder / "site"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Parse the command line, build the site and print its path."""
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=_ROOT / "build" / "website", help="where it is built; default: %(default)s")
    try:
        site = build(parser.parse_args().folder.resolve())
    except (LinkError, SearchError, SiteError) as error:
        sys.exit(str(error))
    print(f"{sum(path.suffix == '.html' for path in site.rglob('*'))} pages in {site}")


if __name__ == "__main__":
    main()
