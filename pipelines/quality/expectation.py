"""What is expected of a table, as data.

The types are Great Expectations' names, and `expect_row_to_satisfy`, which is ours: an SQL
condition over a row, its neighbours and other tables. What a table's contract promises (keys that
are unique, columns without NULL) is expected of each table without being written down again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pipelines.tables.contract import Contract

ROW_COUNT = "expect_table_row_count_to_be_between"
ROW = "expect_row_to_satisfy"
IN_SET = "expect_column_values_to_be_in_set"
BETWEEN = "expect_column_values_to_be_between"

ROWS_OF_KEY = "rows_of_key"
"""A column that every judged table gets: how many rows have the row's keys."""


class Action(StrEnum):
    """What follows from rows that break an expectation. The values are those of the table."""

    WARN = "warn"
    """The build records it and goes on: damaged or hostile input may look like that."""
    QUARANTINE = "quarantine"
    """The rows are left out of what is derived, and kept in gold.quarantined_rows with the
    reason."""
    STOP = "stop"
    """The build ends before anything derived is overwritten: no input can cause it."""


@dataclass(frozen=True)
class Expectation:
    """type: as Great Expectations names it; kwargs: its arguments but for the columns.

    columns: those it is about; none for the table as a whole. meaning: what holds, in a sentence.
    predicate: of a condition that only Spark's SQL can say: the same in Python, a function of the
    values of `columns`.
    """

    type: str
    columns: tuple[str, ...]
    kwargs: Mapping[str, Any]
    action: Action
    meaning: str
    predicate: Callable[..., bool] | None = None

    def __post_init__(self) -> None:
        # Written by us: a mistake is found at import. Only a condition tells which rows break it.
        assert self.type == ROW or self.action is not Action.QUARANTINE, self.meaning
        assert self.columns or self.type == ROW_COUNT, self.meaning
        assert self.meaning, self.type


def satisfy(
    meaning: str,
    condition: str,
    columns: tuple[str, ...],
    *,
    action: Action,
    predicate: Callable[..., bool] | None = None,
) -> Expectation:
    """condition: SQL, of which Spark and DataFusion make the same; a row for which it is NULL
    breaks it. predicate: as of Expectation; with it the condition is Spark's SQL."""
    return Expectation(ROW, columns, {"condition": condition}, action, meaning, predicate)


def one_of(column: str, values: Iterable[str], *, action: Action = Action.STOP) -> Expectation:
    """NULL is no value, so it breaks nothing here."""
    kwargs = {"value_set": [str(value) for value in values]}
    return Expectation(IN_SET, (column,), kwargs, action, f"{column} is one of its known values")


def at_least(column: str, least: int, *, action: Action) -> Expectation:
    """NULL is no value, so it breaks nothing here."""
    meaning = f"{column} is {least} or more"
    return Expectation(BETWEEN, (column,), {"min_value": least}, action, meaning)


@dataclass(frozen=True)
class Join:
    """What a row of a table may know of another table, of the same layer.

    on: columns that both have; columns: name -> SQL aggregate over the other's rows that are equal
    in them, NULL where there is none.
    """

    contract: Contract
    on: tuple[str, ...]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Suite:
    """What is expected of one table.

    own: besides what the contract says. derived, and the columns of joined: further columns that
    conditions may use; derived: name -> SQL over the table's row `t` and its neighbours (window
    functions), of which Spark and DataFusion make the same: where it orders rows, it says NULLS
    FIRST. least_rows: fewer rows than that break the suite.
    """

    contract: Contract
    own: tuple[Expectation, ...] = ()
    derived: Mapping[str, str] = field(default_factory=dict)
    joined: Join | None = None
    least_rows: int = 0

    @property
    def name(self) -> str:
        """The table's name."""
        return self.contract.name

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations of the contract, then the suite's own."""
        return (*self._by_contract(), *self.own)

    def _by_contract(self) -> Iterable[Expectation]:
        least = self.least_rows
        yield Expectation(
            ROW_COUNT,
            (),
            {"min_value": least},
            Action.STOP,
            meaning=f"the table has {least} rows or more",
        )
        required = [column.name for column in self.contract.columns if not column.nullable]
        yield satisfy(
            "no value is missing where the contract wants one",
            " AND ".join(f"`{name}` IS NOT NULL" for name in required),
            (*required,),
            action=Action.STOP,
        )
        keys = self.contract.keys
        yield satisfy("keys are unique", f"{ROWS_OF_KEY} = 1", (*keys,), action=Action.STOP)
