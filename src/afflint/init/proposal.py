"""The first configuration of a repository: only settings that the repository supports, each with its reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from afflint.config import SHIPPED, Config, CustomWorkloadSetting
from afflint.config.loader import typed
from afflint.config.writer import ConfigEntry
from afflint.findings.grouping import grouped
from afflint.findings.phrases import join_words, pluralize, summarize_names
from afflint.kube.node_labels import PHYSICAL_HOST
from afflint.pipeline.baseline import DEFAULT_FILE
from afflint.rendering.programs import helm_command, kustomize_command

if TYPE_CHECKING:
    from afflint.init.repository_scan import RepositoryScan

_MAX_LISTED = 4
"""How many folders, files or names a comment lists."""


def heading(repository: RepositoryScan) -> str:
    """Return the comment at the top of the configuration: its purpose, and the workloads that were found."""
    purpose = "Settings of `afflint check` and of editors. `afflint config` shows all settings in effect."
    sources = _counted(*repository.sources)
    if not repository.kinds:
        found = f"{sources}, whose workloads are known only when they are rendered" if sources else "no workloads"
        return f"{purpose} `afflint init` found {found}."
    workloads = sum(number for _, number in repository.kinds)
    kinds = summarize_names([f"{number} {kind}" for kind, number in repository.kinds])
    spaces = f", in {_namespaces(repository)}" if repository.namespaces else ""
    return f"{purpose} `afflint init` found {pluralize(workloads, 'workload')} ({kinds}){spaces}{f', and {sources}' if sources else ''}."


def entries(repository: RepositoryScan, *, above: str | None = None, baseline: bool = False) -> Iterator[ConfigEntry]:
    """Yield the keys that are set, then the suggestions, which are commented out.

    ``above`` is a configuration in effect in a folder above, ``baseline`` whether a baseline exists.
    """
    proposed = [each for entry in _entries(repository, above, baseline=baseline) for each in _encodable_entry(entry)]
    yield from (each for each in proposed if not each.offered)
    yield from (each for each in proposed if each.offered)


def _entries(repository: RepositoryScan, above: str | None, *, baseline: bool) -> Iterator[ConfigEntry]:
    if above is not None:
        yield ConfigEntry("extends", [above], "The configuration of a folder above stays in effect; the settings below override it.")
    else:
        yield from _sets(repository)
    yield from _exclude(repository)
    yield from _context(repository)
    yield from _nodes(repository)
    yield from _version(repository)
    yield from _workloads(repository)
    yield from _render(repository)
    if repository.namespaces:
        about = f"Set this if all objects in {_namespaces(repository)} are in this repository. Selectors without a match are then reported."
        yield ConfigEntry("complete", True, about, offered=True)
    if repository.nodes or repository.pools:
        about = "Set this if these are all nodes of the cluster. A pod that none of them matches is then an error."
        yield ConfigEntry("complete-nodes", True, about, offered=True)
    about = "Findings in this file are not reported. `afflint check --write-baseline` adds the current findings."
    yield ConfigEntry("baseline", DEFAULT_FILE, about, offered=not baseline)


def _encodable_entry(entry: ConfigEntry) -> Iterator[ConfigEntry]:
    """Yield the entry without file names that are not valid UTF-8: a configuration cannot contain them."""
    if _is_encodable(entry.value):
        yield entry
    elif isinstance(entry.value, list) and (remaining := [each for each in entry.value if _is_encodable(each)]):
        yield entry._replace(value=remaining)


def _is_encodable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_encodable, value))
    if isinstance(value, dict):
        return all(map(_is_encodable, value.items()))
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]", value))


def _sets(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    """Suggest the policy sets of afflint that fit the repository."""
    applicable = {
        "karpenter": "karpenter.sh" in repository.groups,
        "tkg-vsphere": "run.tanzu.vmware.com" in repository.groups or PHYSICAL_HOST in repository.node_labels,
        "openshift-virtualization": any(kind.startswith("VirtualMachine") for kind, _ in repository.kinds),
        "high-availability": repository.zones > 1,
    }
    names = [f"{SHIPPED}{name}" for name, is_applicable in applicable.items() if is_applicable]
    if names:
        about = f"Policy sets of afflint that fit this repository: {join_words(names)}. `afflint rule policy` lists the policies in effect."
        yield ConfigEntry("extends", names, about, offered=True)


def _exclude(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    if repository.foreign:
        names = [f"**/{each}/" for each in repository.foreign]
        yield ConfigEntry("exclude", names, "Third-party manifests and test data, which are not fixed in this repository.")


def _context(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    """Suggest the files with workloads and selectors as context: a hook or an editor checks only one of them."""
    own = [name for name in repository.files if not {*name.split("/")[:-1]} & {*repository.foreign}]
    if len(own) < 2:
        return
    suffixes = sorted({f".{name.rpartition('.')[2]}" for name in own})
    folders = sorted({name.partition("/")[0] if "/" in name else "" for name in own})
    can_be_listed = len(folders) <= _MAX_LISTED and all(map(_is_encodable, folders))
    tops = [f"/{each}/**/" if each else "/" for each in folders] if can_be_listed else ["**/"]
    globs = [f"{top}*{suffix}" for top in tops for suffix in suffixes]
    globs += [f"!**/{each}/" for each in repository.foreign]
    yield ConfigEntry(
        "context", globs, "Files that rules across manifests can read when only some files are checked, as in a hook or an editor."
    )


def _nodes(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    files = list(repository.node_files)
    if repository.nodes and not repository.pools and len(files) <= _MAX_LISTED:
        about = f"The nodes of the cluster ({repository.nodes}). `kubectl get nodes -o yaml` writes such a file."
        yield ConfigEntry("nodes", files, about)
    elif repository.pools and not repository.nodes:
        about = f"Derive the nodes from the node pools in this repository: {summarize_names(repository.pools)}. `none` ignores them."
        yield ConfigEntry("nodes", "auto", about)
    elif files and not repository.nodes:
        about = "These nodes may belong to another cluster or to an example. Name the files with the nodes of your cluster."
        yield ConfigEntry("nodes", files[:_MAX_LISTED], about, offered=True)
    elif repository.other_pools and not files and not repository.pools:
        pools = summarize_names(repository.other_pools)
        about = f"Node pools of a workload cluster: {pools}. Set this if the workloads here run in that cluster."
        yield ConfigEntry("nodes", list(repository.other_pool_files[:_MAX_LISTED]), about, offered=True)
    elif not files and not repository.pools and repository.kinds:
        about = "The nodes of the cluster, for rules about nodes and for `afflint place`: `kubectl get nodes -o yaml > nodes.yaml`."
        yield ConfigEntry("nodes", ["nodes.yaml"], about, offered=True)


def _version(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    files_of = grouped((each.version, each.file) for each in repository.versions)
    if len(files_of) == 1:
        [(version, files)] = files_of.items()
        is_certain = all(each.here for each in repository.versions)
        about = f"The Kubernetes version of the cluster, according to {summarize_names(files)}."
        yield ConfigEntry("kubernetes-version", version, about, offered=not is_certain)
    elif files_of:
        newest = max(files_of, key=lambda version: int(version.partition(".")[2]))
        found = [f"{version} in {files[0]}" for version, files in sorted(files_of.items())]
        about = f"Several versions were found: {summarize_names(found)}."
        yield ConfigEntry("kubernetes-version", newest, f"{about} Set the version of the API server.", offered=True)


def _workloads(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    if repository.templates:
        kinds = join_words(sorted({each.kind for each in repository.templates}))
        about = f"Custom resources that seem to have a pod template: {kinds}. This repository has no CustomResourceDefinition for them."
        yield ConfigEntry("workloads", [_workload(each) for each in repository.templates], about)


def _workload(workload: CustomWorkloadSetting) -> dict[str, Any]:
    return {"apiVersion": workload.api_version, "kind": workload.kind, "template": ".".join(workload.template)}


def _render(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    declared = dict(repository.sources)
    roots = {
        "kustomize": _counted(("kustomization", repository.kustomizations), ("Kustomization", declared.pop("Kustomization", 0))),
        "helm": _counted(("chart", repository.charts), *declared.items()),
    }
    wanted = [tool for tool, found in roots.items() if found]
    installed = {"kustomize": kustomize_command() is not None, "helm": helm_command() is not None}
    usable, missing = [tool for tool in wanted if installed[tool]], [tool for tool in wanted if not installed[tool]]
    if not wanted:
        return
    tools = usable or wanted
    about = f"Render {join_words(roots[tool] for tool in tools)} with the tools on PATH, without the network, and check the result."
    about += " This key only has an effect with `--config`; otherwise use `--render` on the command line."
    if missing:
        was = "was" if len(missing) == 1 else "were"
        about += f" {join_words(missing).capitalize()}, for {join_words(roots[tool] for tool in missing)}, {was} not installed."
        about += " `true` enables both." if usable else ""
    yield ConfigEntry("render", True if tools == [*roots] else tools, about, offered=True)


def _counted(*kinds: tuple[str, int]) -> str:
    """Return ``2 charts and 1 HelmRelease``; nothing for kinds that do not occur."""
    counts = [pluralize(number, kind) for kind, number in kinds if number]
    return join_words(counts) if counts else ""


def as_config(proposed: Iterable[ConfigEntry], above: Config, file: str) -> Config:
    """Return the configuration ``above`` with the proposed keys that are set. ``file`` does not have to exist yet."""
    values = {each.key: each.value for each in proposed if not each.offered and each.key not in ("extends", "baseline")}
    return above._replace(root=os.path.dirname(os.path.abspath(file)), **typed(file, values))


def _namespaces(repository: RepositoryScan) -> str:
    names = repository.namespaces
    return f"the namespace {names[0]}" if len(names) == 1 else f"the namespaces {summarize_names(names)}"
