"""Lakes of earlier releases: their tables brought to what this release's are.

What is to be done is read off the tables themselves, so a run that was interrupted is run again and
does what is left; until then the lake's version is one that nobody else writes to. Bronze keeps
every row: columns are added, and told from what is there. Silver and gold are made anew by `build`;
here they only get the columns that it writes. No table has had another name so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from pipelines.bronze.earlier_batches import told_anew
from pipelines.bronze.remaining import Moments, by_replica, moment_of
from pipelines.capture.known import replica_of
from pipelines.delta import Lake, exists, merge, read
from pipelines.delta.evolution import Difference, add_columns, allow_nulls, difference, remake
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.lake_versions import LAKE_VERSIONS
from pipelines.tables.of_a_lake import DERIVED
from replica.errors import UsageError

_TOLD_ANEW = ("last_seen", "in_log", "undamaged", "seen")


@dataclass(frozen=True, slots=True)
class Change:
    """One step. what: `add column`, `allow NULL`, `tell anew` or `make anew`; detail: of which
    columns."""

    table: str
    what: str
    detail: str


@dataclass(frozen=True)
class Step:
    """A change, and what makes it; again, where it was interrupted."""

    change: Change
    apply: Callable[[], None]


def steps_of_an_upgrade(spark: SparkSession, lake: Lake, version: int) -> list[Step]:
    """What brings the lake's tables to this release's, in this order; nothing is written by asking.

    version: the schema version of the lake. Who applies them holds the lake's lock. UsageError
    where the lake can't be upgraded.
    """
    absent = [one.name for one in bronze.BRONZE if not exists(spark, lake, one)]
    if absent:
        raise UsageError(
            f"{lake.root} has no {', '.join(absent)}: what it would hold can't be told from the "
            "other tables: restore it, or ingest the captures into a new lake"
        )
    kept = [one for one in (*bronze.BRONZE, LAKE_VERSIONS) if exists(spark, lake, one)]
    found = {one: difference(spark, lake, one) for one in kept}
    for contract, differing in found.items():
        if differing.conflicting:
            raise UsageError(
                f"{lake.root}: {contract.name} was written by a release whose lakes can't be "
                f"upgraded (columns {', '.join(differing.conflicting)}): use that release"
            )
    steps = [
        step for one, differing in found.items() for step in _altered(spark, lake, one, differing)
    ]
    if version < 2 or found[bronze.LOG_BATCHES]:
        change = Change(bronze.LOG_BATCHES.name, "tell anew", ", ".join(_TOLD_ANEW))
        steps.append(Step(change, partial(_tell_batches_anew, spark, lake)))
    for contract in DERIVED:
        if exists(spark, lake, contract):
            steps += _derived(spark, lake, contract)
    return steps


def _altered(
    spark: SparkSession, lake: Lake, contract: Contract, differing: Difference
) -> Iterator[Step]:
    if differing.added:
        names = ", ".join(column.name for column in differing.added)
        change = Change(contract.name, "add column", names)
        yield Step(change, partial(add_columns, spark, lake, contract, differing))
    if differing.required:
        change = Change(contract.name, "allow NULL", ", ".join(differing.required))
        yield Step(change, partial(allow_nulls, spark, lake, contract, differing))


def _derived(spark: SparkSession, lake: Lake, contract: Contract) -> Iterator[Step]:
    differing = difference(spark, lake, contract)
    if differing.conflicting:
        change = Change(contract.name, "make anew", ", ".join(differing.conflicting))
        yield Step(change, partial(remake, spark, lake, contract))
    else:
        yield from _altered(spark, lake, contract, differing)


def _tell_batches_anew(spark: SparkSession, lake: Lake) -> None:
    captures = read(spark, lake, bronze.CAPTURES).toArrow().to_pylist()
    moments = by_replica((replica_of(row), moment_of(row)) for row in captures)
    rows = _rows_told_anew(read(spark, lake, bronze.LOG_BATCHES), moments)
    merge(
        spark,
        lake,
        bronze.LOG_BATCHES,
        rows,
        update_set={name: f"s.{name}" for name in _TOLD_ANEW},
        insert=False,
    )


def _rows_told_anew(batches: DataFrame, moments: Moments) -> DataFrame:
    """Those that change."""
    schema = bronze.LOG_BATCHES.schema
    change = partial(_changed, moments=moments, schema=to_arrow_schema(schema, timezone="UTC"))
    return batches.mapInArrow(change, schema)


def _changed(
    batches: Iterable[pa.RecordBatch], moments: Moments, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """In a task."""
    for batch in batches:
        rows: Sequence[dict[str, object]] = batch.to_pylist()
        anew = (told_anew(row, moments[replica_of(row)]) for row in rows)
        changed = [after for row, after in zip(rows, anew, strict=True) if after != row]
        yield pa.RecordBatch.from_pylist(changed, schema=schema)
