"""Makes tables, and checks them against their contracts, by delta-rs: in milliseconds, not in
seconds."""

from __future__ import annotations

import json

from deltalake import DeltaTable, Schema

from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.object_store import storage_options
from pipelines.tables.contract import Contract
from replica.errors import UsageError

_ALL_FEATURES = {"delta.minWriterVersion": "7"}
"""The feature that a table with a VARIANT needs, whose protocol lists its features: with it
delta-rs lists the older features, too. Spark refuses a table that doesn't list them."""


def ensure_table(lake: Lake, contract: Contract) -> None:
    """Creates the table, empty, where it is absent. Checks an existing table against its contract.

    Raises UsageError where the lake's table has other columns, because another release wrote it.
    """
    table = open_if_there(lake, contract.name)
    if table is not None:
        _check_columns(table, lake.path_of(contract), contract)
        _set_missing_properties(table, contract)
        return
    DeltaTable.create(
        lake.table_uri(contract.name),
        schema=Schema.from_json(contract.schema.json()),
        mode="ignore",  # another process may be doing the same
        description=contract.description,
        configuration=_configuration(contract),
        storage_options=storage_options(lake.place),
    )


def _configuration(contract: Contract) -> dict[str, str | None]:
    has_variant = any(column.data_type.typeName() == "variant" for column in contract.columns)
    return {**contract.properties, **(_ALL_FEATURES if has_variant else {})}


def _check_columns(table: DeltaTable, path: str, contract: Contract) -> None:
    actual = _types(table.schema().to_json())
    wanted = _types(contract.schema.json())
    if actual == wanted:
        return
    differing = sorted(name for name in {*actual, *wanted} if actual.get(name) != wanted.get(name))
    raise UsageError(
        f"{path} was written by another release of kraftlake (its columns differ in "
        f"{', '.join(differing)}): use that release, or ingest the captures into a new lake"
    )


def _types(schema: str) -> dict[str, str]:
    """Each column's type as text. Whether it can be NULL, and comments, make no difference."""
    return {
        field["name"]: json.dumps(_shape(field["type"])) for field in json.loads(schema)["fields"]
    }


def _shape(kind: object) -> object:
    if not isinstance(kind, dict):
        return kind
    if kind["type"] == "array":
        return ["array", _shape(kind["elementType"])]
    if kind["type"] == "map":
        return ["map", _shape(kind["keyType"]), _shape(kind["valueType"])]
    return ["struct", *([field["name"], _shape(field["type"])] for field in kind["fields"])]


def _set_missing_properties(table: DeltaTable, contract: Contract) -> None:
    """Sets the properties that an older release's table lacks. A property with another
    value stays."""
    present = table.metadata().configuration
    missing = {key: value for key, value in contract.properties.items() if key not in present}
    if missing:
        table.alter.set_table_properties(missing)
