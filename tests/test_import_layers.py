"""Which module of the package imports which: no circles, and no package imports from a higher layer.

Every import statement counts: those inside functions and those for the type checker express a dependency as well. Modules that a registry
names as strings (`checks/registry.py`, `policies/registry.py`, `report/__init__.py`, `cli/click_app.py`) are not imports of the registry.
"""

import ast
import graphlib
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import afflint
from checkout import ROOT

LAYERS = (
    {"afflint", "distribution", "resources", "findings"},
    {"workers"},
    {"yaml"},
    {"kube", "source"},
    {"manifests"},
    {"admission", "charts", "constraints", "pools", "programs", "storage"},
    {"policies", "scheduler"},
    {"config", "controllers"},
    {"rendering", "index"},
    {"inventory"},
    {"placement"},
    {"checks"},
    {"report"},
    {"rendered"},
    {"pipeline"},
    {"simulation"},
    {"changes", "fix", "init"},
    {"compliance"},
    {"lsp", "mcp"},
    {"cli"},
    {"__main__"},
)
"""The packages and loose modules of ``src/afflint``, lowest layer first. A package imports from itself and from lower layers."""

Imports = Mapping[str, Mapping[str, int]]
"""For each module the modules that it imports, each with the line of the first import statement."""


def modules() -> dict[str, str]:
    """Return the text of each module of the package by its dotted name."""
    root = Path(afflint.__file__).parent
    return {
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.py"))
    }


def imports_of(texts: Mapping[str, str]) -> Imports:
    """Return the imports among these modules."""
    found: dict[str, dict[str, int]] = {name: {} for name in texts}
    for name, text in texts.items():
        for imported, line in _imported_names(text):
            module = imported if imported in texts else imported.rpartition(".")[0]
            if module in texts and module != name:
                found[name].setdefault(module, line)
    return found


def _imported_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield the dotted name of everything that a module imports, with its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "write imports with the full name of the module"
            yield from ((f"{node.module}.{each.name}", node.lineno) for each in node.names)


def circle_in(imports: Imports) -> str:
    """Return a sentence about a circle of imports; empty if there is no circle."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        names = error.args[1][::-1]
        steps = (f"{one} imports {other} (line {imports[one][other]})" for one, other in itertools.pairwise(names))
        return f"a circle of imports: {', '.join(steps)}; move what they share to the lower of them, or to a module below them"
    return ""


def upward_imports(imports: Imports) -> list[str]:
    """Return a sentence for each import from a package that is not in a lower layer."""
    level = {package: number for number, packages in enumerate(LAYERS) for package in packages}
    return [
        f"{one} (line {line}) imports {other}, but {_package(other)} is not in a layer below {_package(one)}: see LAYERS"
        for one, imported in imports.items()
        for other, line in imported.items()
        if _package(one) != _package(other) and level[_package(one)] <= level[_package(other)]
    ]


def _package(module: str) -> str:
    return module.split(".")[1] if "." in module else module


@pytest.fixture(scope="module")
def imports() -> Imports:
    return imports_of(modules())


def test_every_package_is_in_one_layer(imports: Imports) -> None:
    assert sorted({_package(name) for name in imports}) == sorted(package for packages in LAYERS for package in packages)


def test_no_imports_form_a_circle(imports: Imports) -> None:
    circle = circle_in(imports)
    assert not circle, circle


def test_no_package_imports_from_a_higher_layer(imports: Imports) -> None:
    upward = upward_imports(imports)
    assert not upward, "\n".join(upward)


def test_imports_in_functions_and_for_the_type_checker_count() -> None:
    texts = {
        "afflint.kube.one": "def f():\n    from afflint.kube.two import g\n",
        "afflint.kube.two": "if TYPE_CHECKING:\n    from afflint.kube import three\n",
        "afflint.kube.three": "import json\nimport afflint.kube.one\n",
    }
    circle = circle_in(imports_of(texts))
    for step in ("kube.one imports afflint.kube.two (line 2)", "kube.two imports afflint.kube.three (line 2)"):
        assert step in circle
    assert "kube.three imports afflint.kube.one (line 2)" in circle


def test_an_import_from_a_higher_layer_is_named() -> None:
    texts = {"afflint.kube.one": "from afflint.checks.match import Match\n", "afflint.checks.match": "from afflint.kube import one\n"}
    (sentence,) = upward_imports(imports_of(texts))
    assert sentence.startswith("afflint.kube.one (line 1) imports afflint.checks.match, but checks is not in a layer below kube")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["architecture.md", "facts.md"])
def test_pages_for_developers_name_modules_that_exist(name: str) -> None:
    paths = ["/" + module.replace(".", "/") + ".py" for module in modules()]
    named = set(re.findall(r"`([\w/]+\.py)`", page(name)))
    assert [each for each in sorted(named) if not any(path.endswith("/" + each) for path in paths) and not (ROOT / each).exists()] == []


def test_the_page_about_the_architecture_lists_the_layers() -> None:
    floors = page("architecture.md").partition("From below:\n")[2].partition(".")[0]
    named = [set(re.findall(r"`(\w+)`", floor)) for floor in floors.split(" ·")]
    assert named == [layer - {"afflint", "distribution", "resources", "__main__"} for layer in LAYERS if layer != {"__main__"}]
