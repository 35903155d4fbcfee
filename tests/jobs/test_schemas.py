"""The JSON Schemas of what commands print with --json. Each line that a test of tests/jobs has
printed is held to them by the fixtures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jobs.cli.schemas import schemas
from tests.jobs.conftest import Kraftlake
from tests.jobs.printed_json import breach
from tests.jobs.registry import commands


def with_json() -> Iterator[str]:
    """The words of each command that takes --json."""
    for words, command in commands():
        if any("--json" in each.opts for each in command.params):
            yield " ".join(words)


def described(schema: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """(a field, whether it is described), of all fields in a schema."""
    for name, field in schema.get("properties", {}).items():
        yield name, bool(field.get("description")) or "const" in field
        yield from described(field)
        yield from described(field.get("items") or {})
    for kind in schema.get("$defs", {}).values():
        yield from described(kind)


def test_each_command_with_json_has_a_schema_and_no_other_has() -> None:
    assert sorted(schemas()) == sorted(with_json())


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_is_sound_and_describes_each_field(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["title"].startswith("What `")
    assert [field for field, is_described in described(schema) if not is_described] == []


def test_a_line_that_breaks_the_schema_is_seen() -> None:
    """The fixtures would see it in each test."""
    row = {"offset": 3, "epoch": 1}
    assert breach(("replica", "append", "--json"), json.dumps(row)) == ""
    assert "additional" in breach(("replica", "append"), json.dumps({**row, "at": 1})).lower()
    assert "'x' is not of type" in breach(("replica", "append"), json.dumps({**row, "epoch": "x"}))
    assert "required" in breach(("replica", "append"), json.dumps({"offset": 3}))


def test_explain_prints_the_schema_of_a_command(kraftlake: Kraftlake) -> None:
    told = json.loads(kraftlake("explain", "--schema", "replica describe").out)
    assert told == schemas()["replica describe"]
    unknown = kraftlake("explain", "--schema", "chekc").error
    assert "chekc" in unknown
    assert "check" in unknown
    both = kraftlake("explain", "--schema", "check", "torn-tail").error
    assert both == "RULE and --schema exclude each other: take one"
