"""Which records a part of a replay sees, found in columns, and by each record as a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.delta import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.replay.columns import RECORDS, RecordPlace, counts_passed_over, is_unknown, spread
from pipelines.replay.entries import bucket_of, stored_record
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from replica.metadata.codec import encode
from replica.metadata.image.partitioning import BROADCAST, KEY_FIELDS, key_of
from replica.metadata.json_text import json_text
from replica.metadata.passed_over import NOTHING, parse
from replica.metadata.record import MetadataRecord, UnknownRecord, new_record

BUCKETS = 5
TOPIC = "AAAAAAAAQACAAAAAAAAAAQ"


def _table(*rows: dict[str, object]) -> pa.Table:
    same = {"leader_epoch": 1, "is_control": False, "record_version": 0}
    full = [{"offset": offset} | same | row for offset, row in enumerate(rows)]
    return pa.Table.from_pylist(full, RECORDS)


def _row(record: MetadataRecord | UnknownRecord, *, is_redacted: bool = False) -> dict[str, object]:
    value = None if is_redacted else encode(record)
    payload = json_text(record) if is_redacted else None
    version = {"record_version": record.version}
    return {"record_type": record.type, "value": value, "payload": payload} | version


def _seen(rows: pa.Table, bucket: int, buckets: int = BUCKETS) -> list[int]:
    place = RecordPlace(7, "2", None)
    found = spread(rows, is_unknown(rows), "c", place, bucket, buckets)
    return [int(offset) for offset in found["offset"].to_pylist()]


@pytest.fixture(scope="module")
def recorded(recorded_lake: Path) -> pa.Table:
    table = bronze.LOG_RECORDS
    names = [name for name in RECORDS.names if name != "payload"]
    pins = Pins(Lake(recorded_lake), newest_versions(Lake(recorded_lake), [table.name]))
    rows = pins.columns(table, names, "value IS NOT NULL")
    rows = rows.append_column("payload", pa.nulls(rows.num_rows, pa.string()))
    places = pa.array(np.arange(rows.num_rows))
    return rows.set_column(0, "offset", places).select(RECORDS.names)


def test_a_recorded_record_is_in_the_part_that_owns_its_key_or_in_all(recorded: pa.Table) -> None:
    seen = [set(_seen(recorded, bucket)) for bucket in range(BUCKETS)]
    for row in recorded.to_pylist():
        names = ("is_control", "record_type", "record_version", "payload", "value")
        record = stored_record(*(row[name] for name in names))
        held_by = {bucket for bucket in range(BUCKETS) if row["offset"] in seen[bucket]}
        kind = row["record_type"]
        if kind in BROADCAST:
            assert held_by == {*range(BUCKETS)}
        elif kind in KEY_FIELDS:
            assert held_by == {bucket_of(key_of(record), BUCKETS)}, kind
        else:
            assert held_by == set(), kind


def test_a_redacted_partition_is_in_the_part_of_its_topic() -> None:
    record = new_record("PARTITION_RECORD", 0, {"partitionId": 1, "topicId": TOPIC})
    rows = _table(_row(record), _row(record, is_redacted=True))
    own = bucket_of(key_of(record), BUCKETS)
    assert [_seen(rows, bucket) for bucket in range(BUCKETS)] == [
        [0, 1] if bucket == own else [] for bucket in range(BUCKETS)
    ]


@pytest.mark.parametrize("is_redacted", [False, True])
@pytest.mark.parametrize(("api_key", "version"), [(99, 0), (300, 0), (3, 120), (3, 300)])
def test_a_type_or_version_that_this_release_does_not_know_is_unknown_and_seen_by_every_part(
    api_key: int, version: int, is_redacted: bool
) -> None:
    known = new_record("NO_OP_RECORD", 0, {})
    rows = _table(
        _row(known), _row(UnknownRecord(api_key, version, b"\x01"), is_redacted=is_redacted)
    )
    assert is_unknown(rows).tolist() == [False, True]
    assert [_seen(rows, bucket) for bucket in range(BUCKETS)] == [[1]] * BUCKETS


@pytest.mark.parametrize("is_redacted", [False, True])
def test_a_type_that_is_passed_over_is_counted_and_seen_by_no_part(is_redacted: bool) -> None:
    """A version of a type that this release knows is never passed over."""
    records = [UnknownRecord(key, 0, b"\x01") for key in (501, 99, 501)]
    records.append(UnknownRecord(3, 120, b"\x01"))
    rows = _table(*(_row(one, is_redacted=is_redacted) for one in records))
    passed_over = parse("vendors")
    assert is_unknown(rows, passed_over).tolist() == [False, True, False, True]
    assert counts_passed_over(rows, passed_over) == {501: 2}
    assert counts_passed_over(rows, NOTHING) == {}


def test_a_control_record_of_an_unknown_type_is_unknown() -> None:
    control = {"is_control": True, "record_version": None, "value": b"\x00"}
    rows = _table(
        control | {"record_type": "LEADER_CHANGE"}, control | {"record_type": "CONTROL_TYPE_9"}
    )
    assert is_unknown(rows).tolist() == [False, True]


def test_one_part_sees_all_records_that_have_state() -> None:
    topic = new_record("TOPIC_RECORD", 0, {"name": "a", "topicId": TOPIC})
    rows = _table(_row(new_record("NO_OP_RECORD", 0, {})), _row(topic))
    assert _seen(rows, 0, 1) == [1]
