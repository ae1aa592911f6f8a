"""How the kustomizations of a repository use a manifest: as a resource that they complete, or as a patch for other manifests.

What such a manifest leaves out may be added. If a patch has a target, its apiVersion, kind and name are
placeholders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from afflint.findings.grouping import grouped
from afflint.findings.namedtuples import NamedTuple
from afflint.source.files import read_regular
from afflint.source.repositories import is_root
from afflint.source.sources import STDIN
from afflint.yaml.document import list_at, maps_at, text_at, value_at_path
from afflint.yaml.documents import read, split
from afflint.yaml.object_fields import kind_of

LARGEST = 1 << 20
NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MOST_FOLDERS = 20_000
"""The most folders of a repository that are searched for kustomizations, starting at the top."""
_MOST_BYTES = 1 << 24
"""The most bytes of kustomizations that are kept in memory."""


class Use(NamedTuple):
    """How kustomizations use a file.

    ``patches``: only as a patch, so that it does not contain an object of its own. ``kinds`` are those of the named targets of the patch.
    ``labels``: the keys of the labels that kustomizations with this resource add to all pods.
    """

    targeted: bool = False
    kinds: frozenset[str] = frozenset()
    patches: bool = False
    labels: frozenset[str] = frozenset()

    def merge(self, other: Use | None) -> Use:
        """Combine the uses of one file by two kustomizations."""
        if other is None:
            return self
        patches = self.patches and other.patches
        return Use(self.targeted or other.targeted, self.kinds | other.kinds, patches, self.labels | other.labels)


class Kustomizations:
    """The kustomizations of the repositories of a run, each read once, and only on demand.

    ``skipped`` are the names of folders that are not searched. ``files`` are those of the run: without a repository, the deepest folder
    that contains all of them takes its place.
    """

    def __init__(self, skipped: frozenset[str] = frozenset(), files: Iterable[str] = ()) -> None:
        self._skipped = skipped
        self._files = files
        self._shared: str | None = None
        self._tops: dict[str, str] = {}
        self._roots: set[str] = set()
        """Those that are the root of a repository."""
        self._repositories: dict[str, _KustomizationTree] = {}
        self._folders: dict[str, _KustomizationTree] = {}
        self._above: dict[str, list[_KustomizationTree]] = {}
        self._real_folders: dict[str, str] = {}
        self._real: dict[str, list[str]] = {}
        self._uses: dict[str, Use | None] = {}
        self._uses_above: dict[str, Use | None] = {}
        self._built_by_flux: frozenset[str] | None = None

    def use_of(self, path: str) -> Use | None:
        """Return how the kustomizations of its repository use a file; None if none of them lists it."""
        if path not in self._uses:
            found: Use | None = None
            for here in self._real_paths(path):
                use = self._repository_of(here).use_of(here)
                found = use.merge(found) if use is not None else found
            self._uses[path] = found
        return self._uses[path]

    def use_above(self, path: str) -> Use | None:
        """Return how the kustomizations in the folder of a file, and in those above it in its repository, use the file; None: not at all.

        It is part of what ``use_of`` returns, but no other folders are searched. By default, kustomize refuses files outside of the folder
        of the kustomization, so that others rarely list the file.
        """
        if path not in self._uses_above:
            found: Use | None = None
            for here in self._real_paths(path):
                for kustomizations in self._trees_above(os.path.dirname(here)):
                    use = kustomizations.use_of(here)
                    found = use.merge(found) if use is not None else found
            self._uses_above[path] = found
        return self._uses_above[path]

    def _trees_above(self, folder: str) -> list[_KustomizationTree]:
        """Return the kustomizations in a folder, and in those above it in its repository."""
        if folder not in self._above:
            if folder not in self._folders:
                text = kustomization_in(folder)
                self._folders[folder] = _KustomizationTree([] if text is None else [text])
            own = self._folders[folder]
            above = [] if folder == self._top(folder) else self._trees_above(os.path.dirname(folder))
            self._above[folder] = above if own.is_empty else [own, *above]
        return self._above[folder]

    def is_patch(self, path: str) -> bool:
        """Whether kustomizations use a file only as a patch, so that it does not contain an object of its own."""
        if path == STDIN:
            return False
        folder = os.path.dirname(self._real_paths(path)[0])
        if self._top(folder) not in self._repositories:
            above = self.use_above(path)
            if above is not None and not above.patches:
                return False  # Without a search of the whole repository.
        use = self.use_of(path)
        return use is not None and use.patches

    def builds(self, path: str) -> bool | None:
        """Return whether kustomize reads a file: a kustomization uses it, or Flux builds its folder, to which it adds a kustomization.

        None if a kustomization in the folder does not use the file, so that it may be added, or applied without kustomize.
        """
        if self.use_of(path) is not None:
            return True
        real = self._real_paths(path)
        if any(here.startswith(folder) and self._lacks_kustomization(here, folder) for here in real for folder in self._flux_folders()):
            return True
        return None if any(kustomization_in(os.path.dirname(here)) for here in real) else False

    def _lacks_kustomization(self, path: str, top: str) -> bool:
        """Return whether no folder from that of a file up to ``top`` has a kustomization."""
        folder = os.path.dirname(path)
        while kustomization_in(folder) is None:
            if os.path.join(folder, "") == top:
                return True
            folder = os.path.dirname(folder)
        return False

    def _flux_folders(self) -> frozenset[str]:
        """Return the folders that Kustomizations of Flux among the files of the run build, each with a separator at its end."""
        if self._built_by_flux is None:
            self._built_by_flux = frozenset(
                os.path.join(os.path.normpath(os.path.join(self._top(os.path.realpath(os.path.dirname(path))), folder)), "")
                for path in self._files
                for folder in _folders_of_flux(path)
            )
        return self._built_by_flux

    def labels_added(self, path: str) -> frozenset[str]:
        """Return the keys of the labels that kustomizations add to the pods of a file, directly or through listed folders."""
        return frozenset(key for _, labels in self._listing(path) for key in labels)

    def listing(self, path: str) -> Iterator[str]:
        """Yield the folders of the kustomizations that have a file as a resource, directly or through listed folders."""
        return (folder for folder, _ in self._listing(path))

    def _listing(self, path: str) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield these folders, each with the labels that its kustomization adds; a folder may occur several times."""
        pending = [*self._real_paths(path)]
        seen = {*pending}
        while pending:
            here = pending.pop()
            for folder, labels in self._repository_of(here).listing(here):
                yield folder, labels
                if folder not in seen:
                    seen.add(folder)
                    pending.append(folder)

    def _real_paths(self, path: str) -> list[str]:
        """Return the path of a file with the links of its folders resolved; and the target, if the file is a link itself."""
        if path not in self._real:
            folder, name = os.path.split(os.path.abspath(path))
            if folder not in self._real_folders:
                self._real_folders[folder] = os.path.join(os.path.realpath(folder), "")
            here = self._real_folders[folder] + name
            self._real[path] = [here, os.path.realpath(here)] if os.path.islink(here) else [here]
        return self._real[path]

    def _repository_of(self, path: str) -> _KustomizationTree:
        top = self._top(os.path.dirname(path))
        if top not in self._repositories:
            self._repositories[top] = _KustomizationTree(_kustomizations(top, self._skipped))
        return self._repositories[top]

    def _top(self, folder: str) -> str:
        """Return the root of the repository that a folder is in.

        Without a repository, the highest parent folder that has a kustomization or contains all files of the run.
        """
        if folder not in self._tops:
            top, here = folder, folder
            while True:
                if self._tops.get(here) in self._roots or is_root(here):
                    top = self._tops.get(here, here)
                    self._roots.add(top)
                    break
                if any(os.path.isfile(os.path.join(here, name)) for name in NAMES) or here == self.holding_all():
                    top = here
                above = os.path.dirname(here)
                if above == here:
                    break
                here = above
            self._tops[folder] = top
        return self._tops[folder]

    def holding_all(self) -> str:
        """Return the deepest folder that contains all files of the run, "" if they do not share one."""
        if self._shared is None:
            folders = {os.path.dirname(os.path.abspath(each)) for each in self._files}
            try:
                self._shared = os.path.realpath(os.path.commonpath(folders)) if folders else ""
            except ValueError:  # On several drives.
                self._shared = ""
        return self._shared


def _folders_of_flux(path: str) -> Iterator[str]:
    """Yield the folders, relative to the root of the repository, that the Kustomizations of Flux in a file build."""
    try:
        data = read_regular(path, LARGEST)
    except OSError:
        return
    if _FLUX_GROUP not in data:
        return
    for index, (piece, line, _) in enumerate(split(data)):
        document = read(piece, index, line).data if _FLUX_GROUP in piece else None
        if type(document) is dict and kind_of(document) == "Kustomization":
            folder = text_at(document, "spec", "path")
            if folder and "$" not in folder and "\0" not in folder:
                yield folder.lstrip("/")


_FLUX_GROUP = b"kustomize.toolkit.fluxcd.io/"


class UnparsedKustomization(NamedTuple):
    """A kustomization that has not been parsed yet: its folder, its bytes, and the name of its file."""

    folder: str
    data: bytes
    name: str = NAMES[0]


class _KustomizationTree:
    """The kustomizations of a repository. Each is parsed when a file is requested that it mentions."""

    def __init__(self, texts: list[UnparsedKustomization]) -> None:
        self.is_empty = not texts
        self._unparsed = {text.folder: text for text in texts}
        self._uses: dict[str, Use] = {}
        self._listing: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._by_word = grouped((word, text) for text in texts for word in set(re.findall(_WORD, text.data)))

    def use_of(self, path: str) -> Use | None:
        """Return how they use a file."""
        if self.is_empty:
            return None
        mention = os.fsencode(os.path.basename(path))
        if re.fullmatch(_WORD, mention):
            self._parse(self._by_word.pop(mention, []))
        else:
            self._parse([text for text in self._unparsed.values() if mention in text.data])
        return self._uses.get(path)

    def listing(self, path: str) -> list[tuple[str, frozenset[str]]]:
        """Return the folders of those that list a file or a folder as a resource, and the labels that they add."""
        self._parse(list(self._unparsed.values()))
        return self._listing.get(path, [])

    def _parse(self, texts: list[UnparsedKustomization]) -> None:
        for text in texts:
            if self._unparsed.pop(text.folder, None) is None:
                continue
            for path, use in files_used(text).items():
                self._uses[path] = use.merge(self._uses.get(path))
                if not use.patches:
                    self._listing.setdefault(path, []).append((text.folder, use.labels))


_WORD = rb"[\w.+-]+"


def _kustomizations(top: str, skipped: frozenset[str]) -> list[UnparsedKustomization]:
    """Find the kustomizations in a folder and below it, without following links."""
    found: list[UnparsedKustomization] = []
    level, count, room = [top], 0, _MOST_BYTES
    while level and count < _MOST_FOLDERS and room > 0:
        below: list[str] = []
        for folder in level[: _MOST_FOLDERS - count]:
            names: set[str] = set()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            if entry.name not in skipped:
                                below.append(entry.path)
                        elif entry.name in NAMES:
                            names.add(entry.name)
            except OSError:
                continue
            read_here = _read_first(folder, names)
            room -= sum(len(each.data) for each in read_here)
            found += read_here
        count += len(level)
        level = below
    return found


def kustomization_in(folder: str) -> UnparsedKustomization | None:
    """Read the kustomization of a folder; None if it does not exist or cannot be read."""
    return next(iter(_read_first(folder, {*NAMES})), None)


def _read_first(folder: str, names: set[str]) -> list[UnparsedKustomization]:
    for name in NAMES:
        if name in names:
            try:
                return [UnparsedKustomization(folder, read_regular(os.path.join(folder, name), LARGEST), name)]
            except OSError:
                continue
    return []


def files_used(text: UnparsedKustomization) -> dict[str, Use]:
    """Return the files and folders that a kustomization lists, by their paths."""
    document = read(first_document(text.data), 0, 0)
    data = document.data
    if document.problem is not None:
        # An unreadable kustomization, such as a template, may list every word of it, as a patch of any object.
        words = re.findall(r"[^\s'\",\[\]{}]+", text.data.decode("utf-8", "replace"))
        return _by_path(text.folder, ((word, Use(targeted=True)) for word in words if "." in word))
    if type(data) is not dict:
        return {}
    labels = _labels_added(data)
    uses = [
        (each, Use(labels=labels))
        for field in ("resources", "bases", "components", "crds", "transformers", "generators", "validators")
        for each in list_at(data, field)
    ]
    uses += [(each, Use(patches=True)) for each in list_at(data, "patchesStrategicMerge")]
    for patch in (*list_at(data, "patches"), *list_at(data, "patchesJson6902")):
        target, kind = value_at_path(patch, "target"), text_at(patch, "target", "kind")
        # A pattern can match any kind.
        kinds = frozenset((kind,)) if kind.isalpha() else frozenset()
        uses.append((patch.get("path") if type(patch) is dict else patch, Use(type(target) is dict, kinds, patches=True)))
    uses += [(each.get("path"), Use()) for each in maps_at(data, "replacements")]
    return _by_path(text.folder, uses)


def first_document(data: bytes) -> bytes:
    """Return the text of the first document, without the separator before it. The document may begin on the line of the separator."""
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith(b"---"):
            rest = line[3:].strip()
            return b"".join(lines[number + (not rest or rest.startswith(b"#")) :])
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
    return data


def _by_path(folder: str, uses: Iterable[tuple[Any, Use]]) -> dict[str, Use]:
    found: dict[str, Use] = {}
    for name, use in uses:
        if type(name) is str and name and "\0" not in name:
            listed = os.path.normpath(os.path.join(folder, name))
            for path in {listed, os.path.realpath(listed)}:
                found[path] = use.merge(found.get(path))
    return found


def _labels_added(data: dict[str, Any]) -> frozenset[str]:
    """Return the keys of the labels that a kustomization adds to the pods of all its resources."""
    maps = [data.get("commonLabels")]
    for each in list_at(data, "labels"):
        if type(each) is dict and (each.get("includeSelectors") is True or each.get("includeTemplates") is True):
            maps.append(each.get("pairs"))
    return frozenset(key for each in maps if type(each) is dict for key in each)


# Whether a kustomization may change the selector of a controller, or the labels of its pods.

_SELECTING_FIELDS = ("commonLabels", "transformers", "components", "replacements", "configurations")
"""Fields that may change labels and selectors."""
_SELECTING_WORDS = (b"label", b"matchexpressions", b"selector", b"$patch", b"move", b"copy")
"""A patch without any of these words changes neither labels nor selectors, and removes no object."""


def may_change_selection(folder: str, kind: str) -> bool:
    """Return whether the kustomization of a folder may change the selector of an object of a kind, or the labels of its template.

    Only labels that it adds to selectors or templates, and patches, can do so; see kustomize's api/types.Kustomization. What cannot be
    read may do anything.
    """
    text = kustomization_in(folder)
    document = read(first_document(text.data), 0, 0) if text is not None else None
    if document is None or document.problem is not None or type(document.data) is not dict:
        return True
    data = document.data
    if any(data.get(field) for field in _SELECTING_FIELDS):
        return True
    if any(each.keys() - {"pairs", "includeSelectors"} or each.get("includeSelectors") for each in maps_at(data, "labels")):
        return True
    return any(patch is None or any(word in patch.lower() for word in _SELECTING_WORDS) for patch in _patches_for(folder, data, kind))


def _patches_for(folder: str, data: dict[str, Any], kind: str) -> Iterator[bytes | None]:
    """Yield the texts of the patches that may be for objects of a kind; None for one that cannot be read."""
    for entry in list_at(data, "patchesStrategicMerge"):
        yield _patch_text(folder, entry) if type(entry) is not str or "\n" not in entry else entry.encode()
    for field in ("patches", "patchesJson6902"):
        for entry in list_at(data, field):
            target = text_at(entry, "target", "kind") if type(value_at_path(entry, "target")) is dict else ""
            # A pattern can match any kind.
            if target.isalpha() and target != kind:
                continue
            inline = entry.get("patch") if type(entry) is dict else None
            yield inline.encode() if type(inline) is str else _patch_text(folder, entry.get("path") if type(entry) is dict else None)


def _patch_text(folder: str, name: Any) -> bytes | None:
    """Read a file in or below a folder, as kustomize does; None if it is elsewhere or cannot be read."""
    if type(name) is not str or not name or "\0" in name:
        return None
    path = os.path.realpath(os.path.join(folder, name))
    if not path.startswith(os.path.join(folder, "")):
        return None
    try:
        return read_regular(path, LARGEST)
    except OSError:
        return None
