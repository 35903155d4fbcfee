"""Expectations of a table, as data.

The types are Great Expectations' names, and kraftlake's `expect_row_to_satisfy`: an SQL condition
over a row, its neighbours and other tables. Each table is also expected to keep its contract
(unique keys, no NULL in columns that promise none), without a line in its suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pipelines.tables.contract import Contract

ROW_COUNT = "expect_table_row_count_to_be_between"
ROW = "expect_row_to_satisfy"
IN_SET = "expect_column_values_to_be_in_set"
BETWEEN = "expect_column_values_to_be_between"

ROWS_OF_KEY = "rows_of_key"
"""A column that every judged table gets: the number of rows with the same keys as the row."""


class Action(StrEnum):
    """What a build does with rows that break an expectation. The values are those of the column
    `action`."""

    WARN = "warn"
    """The build records the rows and continues, because damaged or hostile input may have such
    rows."""
    QUARANTINE = "quarantine"
    """The build leaves the rows out of all that it derives, and keeps them in gold.quarantined_rows
    with the reason."""
    STOP = "stop"
    """The build ends before it overwrites a derived table: no input can cause such rows."""

    def unless(
        self,
        meaning: str,
        condition: str | Callable[..., bool],
        columns: tuple[str, ...],
        doubtful: Callable[..., Sequence[int]] | None = None,
    ) -> Expectation:
        """An expectation of type ROW with this action.

        condition: SQL that Spark and DataFusion understand alike (a row for which it is NULL breaks
        the expectation), or a function as in Expectation.predicate, for a condition that SQL can't
        express. doubtful: as in Expectation.
        """
        predicate = None if isinstance(condition, str) else condition
        told = condition if isinstance(condition, str) else condition.__name__
        return Expectation(ROW, columns, {"condition": told}, self, meaning, predicate, doubtful)


@dataclass(frozen=True)
class Expectation:
    """One expectation of a table."""

    type: str
    """The name of the expectation in Great Expectations."""
    columns: tuple[str, ...]
    """The columns that the expectation is about; none for the table as a whole."""
    kwargs: Mapping[str, Any]
    """The expectation's arguments except the columns."""
    action: Action
    meaning: str
    """A sentence that holds for every good row."""
    predicate: Callable[..., bool] | None = None
    """A function of the values of `columns`, for a condition that SQL can't express; None for
    another expectation."""
    doubtful: Callable[..., Sequence[int]] | None = None
    """A function of the Arrow arrays of `columns`, which gives the indices of the rows that
    `predicate` has to judge. All other rows satisfy the expectation. None where `predicate` has to
    judge every row."""

    def __post_init__(self) -> None:
        # we write the expectations, so a mistake in one is a bug, which must show at import: only a
        # condition in SQL tells which rows break it
        has_sql = self.type == ROW and self.predicate is None
        assert has_sql or self.action is not Action.QUARANTINE, self.meaning
        assert self.columns or self.type == ROW_COUNT, self.meaning
        assert self.meaning, self.type


def one_of(column: str, values: Iterable[str], *, action: Action = Action.STOP) -> Expectation:
    """Expects that the column's value is one of `values`. NULL passes."""
    kwargs = {"value_set": [str(value) for value in values]}
    return Expectation(IN_SET, (column,), kwargs, action, f"{column} is one of its known values")


def at_least(column: str, least: int, *, action: Action) -> Expectation:
    """Expects that the column's value is at least `least`. NULL passes."""
    meaning = f"{column} is {least} or more"
    return Expectation(BETWEEN, (column,), {"min_value": least}, action, meaning)


@dataclass(frozen=True)
class Join:
    """The columns that a suite adds to each row of its table from another table of the same
    layer."""

    contract: Contract
    on: tuple[str, ...]
    """The columns that must be equal in both tables."""
    columns: Mapping[str, str]
    """Column name -> SQL aggregate over the equal rows of the other table, NULL where there are
    none."""


@dataclass(frozen=True)
class Beside:
    """For each row, the value of a column in the row before or after it. Only rows with equal
    values in the columns `within` count. NULL for the first row, or for the last."""

    column: str
    within: tuple[str, ...]
    by: str
    """The column of ints that orders the rows, NULL first."""
    is_before: bool
    """True for the value in the row before, False for the value in the row after."""

    @property
    def sql(self) -> str:
        """The SQL of this value over the table's row `t`, which Spark and DataFusion understand
        alike."""
        function, within = "lag" if self.is_before else "lead", ", ".join(self.within)
        over = f"(PARTITION BY {within} ORDER BY t.{self.by} NULLS FIRST)"
        return f"{function}(t.{self.column}) OVER {over}"


@dataclass(frozen=True)
class Suite:
    """The expectations of one table. Their conditions may also use `derived`, `beside` and the
    columns of `joined`."""

    contract: Contract
    own: tuple[Expectation, ...]
    """The expectations besides those of the contract."""
    derived: Mapping[str, str]
    """Column name -> SQL over the table's row `t` and its neighbours (window functions), which
    Spark and DataFusion understand alike: where it orders rows, it says NULLS FIRST."""
    beside: Mapping[str, Beside]
    """Column name -> the value in the row before or after. These columns need no SQL where the rows
    are in memory."""
    joined: Join | None
    least_rows: int
    """A table with fewer rows breaks the suite."""
    never_null: frozenset[str] = frozenset()
    """Columns whose type lets no value of the judged rows be NULL, as in a Parquet file."""

    @property
    def name(self) -> str:
        """The table's name."""
        return self.contract.name

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The expectations of the contract, then the suite's own."""
        return (*self._by_contract(), *self.own)

    def _by_contract(self) -> Iterable[Expectation]:
        least = {"min_value": self.least_rows}
        meaning = f"the table has {self.least_rows} rows or more"
        yield Expectation(ROW_COUNT, (), least, Action.STOP, meaning)
        required = [column.name for column in self.contract.columns if not column.nullable]
        judged = [f"`{name}` IS NOT NULL" for name in required if name not in self.never_null]
        yield Action.STOP.unless(
            "no value is missing where the contract wants one",
            " AND ".join(judged) or "true",
            (*required,),
        )
        keys = self.contract.keys
        yield Action.STOP.unless("keys are unique", f"{ROWS_OF_KEY} = 1", (*keys,))


def suite(
    contract: Contract,
    *own: Expectation,
    derived: Mapping[str, str] = MappingProxyType({}),
    beside: Mapping[str, Beside] = MappingProxyType({}),
    joined: Join | None = None,
    least_rows: int = 0,
) -> Suite:
    """The suite of a table. The parameters are the fields of Suite."""
    return Suite(contract, own, derived, beside, joined, least_rows)
