"""Helm without the plugins, repositories and settings of the user or of the tree: a plugin is a program that Helm starts."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Mapping
from functools import cache

from afflint.programs.processes import private_folder
from afflint.programs.sandbox import prefix

_FOLDERS = ("HELM_PLUGINS", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_CACHE_HOME", "HELM_REPOSITORY_CACHE")
_MAKING = threading.RLock()
_FILES = ("HELM_REPOSITORY_CONFIG", "HELM_REGISTRY_CONFIG")


def isolated_helm() -> Mapping[str, str]:
    """Return the environment variables with which Helm finds no plugin, repository or setting. Raises OSError."""
    with _MAKING:  # Several threads render.
        return _folders_of_helm()


@cache
def _folders_of_helm() -> Mapping[str, str]:
    folders = {name: private_folder(name.lower()) for name in _FOLDERS}
    return {**folders, **{name: os.path.join(folders["HELM_CONFIG_HOME"], name.lower()) for name in _FILES}}


def without_plugins() -> Mapping[str, str]:
    """Return the environment variable with which Helm finds no plugin. Raises OSError."""
    return {"HELM_PLUGINS": isolated_helm()["HELM_PLUGINS"]}


def isolated_command(helm: str) -> str:
    """Return a command that starts Helm as ``isolated_helm`` says, for kustomize, which sets other folders. Raises OSError.

    ``helm`` is its absolute path. On Windows it is Helm itself, which takes only the folder of the plugins from the environment.
    """
    if os.name != "posix":
        return helm
    with _MAKING:
        return _written_command(helm)


@cache
def _written_command(helm: str) -> str:
    path = os.path.join(private_folder("commands"), "helm")
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in isolated_helm().items())
    words = shlex.join([*prefix(helm, network=True), helm])
    with open(path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o700)) as file:
        file.write(f'#!/bin/sh\n{assignments} exec {words} "$@"\n')
    return path
