"""`kubectl afflint` with a kubectl that answers from files: which objects it asks for, and what comes of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from afflint.cli.kubectl import parse
from afflint.findings.errors import UserError
from checkout import clean_environment

SERVED = "nodes\npods\ndeployments.apps\nreplicasets.apps\nevents\n"


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}


def deployment(**selector: str) -> dict[str, Any]:
    pod = {"nodeSelector": selector, "containers": [{"name": "web", "image": "web:1"}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def as_list(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


LACKING = "note: the cluster does not have 52 kinds of those that `kubectl afflint resources` names\n"


class Kubectl(NamedTuple):
    """A kubectl that prints files, and writes down how it was called."""

    folder: Path

    def answers(
        self,
        objects: list[dict[str, Any]],
        *,
        served: str = SERVED,
        error: str = "",
        code: int = 0,
        maps: list[dict[str, Any]] | None = None,
    ) -> None:
        listed = as_list(objects) if objects else ""
        for name, text in (("served", served), ("objects", listed), ("error", error), ("maps", as_list(maps or []))):
            (self.folder / name).write_text(text, encoding="utf-8")
        program = self.folder / "kubectl"
        program.write_text(
            f"""#!/bin/sh
cd {self.folder}
echo "$@" >>calls
case "$*" in
  *api-resources*) cat served; [ -s served ] && exit 0; cat error >&2; exit 1;;
  *configmaps*) cat maps;;
  *get*) cat objects; cat error >&2; exit {code};;
esac
""",
            encoding="utf-8",
        )
        program.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text(encoding="utf-8").splitlines()

    def afflint(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = clean_environment(PATH=f"{self.folder}:/usr/bin:/bin")
        command = [sys.executable, "-m", "afflint.cli.kubectl", *words]
        return subprocess.run(command, env=environment, cwd=self.folder, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def kubectl(tmp_path: Path) -> Kubectl:
    return Kubectl(tmp_path)


def test_place_gets_what_the_cluster_serves_and_takes_its_own_options(kubectl: Kubectl) -> None:
    kubectl.answers([node("one"), node("two"), deployment()])
    done = kubectl.afflint("place", "--context", "production", "--drain", "each:node", "--summary")
    assert kubectl.calls == [
        "--context production api-resources --verbs=list --output=name",
        "--context production get pods,nodes,deployments.apps,replicasets.apps --all-namespaces --output=json",
    ]
    assert "2 of 2 replicas of 1 workload scheduled on 2 nodes." in done.stdout
    assert "2 drains" in done.stdout
    assert done.stderr == LACKING


def test_the_exit_code_is_that_of_the_command(kubectl: Kubectl) -> None:
    kubectl.answers([node("one"), deployment(disk="ssd")])
    done = kubectl.afflint("place")
    assert done.returncode == 1
    assert "lacks disk=ssd" in done.stdout


def test_why_explains_a_workload_of_the_cluster(kubectl: Kubectl) -> None:
    kubectl.answers([node("one"), deployment(disk="ssd")])
    done = kubectl.afflint("why", "shop/web", "--context", "production")
    assert kubectl.calls[0].startswith("--context production ")
    assert (done.returncode, done.stderr) == (1, LACKING)
    assert "1 node lacks disk=ssd: one" in done.stdout
    assert "label the node `one` with `disk=ssd`: both replicas run" in done.stdout


def test_check_lints_the_objects_without_those_that_controllers_create(kubectl: Kubectl) -> None:
    broken = deployment()
    broken["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exits"}]
    kubectl.answers([node("one"), broken])
    done = kubectl.afflint("check", "--format", "concise")
    assert kubectl.calls[1] == "get nodes,deployments.apps --all-namespaces --output=json"
    assert done.returncode == 1
    assert "[unknown-operator]" in done.stdout


POLICY = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []\n"


def config_map(name: str, text: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}, "data": {"policy.yaml": text}}


def test_dump_has_the_objects_and_of_the_config_maps_only_policies(kubectl: Kubectl) -> None:
    policy = config_map("descheduler", POLICY)
    maps = [policy, config_map("other", "password: secret\n")]
    kubectl.answers([node("one"), deployment()], served=SERVED + "configmaps\n", maps=maps)
    done = kubectl.afflint("dump", "--context", "production")
    assert json.loads(done.stdout)["items"] == [node("one"), deployment(), policy]
    assert kubectl.calls[2] == "--context production get configmaps --all-namespaces --output=json"


def test_resources_asks_no_cluster(kubectl: Kubectl) -> None:
    kubectl.answers([])
    named = kubectl.afflint("resources").stdout.split()
    assert named[:2] == ["pods", "nodes"]
    assert len(named) == len(set(named))
    assert not (kubectl.folder / "calls").exists()


def test_what_the_user_may_not_list_is_named(kubectl: Kubectl) -> None:
    forbidden = 'Error from server (Forbidden): pods is forbidden: User "me" cannot list resource "pods" at the cluster scope'
    kubectl.answers([node("one"), deployment()], error=forbidden, code=1)
    done = kubectl.afflint("place", "--summary")
    assert done.stderr == LACKING.replace("the cluster", "kubectl may not list pods; the cluster")
    assert "2 of 2 replicas" in done.stdout


def test_without_a_cluster_the_error_of_kubectl_is_one_line(kubectl: Kubectl) -> None:
    refused = "The connection to the server localhost:8080 was refused - did you specify the right host or port?"
    kubectl.answers([], served="", error=f"E1125 a line of the log\n{refused}")
    done = kubectl.afflint("place")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"afflint: kubectl: {refused}\n")


@pytest.mark.parametrize("before", ["", ".", "bin", "./bin", "gone"])
def test_kubectl_is_never_one_of_the_current_folder(before: str, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty entry of PATH means the current folder; the search goes on to the kubectl of the user."""
    kubectl.answers([node("one"), deployment()])
    tree = tmp_path_factory.mktemp("tree")
    (tree / "bin").mkdir()
    for folder in (tree, tree / "bin"):
        (folder / "kubectl").write_text(f"#!/bin/sh\ntouch {tree}/ran\n", encoding="utf-8")
        (folder / "kubectl").chmod(0o755)
    command = [sys.executable, "-m", "afflint.cli.kubectl", "place", "--summary"]
    environment = clean_environment(PATH=f"{before}:{kubectl.folder}:/usr/bin:/bin")
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, encoding="utf-8", check=False)
    assert "2 of 2 replicas" in done.stdout
    assert not (tree / "ran").exists()


def test_kubectl_runs_in_a_folder_without_files_of_the_tree(tmp_path: Path) -> None:
    """A version manager would read `.tool-versions` there. Paths of the user mean what they meant."""
    tree, folder = tmp_path / "tree", tmp_path / "programs"
    tree.mkdir()
    folder.mkdir()
    (folder / "kubectl").write_text(f'#!/bin/sh\necho "$PWD $KUBECONFIG $*" >>{tmp_path}/calls\n', encoding="utf-8")
    (folder / "kubectl").chmod(0o755)
    command = [sys.executable, "-m", "afflint.cli.kubectl", "place", "--kubeconfig=a", "--kubeconfig", "b"]
    environment = clean_environment(PATH=f"{folder}:/usr/bin:/bin", KUBECONFIG="c:/d::e")
    subprocess.run(command, env=environment, cwd=tree, capture_output=True, check=False)
    (call,) = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert call.startswith(f"{folder} {tree}/c:/d:{tree}/e --kubeconfig={tree}/a --kubeconfig {tree}/b api-resources ")


def test_without_kubectl_it_says_so(tmp_path: Path) -> None:
    environment = clean_environment(PATH=str(tmp_path))
    command = [sys.executable, "-m", "afflint.cli.kubectl", "place"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (2, "afflint: kubectl is not on PATH\n")


def test_help_asks_no_cluster(kubectl: Kubectl) -> None:
    kubectl.answers([])
    assert kubectl.afflint("--help").stdout.startswith("Usage: kubectl afflint COMMAND")
    assert kubectl.afflint("place", "--help").stdout.startswith("Usage: afflint place")
    assert not (kubectl.folder / "calls").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plce"], "no such command: 'plce'; did you mean 'place'?"),
        (["fix"], "no such command: 'fix'; use place, why, check, dump or resources"),
        (["place", "--context"], "--context needs a value"),
        (["dump", "--summary"], "dump has only options of kubectl, not '--summary'"),
    ],
)
def test_wrong_usage_names_the_nearest_word(words: list[str], message: str) -> None:
    with pytest.raises(UserError) as raised:
        parse(words)
    assert str(raised.value) == message


def test_options_of_kubectl_are_distinguished_from_those_of_afflint() -> None:
    call = parse(["place", "--context=a", "--lose", "each:zone", "--kubeconfig", "--strange", "--only", "web"])
    assert call.connection == ("--context=a", "--kubeconfig", "--strange")
    assert call.arguments == ("--lose", "each:zone", "--only", "web")
