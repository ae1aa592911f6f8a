"""The settings as text for people, for ``afflint config``."""

from collections.abc import Iterator, Mapping

from afflint.config.settings import AUTO_NODES, KEYS, Config, CustomWorkloadSetting, StorageSetting
from afflint.findings.paths import field_of
from afflint.findings.phrases import visible
from afflint.policies.policy import Policy


def describe(config: Config) -> Iterator[tuple[str, str, str]]:
    """Yield each setting as (key, value in YAML on one line, origin); each entry of a map on its own."""
    for key in KEYS:
        value = getattr(config, key.replace("-", "_"))
        if key == "policies":
            value = {policy.name: policy for policy in value}
        if isinstance(value, dict) and value:
            for entry, item in value.items():
                name = field_of((key, entry))
                yield visible(name), display_value(item), str(config.origins.get(name, config.origins[key]))
        else:
            if key == "nodes" and not value:
                value = AUTO_NODES
            yield (
                key,
                display_value(value or () if key == "policies" else value) if value is not None else _WITHOUT_VALUE[key],
                str(config.origins[key]),
            )


_WITHOUT_VALUE = {"select": "(the default rules)", "kubevirt-version": "(unknown)", "baseline": "(none)", "jobs": "(one for each core)"}
"""What applies if a key without a default value is not set."""


def display_value(value: object) -> str:
    """Format a value in YAML's flow style, for people to read."""
    if isinstance(value, CustomWorkloadSetting):
        value = {"apiVersion": value.api_version, "kind": value.kind, "template": ".".join(value.template)}
    elif isinstance(value, StorageSetting):
        value = {field: item for field, item in value._asdict().items() if item}
    elif isinstance(value, Policy):
        value = {field: item for field, item in value._asdict().items() if field != "name" and item not in (None, {}, False)}
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{display_value(key)}: {display_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(display_value, value)) + "]"
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    text = str(value)
    plain = text.isprintable() and not any(char in text for char in ",[]{}\"'#: ") and text
    return text if plain else '"' + visible(text).replace('"', '\\"') + '"'
