"""The text of a Deployment, for tests that need one with a few fields of its own."""

CONTAINERS = 'containers: [{name: web, image: "nginx:1.27"}]'


def deployment(
    *lines: str, name: str = "web", namespace: str = "", replicas: int | str = "", metadata: str = "", labels: str = "", selector: str = ""
) -> str:
    """A Deployment in YAML, whose pods have the label ``app: NAME``.

    ``lines`` are those of the pod spec, or the spec in flow style; a container is added if they have none. ``metadata`` and ``labels`` are
    further metadata, and further labels of the pods, in flow style.
    """
    named = ", ".join(part for part in (f"name: {name}", namespace and f"namespace: {namespace}", metadata) if part)
    count = f"  replicas: {replicas}\n" if replicas else ""
    own = ", ".join(part for part in (selector or f"app: {name}", labels) if part)
    whole = (*lines, *(() if "containers:" in "".join(lines) else (CONTAINERS,)))
    spec = f" {whole[0]}" if whole[0].startswith("{c") else "".join(f"\n      {line}" for line in whole)
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{{named}}}
spec:
{count}  selector: {{matchLabels: {{{selector or f"app: {name}"}}}}}
  template:
    metadata: {{labels: {{{own}}}}}
    spec:{spec}
"""
