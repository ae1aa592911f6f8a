"""Whether policies find in examples what these say: the examples of a folder, each in a run of its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from afflint.errors import UserError
from afflint.findings import Finding
from afflint.reading.examples import Example, Expected, parse
from afflint.reading.files import read_regular
from afflint.reading.sources import Source
from afflint.records import NamedTuple

if TYPE_CHECKING:
    from afflint.config import Config
    from afflint.engine import Settings
    from afflint.session.run import Outcome

_LARGEST = 8 << 20
_PAGES, _YAML = (".md",), (".yaml", ".yml")
_BAD, _GOOD = "bad", "good"


class Verdict(NamedTuple):
    """What came of an example: what it expects and nobody found, what was found and it does not expect, and whose findings it expects."""

    example: Example
    missing: tuple[Expected, ...]
    unexpected: tuple[Finding, ...]
    exercised: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    """What policies came to no result for."""

    @property
    def passed(self) -> bool:
        return not (self.missing or self.unexpected)


# Where examples are.


def examples_in(paths: Sequence[str], known: Collection[str]) -> list[Example]:
    """The examples in files and folders, in the order of their files. Raises UserError for what cannot be read or understood."""
    found: list[Example] = []
    for top in paths:
        if not os.path.exists(top):
            raise UserError(f"no such file or folder: {top!r}")
        for path in _files(top):
            found += _examples_of(path, top, known)
    return found


def _files(top: str) -> Iterator[str]:
    if not os.path.isdir(top):
        yield top
        return
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith((*_PAGES, *_YAML)) and not name.startswith("."):
                yield os.path.join(folder, name)


def _examples_of(path: str, top: str, known: Collection[str]) -> Iterator[Example]:
    words = _words(path, top)
    rule = next((word for word in words if word in known), "")
    verdict = next((word for word in words if word in (_BAD, _GOOD)), None)
    if not path.endswith(_PAGES) and verdict is None:
        return
    try:
        text = read_regular(path, _LARGEST).decode("utf-8-sig")
        if path.endswith(_PAGES):
            of_page = parse(rule, text.replace("\r\n", "\n"), path).examples
            # A page may show other things as well, settings for one.
            found = [each for each in of_page if each.info.split()[:1] == ["yaml"] and len(each.info.split()) > 1]
        else:
            found = [Example(rule, 0, f"yaml {verdict}", text, path)]
        for example in found:
            example.expected()
    except OSError as error:
        raise UserError(f"cannot read {path!r}: {error.strerror}") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise UserError(f"{path}: {'not UTF-8' if isinstance(error, UnicodeDecodeError) else error}") from None
    yield from found


def _words(path: str, top: str) -> list[str]:
    """What the name of a file says, and those of the folders that it lies in, nearest first: names of rules, bad or good among it."""
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


# What comes of them.


class Judgement:
    """Judges examples by the rules and policies of a configuration.

    Each example stands alone: whatever the configuration says of files, nodes, context and baselines does not hold for it.
    """

    def __init__(self, config: Config) -> None:
        from afflint import config as configuration
        from afflint.session.session import Session

        kept = {key: getattr(config, key) for key in ("policies", "severity", "workloads", "kubernetes_version", "admission_plugins")}
        kept |= {key: getattr(config, key) for key in ("feature_gates", "physical_host_key", "complete", "complete_nodes")}
        self._session = Session(configuration.default()._replace(root=config.root, origins=config.origins, **kept))
        self._settings: Settings = self._session.settings()
        self.policies = tuple(dict.fromkeys(each.name for each in self._settings.rules if each.category == "policy"))
        """The names of the policies of the configuration."""

    def verdict(self, example: Example) -> Verdict:
        """What comes of an example: by the rule that it is about and those that it names, or by all policies where it names none."""
        expected = example.expected()
        named = {each.rule for each in expected if each.rule} | ({example.rule} if example.rule else set())
        outcome = self._outcome(example, named if example.rule else named | {*self.policies})
        found = outcome.findings
        if example.bad and not expected:
            # A file that says nothing more: something is to be found, wherever.
            missing = () if found else (Expected(0, 0, example.rule),)
            return Verdict(example, missing, (), frozenset(each.rule for each in found), outcome.unjudged)
        return _compared(example, expected, found)._replace(notes=outcome.unjudged)

    def _outcome(self, example: Example, names: Collection[str]) -> Outcome:
        from afflint.rules import bound, rules
        from afflint.session.run import run

        chosen = tuple([each for each in self._settings.rules if each.name in names])
        others = set(names) - {each.name for each in chosen}
        unknown = sorted(others - rules().keys())
        if unknown:
            raise UserError(f"{example.file}: a marker names {unknown[0]!r}, which is neither a rule nor a policy of the configuration")
        settings = self._settings._replace(rules=(*bound(others), *chosen))
        name = os.path.join(self._session.config.root, example.stands_for or "example.yaml")
        source = Source(name, name, example.text.encode())
        # Node objects in an example are its inventory.
        nodes = [source] if "kind: Node\n" in example.text else []
        return run([source], settings, self._session.options(), node_files=nodes)


def _compared(example: Example, expected: Iterable[Expected], found: Iterable[Finding]) -> Verdict:
    left = list(found)
    missing: list[Expected] = []
    exercised: set[str] = set()
    # What names its rule chooses before what takes any.
    for each in sorted(expected, key=lambda each: (not each.rule, each)):
        met = next((one for one in left if one.span[:2] == each[:2] and each.rule in ("", one.rule)), None)
        if met is None:
            missing.append(each)
        else:
            left.remove(met)
            exercised.add(met.rule)
    return Verdict(example, tuple(sorted(missing)), tuple(left), frozenset(exercised))
