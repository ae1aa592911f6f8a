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


@pytest.mark.usefixtures("history")
class TestCheck:
    def test_each_cluster_has_its_own_nodes(self, afflint: Afflint) -> None:
        done = afflint("check", "--format", "concise")
        assert done.out.splitlines()[0] == (
            "clusters/east/web.yaml:10:7: error none of the 2 replicas fits any of the 3 nodes: "
            "3 nodes lack topology.kubernetes.io/zone=c [unschedulable]"
        )
        assert done.err == ""
        assert f"{CLUSTERS}.\n" in afflint("check").out

    def test_it_finds_what_a_check_of_each_folder_finds(self, afflint: Afflint) -> None:
        def findings(*paths: str) -> list[tuple[str, str, str]]:
            data = json.loads(afflint("check", "--format", "json", "--exit-zero", *paths).out)
            return sorted((each["file"], each["rule"], each["message"]) for each in data["findings"])

        assert findings() == sorted([*findings("clusters/east"), *findings("clusters/west")])

    def test_a_workload_outside_of_their_folders(self, history: History, afflint: Afflint) -> None:
        """Which cluster a shared base is for is not known: it is checked without nodes."""
        history.write({"base/web.yaml": web("nowhere")})
        lines = afflint("check", "--format", "concise").out.splitlines()
        assert [each.partition(":")[0] for each in lines if " error " in each] == ["clusters/east/web.yaml"]

    def test_the_cache_keeps_the_clusters(self, afflint: Afflint, tmp_path: Path) -> None:
        words = ("check", "--cache-dir", str(tmp_path / "cache"))
        assert f"{CLUSTERS}.\n" in afflint(*words).out
        assert f"{CLUSTERS}.\n" in afflint(*words).out


class TestPlace:
    def test_each_cluster_is_placed(self, history: History, afflint: Afflint) -> None:
        history.write({"base/db.yaml": web("nowhere")})
        done = afflint("place")
        assert [each for each in done.out.splitlines() if each.startswith(("cluster ", "0 of", "2 of"))] == [
            "cluster clusters/east (3 nodes)",
            "0 of 2 replicas scheduled",
            "0 of 2 replicas of 1 workload scheduled on 3 nodes.",
            "cluster clusters/west (2 nodes)",
            "2 of 2 replicas scheduled",
            "2 of 2 replicas of 1 workload scheduled on 2 nodes.",
        ]
        assert done.err == "afflint: not placed, because they are in the folder of no cluster: Deployment default/web\n"
        assert done.code == 1

    @pytest.mark.usefixtures("history")
    def test_json_has_a_plan_for_each(self, afflint: Afflint) -> None:
        data = json.loads(afflint("place", "--format", "json", "--exit-zero").out)
        assert [(each["folder"], len(each["placement"]["nodes"])) for each in data["clusters"]] == [
            ("clusters/east", 3),
            ("clusters/west", 2),
        ]

    @pytest.mark.usefixtures("history")
    def test_a_page_shows_one_cluster_and_asks_for_its_folder(self, afflint: Afflint) -> None:
        done = afflint("place", "--format", "html")
        assert done.err == "afflint: the folders `clusters/east` and `clusters/west` have nodes of 2 clusters; name the paths of one\n"
        assert (done.code, afflint("place", "--format", "html", "clusters/west", "--exit-zero").code) == (2, 0)

    @pytest.mark.parametrize(
        ("words", "effect", "missing"),
        [
            (["--lose", "worker-2"], "1 failure", "no node is named 'worker-2'"),
            (["--drain", "zone=b"], "1 drain", "no node has zone=b; the values of zone are c"),
            (["--remove", "zone=b,worker-0"], "1 removal", "no node has zone=b; the values of zone are c"),
            (["--roll", "api"], "1 rollout", "no workload is named 'api'"),
        ],
    )
    def test_what_one_cluster_has_is_disrupted_there(
        self, history: History, afflint: Afflint, words: list[str], effect: str, missing: str
    ) -> None:
        history.write({"clusters/east/api.yaml": web("a").replace("web", "api")})
        done = afflint("place", *words)
        east, _, west = done.out.partition("cluster clusters/west (2 nodes)")
        assert (effect in east, effect in west, done.code) == (True, False, 1)
        assert done.err.startswith(f"afflint: clusters/west: {missing}")

    def test_a_selection_shows_only_the_clusters_that_have_it(self, history: History, afflint: Afflint) -> None:
        history.write({"clusters/east/api.yaml": web("a").replace("web", "api")})
        done = afflint("place", "--only", "api")
        assert [line for line in done.out.splitlines() if line.startswith("cluster ")] == ["cluster clusters/east (3 nodes)"]
        assert (done.code, done.err) == (1, "afflint: clusters/west: no workload, application or node is named 'api'\n")

    @pytest.mark.usefixtures("history")
    def test_a_name_that_no_cluster_has_is_an_error(self, afflint: Afflint) -> None:
        for words in (["--lose", "worker-9"], ["--drain", "zone=z"], ["--roll", "nothing"], ["--only", "nothing"]):
            done = afflint("place", *words)
            assert (done.code, done.out) == (2, "")
            assert words[1].rpartition("=")[2] in done.err


class TestWhy:
    @pytest.mark.usefixtures("history")
    def test_each_cluster_is_explained(self, afflint: Afflint) -> None:
        done = afflint("why", "web")
        heads = [line for line in done.out.splitlines() if line.startswith(("cluster ", "Deployment"))]
        assert heads == [
            "cluster clusters/east (3 nodes)",
            "Deployment default/web (clusters/east/web.yaml:3): 0 of 2 replicas run.",
            "cluster clusters/west (2 nodes)",
            "Deployment default/web (clusters/west/apps/web.yaml:3): 2 of 2 replicas run.",
        ]
        assert (done.code, afflint("why", "web", "--exit-zero").code, afflint("why", "web", "clusters/west").code) == (1, 0, 1)

    @pytest.mark.usefixtures("history")
    def test_json_has_an_explanation_for_each(self, afflint: Afflint) -> None:
        data = json.loads(afflint("why", "web", "--format", "json", "--exit-zero").out)
        assert [(each["folder"], each["explanation"]["running"]) for each in data["clusters"]] == [
            ("clusters/east", 0),
            ("clusters/west", 2),
        ]

    def test_a_workload_of_one_cluster_is_explained_there(self, history: History, afflint: Afflint) -> None:
        history.write({"clusters/west/db.yaml": web("c").replace("web", "db")})
        done = afflint("why", "db")
        assert [line for line in done.out.splitlines() if line.startswith("cluster ")] == ["cluster clusters/west (2 nodes)"]
        assert "db.yaml:3" in done.out

    def test_a_name_that_no_cluster_has(self, history: History, afflint: Afflint) -> None:
        done = afflint("why", "wbe")
        assert (done.code, done.err) == (2, "afflint: no workload or pod is named 'wbe'; did you mean 'web'?\n")
        history.write({"base/db.yaml": web("c").replace("web", "db")})
        assert afflint("why", "db").err.splitlines() == [
            "afflint: not placed, because they are in the folder of no cluster: Deployment default/db",
            "afflint: no workload or pod is named 'db'",
        ]


class TestDiff:
    def test_each_cluster_is_compared(self, history: History, afflint: Afflint) -> None:
        history.write({"clusters/west/apps/web.yaml": web("c", replicas=3), "clusters/east/web.yaml": web("b")})
        out = afflint("diff").out
        assert f"The placement of 2 workloads changes ({CLUSTERS})\n" in out
        assert "clusters/east: Deployment default/web\n  + 2 of 2 replicas can be scheduled (before: 0 of 2)\n" in out
        assert "clusters/west: Deployment default/web\n  ~ replicas: 2 → 3\n" in out

    def test_a_workload_in_the_folder_of_no_cluster(self, history: History, afflint: Afflint) -> None:
        history.commit({"base/web.yaml": web("c")})
        history.write({"base/web.yaml": web("c", replicas=3)})
        data = json.loads(afflint("diff", "HEAD", "--format", "json").out)
        assert [(each["workload"], each["changes"]) for each in data["placement"]] == [("Deployment default/web", ["replicas: 2 → 3"])]

    def test_a_second_cluster_is_new(self, history: History, afflint: Afflint) -> None:
        first = history.git("rev-parse", "HEAD")
        history.commit({"clusters/north/nodes.yaml": nodes("d"), "clusters/north/web.yaml": web("d")})
        out = afflint("diff", f"{first}..HEAD").out
        assert "3 clusters: clusters/east (3 nodes), clusters/north (1 node), clusters/west (2 nodes)" in out
        assert "clusters/north: Deployment default/web\n  ~ new workload with 2 replicas\n" in out

    def test_another_zone_is_named(self, history: History, afflint: Afflint) -> None:
        first = history.commit({"clusters/east/web.yaml": web("a")})
        history.write({"clusters/east/web.yaml": web("b")})
        assert "  ~ zones: a → b\n" in afflint("diff", first).out
