"""Tests of policies: whether they report what examples expect. Each example is a run of its own.

An invalid example is reported at its line and counts as failed; the other examples are still evaluated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint import config as configuration
from afflint.findings.errors import UserError
from afflint.findings.finding import Finding
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import did_you_mean, nearest, quoted
from afflint.inventory.node_files import NodeFileError
from afflint.source.examples import Example, ExampleError, Expected, parse
from afflint.source.files import read_regular
from afflint.source.sources import Source

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.pipeline.map_step import MapSettings
    from afflint.pipeline.run import Outcome

_LARGEST = 8 << 20
_PAGES, _YAML = (".md",), (".yaml", ".yml")
_BAD, _GOOD = "bad", "good"
_UNREADABLE = "unreadable-manifest"
_PLACE = re.compile(r":(\d+):(\d+): (.*)", re.DOTALL)


class InvalidExample(NamedTuple):
    """Why an example is invalid, and the position in its file."""

    line: int
    column: int
    message: str


class ExampleVerdict(NamedTuple):
    """The result of an example: missing findings, unexpected findings, and the policies whose expected findings were found."""

    example: Example
    missing: tuple[Expected, ...] = ()
    unexpected: tuple[Finding, ...] = ()
    exercised: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    """The policies that were not evaluated, with reasons."""
    fault: InvalidExample | None = None
    """Why the example is invalid."""

    @property
    def passed(self) -> bool:
        return not (self.missing or self.unexpected or self.fault)


# Where examples are.


def examples_in(paths: Sequence[str], known: Collection[str]) -> list[Example | ExampleVerdict]:
    """Return the examples in files and folders, in the order of the files; for an unreadable example, its verdict.

    Raises UserError for a path that does not exist.
    """
    found: list[Example | ExampleVerdict] = []
    for top in paths:
        if not os.path.exists(top):
            raise UserError(f"no such file or folder: {top!r}")
        closed: list[OSError] = []
        for path in _files(top, closed):
            found += _examples_of(path, top, known)
        found += [_unreadable(Example("", 0, "", "", error.filename), f"cannot read it: {error.strerror}") for error in closed]
    return found


def _files(top: str, closed: list[OSError]) -> Iterator[str]:
    """Yield the files that may contain examples; errors of folders that cannot be read are added to ``closed``."""
    if not os.path.isdir(top):
        yield top
        return
    for folder, folders, names in os.walk(top, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith((*_PAGES, *_YAML)) and not name.startswith("."):
                yield os.path.join(folder, name)


def _examples_of(path: str, top: str, known: Collection[str]) -> Iterator[Example | ExampleVerdict]:
    words = _words(path, top)
    rule = next((word for word in words if word in known), "")
    verdict = next((word for word in words if word in (_BAD, _GOOD)), None)
    if not path.endswith(_PAGES) and verdict is None:
        return
    whole = Example(rule, 0, f"yaml {verdict}" if verdict else "", "", path)
    try:
        text = read_regular(path, _LARGEST).decode("utf-8-sig")
        if path.endswith(_PAGES):
            of_page = parse(rule, text.replace("\r\n", "\n"), path)
            # A page may also contain other blocks, such as settings.
            yield from (each for each in of_page if each.info.split()[:1] == ["yaml"] and len(each.info.split()) > 1)
        else:
            yield whole._replace(text=text)
    except OSError as error:
        yield _unreadable(whole, f"cannot read it: {error.strerror}")
    except UnicodeDecodeError as error:
        yield _unreadable(whole, "it is not UTF-8", error.object.count(b"\n", 0, error.start) + 1)
    except ExampleError as error:
        yield _unreadable(whole, error.message, error.line)


def _unreadable(example: Example, message: str, line: int = 1) -> ExampleVerdict:
    return ExampleVerdict(example, fault=InvalidExample(max(line, 1), 1, message))


def _words(path: str, top: str) -> list[str]:
    """Return the words in the name of a file and of its folders, nearest first; names of rules, `bad` and `good` may be among them."""
    words: list[str] = []
    below = os.path.relpath(path, top) if os.path.isdir(top) else os.path.basename(path)
    for part in reversed(below.split(os.sep)):
        stem = part.removesuffix(".md").removesuffix(".yaml").removesuffix(".yml")
        words += [stem, *stem.split(".")]
        for each in (_BAD, _GOOD):
            if stem.startswith((f"{each}-", f"{each}_")):
                words += [each, stem[len(each) + 1 :]]
            if stem.endswith((f"-{each}", f"_{each}")):
                words += [each, stem[: -len(each) - 1]]
    return words


# Verdicts.


class ExampleRunner:
    """Runs examples with the rules and policies of a configuration.

    Each example is a run of its own: settings of the configuration for files, nodes, context and baselines do not apply.
    """

    def __init__(self, config: Config) -> None:
        from afflint.pipeline.session import Session

        kept = {key: getattr(config, key) for key in ("policies", "severity", "workloads", "kubernetes_version", "admission_plugins")}
        kept |= {
            key: getattr(config, key) for key in ("kubevirt_version", "feature_gates", "physical_host_key", "complete", "complete_nodes")
        }
        self._session = Session(configuration.default()._replace(root=config.root, origins=config.origins, **kept))
        self._settings: MapSettings = self._session.settings()
        self.policies = tuple(dict.fromkeys(each.name for each in self._settings.rules if each.category == "policy"))
        """The names of the policies of the configuration."""

    def verdict(self, example: Example) -> ExampleVerdict:
        """Return the verdict on an example, with its rule and the rules that it names, or with all policies if it names none."""
        try:
            return self._verdict(example)
        except ExampleError as error:
            return _unreadable(example, error.message, error.line)
        except NodeFileError as error:
            place = _PLACE.search(str(error))
            line, column, message = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, str(error))
            return ExampleVerdict(example, fault=InvalidExample(line + example.line, column, message))

    def _verdict(self, example: Example) -> ExampleVerdict:
        expected = example.expected()
        named = {each.rule for each in expected if each.rule} | ({example.rule} if example.rule else set())
        outcome = self._outcome(example, expected, named if example.rule else named | {*self.policies})
        templated = outcome.summary.templated + outcome.summary.literal
        if outcome.empty or templated:
            what = "it contains Go templates, which afflint does not read" if templated else "it contains no manifest"
            return _unreadable(example, what, example.line)
        # An unreadable manifest shows nothing about the rule of the example.
        broken = tuple([each for each in outcome.findings if each.rule == _UNREADABLE and each.rule not in named])
        found = [each for each in outcome.findings if each not in broken]
        if example.bad and not expected:
            # A file without markers expects a finding at any position.
            verdict = ExampleVerdict(
                example, () if found or broken else (Expected(0, 0, example.rule),), (), frozenset(each.rule for each in found)
            )
        else:
            verdict = _compared(example, expected, found)
        reason = "not evaluated because no nodes are known; add objects of `kind: Node` to the example"
        notes = [f"policy {quoted(name)}: {reason}" for name in outcome.undecided]
        return verdict._replace(unexpected=(*broken, *verdict.unexpected), notes=(*notes, *outcome.unevaluated))

    def _outcome(self, example: Example, expected: Iterable[Expected], names: Collection[str]) -> Outcome:
        from afflint.checks.registry import bind_rules, rules
        from afflint.pipeline.run import run

        chosen = tuple([each for each in self._settings.rules if each.name in names])
        others = {*names, _UNREADABLE} - {each.name for each in chosen}
        unknown = next((each for each in expected if each.rule in others and each.rule not in rules()), None)
        if unknown is not None:
            close = did_you_mean(nearest(unknown.rule, (*self.policies, *rules())))
            message = f"a marker names {quoted(unknown.rule)}, which is neither a rule nor a policy of the configuration{close}"
            raise ExampleError(message, example.line + unknown.line)
        settings = self._settings._replace(rules=(*bind_rules(others), *chosen))
        name = os.path.join(self._session.config.root, example.stands_for or "example.yaml")
        source = Source(name, name, example.text.encode())
        # Node objects in an example are its inventory.
        nodes = [source] if "kind: Node\n" in example.text else []
        return run([source], settings, self._session.options(), node_files=nodes)


def _compared(example: Example, expected: Iterable[Expected], found: Iterable[Finding]) -> ExampleVerdict:
    left = list(found)
    missing: list[Expected] = []
    exercised: set[str] = set()
    # Markers with a rule are compared before markers without one.
    for each in sorted(expected, key=lambda each: (not each.rule, each)):
        met = next((one for one in left if one.span[:2] == each[:2] and each.rule in ("", one.rule)), None)
        if met is None:
            missing.append(each)
        else:
            left.remove(met)
            exercised.add(met.rule)
    return ExampleVerdict(example, tuple(sorted(missing)), tuple(left), frozenset(exercised))
