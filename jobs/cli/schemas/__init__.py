"""What commands print with --json: for each a JSON Schema (draft 2020-12) of its lines."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

_SUFFIX = ".schema.json"


def schemas() -> dict[str, dict[str, Any]]:
    """The schema of a line, by the words of the command, such as `replica describe`."""
    found = (each for each in files(__name__).iterdir() if each.name.endswith(_SUFFIX))
    by_name = {each.name.removesuffix(_SUFFIX): each for each in found}
    return {
        name.replace("replica-", "replica "): json.loads(by_name[name].read_text("utf-8"))
        for name in sorted(by_name)
    }
