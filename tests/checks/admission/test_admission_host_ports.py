"""Host ports: what the API server refuses in the ports of containers."""

import pytest

from afflint.checks.match import Target
from linting import lint


def pod(ports: str, *, more: str = "", kind: str = "Pod") -> str:
    """A pod, or a Deployment of it, whose first container has these ports."""
    spec = f"{more}containers: [{{name: web, image: nginx, ports: [{ports}]}}]"
    if kind == "Pod":
        return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{{spec}}}\n"
    controller = "selector: {matchLabels: {app: web}}"
    template = f"template: {{metadata: {{labels: {{app: web}}}}, spec: {{{spec}}}}}"
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{{controller}, {template}}}\n"


def reported(text: str, *, version: tuple[int, int] = (1, 37)) -> list[str]:
    """``rule field: message`` for each finding of category admission."""
    found = lint(text, target=Target(version))
    return [f"{each.rule} {each.field}: {each.message}" for each in found if each.category == "admission"]


@pytest.mark.parametrize("number", ["-1", "65536", "70000"])
def test_numbers_that_are_not_ports(number: str) -> None:
    assert reported(pod(f"{{containerPort: 80, hostPort: {number}}}")) == [
        f"invalid-host-port spec.containers[0].ports[0].hostPort: the host port `{number}` is outside the range 1 to 65535"
    ]


@pytest.mark.parametrize("number", ["1", "65535", "8e1", "0", "null", '"{{ .Values.port }}"', "${PORT}"])
def test_numbers_that_are_and_none(number: str) -> None:
    assert reported(pod(f"{{containerPort: 80, hostPort: {number}}}")) == []


@pytest.mark.parametrize("value", ['"80"', "web", "1.5", "[80]", "{}", "yes", "2147483648", "1e19"])
def test_values_of_another_type(value: str) -> None:
    [message] = reported(pod(f"{{containerPort: 80, hostPort: {value}}}"))
    assert message.startswith("wrong-type spec.containers[0].ports[0].hostPort: `hostPort` must be a")


def test_a_misspelt_field_of_a_port() -> None:
    assert reported(pod("{containerPort: 80, hostport: 80}")) == [
        "unknown-field spec.containers[0].ports[0].hostport: unknown field `hostport` in this container port; did you mean `hostPort`?"
    ]


def test_a_host_port_that_a_pod_requests_twice() -> None:
    twice = "{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 8080, protocol: TCP}"
    assert reported(pod(twice)) == [
        (
            "invalid-host-port spec.containers[0].ports[1].hostPort: "
            "this pod requests the host port `8080/TCP` twice: containers[0].ports[0] requests it as well"
        )
    ]


def test_containers_count_together_and_each_init_container_by_itself() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: a, image: nginx, ports: [{containerPort: 80, hostPort: 8080}]}
    - {name: b, image: nginx, ports: [{containerPort: 81, hostPort: 8080}]}
  initContainers:
    - {name: c, image: nginx, ports: [{containerPort: 80, hostPort: 8080}]}
    - {name: d, image: nginx, ports: [{containerPort: 80, hostPort: 8080}]}
"""
    assert [each.split(": ")[0] for each in reported(text)] == ["invalid-host-port spec.containers[1].ports[0].hostPort"]


@pytest.mark.parametrize("other", ["hostPort: 8080, protocol: UDP", "hostPort: 8080, hostIP: 127.0.0.1", "hostPort: 8081"])
def test_another_protocol_address_or_number(other: str) -> None:
    assert reported(pod(f"{{containerPort: 80, hostPort: 8080}}, {{containerPort: 80, {other}}}")) == []


def test_on_the_network_of_the_host_both_ports_are_the_same() -> None:
    on_host = "hostNetwork: true, "
    assert reported(pod("{containerPort: 80, hostPort: 8080}", more=on_host)) == [
        (
            "invalid-host-port spec.containers[0].ports[0].containerPort: "
            "hostPort `8080` differs from containerPort `80`, but with `hostNetwork: true` both must be the same"
        )
    ]
    assert reported(pod("{containerPort: 80, hostPort: 80}, {containerPort: 81}", more=on_host)) == []
    assert reported(pod("{containerPort: 80, hostPort: 8080}", more="hostNetwork: false, ")) == []


def test_on_the_network_of_the_host_each_container_port_is_a_host_port() -> None:
    text = pod("{containerPort: 80}, {containerPort: 80}", more="hostNetwork: true, ", kind="Deployment")
    message = (
        "invalid-host-port spec.template.spec.containers[0].ports[1].hostPort: this pod requests the host port `80/TCP` twice: "
        "containers[0].ports[0] requests it as well, because with `hostNetwork: true` each containerPort is also a host port"
    )
    late = " (the object is accepted, but every pod created from it is rejected)"
    assert reported(text) == [message + late]
    assert reported(text, version=(1, 27)) == [message]
    assert reported(pod("{containerPort: 80}, {containerPort: 80}", kind="Deployment")) == []
