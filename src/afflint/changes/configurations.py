"""The configuration of a commit: a change of the configuration is part of the change, so each state is checked with its own.

A configuration that the user names with ``--config`` applies to both states. The configuration of a commit is read from its snapshot, and
is trusted as one that was found.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from afflint.changes.snapshot import Snapshot, working_in
from afflint.config import COMMAND_LINE, Config, find
from afflint.findings.errors import UserError
from afflint.source.repositories import is_inside, is_really_inside
from afflint.source.sources import STDIN

Load = Callable[[str | None], Config]
"""Loads a configuration file, or the defaults, with the options of the command line."""


def config_of(snapshot: Snapshot, config: Config, load: Load | None) -> tuple[Config, UserError | None]:
    """Return the configuration for the files of a snapshot, and why its own cannot be used.

    ``config`` is that of the work tree, and the one to use without ``load``. Reports and the baseline are always those of ``config``.
    """
    if load is None:
        return _moved(config, snapshot), None
    try:
        own = _own(snapshot, load)
    except UserError as error:
        return _moved(config, snapshot), error
    own = own._replace(baseline=config.baseline, output=config.output, format=config.format)
    if config.origins["nodes"] == COMMAND_LINE:
        own = own._replace(nodes=_moved_nodes(config, snapshot), origins={**own.origins, "nodes": COMMAND_LINE})
    return own, None


def _own(snapshot: Snapshot, load: Load) -> Config:
    """Return the configuration that a run in the snapshot finds: in its folders, or above the repository. Raises UserError."""
    with working_in(snapshot.folder_of(os.getcwd())):
        path = find(os.curdir)
        if path is not None and is_inside(os.path.abspath(path), snapshot.root):
            return _with_uncommitted_nodes(load(path), snapshot)
    # The folders above the snapshot are not those above the repository.
    return _moved(load(find(os.path.dirname(snapshot.original))), snapshot)


def _with_uncommitted_nodes(config: Config, snapshot: Snapshot) -> Config:
    """Return the configuration with node files that were never committed in the work tree."""
    nodes = []
    for path in config.nodes:
        original = snapshot.original_of(path)
        is_missing = not os.path.lexists(path) and os.path.lexists(original) and is_really_inside(original, snapshot.original)
        nodes.append(original if is_missing else path)
    if nodes == list(config.nodes):
        return config
    return config._replace(nodes=tuple(nodes), origins={**config.origins, "nodes": COMMAND_LINE})


def _moved(config: Config, snapshot: Snapshot) -> Config:
    """Return a configuration of the work tree for the files of a snapshot. Reports and the baseline stay where they are."""
    nodes = _moved_nodes(config, snapshot)
    origins = config.origins
    if (config.repository is not None and nodes != config.nodes) or any(os.path.isabs(path) for path in nodes):
        origins = {**origins, "nodes": COMMAND_LINE}  # They were checked where they are.
    repository = config.repository and snapshot.folder_of(config.repository)
    return config._replace(root=snapshot.folder_of(config.root), repository=repository, nodes=nodes, origins=origins)


def _moved_nodes(config: Config, snapshot: Snapshot) -> tuple[str, ...]:
    return tuple([path if path == STDIN or not os.path.lexists(path) else snapshot.path_of(path) for path in config.nodes])
