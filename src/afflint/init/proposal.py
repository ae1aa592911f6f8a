"""What a first configuration of a repository says: no more than what the repository shows, and each with its reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from afflint.config import SHIPPED, Config, CustomWorkloadSetting
from afflint.config.loader import typed
from afflint.config.writer import ConfigEntry
from afflint.findings.phrases import join_words, pluralize
from afflint.kube.node_labels import PHYSICAL_HOST
from afflint.pipeline.baseline import DEFAULT_FILE
from afflint.rendering.programs import helm_command, kustomize_command

if TYPE_CHECKING:
    from afflint.init.repository_scan import RepositoryScan

_FEW = 4
"""So many folders, files or names are told one by one."""


def heading(repository: RepositoryScan) -> str:
    """What was seen, in a sentence or two."""
    said = "What `afflint check` and editors take to be so here; `afflint config` shows all that holds."
    if not repository.kinds:
        return f"{said} No workload was seen when this was written."
    workloads = sum(number for _, number in repository.kinds)
    kinds = _some([f"{number} {kind}" for kind, number in repository.kinds])
    spaces = f", in {_namespaces(repository)}" if repository.namespaces else ""
    return f"{said} Seen when this was written: {pluralize(workloads, 'workload')} ({kinds}){spaces}."


def entries(repository: RepositoryScan, *, above: str | None = None, baseline: bool = False) -> Iterator[ConfigEntry]:
    """The keys that are set, then those that are offered. ``above``: a configuration that holds here; ``baseline``: there is one."""
    every = [each for entry in _entries(repository, above, baseline=baseline) for each in _sayable(entry)]
    yield from (each for each in every if not each.offered)
    yield from (each for each in every if each.offered)


def _entries(repository: RepositoryScan, above: str | None, *, baseline: bool) -> Iterator[ConfigEntry]:
    if above is not None:
        yield ConfigEntry("extends", [above], "What holds above this folder goes on to hold here; what stands below comes first.")
    else:
        yield from _sets(repository)
    yield from _exclude(repository)
    yield from _context(repository)
    yield from _nodes(repository)
    yield from _version(repository)
    yield from _workloads(repository)
    yield from _render(repository)
    if repository.namespaces:
        about = f"Whether all that runs in {_namespaces(repository)} stands here. Then selectors that select nothing are reported."
        yield ConfigEntry("complete", True, about, offered=True)
    if repository.nodes or repository.pools:
        about = "Whether these nodes are all there are. Then what none of them takes is an error."
        yield ConfigEntry("complete-nodes", True, about, offered=True)
    about = "What is in it stays silent. `afflint check --write-baseline` puts into it what is found today."
    yield ConfigEntry("baseline", DEFAULT_FILE, about, offered=not baseline)


def _sayable(entry: ConfigEntry) -> Iterator[ConfigEntry]:
    """An entry without what no configuration can say: names that are no UTF-8."""
    if _is_sayable(entry.value):
        yield entry
    elif isinstance(entry.value, list) and (left := [each for each in entry.value if _is_sayable(each)]):
        yield entry._replace(value=left)


def _is_sayable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_sayable, value))
    if isinstance(value, dict):
        return all(map(_is_sayable, value.items()))
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]", value))


def _sets(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    """The sets of policies that come with afflint for what there is."""
    fitting = {
        "karpenter": "karpenter.sh" in repository.groups,
        "tkg-vsphere": "run.tanzu.vmware.com" in repository.groups or PHYSICAL_HOST in repository.node_labels,
        "openshift-virtualization": any(kind.startswith("VirtualMachine") for kind, _ in repository.kinds),
        "high-availability": repository.zones > 1,
    }
    names = [f"{SHIPPED}{name}" for name, fits in fitting.items() if fits]
    if names:
        about = f"Policies that come with afflint, for what is seen here: {join_words(names)}. `afflint rule policy` lists those that hold."
        yield ConfigEntry("extends", names, about, offered=True)


def _exclude(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    if repository.foreign:
        names = [f"**/{each}/" for each in repository.foreign]
        yield ConfigEntry("exclude", names, "Manifests of others, or wrong on purpose: nobody here mends them.")


def _context(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    """The files with workloads and selectors, where there are several: what a hook or an editor checks is one of them."""
    own = [name for name in repository.files if not {*name.split("/")[:-1]} & {*repository.foreign}]
    if len(own) < 2:
        return
    suffixes = sorted({f".{name.rpartition('.')[2]}" for name in own})
    folders = sorted({name.partition("/")[0] if "/" in name else "" for name in own})
    few = len(folders) <= _FEW and all(map(_is_sayable, folders))
    tops = [f"/{each}/**/" if each else "/" for each in folders] if few else ["**/"]
    globs = [f"{top}*{suffix}" for top in tops for suffix in suffixes]
    globs += [f"!**/{each}/" for each in repository.foreign]
    yield ConfigEntry(
        "context", globs, "What rules about several manifests may look at when only some are checked: in a hook, in an editor."
    )


def _nodes(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    files = list(repository.node_files)
    if repository.nodes and not repository.pools and len(files) <= _FEW:
        about = f"The nodes of the cluster, {repository.nodes} of them. `kubectl get nodes -o yaml` makes such a file."
        yield ConfigEntry("nodes", files, about)
    elif repository.pools and not repository.nodes:
        about = f"The nodes are known from what declares them here: {_some(repository.pools)}. `none` would leave them out."
        yield ConfigEntry("nodes", "auto", about)
    elif files and not repository.nodes:
        about = "Nodes that stand here, and perhaps are those of another cluster, or of an example. Name the files of yours."
        yield ConfigEntry("nodes", files[:_FEW], about, offered=True)
    elif repository.other_pools and not files and not repository.pools:
        about = f"Nodes of a cluster that is kept from another one: {_some(repository.other_pools)}. Are the workloads here for it?"
        yield ConfigEntry("nodes", list(repository.other_pool_files[:_FEW]), about, offered=True)
    elif not files and not repository.pools and repository.kinds:
        about = "The nodes of the cluster, for the rules about nodes and for `afflint place`: `kubectl get nodes -o yaml > nodes.yaml`."
        yield ConfigEntry("nodes", ["nodes.yaml"], about, offered=True)


def _version(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    said: dict[str, list[str]] = {}
    for each in repository.versions:
        said.setdefault(each.version, []).append(each.file)
    if len(said) == 1:
        [(version, files)] = said.items()
        sure = all(each.here for each in repository.versions)
        about = f"What {_some(files)} {'says' if len(files) == 1 else 'say'} the cluster runs."
        yield ConfigEntry("kubernetes-version", version, about, offered=not sure)
    elif said:
        newest = max(said, key=lambda version: int(version.partition(".")[2]))
        about = f"Several versions are spoken of: {_some([f'{version} in {files[0]}' for version, files in sorted(said.items())])}."
        yield ConfigEntry("kubernetes-version", newest, f"{about} Name the one of the API server.", offered=True)


def _workloads(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    if repository.templates:
        kinds = join_words(sorted({each.kind for each in repository.templates}))
        about = f"Custom resources with a pod template, by the look of them: {kinds}. No CustomResourceDefinition here describes them."
        yield ConfigEntry("workloads", [_workload(each) for each in repository.templates], about)


def _workload(workload: CustomWorkloadSetting) -> dict[str, Any]:
    return {"apiVersion": workload.api_version, "kind": workload.kind, "template": ".".join(workload.template)}


def _render(repository: RepositoryScan) -> Iterator[ConfigEntry]:
    there = {"kustomize": pluralize(repository.kustomizations, "kustomization"), "helm": pluralize(repository.charts, "chart")}
    wanted = [tool for tool in there if (repository.kustomizations if tool == "kustomize" else repository.charts)]
    installed = {"kustomize": kustomize_command() is not None, "helm": helm_command() is not None}
    usable, missing = [tool for tool in wanted if installed[tool]], [tool for tool in wanted if not installed[tool]]
    if not wanted:
        return
    tools = usable or wanted
    about = f"Check what {join_words(there[tool] for tool in tools)} would render to, with the tools on PATH and without the network."
    about += " Only with `--config`: otherwise it is `--render` on the command line that starts programs."
    if missing:
        about += f" {join_words(missing).capitalize()}, for {join_words(there[tool] for tool in missing)}, was not installed here."
        about += " `true` asks for both." if usable else ""
    yield ConfigEntry("render", True if tools == [*there] else tools, about, offered=True)


def as_config(found: Iterable[ConfigEntry], above: Config, file: str) -> Config:
    """The settings that the entries make which are set, in a file that need not be there yet, on top of those that hold above it."""
    said = {each.key: each.value for each in found if not each.offered and each.key not in ("extends", "baseline")}
    return above._replace(root=os.path.dirname(os.path.abspath(file)), **typed(file, said))


def _namespaces(repository: RepositoryScan) -> str:
    names = repository.namespaces
    return f"the namespace {names[0]}" if len(names) == 1 else f"the namespaces {_some(names)}"


def _some(names: tuple[str, ...] | list[str]) -> str:
    shown = [*names[:_FEW], f"{len(names) - _FEW} more"] if len(names) > _FEW + 1 else list(names)
    return join_words(shown)
