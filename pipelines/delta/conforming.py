"""Whether a table is as its contract says, in the eyes of the engine that is about to use it.

A table of a stranger's lake may carry rules that an engine evaluates or obeys when it reads or
writes: columns that are generated or have defaults, CHECK constraints, properties, features of the
protocol. kraftlake writes none of them, so it refuses them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable

from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.tables.contract import Contract
from replica.errors import UsageError

_COUNT = re.compile(r"\d{1,6}")
_SPAN = re.compile(r"interval \d{1,6} [a-z]{1,12}")
_PROPERTIES = {
    "delta.checkpointInterval": _COUNT,
    "delta.enableChangeDataFeed": re.compile("true|false"),
    "delta.logRetentionDuration": _SPAN,
    "delta.deletedFileRetentionDuration": _SPAN,
    "delta.minReaderVersion": _COUNT,
    "delta.minWriterVersion": _COUNT,
    "delta.columnMapping.mode": re.compile("none"),
}
"""The properties that a table may have, with their values: properties of the contracts, properties
that `maintain` sets, and properties without any effect."""
_FEATURES = {
    "appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants",
    "variantType",
}  # fmt: skip
"""Writer features: those of kraftlake's tables, and those without effect unless a property or a
column uses them."""
_WRITERS = (2, 3, 4, 7)
"""Versions of the protocol for writers. From 7 on a table lists its features."""
_NO_PART_OF_A_TYPE = ("nullable", "containsNull", "valueContainsNull", "metadata")
_COLUMN_METADATA = {"comment", "__COLLATIONS"}


@dataclass(frozen=True)
class TableState:
    """A table's metaData and protocol actions in Delta's log, as an engine gives them."""

    schema: str
    """schemaString of the metaData action."""
    configuration: Mapping[str, str | None]
    """configuration of the metaData action: the values of the table's properties, by property."""
    partition_columns: Collection[str]
    """partitionColumns of the metaData action."""
    least_writer: int
    """minWriterVersion of the protocol action."""
    writer_features: Collection[str]
    """writerFeatures of the protocol action."""

    @staticmethod
    def by_delta_rs(table: DeltaTable) -> TableState:
        """The state of a table as delta-rs reads it."""
        found, protocol = table.metadata(), table.protocol()
        return TableState(
            table.schema().to_json(),
            found.configuration,
            found.partition_columns,
            protocol.min_writer_version,
            protocol.writer_features or (),
        )


def refuse_other(path: str, state: TableState, contract: Contract) -> None:
    """Raises UsageError where the table at the path isn't as the contract says."""
    actual, wanted = _types(state.schema), _types(contract.schema.json())
    if actual != wanted:
        differing = sorted(one for one in {*actual, *wanted} if actual.get(one) != wanted.get(one))
        raise UsageError(
            f"{path} was written by another release of kraftlake (its columns differ in "
            f"{ascii(', '.join(differing))[1:-1]}): use that release, or ingest the captures into "
            "a new lake"
        )
    reason = _reason(state)
    if reason is not None:
        raise UsageError(
            f"{path}: {reason}, which kraftlake gives to no table: ingest the captures into a new "
            "lake"
        )


def _reason(state: TableState) -> str | None:
    if state.partition_columns:
        return "it has partitions"
    for name, value in state.configuration.items():
        fit = _PROPERTIES.get(name)
        if fit is None or not fit.fullmatch(value or ""):
            return f"it has the property {name!a}"
    for column, key in _column_metadata(json.loads(state.schema)):
        if key not in _COLUMN_METADATA:
            return f"its column {column!a} has {key!a}"
    odd = sorted({*state.writer_features} - _FEATURES)
    if state.least_writer not in _WRITERS:
        odd.append(f"version {state.least_writer} of the protocol")
    return f"it has {', '.join(odd)}" if odd else None


def _column_metadata(part: Any, column: str = "") -> Iterator[tuple[str, str]]:
    """The keys of metadata at any depth of a schema, each with its column."""
    if isinstance(part, list):
        for one in part:
            yield from _column_metadata(one, column)
    elif isinstance(part, dict):
        column = str(part.get("name", column))
        yield from ((column, key) for key in part.get("metadata") or ())
        for name, inner in part.items():
            if name != "metadata":
                yield from _column_metadata(inner, column)


def _types(schema: str) -> dict[str, Any]:
    """Each column's type in Delta's JSON, also a type that Spark doesn't know. Whether a value can
    be NULL, comments and collations make no difference."""

    def bare(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name not in _NO_PART_OF_A_TYPE}

    fields = json.loads(schema, object_hook=bare)["fields"]
    return {field["name"]: field["type"] for field in fields}


def open_conforming(lake: Lake, contract: Contract, version: int | None = None) -> DeltaTable:
    """Opens a version of the table by delta-rs, to write to it. version: None for the newest one.

    Raises UsageError where the table isn't as the contract says, and what open_table raises.
    """
    table = open_table(lake.table_uri(contract.name), version)
    refuse_other(lake.path_of(contract), TableState.by_delta_rs(table), contract)
    return table
