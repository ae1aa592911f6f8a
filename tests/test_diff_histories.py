"""`afflint place` confirms what `afflint diff` states, in both states: here over a short history, in `tools/` over real ones."""

from collections import Counter
from pathlib import Path

import pytest
from tools.diff_histories import End, Tally, confirm, run

from git_history import History

NODES = {"a1": "a", "a2": "a", "b1": "b"}
KEY = "Deployment shop/web"


def web(replicas: int = 2, constraints: str = "", image: str = "nginx:1.27") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
{constraints}\
      containers: [{{name: web, image: "{image}"}}]
"""


def test_every_statement_about_a_history_is_confirmed(tmp_path: Path) -> None:
    history = History(tmp_path / "shop")
    history.commit({"apps/web.yaml": web()})
    history.commit({"apps/web.yaml": web(image="nginx:1.28")})
    history.commit({"apps/web.yaml": web(image="nginx:1.28", constraints="      nodeSelector: {topology.kubernetes.io/zone: a}\n")})
    history.commit({"apps/web.yaml": web(image="nginx:1.28", constraints="      nodeSelector: {disk: none}\n")})
    history.commit({"apps/web.yaml": web(3, image="nginx:1.28")})
    tally = Tally(Counter(), Counter(), [])
    run(str(history.root), "apps", 4, tally)
    assert tally.problems == []
    assert tally.commits == {"unchanged": 1, "changed": 3}
    assert set(tally.statements) == {"confirmed"}
    assert tally.statements["confirmed"] >= 8


def end(replicas: list[str | None], usable: str = "a1 a2 b1", zone: str = "survives") -> End:
    """What `place` says of one workload, and of the failure of the zone a."""
    workload = {
        "key": KEY,
        "verdicts": [{"node": node, "feasible": node in usable.split()} for node in NODES],
        "replicas": [{"pod": str(number), "node": node} for number, node in enumerate(replicas)],
        "preferences": [],
    }
    loss = {"action": "lose", "what": "topology.kubernetes.io/zone=a", "outcomes": {KEY: zone}, "blocked": []}
    nodes = [{"name": name, "labels": {"topology.kubernetes.io/zone": zone}} for name, zone in NODES.items()]
    return End({"workloads": [workload], "nodes": nodes, "losses": [loss]})


FINE, TOGETHER, PENDING = end(["a1", "b1"]), end(["a1", "a2"], "a1 a2", "dead"), end([None, None], "", "survives")


@pytest.mark.parametrize(
    ("text", "after", "verdict"),
    [
        ("zones: 2 → 1 (a)", TOGETHER, "confirmed"),
        ("zones: 2 → 1 (b)", TOGETHER, "refuted"),
        ("zones: 2 → 1 (a)", FINE, "refuted"),
        ("nodes that it can use: 3 → 2", TOGETHER, "confirmed"),
        ("nodes that it can use: 3 → 1", TOGETHER, "refuted"),
        ("no longer survives the failure of zone a: it is down", TOGETHER, "confirmed"),
        ("no longer survives the failure of a zone: it is down", TOGETHER, "confirmed"),
        ("no longer survives the failure of zone b: it is down", TOGETHER, "refuted"),
        ("no longer survives the failure of zone a: it is interrupted", TOGETHER, "refuted"),
        ("no longer survives the failure of zone a: it is down", FINE, "refuted"),
        ("0 of 2 replicas can be scheduled: 3 nodes lack disk=none", PENDING, "confirmed"),
        ("0 of 2 replicas can be scheduled: 3 nodes lack disk=none", FINE, "refuted"),
        ("replicas: 2 → 3", FINE, "refuted"),
        ("removed", FINE, "refuted"),
        ("now must share a zone with pods app=db", FINE, "unchecked"),
    ],
)
def test_a_statement_is_confirmed_or_refuted(text: str, after: End, verdict: str) -> None:
    assert confirm(KEY, text, FINE, after)[0] == verdict
