"""The fold behind bronze.log_batches, against its definition, for captures in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from pipelines.bronze import batch_spans, log_batches
from pipelines.bronze.captured import KnownCapture, Uncovered
from pipelines.tables.bronze import LOG_BATCHES
from pipelines.tables.keys import BATCH_KEYS
from replica.model.keys import ReplicaId
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
FIRST_OF_LAST = 40
REPLICA = ReplicaId("c", 1, "d")
SCHEMA = LOG_BATCHES.arrow_schema
SEEN = pa.schema(
    [
        SCHEMA.field(name)
        for name in (
            *BATCH_KEYS,
            "last_offset",
            "is_control",
            "record_count",
            "size_bytes",
            "position",
            "base_timestamp",
            "max_timestamp",
            "file",
            "crc_valid",
        )
    ]
)
FILES = {DELETED: "x.log.deleted", DAMAGED: "x.log", HELD: "x.log"}


def _moments() -> list[Moment]:
    draw = random.Random(20261121)
    return [
        Moment(
            START + timedelta(hours=number),
            tuple(draw.choice(STATES) for _ in range(BATCHES)),
            FIRST_OF_LAST if number == 4 else 0,
            (60, 80) if number == 2 else (0, 0),
        )
        for number in range(5)
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_the_fold_equals_its_definition_whatever_order_captures_arrive_in(
    order: tuple[int, ...],
) -> None:
    moments = _moments()
    known = SCHEMA.empty_table()
    done: list[Moment] = []
    for number in order:
        known = _after(known, moments[number], done)
        done.append(moments[number])
    found = {row["base_offset"]: row for row in known.to_pylist()}
    for batch in range(BATCHES):
        wanted = expected(moments, batch)
        if wanted is None:
            assert batch not in found
        else:
            row = {name: _plain(found[batch][name]) for name in wanted}
            assert row == wanted, batch


def test_folding_a_capture_twice_changes_nothing() -> None:
    moments = _moments()
    once = _after(SCHEMA.empty_table(), moments[0], [])
    assert once.num_rows
    assert log_batches.fold(once, _batches(moments[0]), _of(moments[0], [])).num_rows == 0


def test_a_batch_in_a_log_and_in_a_deleted_segment_counts_as_held() -> None:
    rows = [
        _row(7, "a/1.log.deleted", position=0, crc_valid=True),
        _row(7, "a/1.log", position=500, crc_valid=True),
    ]
    for given in (rows, rows[::-1]):
        batches = pa.Table.from_pylist(given, SEEN)
        found = log_batches.fold(SCHEMA.empty_table(), batches, _of(_moments()[0], []))
        (row,) = found.to_pylist()
        assert (row["file"], row["position"]) == ("a/1.log", 500)
        assert _plain(row["in_log"]) == [[START, None]]


def test_the_rows_of_first_batches_are_those_of_the_rules_for_any_batch() -> None:
    """By columns for millions of rows, by rows for few."""
    moment = _moments()[0]
    moments = _of(moment, [])
    seen = _batches(moment)
    by_columns = log_batches.fold(SCHEMA.empty_table(), seen, moments).to_pylist()
    assert {len(row["in_log"]) for row in by_columns} == {0, 1}
    for row in by_columns:
        held = row["crc_valid"] and not row["file"].endswith(".deleted")
        new = {"crc_valid": row["crc_valid"], "held": held}
        wanted = batch_spans.folded(row["base_offset"], None, new, moments[REPLICA])
        assert {name: row[name] for name in wanted} == wanted


def test_a_batch_in_bytes_that_were_not_read_again_is_still_held() -> None:
    first, second = _moments()[:2]
    known = _after(SCHEMA.empty_table(), first, [])
    held = [row["base_offset"] for row in known.to_pylist() if row["in_log"]]
    kept = ((0, held[len(held) // 2]),)
    moments = _of(second, [first], kept)
    changed = log_batches.fold(known, SEEN.empty_table(), moments).to_pylist()
    gone = {row["base_offset"] for row in changed if row["last_seen"] is not None}
    assert gone.isdisjoint(offset for offset in held if offset < kept[0][1])
    assert gone >= {offset for offset in held if offset >= kept[0][1]}


def test_rows_of_other_replicas_stay() -> None:
    first, second = _moments()[:2]
    known = _after(SCHEMA.empty_table(), first, [])
    other = {ReplicaId("c", 2, "d"): _of(second, [first])[REPLICA]}
    assert log_batches.fold(known, SEEN.empty_table(), other).num_rows == 0


def _after(known: pa.Table, moment: Moment, done: Sequence[Moment]) -> pa.Table:
    """The whole table once the capture is folded in."""
    changed = log_batches.fold(known, _batches(moment), _of(moment, done))
    rows = {row["base_offset"]: row for row in (*known.to_pylist(), *changed.to_pylist())}
    return pa.Table.from_pylist([*rows.values()], SCHEMA)


def _batches(moment: Moment) -> pa.Table:
    rows = [
        _row(batch, FILES[state], position=batch * 100, crc_valid=state != DAMAGED)
        for batch, state in enumerate(moment.states)
        if state != ABSENT
    ]
    return pa.Table.from_pylist(rows, SEEN)


def _of(
    moment: Moment, done: Sequence[Moment], kept: tuple[tuple[int, int], ...] = ()
) -> log_batches.Moments:
    before = max((m.at for m in done if m.at < moment.at), default=None)
    after = sorted((m for m in done if m.at > moment.at), key=lambda m: m.at)
    later = tuple(KnownCapture("", REPLICA, m.at, 1, m.covered_from, _uncovered(m)) for m in after)
    folded = batch_spans.FoldedCapture(
        moment.at,
        before,
        moment.covered_from,
        _uncovered(moment),
        later,
        kept,
    )
    return {REPLICA: folded}


def _uncovered(moment: Moment) -> tuple[Uncovered, ...]:
    return (Uncovered(*moment.uncovered),) if moment.uncovered[1] else ()


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


def _plain(value: Any) -> Any:
    """Spans as lists."""
    if isinstance(value, list):
        return [[span["from"], span["to"]] for span in value]
    return value
