"""The definition of a table of a user's own: what makes its rows, from which tables, and what is
expected of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyarrow.dataset import Dataset

from pipelines.lake import OWN
from pipelines.own_tables.answer_types import columns_of, conforming
from pipelines.own_tables.errors import OwnTableError
from pipelines.quality.expectation import ROWS_OF_KEY, Expectation, Suite, suite
from pipelines.tables.contract import Column, Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
READABLE = tuple(contract.name for contract in (*SILVER, *GOLD))
"""The tables that an own table may be made from."""


class Rows(Protocol):
    """Makes a table's rows. The object can be pickled."""

    def of(self, tables: Mapping[str, Dataset]) -> pa.Table:
        """The rows. tables: the tables that the own table reads, by name."""
        ...


@dataclass(frozen=True)
class OwnTable:
    """The definition of a table of a user's own, before any of its inputs is read."""

    name: str
    """The table's name, such as own.busy_nodes."""
    place: str
    """The file or package that defines the table, for messages."""
    description: str
    keys: tuple[str, ...]
    """The columns that identify a row."""
    reads: tuple[str, ...]
    """The tables from which the own table is made."""
    rows: Rows
    version: str
    """A text that changes whenever the definition does."""
    meanings: Mapping[str, str]
    """Descriptions of columns, by name."""
    expectations: tuple[Expectation, ...] = ()
    columns: tuple[Column, ...] = ()
    """The declared columns; empty where the types come from the rows."""

    def contract(self, schema: pa.Schema) -> Contract:
        """The contract of a table with rows of this schema. Raises OwnTableError where no table can
        have these rows."""
        found = self.columns or columns_of(schema, self.meanings, self.keys)
        return contract_of(self.name, self.description, found, self.keys)

    def suite(self, contract: Contract) -> Suite:
        """The table's suite: the expectations of its definition and of the contract."""
        return suite(contract, *self.expectations)

    def table(self, contract: Contract, answer: pa.Table) -> pa.Table:
        """The rows in the contract's types. Raises the errors of `conforming`."""
        return conforming(answer, contract)


def contract_of(
    name: str, description: str, columns: Sequence[Column], keys: tuple[str, ...]
) -> Contract:
    """The contract of an own table. Raises OwnTableError for a user's mistake, which Contract
    itself would report as a bug."""
    names = [one.name for one in columns]
    for one in names:
        if not _NAME.fullmatch(one) or one == ROWS_OF_KEY:
            raise OwnTableError(
                f"column {one!a}: a column's name has small letters, digits and _, and begins with "
                "a letter"
            )
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise OwnTableError(f"column {twice[0]} is there more than once")
    missing = [one for one in keys if one not in names]
    if missing or not keys:
        raise OwnTableError(f"key {missing[0]!a} is no column" if missing else "it has no keys")
    for column in columns:
        if column.name in keys and not column.type.isalpha():
            raise OwnTableError(f"key {column.name} is {column.type}: a key is one value")
    return Contract(name, description, (*columns,), keys, change_feed=True)


def checked_name(name: str) -> str:
    """The full name of an own table. Raises OwnTableError for a name that no table can have."""
    if not _NAME.fullmatch(name):
        raise OwnTableError(
            "a table's name has small letters, digits and _, and begins with a letter"
        )
    return f"{OWN}.{name}"


def checked_reads(names: Sequence[str]) -> tuple[str, ...]:
    """The tables that an own table reads. Raises OwnTableError where there are none, and for a name
    that is no table of silver or gold."""
    for one in names:
        if one not in READABLE:
            raise OwnTableError(f"it reads {one}, which is no table of silver or gold")
    if not names:
        raise OwnTableError("it reads no table of silver or gold")
    return (*names,)
