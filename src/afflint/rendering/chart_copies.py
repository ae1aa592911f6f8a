"""Copies of charts with only what afflint has read: packed subcharts unpacked, and no schema of values that refers to other files.

Helm gets the copy, so it reads no link and no archive of the tree.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from afflint.findings.phrases import quoted
from afflint.rendering.chart_archives import LARGEST, SUFFIX, budget, parts_below
from afflint.source.archives import ArchiveError, files_in
from afflint.source.files import read_regular
from afflint.source.sources import CHART, SCHEMA
from afflint.source.trees import TreeWriter
from afflint.yaml.json_text import json_text

LARGEST_CHART = 64 << 20
"""The most bytes that are copied of a chart and its dependencies."""
DEPENDENCY_FILES, DEPENDENCIES = (CHART, "requirements.yaml"), "dependencies"
_MOST_CHARTS = 300
"""The most charts for one: each of ten dependencies of ten dependencies is another one."""
_SIZE_PER_FILE = 1 << 10
"""Bytes that each copied file adds to its size."""
_SKIPPED = (".git", "node_modules")  # In a worktree of Git `.git` is a file.
_SUBCHARTS = "charts"
_DEEPEST = 8


class ChartCopyError(Exception):
    """A chart that cannot be copied. The message says why, after the name of the chart."""


class ChartCopier:
    """Copies a chart and its dependencies into a tree, up to a total size and number of charts."""

    def __init__(self, tree: TreeWriter) -> None:
        self._tree = tree
        self._remaining = LARGEST_CHART
        self._budget = budget()
        self._charts = 0

    def copy(self, folder: str, above: str, data: Mapping[str, Mapping[str, Any]], without: Collection[str]) -> None:
        """Copy the files of a chart to the folder ``above`` of the tree. Raises ChartCopyError and OSError.

        ``data`` are the parsed files that declare its dependencies; those in ``without`` are left out of them. The folder has no link that
        leads out of its repository.
        """
        self.count()
        self._copy_folder(folder, above, data if without else {}, without, below=0)

    def count(self) -> None:
        """Count a chart. Raises ChartCopyError if there are more than in any real chart."""
        self._charts += 1
        if self._charts > _MOST_CHARTS:
            raise ChartCopyError(f"the chart and its dependencies are more than {_MOST_CHARTS} charts")

    def _copy_folder(
        self, folder: str, above: str, declaring: Mapping[str, Mapping[str, Any]], without: Collection[str], *, below: int
    ) -> None:
        """Copy a folder. ``declaring`` are the files of a chart that are changed; ``below``: how many folders it is below the chart."""
        in_subcharts = os.path.basename(folder) == _SUBCHARTS
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name in _SKIPPED or not self._is_copied(folder, name):
                continue
            target = f"{above}/{name}"
            if os.path.isdir(path):
                self._copy_folder(path, target, {}, (), below=below + 1)
            elif in_subcharts and _is_packed(name):
                self._unpack(read_regular(path, LARGEST), target, 0)
            elif name in declaring:
                listed = declaring[name].get(DEPENDENCIES)
                remaining = [each for each in listed if type(each) is not dict or each.get("name") not in without] if listed else []
                self._write(target, json_text({**declaring[name], DEPENDENCIES: remaining}).encode())
            else:
                self._write(target, read_regular(path, LARGEST_CHART))

    def _is_copied(self, folder: str, name: str) -> bool:
        """Return whether an entry of a folder is copied.

        Pipes and devices are skipped because reading them may block. Links to folders are skipped unless they lead to a chart and are not
        below another link.
        """
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            linked = os.path.islink(path)
            chained = linked and os.path.realpath(folder) != os.path.abspath(folder)
            return not chained and (not linked or os.path.isfile(os.path.join(path, CHART)))
        size = os.path.getsize(path) if os.path.isfile(path) else self._remaining + 1
        if size <= self._remaining:
            self._remaining -= size + _SIZE_PER_FILE
            return True
        return False

    def _unpack(self, data: bytes, path: str, depth: int) -> None:
        """Unpack a packed chart, and those in it, beside the name that it would have in the tree."""
        self.count()
        if depth > _DEEPEST:
            raise ChartCopyError(f"{quoted(path)} is in more than {_DEEPEST} archives")
        target = path.removesuffix(SUFFIX)
        try:
            for name, content in files_in(data, self._budget):
                parts = parts_below(name)
                if len(parts) == 2 and parts[0] == _SUBCHARTS and _is_packed(parts[1]):
                    self._unpack(content, "/".join((target, *parts)), depth + 1)
                else:
                    self._write("/".join((target, *parts)), content)
        except ArchiveError as error:
            raise ChartCopyError(f"{quoted(path)} cannot be unpacked: {error}") from None
        except ValueError as error:
            raise ChartCopyError(str(error)) from None

    def _write(self, path: str, data: bytes) -> None:
        content = usable_schema(data) if os.path.basename(path) == SCHEMA else data
        if content is not None and not self._tree.write(path, content) and path not in self._tree:
            raise ChartCopyError(f"{quoted(path)} cannot be copied: {self._tree.left_out[path]}")


def _is_packed(name: str) -> bool:
    """Return whether Helm reads a file of `charts` as a packed chart. After ``LoadFiles`` of helm.sh/helm/pkg/chart/loader."""
    return name.endswith(SUFFIX) and not name.startswith(("_", "."))


_LARGEST = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef", "$schema"))
_BUILT_IN = re.compile(r"#.*|https?://json-schema\.org/(?:draft-0[3467]/(?:hyper-)?schema|draft/20(?:19-09|20-12)/schema)#?", re.DOTALL)
"""References inside a schema, and to the versions of the language that Helm has itself."""


def usable_schema(schema: bytes) -> bytes | None:
    """Return a schema as Helm may read it; None if it cannot be parsed, or may refer to another file.

    Helm loads what a schema refers to, from the network and from any path of the machine. After ``ValidateAgainstSingleSchema`` of
    helm.sh/helm/pkg/chart/common/util.
    """
    if len(schema) > _LARGEST:
        return None
    try:
        data = json.loads(schema.removeprefix(_BYTE_ORDER_MARK).decode("utf-8"), parse_constant=_refuse)
        return None if _refers_elsewhere(data) else json.dumps(data).encode()
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _refers_elsewhere(data: Any) -> bool:
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if type(each) is dict:
            references = [text for key, text in each.items() if key in _REFERENCES]
            if any(type(text) is str and _BUILT_IN.fullmatch(text) is None for text in references):
                return True
            waiting += each.values()
        elif type(each) is list:
            waiting += each
    return False
