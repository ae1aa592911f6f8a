"""Write schemas/kubevirt-domain.json, the known fields of the `domain` of a virtual machine.

    python tools/kubevirt_domain.py VALIDATIONS.go

VALIDATIONS.go is pkg/virt-operator/resource/generate/components/validations_generated.go of KubeVirt: the schemas of its
CustomResourceDefinitions. An object is written as a map of its fields, a list of objects as a list with one such map, and everything
else as 0. The file is generated, never edited.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

DOMAIN = Path(__file__).parents[1] / "schemas" / "kubevirt-domain.json"


def domain_schema(source: str) -> dict[str, Any]:
    """Return the schema of the domain in the CustomResourceDefinition of VirtualMachineInstance."""
    start = source.index('\t"virtualmachineinstance": `openAPIV3Schema:')
    text = source[source.index("`", start) + 1 : source.index("\n`", start)]
    schema: Any = YAML(typ="safe").load(text)["openAPIV3Schema"]
    for field in ("spec", "domain"):
        schema = schema["properties"][field]
    return dict(schema)


def fields_of(schema: dict[str, Any]) -> Any:
    """Return the known fields of an object or of the objects in a list; 0 for other values, and for objects that keep unknown fields."""
    if schema.get("type") == "array":
        item = fields_of(schema["items"])
        return [item] if item != 0 else 0
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("type") != "object" or is_open:
        return 0
    return {name: fields_of(field) for name, field in sorted(schema.get("properties", {}).items())}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    fields = fields_of(domain_schema(Path(sys.argv[1]).read_text(encoding="utf-8")))
    DOMAIN.write_text(json.dumps(fields, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{DOMAIN.name}: {DOMAIN.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
