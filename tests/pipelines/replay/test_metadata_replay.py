"""Versions and changes of parts of a log, without Spark: what every worker does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.replay.plan import ReplayRun
from pipelines.replay.reading import walk
from pipelines.replay.written import CHANGE, RANGE, VERSION, WRITTEN
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import UnknownRecord
from tests.examples import examples
from tests.pipelines.replay.parts import Placed, of_snapshot, part, snapshot_id
from tests.replica.metadata.image.made import (
    OTHER_TOPIC,
    change,
    config,
    partition,
    remove_topic,
    topic,
)
from tests.replica.metadata.image.test_properties import SEEDS, VOTERS, drawn, replayed

Row = dict[str, Any]

FEW = settings(max_examples=examples(30))  # each replays hundreds of records several times


def written(
    placed: Iterable[Placed], runs: Sequence[ReplayRun], buckets: int = 1
) -> tuple[list[Row], list[Row]]:
    """(versions, changes) of all parts together."""
    rows = all_written(placed, runs, buckets)
    return rows[VERSION], rows[CHANGE]


def all_written(
    placed: Iterable[Placed],
    runs: Sequence[ReplayRun],
    buckets: int = 1,
    log_end: int | None = None,
) -> dict[str, list[Row]]:
    """The rows of all parts together, by what they are."""
    placed = list(placed)
    batches = [
        batch
        for n in range(buckets)
        for batch in walk(part(placed, runs, n, buckets, log_end))
        if batch.schema.equals(WRITTEN)
    ]
    rows = pa.Table.from_batches(batches, schema=WRITTEN).to_pylist()
    return {what: [r for r in rows if r["what"] == what] for what in (VERSION, CHANGE, RANGE)}


def log(records: Sequence[ReplayedRecord], first: int = 0) -> list[Placed]:
    return [Placed(offset, record) for offset, record in enumerate(records, first)]


def state_at(versions: Iterable[Row], end_offset: int) -> dict[tuple[str, str], Any]:
    valid = [
        row
        for row in versions
        if row["valid_from_offset"] < end_offset
        and (row["valid_to_offset"] is None or end_offset <= row["valid_to_offset"])
    ]
    found = {(row["entity"], row["key"]): (row["value"], row["record_offset"]) for row in valid}
    assert len(found) == len(valid)
    return found


def entities(image: Image) -> dict[tuple[str, str], Any]:
    return {(e.kind, e.key): (e.value, e.offset) for e in image.entities()}


@given(SEEDS, st.integers(1, 4))
@FEW
def test_the_versions_at_any_offset_are_the_state_there(seed: int, buckets: int) -> None:
    records: list[ReplayedRecord] = [*drawn(seed)]
    records.insert(len(records) // 2, VOTERS)
    versions, changes = written(log(records), [ReplayRun(0, len(records), None)], buckets)
    replay = Replay()
    for offset, record in enumerate(records):
        replay.apply(offset, record)
        if offset % 5 == 0 or offset == len(records) - 1:
            assert state_at(versions, offset + 1) == entities(replay.image())
    keys = [(c["record_offset"], c["entity"], c["key"], c["change"]) for c in changes]
    assert len(set(keys)) == len(keys)
    assert {c["commitment"] for c in changes} == {"proven"}


@given(SEEDS, st.integers(1, 3))
@FEW
def test_behind_a_hole_history_begins_again_with_a_snapshot(seed: int, buckets: int) -> None:
    before, after = drawn(seed), drawn(seed + 1)
    base = snapshot_id(1000)
    image = replayed(before).image()
    held = to_records(image)
    image = replayed(held).image()
    runs = [ReplayRun(0, len(before), None), ReplayRun(990, 1000 + len(after), base)]
    unread = log([topic("nobody", "A" * 22)], 995)
    placed = [*log(before), *of_snapshot(base, held), *unread, *log(after, 1000)]
    versions, changes = written(placed, runs, buckets)
    end = len(before)
    assert state_at(versions, end) == entities(replayed(before).image())
    assert state_at(versions, end + 1) == state_at(versions, 999) == {}
    from_snapshot = {key: (value, None) for key, (value, _) in entities(image).items()}
    assert state_at(versions, 1000) == from_snapshot
    replay = Replay(image)
    for offset, record in enumerate(after, 1000):
        replay.apply(offset, record)
    last = entities(replay.image())
    found = state_at(versions, 1000 + len(after))
    assert {key: value for key, (value, _) in found.items()} == {
        key: value for key, (value, _) in last.items()
    }
    assert {v["valid_from_offset"] for v in versions if v["record_offset"] is None} <= {999}
    assert all(not end <= c["record_offset"] < 1000 for c in changes)


@pytest.mark.parametrize("buckets", [1, 3])
def test_a_log_that_goes_on_behind_the_last_run_leaves_no_version_open(buckets: int) -> None:
    # as where its last record is one that this release doesn't know
    rows = all_written(log([topic(), config("1")]), [ReplayRun(0, 2, None)], buckets, log_end=3)
    assert {row["valid_to_offset"] for row in rows[VERSION]} == {2}
    assert [(r["valid_from_offset"], r["valid_to_offset"]) for r in rows[RANGE]] == [(0, 2)]
    whole = all_written(log([topic(), config("1")]), [ReplayRun(0, 2, None)], buckets)
    assert {row["valid_to_offset"] for row in whole[VERSION]} == {None}
    assert len(whole[RANGE]) == 1


def test_a_state_is_known_from_the_snapshot_on_with_which_a_run_begins() -> None:
    runs = [ReplayRun(0, 2, None), ReplayRun(90, 101, snapshot_id(95)), ReplayRun(200, 210, None)]
    placed = [*of_snapshot(snapshot_id(95), [topic()]), *log([config("1")], 100)]
    rows = all_written(placed, runs)[RANGE]
    assert [(r["valid_from_offset"], r["valid_to_offset"]) for r in rows] == [(0, 2), (95, 101)]


def test_a_losing_branch_is_told_up_to_a_record_of_a_newer_kafka() -> None:
    tail = [topic("ghost", OTHER_TOPIC), UnknownRecord(99, 0, b""), config("1")]
    placed = [Placed(1 + n, record, "1capture", 1) for n, record in enumerate(tail)]
    _, changes = written([*log([topic(), remove_topic()]), *placed], [ReplayRun(0, 2, None)])
    lost = [c["change"] for c in changes if c["commitment"] == "superseded"]
    assert lost == ["topic_created"]


def test_a_run_that_nothing_begins_has_no_history() -> None:
    assert written(log([topic()], 100), [ReplayRun(100, 101, None)]) == ([], [])


def test_a_losing_branch_makes_changes_marked_as_such_and_no_version() -> None:
    agreed = log([topic(), partition(), change(leader=2), remove_topic()])
    ghosts = [change(leader=-1), config("1"), topic("ghost", OTHER_TOPIC)]
    tail = [Placed(2 + n, record, "1capture", 2) for n, record in enumerate(ghosts)]
    runs = [ReplayRun(0, 4, None)]
    versions, changes = written([*agreed, *tail], runs, 2)
    assert sorted(map(str, versions)) == sorted(map(str, written(agreed, runs, 2)[0]))
    lost = sorted(
        (c for c in changes if c["commitment"] == "superseded"), key=lambda c: c["record_offset"]
    )
    assert [(c["record_offset"], c["change"], c["name"], c["old"], c["new"]) for c in lost] == [
        (2, "leader_changed", "orders-0", "1", "-1"),
        (3, "config_set", "topic orders: retention.ms", None, '"1"'),
        (4, "topic_created", "ghost", None, f'{{"name":"ghost","topicId":"{OTHER_TOPIC}"}}'),
    ]
    kept = [(c["change"], c["old"], c["new"]) for c in changes if c["record_offset"] == 2]
    assert ("leader_changed", "1", "2") in kept


def test_versions_say_when_and_by_which_record() -> None:
    versions, _ = written(log([config("1"), topic(), config("2")]), [ReplayRun(0, 3, None)])
    first, second = (v for v in versions if v["entity"] == "config")
    assert [first[name] for name in ("valid_from_offset", "valid_to_offset")] == [0, 2]
    assert [first[name].timestamp() for name in ("valid_from", "valid_to")] == [0, 2]
    assert second["record_type"] == "CONFIG_RECORD"
    assert (second["valid_to_offset"], second["valid_to"]) == (None, None)
    assert first["name"] == "topic orders: retention.ms"
