"""What the generators of an ApplicationSet put into its template, as far as the repository tells: lists, and folders and files of git.

What stands elsewhere, such as clusters and pull requests, only Argo CD can ask. After docs/operator-manual/applicationset of argo-cd.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any

from afflint.rendering.source_documents import documents_of
from afflint.source.files import read_regular
from afflint.source.globs import paths_like
from afflint.source.repositories import is_inside
from afflint.yaml.document import maps_at, texts_at

Parameters = Mapping[str, str]
"""Parameters by their names, those in maps joined by dots."""

_MOST = 500
"""So many Applications of one set are looked at."""
_LARGEST = 1 << 20
_BESIDE = frozenset(("selector", "template", "values"))


class Generators:
    """Reads generators. ``folders`` are those that may be the top of the repository, the nearest first; ``unread`` what is not read."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.unread: list[str] = []
        self._folders = folders

    def parameters(self, generators: object) -> list[Parameters]:
        """Those of each Application."""
        return list(islice((each for generator in maps_at(generators) for each in self._of(generator, {})), _MOST))

    def _of(self, generator: Mapping[str, Any], given: Parameters) -> list[Parameters]:
        """What one generator gives, where those before it in a matrix have ``given`` something; of very much the beginning."""
        kind = next((each for each in generator if each not in _BESIDE), "")
        read = self._readers().get(kind)
        said = filled(generator.get(kind), given)
        if read is None or type(said) is not dict:
            self.unread.append(kind)
            return [given]
        whole = (self._with_values(said, {**given, **each}) for each in read(said, given))
        return list(islice((each for each in whole if self._selects(generator.get("selector"), each)), _MOST))

    def _with_values(self, said: Mapping[str, Any], parameters: Parameters) -> Parameters:
        own = filled(said.get("values"), parameters)
        return {**parameters, **{f"values.{key}": value for key, value in flattened(own).items()}}

    def _readers(self) -> Mapping[str, Callable[[Mapping[str, Any], Parameters], Iterable[Parameters]]]:
        return {"list": self._listed, "git": self._in_git, "matrix": self._matrix, "merge": self._merged}

    def _selects(self, selector: object, parameters: Parameters) -> bool:
        if type(selector) is not dict or not selector:
            return True
        labels = selector.get("matchLabels", {})
        if selector.keys() - {"matchLabels"} or type(labels) is not dict:
            self.unread.append("selector")
            return True
        return all(parameters.get(key) == value for key, value in labels.items())

    def _listed(self, said: Mapping[str, Any], _given: Parameters) -> Iterable[Parameters]:
        if "elementsYaml" in said:
            self.unread.append("list")
            return [{}]
        return map(flattened, maps_at(said, "elements"))

    def _matrix(self, said: Mapping[str, Any], given: Parameters) -> list[Parameters]:
        found: list[Parameters] = [given]
        for generator in maps_at(said, "generators"):
            found = list(islice((each for known in found for each in self._of(generator, known)), _MOST))
        return found

    def _merged(self, said: Mapping[str, Any], given: Parameters) -> list[Parameters]:
        keys = texts_at(said, "mergeKeys")
        first, *others = [self._of(generator, given) for generator in maps_at(said, "generators")] or [[]]
        by_keys = {tuple([each.get(key) for key in keys]): each for each in first}
        for other in others:
            for each in other:
                known = tuple([each.get(key) for key in keys])
                if known in by_keys:
                    by_keys[known] = {**by_keys[known], **each}
        return list(by_keys.values())

    # Folders and files.

    def _in_git(self, said: Mapping[str, Any], _given: Parameters) -> list[Parameters]:
        prefix = f"{said['pathParamPrefix']}." if type(said.get("pathParamPrefix")) is str else ""
        found: list[Parameters] = []
        for names, is_wanted in (("directories", os.path.isdir), ("files", os.path.isfile)):
            entries = [each for each in maps_at(said, names) if type(each.get("path")) is str]
            left_out = [each["path"] for each in entries if each.get("exclude") is True]
            for each in entries:
                if each.get("exclude") is not True:
                    paths = (
                        path for path in self._matching(each["path"], is_wanted) if not any(_matches(path[1], out) for out in left_out)
                    )
                    found += [one for top, path in paths for one in _of_path(top, path, prefix, is_file=names == "files")]
        return found

    def _matching(self, pattern: str, is_wanted: Callable[[str], bool]) -> list[tuple[str, str]]:
        """What lies where a pattern says: the top of the repository, and the way from there."""
        parts = pattern.strip("/").split("/")
        if os.pardir in parts or "\0" in pattern:
            return []
        for number, top in enumerate(self._folders):
            is_last = number == len(self._folders) - 1
            if parts[0].strip("*?[]") == parts[0] or is_last:
                found = [each for each in islice(paths_like(top, "/".join(parts)), _MOST) if self._is_readable(top, each, is_wanted)]
                if found:
                    return [(top, each) for each in found]
        return []

    def _is_readable(self, top: str, path: str, is_wanted: Callable[[str], bool]) -> bool:
        whole = os.path.join(top, path)
        return is_wanted(whole) and is_inside(os.path.realpath(whole), self._folders[-1])


def _of_path(top: str, path: str, prefix: str, *, is_file: bool) -> Iterator[Parameters]:
    folder, name = os.path.split(path) if is_file else (path, "")
    segments = folder.split("/") if folder else []
    last = segments[-1] if segments else ""
    own = {f"{prefix}path": folder, f"{prefix}path.path": folder, f"{prefix}path.basename": last}
    own[f"{prefix}path.basenameNormalized"] = _as_name(last)
    own |= {f"{prefix}path[{number}]": each for number, each in enumerate(segments)}
    own |= {f"{prefix}path.segments[{number}]": each for number, each in enumerate(segments)}
    if not is_file:
        yield own
        return
    own |= {f"{prefix}path.filename": name, f"{prefix}path.filenameNormalized": _as_name(name)}
    try:
        data = read_regular(os.path.join(top, path), _LARGEST)
    except OSError:
        return
    for document in documents_of(data).values():
        for each in document.data if type(document.data) is list else [document.data]:
            yield {**flattened(each), **own}


def _matches(path: str, pattern: str) -> bool:
    ours, theirs = path.split("/"), pattern.strip("/").split("/")
    return len(ours) == len(theirs) and all(fnmatchcase(one, other) for one, other in zip(ours, theirs, strict=True))


def _as_name(text: str) -> str:
    return re.sub(r"[^a-z0-9.-]", "-", text.lower())


# Templates.

_SIMPLE = re.compile(r"\{\{-?\s*\.?([\w.\-/\[\]]+)\s*-?\}\}")
_INDEX = re.compile(r"\{\{-?\s*index\s+\.([\w.]+)\s+(?:(\d+)|\"([^\"]+)\")\s*-?\}\}")


def filled(value: Any, parameters: Parameters) -> Any:
    """Some data with the parameters put into its texts, in either syntax; what none of them says stays as it is."""
    if type(value) is dict:
        return {key: filled(each, parameters) for key, each in value.items()}
    if type(value) is list:
        return [filled(each, parameters) for each in value]
    if type(value) is not str or "{{" not in value:
        return value
    text = _INDEX.sub(lambda match: parameters.get(f"{match[1]}[{match[2]}]" if match[2] else f"{match[1]}.{match[3]}", match[0]), value)
    return _SIMPLE.sub(lambda match: parameters.get(match[1], match[0]), text)


def is_open(text: str) -> bool:
    """Whether something is yet to be put into a text."""
    return "{{" in text


def flattened(value: object, above: str = "") -> dict[str, str]:
    """The scalars in maps by their paths, as texts."""
    found: dict[str, str] = {}
    for key, each in value.items() if type(value) is dict else ():
        name = f"{above}{key}"
        if type(each) is dict:
            found |= flattened(each, f"{name}.")
        elif type(each) is bool:
            found[name] = "true" if each else "false"
        elif type(each) in (str, int, float):
            found[name] = str(each)
    return found
