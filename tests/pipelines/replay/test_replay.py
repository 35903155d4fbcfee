"""The replay of a small lake in this process, beside what a worker of Spark makes of its part."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.replay import columns
from pipelines.replay.plan import PlannedSnapshot, ReplayRun
from pipelines.replay.written import CHANGE, RANGE, VERSION
from replica.doctor.check.snapshot_validity import compare_images
from replica.format.control import KRaftVersion
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import UnknownRecord, new_record
from tests.pipelines.cluster.record_rows import (
    Row,
    branch,
    content,
    log_records,
    snapshot,
    tail,
)
from tests.pipelines.cluster.record_rows import replayed as walked
from tests.pipelines.replay.parts import Placed, of_snapshot, snapshot_id
from tests.pipelines.replay.test_metadata_replay import all_written, entities, log, state_at
from tests.replica.metadata.image.made import OTHER_TOPIC, config, remove_topic, topic
from tests.replica.metadata.image.test_properties import SEEDS, VOTERS, drawn, replayed

UNKNOWN = UnknownRecord(99, 0, b"")
FEW = settings(max_examples=8)  # each replays hundreds of records several times


def by_kind(rows: list[Row]) -> dict[str, Counter[str]]:
    return {
        what: Counter(str(row) for row in rows if row["what"] == what)
        for what in (VERSION, CHANGE, RANGE)
    }


def of_worker(placed: list[Placed], runs: list[ReplayRun], log_end: int | None = None) -> Any:
    rows = all_written(placed, runs, log_end=log_end)
    return {what: Counter(map(str, found)) for what, found in rows.items()}


def written(
    rows: list[Row], *snapshots: tuple[Row, list[Row]], tails: list[Row] | None = None
) -> list[Row]:
    held = [row for row, _ in snapshots]
    records = [row for _, found in snapshots for row in found]
    found: list[Row] = walked(rows, held, records, tails or []).written.to_pylist()
    return found


def is_unknown(row: Row) -> bool:
    (found,) = columns.is_unknown(columns.with_json(log_records([row])))
    return bool(found)


def versions(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["what"] == VERSION]


def ranges(rows: list[Row]) -> list[tuple[int, int]]:
    return [(r["valid_from_offset"], r["valid_to_offset"]) for r in rows if r["what"] == RANGE]


@FEW
@given(SEEDS)
def test_a_whole_log_gives_the_rows_that_a_worker_of_spark_gives(seed: int) -> None:
    records = [*drawn(seed), VOTERS, KRaftVersion(0, 1)]
    expected = of_worker(log(records), [ReplayRun(0, len(records), None)])
    assert by_kind(written(branch(records))) == expected


@FEW
@given(SEEDS, st.integers(1, 30))
def test_a_log_without_its_head_begins_with_the_oldest_snapshot_within_it(
    seed: int, count: int
) -> None:
    records, held = drawn(seed), to_records(replayed(drawn(seed + 1)).image())
    base = snapshot_id(1000)
    placed = [*of_snapshot(base, held), *log(records, 990)]
    runs = [ReplayRun(990, 990 + len(records), base)]
    newer = snapshot(snapshot_id(1000 + count), [topic("never", OTHER_TOPIC)])
    found = written(branch(records, 990), snapshot(base, held), newer)
    assert len(records) > 40
    assert by_kind(found) == of_worker(placed, runs)


def test_a_snapshot_of_several_replicas_is_applied_once() -> None:
    base = snapshot_id(95)
    alone = written(branch([config("1")], 95), snapshot(base, [topic()]))
    both = [snapshot(base, [topic()], node_id=node_id) for node_id in (1, 2)]
    assert by_kind(written(branch([config("1")], 95), *both)) == by_kind(alone)
    assert len(versions(alone)) == 2


def test_an_unknown_record_is_a_hole_behind_which_a_snapshot_begins() -> None:
    records = [topic(), config("1"), UNKNOWN, config("2")]
    found = written(branch(records), snapshot(snapshot_id(4), [topic(), config("3")]))
    assert ranges(found) == [(0, 2), (4, 4)]
    assert {row["valid_to_offset"] for row in versions(found)} == {2, None}
    assert ranges(written(branch(records[:3]))) == [(0, 2)]
    assert [row["valid_to_offset"] for row in versions(written(branch(records[:3])))] == [2, 2]


@pytest.mark.parametrize("is_redacted", [False, True])
def test_an_unknown_record_is_told_by_its_payload_also_when_redacted(is_redacted: bool) -> None:
    assert is_unknown(content(UNKNOWN, is_redacted=is_redacted))


def test_a_record_that_only_speaks_of_an_api_key_is_known() -> None:
    assert not is_unknown(content(topic("apiKey")))
    assert not is_unknown(content(config("1", name="apiKey")))
    assert not is_unknown({**content(topic()), "payload": None})


def test_a_control_record_of_an_unknown_type_is_a_hole() -> None:
    rows = branch([topic(), config("1"), config("2")])
    rows[1] |= {"is_control": True, "record_type": "UNKNOWN_9", "value": b"\x00"}
    assert ranges(written(rows)) == [(0, 1)]


def test_control_records_without_state_are_no_hole_and_change_nothing() -> None:
    rows = branch([topic(), config("1"), config("2")])
    rows[1] |= {"is_control": True, "record_type": "LEADER_CHANGE", "value": None}
    found = written(rows)
    assert ranges(found) == [(0, 3)]
    assert len(versions(found)) == 2


def test_no_replay_begins_with_a_snapshot_that_holds_an_unknown_record() -> None:
    partial = snapshot(snapshot_id(100), [topic(), UNKNOWN])
    assert written(branch([config("1")], 99), partial) == []
    whole = snapshot(snapshot_id(101), [topic()])
    assert ranges(written(branch([config("1"), config("2")], 99), partial, whole)) == [(101, 101)]


@pytest.mark.parametrize(
    ("end_offset", "epoch", "begins"),
    [(98, 1, False), (99, 7, True), (100, 1, True), (100, 2, False), (101, 1, True)],
)
def test_a_replay_begins_with_a_snapshot_that_touches_the_run_in_the_epoch_of_the_branch(
    end_offset: int, epoch: int, begins: bool
) -> None:
    base = PlannedSnapshot(end_offset, epoch, "sha", None, None)
    found = written(branch([topic(), config("1")], 99), snapshot(base, [topic("base")]))
    assert ranges(found) == ([(end_offset, 101)] if begins else [])


def test_a_snapshot_that_is_not_whole_is_no_beginning() -> None:
    broken = snapshot(snapshot_id(100), [topic()], is_whole=False)
    assert written(branch([config("1")], 100), broken) == []
    compare = walked(branch([topic()]), [broken[0]], broken[1]).compared
    assert [row["content_sha256"] for row in compare] == [None]


def test_a_redacted_record_is_replayed_by_its_payload() -> None:
    secret = config("***:0123456789abcdef", name="ssl.keystore.password")
    rows = branch([topic(), secret])
    redacted = [rows[0], {**rows[1], **content(secret, is_redacted=True)}]
    assert redacted[1]["value"] is None
    assert by_kind(written(redacted)) == by_kind(written(rows))
    assert len(versions(written(redacted))) == 2


def test_a_record_without_a_time_makes_a_version_without_one() -> None:
    rows = branch([topic()])
    rows[0]["timestamp"] = None
    (version,) = versions(written(rows))
    assert version["valid_from"] is None


def test_a_losing_branch_is_told_as_changes_up_to_a_record_of_a_newer_kafka() -> None:
    agreed = branch([topic(), remove_topic()])
    lost = tail([topic("ghost", OTHER_TOPIC), UNKNOWN, config("1")], 1)
    found = written(agreed, tails=lost)
    changes = [row for row in found if row["commitment"] == "superseded"]
    assert [(c["change"], c["record_offset"]) for c in changes] == [("topic_created", 1)]
    assert versions(found) == versions(written(agreed))


def compared_rows(rows: list[Row], *snapshots: tuple[Row, list[Row]]) -> list[Row]:
    held = [row for row, _ in snapshots]
    found: list[Row] = walked(rows, held, [r for _, rs in snapshots for r in rs]).compared
    return found


def test_a_snapshot_that_lacks_what_the_log_has_differs_with_both_values() -> None:
    rows = branch([topic(), config("1"), new_record("NO_OP_RECORD", 0, {})])
    snapshot_row, run = compared_rows(rows, snapshot(snapshot_id(2), [config("1")]))
    assert (snapshot_row["end_offset"], snapshot_row["different"]) == (2, 1)
    (sample,) = snapshot_row["sample"]
    assert (sample["entity"], sample["in_snapshot"]) == ("topic", None)
    assert "orders" in sample["in_log"]
    assert (run["content_sha256"], run["base_offset"], run["end_offset"]) == (None, 0, 3)


def test_two_contents_of_one_id_are_held_against_each_other_also_off_the_branch() -> None:
    one = PlannedSnapshot(50, 9, "a", None, None)
    other = one._replace(content_sha256="b")
    pairs = [
        row
        for row in compared_rows(
            branch([topic()]), snapshot(other, [topic("b")]), snapshot(one, [topic("a")])
        )
        if row["against_sha256"] is not None
    ]
    assert [(row["content_sha256"], row["against_sha256"]) for row in pairs] == [("a", "b")]
    assert pairs[0]["different"] == 1


def test_a_record_that_cannot_be_applied_is_counted_with_its_place() -> None:
    (run,) = compared_rows(branch([topic(), remove_topic(OTHER_TOPIC), config("1")]))
    assert (run["refused"], run["first_refused"]["offset"]) == (1, 1)
    assert run["first_refused"]["record_type"] == "REMOVE_TOPIC_RECORD"


@FEW
@given(SEEDS)
def test_a_snapshot_differs_from_the_log_as_far_as_their_images_do(seed: int) -> None:
    records = drawn(seed)
    image = replayed(records).image()
    held = to_records(image)
    expected = compare_images(replayed(held).image(), image)
    rows = compared_rows(branch(records), snapshot(snapshot_id(len(records)), held))
    (row,) = (row for row in rows if row["content_sha256"] is not None)
    counts = len(expected.orphans), len(expected.dropped), len(expected.others)
    assert (row["orphans"], row["dropped"], row["different"]) == counts


@FEW
@given(SEEDS)
def test_the_versions_at_the_end_are_the_state_there(seed: int) -> None:
    records = drawn(seed)
    state = state_at(versions(written(branch(records))), len(records))
    assert state == entities(replayed(records).image())
