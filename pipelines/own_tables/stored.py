"""The own tables that a lake has, with or without their definitions. A file of the lake notes what
they were derived from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from deltalake import DeltaTable
from pyspark.sql.types import StructType

from pipelines.delta.conforming import TableState as SeenTable
from pipelines.delta.conforming import refuse_other
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_states, open_if_there
from pipelines.lake.tables import is_own, tables_of
from pipelines.last_build import TableState
from pipelines.own_tables.errors import OwnTableError
from pipelines.own_tables.own_table import contract_of
from pipelines.tables.contract import Column, Contract
from pipelines.tables.of_a_lake import TABLES
from replica.errors import UnreadableFileError, UsageError

FILE_NAME = "_own_tables"


@dataclass(frozen=True, slots=True)
class Derived:
    """How an own table (a table that a user defined) was derived: from what, and with which
    result."""

    definition: str
    """The OwnTable.version of the definition."""
    reads: Mapping[str, TableState]
    """The states of the tables from which the own table was made, by name."""
    state: TableState
    """The state of the own table once it was derived."""
    keys: tuple[str, ...]
    rows: int


def noted_facts(lake: Lake) -> dict[str, Derived]:
    """The facts that the lake's file notes about own tables, by name; empty without the file, and
    where the file has another form."""
    content = lake.read(FILE_NAME)
    try:
        told = {} if content is None else json.loads(content)
        return {str(name): _derived(one) for name, one in told.items() if is_own(str(name))}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _derived(told: Any) -> Derived:
    reads = {str(name): (str(table), int(at)) for name, (table, at) in told["reads"].items()}
    table_id, version = told["state"]
    keys = tuple(map(str, told["keys"]))
    state = str(table_id), int(version)
    return Derived(str(told["definition"]), reads, state, keys, int(told["rows"]))


def note(lake: Lake, tables: Mapping[str, Derived]) -> None:
    """Writes the facts about the lake's own tables. Raises UnwritableFileError, OSError."""
    told = {name: asdict(one) for name, one in sorted(tables.items())}
    lake.write(FILE_NAME, json.dumps(told, separators=(",", ":")).encode())


def contracts_in(lake: Lake, names: Iterable[str]) -> list[Contract]:
    """The contracts of tables that the lake has, in the order of their layers. Raises UsageError
    and UnreadableFileError for an own table that kraftlake can't have written."""
    wanted = {*names}
    built_in = [one for one in TABLES if one.name in wanted]
    return [*built_in, *(stored_contract(lake, one) for one in sorted(wanted) if is_own(one))]


def contract_named(lake: Lake, name: str) -> Contract:
    """The contract of one table that the lake has. Raises the errors of contracts_in."""
    return contracts_in(lake, [name])[0]


def own_names(lake: Lake) -> list[str]:
    """The own tables that the lake has."""
    return [name for name in tables_of(lake) if is_own(name)]


def behind(lake: Lake) -> list[str]:
    """The own tables that were derived from earlier versions of the tables that they read, and
    those of which the lake has no note."""
    known, names = noted_facts(lake), own_names(lake)
    read = {table for name in names if name in known for table in known[name].reads}
    states = newest_states(lake, read)
    return [
        name
        for name in names
        if name not in known or any(states.get(a) != b for a, b in known[name].reads.items())
    ]


def stored_contract(lake: Lake, name: str) -> Contract:
    """The contract of an own table, read from its Delta log. Raises the errors of contracts_in."""
    table = open_if_there(lake, name)
    if table is None:
        raise UsageError(f"{lake} has no table {name}")
    known = noted_facts(lake).get(name)
    contract = _told(lake, name, table, () if known is None else known.keys)
    refuse_other(lake.path_of(contract), SeenTable.by_delta_rs(table), contract)
    return contract


def _told(lake: Lake, name: str, table: DeltaTable, keys: tuple[str, ...]) -> Contract:
    """The contract by the table's Delta log. keys: the keys in the note. If there are none, or one
    of them is no column, all columns together are the key. Raises UnreadableFileError for a table
    that no contract describes."""
    try:
        fields = StructType.fromJson(json.loads(table.schema().to_json())).fields
        columns = [
            Column(
                one.name,
                one.dataType.simpleString(),
                str(one.metadata.get("comment") or "as its definition says"),
                one.nullable,
            )
            for one in fields
        ]
        names = [one.name for one in columns]
        whose = keys if keys and not {*keys} - {*names} else tuple(names)
        contract = contract_of(name, table.metadata().description or "", columns, whose)
        contract.schema  # noqa: B018 - raises ValueError for a type that no table has
    except (ValueError, TypeError, KeyError, AttributeError, OwnTableError) as error:
        raise UnreadableFileError(lake.path(*name.split(".")), f"{str(error)[:200]!a}") from error
    return contract
