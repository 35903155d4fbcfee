"""What commands print with --json: for each a JSON Schema (draft 2020-12) of its lines.

What several commands print is in shared.json. A schema names it as `shared.json#/NAME`.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

_SUFFIX = ".schema.json"
_SHARED = "shared.json"


def schemas() -> dict[str, dict[str, Any]]:
    """The schema of a line, by the words of the command, such as `replica describe`. No schema
    refers to another file."""
    folder = files(__name__)
    found = (each for each in folder.iterdir() if each.name.endswith(_SUFFIX))
    by_name = {each.name.removesuffix(_SUFFIX): each.read_text("utf-8") for each in found}
    shared = json.loads((folder / _SHARED).read_text("utf-8"))
    return {
        name.replace("replica-", "replica "): _whole(json.loads(by_name[name]), shared)
        for name in sorted(by_name)
    }


def _whole(schema: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """The schema with the definitions of shared.json to which it refers."""
    by_reference = {f"{_SHARED}#/{name}": one for name, one in shared.items()}
    if "$defs" not in schema:
        return schema
    kinds = {name: by_reference.get(one.get("$ref"), one) for name, one in schema["$defs"].items()}
    return {**schema, "$defs": kinds}
