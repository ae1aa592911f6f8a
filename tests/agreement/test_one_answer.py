"""Commands that answer one question agree: `why` with `place`. tests/policies has the agreement of policies with plans."""

import json
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from plans import Plans, as_json

from command_line import Afflint
from random_orders import drawn_objects

few = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@few
@given(st.randoms(use_true_random=False))
def test_why_and_place_agree_on_replicas_and_single_failures(
    afflint: Afflint, plans: Plans, tmp_path_factory: pytest.TempPathFactory, random: Random
) -> None:
    objects = drawn_objects(random)
    file = tmp_path_factory.mktemp("why") / "all.json"
    file.write_bytes(as_json(objects))
    place = plans.of_objects(objects)
    failures = {what: outcomes for (action, what), outcomes in place.outcomes.items() if action == "lose"}
    for each in place.report["workloads"]:
        if each["error"] is not None:
            continue
        name = f"{each['kind']}/{each['name']}"
        why = json.loads(afflint("why", "--no-config", "--nodes", str(file), "--format", "json", name, str(file)).out)
        assert why["running"] == len(place.placed[each["key"]])
        assert len(why["pending"]) == place.pending[each["key"]]
        assert why["survives"] is not True or not {"dead", "degraded"} & {outcomes.get(each["key"]) for outcomes in failures.values()}
        for failure in why["failures"]:
            assert failure["outcome"] == failures[failure["what"].replace("zone ", "zone=")][each["key"]]
