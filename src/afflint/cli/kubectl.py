"""``kubectl afflint``: asks the cluster of the user for its objects, and hands them to a command of afflint.

kubectl runs a program named ``kubectl-afflint`` as ``kubectl afflint`` (https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/).
This is the only part of afflint that starts kubectl. It only lists objects, with the rights of the user.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from afflint.cli.output import USAGE, notify
from afflint.findings.errors import UserError
from afflint.findings.namedtuples import NamedTuple
from afflint.findings.phrases import join_words, nearest, pluralize, visible
from afflint.programs.lookup import find_program

_KUBECONFIG = "--kubeconfig"
_CONNECTION = (
    "--as", "--as-group", "--as-uid", "--cluster", "--context", _KUBECONFIG, "--request-timeout", "--server", "--token", "--user",
)  # fmt: skip
"""The options of kubectl that select a cluster and a user: they are passed on to it, and each has a value."""

CLUSTER = (
    "pods",
    "nodes",
    "namespaces",
    "limitranges",
    "persistentvolumes",
    "persistentvolumeclaims",
    "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csidrivers.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "deviceclasses.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "runtimeclasses.node.k8s.io",
    "poddisruptionbudgets.policy",
    "services",
    "horizontalpodautoscalers.autoscaling",
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "replicasets.apps",
    "replicationcontrollers",
    "jobs.batch",
    "cronjobs.batch",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "rollouts.argoproj.io",
    "clusters.postgresql.cnpg.io",
    "nodepools.karpenter.sh",
    "nodeclaims.karpenter.sh",
    "machineconfigpools.machineconfiguration.openshift.io",
    "machinesets.machine.openshift.io",
    "machineautoscalers.autoscaling.openshift.io",
    "machinesets.cluster.x-k8s.io",
    "machinedeployments.cluster.x-k8s.io",
    "machinepools.cluster.x-k8s.io",
    "virtualmachines.kubevirt.io",
    "virtualmachineinstances.kubevirt.io",
    "virtualmachineinstancemigrations.kubevirt.io",
    "virtualmachineinstancereplicasets.kubevirt.io",
    "virtualmachinepools.pool.kubevirt.io",
    "virtualmachineinstancetypes.instancetype.kubevirt.io",
    "virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
    "virtualmachinepreferences.instancetype.kubevirt.io",
    "virtualmachineclusterpreferences.instancetype.kubevirt.io",
    "datavolumes.cdi.kubevirt.io",
    "storageprofiles.cdi.kubevirt.io",
    "kubevirts.kubevirt.io",
    "hyperconvergeds.hco.kubevirt.io",
    "migrationpolicies.migrations.kubevirt.io",
    "network-attachment-definitions.k8s.cni.cncf.io",
    "kubedeschedulers.operator.openshift.io",
    "schedulers.config.openshift.io",
)
"""The resources that decide where workloads run, by their names with the API group. Of ConfigMaps, see ``_POLICIES``."""

_RUNNING = ("pods", "replicasets.apps", "virtualmachineinstances.kubevirt.io")
"""What controllers create: ``check`` leaves these out, because their owners have the same mistakes."""

_HELP = """\
Usage: kubectl afflint COMMAND [OPTIONS]...

  Show where the workloads of the cluster run, and what failures and drains do to them. The command gets the objects that kubectl
  lists, and takes the options of `afflint COMMAND`, for example:

    kubectl afflint place --drain each:node --summary
    kubectl afflint place --context production --lose each:zone
    kubectl afflint check

Commands:
  place      Simulate the scheduler, failures and drains.
  why        Explain why a workload or pod does not run.
  check      Lint what runs in the cluster.
  dump       Print the objects as JSON, for `afflint place --nodes FILE` on another machine.
  resources  Print the names of the resources that are asked for.

Options of kubectl such as --context and --kubeconfig select the cluster.
"""
_LISTS = ("dump", "resources")
_COMMANDS = ("place", "why", "check", *_LISTS)


class PluginCall(NamedTuple):
    """The command line of the plugin: the command of afflint, its arguments, and the options for kubectl."""

    command: str
    arguments: tuple[str, ...]
    connection: tuple[str, ...]


def main() -> None:
    """Run the plugin, and end the process with the exit code of the command; 2 if kubectl cannot list the objects."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP, end="")
        sys.exit(0 if words else USAGE)
    try:
        call = parse(words)
        asks_help = bool({"-h", "--help"} & {*call.arguments})
        objects = b"" if asks_help or call.command == "resources" else _objects(call)
    except UserError as error:
        sys.exit(notify(f"afflint: {visible(str(error))}", USAGE))
    except KeyboardInterrupt:
        sys.exit(notify("", 130))
    if call.command in _LISTS:
        names = "".join(f"{each}\n" for each in (*CLUSTER, _MAPS))
        sys.stdout.buffer.write(objects or (_HELP if asks_help else names).encode())
        sys.exit(0)
    _pipe(objects)
    from afflint.cli import main as run

    given = ["-"] if call.command == "check" else ["--nodes", "-"]
    sys.argv = ["afflint", call.command, *call.arguments, *given]
    run()


def parse(words: Sequence[str]) -> PluginCall:
    """Split the arguments of the plugin into those of a command of afflint and those of kubectl. Raises UserError."""
    command, *rest = words
    if command not in _COMMANDS:
        close = nearest(command, _COMMANDS)
        hint = f"did you mean {close!r}?" if close else f"use {join_words(_COMMANDS, 'or')}"
        raise UserError(f"no such command: {command!r}; {hint}")
    arguments: list[str] = []
    connection: list[str] = []
    remaining = iter(rest)
    for word in remaining:
        name, equals, _ = word.partition("=")
        if name not in _CONNECTION:
            arguments.append(word)
            continue
        connection.append(word)
        if not equals:
            value = next(remaining, None)
            if value is None:
                raise UserError(f"{name} needs a value")
            connection.append(value)
    if command in _LISTS and not {*arguments} <= {"-h", "--help"}:
        raise UserError(f"{command} has only options of kubectl, not {arguments[0]!r}")
    return PluginCall(command, tuple(arguments), tuple(connection))


def _objects(call: PluginCall) -> bytes:
    """Return the objects of the cluster as one List in JSON, and say which are not known. Raises UserError if kubectl lists nothing."""
    program = find_program("kubectl")
    if program is None:
        raise UserError("kubectl is not on PATH")
    connection = _with_absolute_paths(call.connection)
    served = _run([program, *connection, "api-resources", "--verbs=list", "--output=name"])
    names = {*served.stdout.decode("utf-8", "replace").split()}
    asked = [each for each in CLUSTER if not (call.command == "check" and each in _RUNNING)]
    wanted = [each for each in asked if each in names]
    if not wanted:
        raise UserError(_reason(served) or "kubectl lists no resources of this cluster")
    everywhere = ("--all-namespaces", "--output=json")
    listed = _run([program, *connection, "get", ",".join(wanted), *everywhere])
    if not listed.stdout.strip():
        raise UserError(_reason(listed) or f"kubectl ended with exit code {listed.returncode}")
    maps = _run([program, *connection, "get", _MAPS, *everywhere]) if _MAPS in names else None
    _note_what_is_missing([listed, *([maps] if maps else [])], len(asked) - len(wanted))
    policies = _policies_in(maps.stdout) if maps else []
    return _with_items(listed.stdout, policies) if policies else listed.stdout


_MAPS = "configmaps"
_POLICIES = ("DeschedulerPolicy", "KubeSchedulerConfiguration")
"""The kinds of the documents in the ConfigMaps that are passed on: others may hold anything."""


def _policies_in(listed: bytes) -> list[Any]:
    """Return the ConfigMaps with the configuration of a scheduler or a descheduler."""
    if not any(kind.encode() in listed for kind in _POLICIES):
        return []
    try:
        items = json.loads(listed)["items"]
    except (ValueError, KeyError, TypeError):
        return []
    return [each for each in items if any(kind in str(text) for text in (each.get("data") or {}).values() for kind in _POLICIES)]


def _with_items(listed: bytes, items: Sequence[Any]) -> bytes:
    found = json.loads(listed)
    found["items"] += items
    return json.dumps(found).encode()


def _note_what_is_missing(done: Sequence[subprocess.CompletedProcess[bytes]], lacking: int) -> None:
    """Say in one note what kubectl may not list and how many kinds the cluster does not have. Other lines of kubectl are passed on."""
    lines = [line for each in done for line in each.stderr.decode("utf-8", "replace").splitlines()]
    forbidden = [match[1] for line in lines if (match := _FORBIDDEN.match(line)) is not None]
    for line in lines:
        if _FORBIDDEN.match(line) is None:
            notify(f"note: kubectl: {visible(line)}")
    missing = [f"kubectl may not list {visible(join_words(forbidden, 'and'))}"] if forbidden else []
    if lacking:
        missing.append(f"the cluster does not have {pluralize(lacking, 'kind')} of those that `kubectl afflint resources` names")
    if missing:
        notify(f"note: {'; '.join(missing)}")


_FORBIDDEN = re.compile(r"Error from server \(Forbidden\): (\S+) is forbidden")


def _with_absolute_paths(connection: Sequence[str]) -> list[str]:
    """Return options of kubectl that mean the same in any folder."""
    absolute: list[str] = []
    for word in connection:
        name, equals, value = word.partition("=")
        if absolute[-1:] == [_KUBECONFIG]:
            absolute.append(os.path.abspath(word))
        else:
            absolute.append(f"{name}={os.path.abspath(value)}" if name == _KUBECONFIG and equals else word)
    return absolute


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a program in its own folder: a version manager takes the version to run from files of the current folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PWD"}
    if files := environment.get("KUBECONFIG"):
        environment["KUBECONFIG"] = os.pathsep.join(map(os.path.abspath, filter(None, files.split(os.pathsep))))
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=os.path.dirname(command[0]), env=environment
        )
    except OSError as error:
        raise UserError(f"kubectl cannot be started: {error.strerror}") from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line that kubectl wrote to standard error."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"kubectl: {lines[-1]}" if lines else ""


def _pipe(data: bytes) -> None:
    """Make ``data`` the standard input of this process."""
    reading, writing = os.pipe()

    def write() -> None:
        try:
            with os.fdopen(writing, "wb") as stream:
                stream.write(data)
        except OSError:
            pass  # The command ended before it had read everything.

    threading.Thread(target=write, daemon=True).start()
    os.dup2(reading, 0)
    os.close(reading)
    sys.stdin = os.fdopen(os.dup(0), encoding="utf-8")


if __name__ == "__main__":
    main()
