"""The generators by the names that the command line takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tools.generate import GeneratedFile, goldens, pages, policies, readme, reference, rules, wild

GENERATORS: dict[str, Callable[[], Iterator[GeneratedFile]]] = {
    "corpus": goldens.corpus,
    "docs": pages.files,
    "goldens": goldens.reports,
    "policies": policies.files,
    "readme": readme.files,
    "reference": reference.files,
    "rules": rules.files,
    "wild": wild.files,
}
