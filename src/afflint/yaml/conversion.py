"""Converts YAML nodes to plain data in the order of go-yaml v2; what go-yaml or strict decoding rejects is recorded with its node."""

from __future__ import annotations

from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from afflint.yaml.composer import PLAIN, QUOTED
from afflint.yaml.scalars import PLAIN_KEYS, PLAIN_VALUES, Scalar, key_text, resolve_tagged

Pairs = dict[str, tuple[Any, Any]]
"""The keys of a mapping as strings, each with its key node and its value node."""

_NULL_KEY = "a null key: the API server accepts only strings, numbers and booleans as keys"
_ODD_KEY = "a key that is a list or a map: the API server accepts only strings, numbers and booleans as keys"
_MERGE_TAG = "tag:yaml.org,2002:merge"


class UnreadableError(ValueError):
    """Raised while converting nodes; contains the invalid node."""

    def __init__(self, message: str, node: Any) -> None:
        super().__init__(message)
        self.message = message
        self.node = node


class RepeatedKeyError(ValueError):
    """The fast conversion met a repeated key; the careful one finds its position."""


def plain_data(node: Any) -> Any:
    """Convert nodes to plain data, for documents without anchors, aliases and merge keys. This is the hottest loop of afflint.

    Raises ValueError for anything unusual; the careful conversion then finds out what and where.
    """
    if type(node) is ScalarNode:
        tag = node.ctag
        return PLAIN_VALUES[node.value] if tag is PLAIN else node.value if tag is QUOTED else _tagged(node)
    if type(node) is MappingNode:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.ctag is PLAIN:
                key = PLAIN_KEYS[key_node.value]
            elif key_node.ctag is QUOTED:
                key = key_node.value
            else:
                key = written_key(key_node)
            if key is None:
                raise UnreadableError(_NULL_KEY, key_node)
            if value_node.ctag is PLAIN:
                result[key] = PLAIN_VALUES[value_node.value]
            elif value_node.ctag is QUOTED:
                result[key] = value_node.value
            else:
                result[key] = plain_data(value_node)
        if len(result) != len(node.value):
            raise RepeatedKeyError
        return result
    return [plain_data(item) for item in node.value]


def written_key(node: Any) -> str | None:
    """Convert a key node to the string that it becomes in JSON, None for a null key. Raises UnreadableError for an invalid key."""
    if type(node) is not ScalarNode:
        raise UnreadableError(_ODD_KEY, node)
    try:
        if node.ctag is PLAIN:
            key: str | None = PLAIN_KEYS[node.value]
            return key
        return key_text(node.value if node.ctag is QUOTED else _tagged(node))
    except UnreadableError:
        raise
    except ValueError as error:
        raise _unreadable(node, error) from None


def _tagged(node: Any) -> Scalar:
    try:
        return resolve_tagged(node.tag, node.value)
    except ValueError as error:
        raise _unreadable(node, error) from None


def _unreadable(node: Any, error: ValueError) -> UnreadableError:
    return UnreadableError(f"`{node.value[:80]}` {error}", node)


def pairs_of(node: Any) -> Pairs:
    """Return the keys of a mapping without merge keys; of a repeated key the last."""
    pairs: Pairs = {}
    for key_node, value_node in node.value:
        try:
            key = written_key(key_node)
        except UnreadableError:
            continue
        if key is not None:
            pairs[key] = key_node, value_node
    return pairs


class CarefulConversion:
    """Converts nodes with anchors, merge keys and repeated keys to plain data.

    A later key silently replaces an earlier one in the data, and every repetition is recorded: strict decoding rejects it.
    ``duplicates`` contains the path, the key's node, that of the earlier key, and whether that one comes from a merge key and is
    overridden; ``merged`` the keys of each mapping with a merge key, by the mapping's node.
    """

    def __init__(self) -> None:
        self.duplicates: list[tuple[tuple[str | int, ...], Any, Any, bool]] = []
        self.merged: dict[Any, Pairs] = {}
        self._done: dict[Any, Any] = {}
        self._costs: dict[Any, int] = {}
        self._open: set[Any] = set()
        # go-yaml counts how often it decodes a node, and how often because of aliases. The document is the first node.
        self._decoded = 1
        self._aliased = 0

    def document(self, root: Any) -> Any:
        """Convert a whole document. Raises UnreadableError."""
        data = self._value(root, ())
        self._check_aliasing(root)
        return data

    def _value(self, node: Any, path: tuple[str | int, ...]) -> Any:
        """Convert a node; aliased nodes share one value."""
        if node in self._done:
            self._count_alias(node)
            return self._done[node]
        if node in self._open:
            raise UnreadableError("an anchor that contains itself", node)
        self._open.add(node)
        before = self._decoded
        self._decoded += 1
        if type(node) is ScalarNode:
            result: Any = self._scalar(node)
        elif type(node) is MappingNode:
            result = self._mapping(node, path)
        else:
            result = [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        self._open.discard(node)
        self._done[node] = result
        self._costs[node] = self._decoded - before
        return result

    def _count_alias(self, node: Any) -> None:
        self._check_aliasing(node)
        cost = self._costs[node]
        self._decoded += 1 + cost
        self._aliased += cost
        self._check_aliasing(node)

    def _check_aliasing(self, node: Any) -> None:
        """Reject what go-yaml v2 rejects as excessive aliasing: the larger a document, the smaller the share of aliases it allows."""
        if self._aliased <= 100 or self._decoded <= 1000:
            return
        growth = min(max((self._decoded - 400_000) / 3_600_000, 0.0), 1.0)
        if self._aliased / self._decoded > 0.99 - 0.89 * growth:
            raise UnreadableError("excessive aliasing: the aliases expand to far more data than the document contains", node)

    def _scalar(self, node: Any) -> Scalar:
        try:
            if node.ctag is PLAIN:
                return PLAIN_VALUES[node.value]
        except ValueError as error:
            raise _unreadable(node, error) from None
        text: str = node.value
        return text if node.ctag is QUOTED else _tagged(node)

    def _mapping(self, node: Any, path: tuple[str | int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        pairs: Pairs = {}
        merged_keys: set[str] = set()
        for key_node, value_node in node.value:
            if is_merge(key_node):
                self.merged[node] = pairs
                merged_keys |= self._merge(key_node, value_node, result, pairs, path)
                continue
            key = self._key(key_node)
            value = self._value(value_node, (*path, key))
            self._set(result, pairs, key, value, (key_node, value_node), key_node, path, overrides=key in merged_keys)
            merged_keys.discard(key)
        return result

    def _key(self, node: Any) -> str:
        key = written_key(node)
        if key is None:
            raise UnreadableError(_NULL_KEY, node)
        if node in self._done:
            self._count_alias(node)
        else:
            self._decoded += 1
        return key

    def _set(
        self,
        result: dict[str, Any],
        pairs: Pairs,
        key: str,
        value: Any,
        pair: tuple[Any, Any],
        place: Any,
        path: tuple[str | int, ...],
        *,
        overrides: bool,
    ) -> None:
        if key in result:
            self.duplicates.append(((*path, key), place, pairs[key][0], overrides))
        result[key] = value
        pairs[key] = pair

    def _merge(self, key_node: Any, value_node: Any, result: dict[str, Any], pairs: Pairs, path: tuple[str | int, ...]) -> set[str]:
        """Set the keys of a map, or of a list of maps from its end, because earlier maps take precedence. Return these keys."""
        sources = [value_node]
        # The node of an alias is before the merge key. Go rejects an alias to a list.
        is_alias = value_node.start_mark.index < key_node.start_mark.index
        if type(value_node) is SequenceNode and not is_alias:
            sources = value_node.value[::-1]
        merged_keys: set[str] = set()
        for source in sources:
            if type(source) is not MappingNode:
                raise UnreadableError("the value of a merge key `<<` must be a map or a list of maps", key_node if is_alias else value_node)
            values = self._value(source, path)
            places = self.merged.get(source) or pairs_of(source)
            for key, value in values.items():
                self._set(result, pairs, key, value, places[key], key_node, path, overrides=key in merged_keys)
                merged_keys.add(key)
        return merged_keys


def is_merge(node: Any) -> bool:
    """Return whether a node is a merge key."""
    return type(node) is ScalarNode and node.value == "<<" and (node.ctag is PLAIN or node.tag == _MERGE_TAG)
