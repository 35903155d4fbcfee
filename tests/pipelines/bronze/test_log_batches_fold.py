"""The fold behind bronze.log_batches, against its definition, for captures in any order."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.bronze import log_batches
from pipelines.sources.kraft_log import BATCH_COLUMNS
from pipelines.tables.bronze import LOG_BATCHES
from tests.pipelines.bronze.batch_history import (
    ABSENT,
    DAMAGED,
    DELETED,
    HELD,
    Moment,
    expected,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
STATES = (ABSENT, ABSENT, DELETED, DAMAGED, HELD, HELD)
BATCHES = 150
LOG_START_OF_LAST = 40

SEEN = ", ".join(
    ["cluster_id string", "node_id int", "directory_id string"]
    + [f"{name} {kind}" for name, kind in BATCH_COLUMNS]
)

pytestmark = pytest.mark.spark


def _moments() -> list[Moment]:
    draw = random.Random(20261121)
    return [
        Moment(
            START + timedelta(hours=number),
            tuple(
                draw.choice((ABSENT, ABSENT, DELETED, DAMAGED, HELD, HELD)) for _ in range(BATCHES)
            ),
            LOG_START_OF_LAST if number == 4 else 0,
            (60, 80) if number == 2 else (0, 0),
        )
        for number in range(5)
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_the_fold_equals_its_definition_whatever_order_captures_arrive_in(
    spark: SparkSession, order: tuple[int, ...]
) -> None:
    moments = _moments()
    known = spark.createDataFrame([], LOG_BATCHES.schema)
    done: list[Moment] = []
    for number in order:
        folded = _fold(spark, known, moments[number], done)
        known = folded.localCheckpoint()
        done.append(moments[number])
    found = {row["base_offset"]: row for row in _plain(known)}
    for batch in range(BATCHES):
        wanted = expected(moments, batch)
        if wanted is None:
            assert batch not in found
        else:
            assert {name: found[batch][name] for name in wanted} == wanted, batch


def test_folding_a_capture_twice_changes_nothing(spark: SparkSession) -> None:
    moments = _moments()
    known = spark.createDataFrame([], LOG_BATCHES.schema)
    once = _fold(spark, known, moments[0], []).localCheckpoint()
    twice = _fold(spark, once, moments[0], [])
    assert _plain(once) == _plain(twice)


def test_a_batch_in_a_log_and_in_a_deleted_segment_counts_as_held(spark: SparkSession) -> None:
    rows = [
        _row(7, "a/1.log.deleted", position=0, crc_valid=True),
        _row(7, "a/1.log", position=500, crc_valid=True),
    ]
    (row,) = log_batches.one_row_per_batch(spark.createDataFrame(rows, SEEN)).collect()
    assert (row.file, row.position, row.held) == ("a/1.log", 500, True)


def _fold(spark: SparkSession, known: DataFrame, moment: Moment, done: list[Moment]) -> DataFrame:
    files = {DELETED: "x.log.deleted", DAMAGED: "x.log", HELD: "x.log"}
    rows = [
        _row(batch, files[state], position=batch * 100, crc_valid=state != DAMAGED)
        for batch, state in enumerate(moment.states)
        if state != ABSENT
    ]
    seen = log_batches.one_row_per_batch(spark.createDataFrame(rows, SEEN))
    before = max((m.at for m in done if m.at < moment.at), default=None)
    after = min((m.at for m in done if m.at > moment.at), default=None)
    times = [_micros(time) for time in (moment.at, before, after)]
    later = [(m.at, m.log_start, _uncovered(m)) for m in done if m.at > moment.at]
    row = ("c", 1, "d", *times, moment.log_start, _uncovered(moment), sorted(later))
    return log_batches.fold(known, seen, spark.createDataFrame([row], log_batches.MOMENT_SCHEMA))


def _uncovered(moment: Moment) -> list[tuple[int, int]]:
    return [moment.uncovered] if moment.uncovered[1] else []


def _micros(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1_000_000)


def _row(batch: int, file: str, *, position: int, crc_valid: bool) -> dict[str, Any]:
    return {
        "cluster_id": "c",
        "node_id": 1,
        "directory_id": "d",
        "base_offset": batch,
        "leader_epoch": 1,
        "crc": 99,
        "last_offset": batch,
        "is_control": False,
        "record_count": 1,
        "size_bytes": 100,
        "position": position,
        "crc_valid": crc_valid,
        "base_timestamp": START,
        "max_timestamp": START,
        "file": file,
    }


def _plain(rows: DataFrame) -> list[dict[str, Any]]:
    """Rows by offset, times as aware UTC: pyspark collects naive local ones."""

    def aware(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        if isinstance(value, list | tuple):
            return [aware(item) for item in value]
        return value

    collected = rows.orderBy("base_offset").collect()
    return [{name: aware(value) for name, value in row.asDict().items()} for row in collected]
