"""One repository with several clusters: nodes belong to the nearest folder above a workload that holds some."""

import json
from pathlib import Path

import pytest

from command_line import Afflint
from git_history import History


def nodes(zones: str) -> str:
    lines = [
        f"  - {{name: worker-{number}, labels: {{topology.kubernetes.io/zone: {zone}}}}}\n" for number, zone in enumerate(zones.split())
    ]
    return f"nodes:\n{''.join(lines)}"


def web(zone: str, replicas: int = 2) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      nodeSelector: {{topology.kubernetes.io/zone: {zone}}}
      containers: [{{name: web, image: "nginx:1.27"}}]
"""


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Two clusters whose nodes have the same names; `web` in east needs a zone that east lacks."""
    found = History(tmp_path / "fleet")
    found.commit(
        {
            "clusters/east/nodes.yaml": nodes("a a b"),
            "clusters/east/web.yaml": web("c"),
            "clusters/west/nodes.yaml": nodes("c c"),
            "clusters/west/apps/web.yaml": web("c"),
        }
    )
    monkeypatch.chdir(found.root)
    return found


CLUSTERS = "2 clusters: clusters/east (3 nodes), clusters/west (2 nodes)"


class TestCheck:
    def test_each_cluster_has_its_own_nodes(self, history: History, afflint: Afflint) -> None:
        done = afflint("check", "--format", "concise")
        assert done.out.splitlines()[0] == (
            "clusters/east/web.yaml:10:7: error none of the 2 replicas fits any of the 3 nodes: "
            "3 nodes lack topology.kubernetes.io/zone=c [unschedulable]"
        )
        assert done.err == f"afflint: {CLUSTERS}\n"

    def test_it_finds_what_a_check_of_each_folder_finds(self, history: History, afflint: Afflint) -> None:
        def findings(*paths: str) -> list[tuple[str, str, str]]:
            data = json.loads(afflint("check", "--format", "json", "--exit-zero", *paths).out)
            return sorted((each["file"], each["rule"], each["message"]) for each in data["findings"])

        assert findings() == sorted([*findings("clusters/east"), *findings("clusters/west")])

    def test_a_workload_outside_of_their_folders(self, history: History, afflint: Afflint) -> None:
        """Which cluster a shared base is for is not known: it is held against no nodes."""
        history.write({"base/web.yaml": web("nowhere")})
        lines = afflint("check", "--format", "concise").out.splitlines()
        assert [each.partition(":")[0] for each in lines if " error " in each] == ["clusters/east/web.yaml"]

    def test_the_cache_keeps_the_clusters(self, history: History, afflint: Afflint, tmp_path: Path) -> None:
        words = ("check", "--cache-dir", str(tmp_path / "cache"))
        assert afflint(*words).err == afflint(*words).err
