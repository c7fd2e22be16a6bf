"""The types of a trace file by which the scripts are checked are those of its JSON Schema.

`python -m tests.web.test_types` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dard.trace import json_schema
from visual.web import WEB

FILE = WEB / "data" / "schema.d.ts"
PLAIN = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
HEAD = """// What a trace file holds, written by `python -m tests.web.test_types` from its JSON Schema.

"""


def typed(schema: Mapping[str, Any]) -> str:
    """A part of a schema as TypeScript.

    >>> typed({"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Top"}, {"type": "null"}]}})
    '(Top | null)[]'
    >>> typed({"type": "object", "patternProperties": {"^.*$": {"type": "array", "items": {"type": "number"}}}})
    'Record<string, number[]>'
    """
    if "$ref" in schema:
        return schema["$ref"].split("/")[-1]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(typed, schema["anyOf"])))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(map(typed, schema['prefixItems']))}]"
        items = typed(schema.get("items", {}))
        return f"({items})[]" if "|" in items else f"{items}[]"
    if kind == "object":
        if "properties" in schema:
            return f"{{ {' '.join(field(schema, name) for name in schema['properties'])} }}"
        others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
        values = [typed(each) for each in others if isinstance(each, Mapping)]
        return f"Record<string, {' | '.join(values) or 'unknown'}>"
    return PLAIN.get(kind or "", "unknown")


def field(schema: Mapping[str, Any], name: str) -> str:
    optional = "" if name in schema.get("required", ()) else "?"
    return f"{name}{optional}: {typed(schema['properties'][name])};"


def declared(schema: Mapping[str, Any]) -> str:
    """A schema and what it refers to, as interfaces by name."""
    kinds = {**schema["$defs"], schema["title"]: schema}
    return HEAD + "\n".join(
        f"export interface {name} {{\n" + "".join(f"  {field(kind, each)}\n" for each in kind["properties"]) + "}\n"
        for name, kind in sorted(kinds.items())
    )


def test_the_types_are_those_of_the_schema() -> None:
    assert FILE.read_text(encoding="utf-8") == declared(json.loads(json_schema()))


if __name__ == "__main__":
    FILE.write_text(declared(json.loads(json_schema())), encoding="utf-8")
