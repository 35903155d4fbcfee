"""Partitions replayed by a kernel: the rows are those of the scalar replay, whatever the log is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from pipelines.replay import entries, partitions
from pipelines.replay.compared import REPLAYED
from pipelines.replay.plan import ReplayRun
from pipelines.replay.reading import walk
from pipelines.replay.written import WRITTEN
from replica.message.primitives import uuid_text
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.records import RECORDS_BY_NAME
from replica.model.keys import ZERO_UUID
from replica.scan import partition_versions, version_tables
from replica.scan.version_input import RECORD_TYPES
from tests.examples import examples
from tests.pipelines.replay.parts import Placed, of_snapshot, part, snapshot_id
from tests.replica.metadata.image.test_properties import SEEDS, drawn

_IDS = [uuid_text(bytes([n]) * 16) for n in range(1, 5)]
_DIRECTORIES = [ZERO_UUID, *(uuid_text(bytes([n]) * 16) for n in range(100, 103))]
_INT32 = 1 << 31
FEW = settings(max_examples=examples(20))  # each replays a hundred records twice


def rows_of(placed: Sequence[Placed], runs: Sequence[ReplayRun], buckets: int = 1) -> Counter[str]:
    """All rows of all parts, whatever their order."""
    found: Counter[str] = Counter()
    for bucket in range(buckets):
        for batch in walk(part(placed, runs, bucket, buckets)):
            assert batch.schema in (WRITTEN, REPLAYED)
            found.update(map(repr, pa.Table.from_batches([batch]).to_pylist()))
    return found


def by_scalar(
    placed: Sequence[Placed], runs: Sequence[ReplayRun], buckets: int = 1
) -> Counter[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions.Partitions, "_begin", lambda *_: None)
        return rows_of(placed, runs, buckets)


def log(records: Sequence[ReplayedRecord], first: int = 0) -> list[Placed]:
    return [Placed(offset, record) for offset, record in enumerate(records, first)]


def topics() -> list[MetadataRecord]:
    return [
        new_record("TOPIC_RECORD", 0, {"name": f"t{n}", "topicId": topic_id})
        for n, topic_id in enumerate(_IDS)
    ]


def busy(seed: int, count: int = 120) -> list[MetadataRecord]:
    """A log of a few topics whose partitions change all the time, sometimes by records that can't
    be applied."""
    chance = Random(seed)
    return [_record(chance) for _ in range(count)]


def _record(chance: Random) -> MetadataRecord:
    kind = chance.choices(list(_MADE), [6, 30, 50, 2, 1, 0.3, 1], k=1)[0]
    return _MADE[kind](chance)


def _topic(chance: Random) -> MetadataRecord:
    name = chance.choice(("orders", "payments", 'a "quoted" one', "Straße"))
    return new_record("TOPIC_RECORD", 0, {"name": name, "topicId": chance.choice(_IDS)})


def _ids(chance: Random, most: int = 4) -> tuple[int, ...]:
    return tuple(chance.choice((1, 2, 3, 4, -_INT32)) for _ in range(chance.randint(0, most)))


def _registered(chance: Random) -> MetadataRecord:
    replicas = _ids(chance)
    wrong = chance.random() < 0.05
    known = [chance.choice(_DIRECTORIES) for _ in range(len(replicas) + wrong)]
    fields: dict[str, Any] = {
        "replicas": replicas,
        "isr": replicas[:2],
        "removingReplicas": _ids(chance, 1),
        "addingReplicas": _ids(chance, 1),
        "leader": chance.choice((-1, 1, 2)),
        "leaderRecoveryState": chance.choices((0, 1, 2), (8, 2, 1))[0],
        "leaderEpoch": chance.choice((0, _INT32 - 1)),
        "partitionEpoch": chance.choice((0, _INT32 - 1)),
        "directories": chance.choice(((), tuple(known), (ZERO_UUID,) * len(replicas))),
        "eligibleLeaderReplicas": chance.choice((None, (), (3,))),
        "lastKnownElr": chance.choice((None, (), (2, 1))),
    }
    return _of_partition("PARTITION_RECORD", fields, chance)


def _changed(chance: Random) -> MetadataRecord:
    replicas = _ids(chance)
    drawn: dict[str, Any] = {
        "replicas": replicas,
        "isr": _ids(chance, 2),
        "removingReplicas": _ids(chance, 1),
        "addingReplicas": _ids(chance, 1),
        "leader": chance.choice((-1, 1, 2)),
        "leaderRecoveryState": chance.choice((0, 1, 3)),
        "directories": tuple(chance.choice(_DIRECTORIES) for _ in range(chance.randint(0, 4))),
        "eligibleLeaderReplicas": chance.choice(((), (3,))),
        "lastKnownElr": chance.choice(((), (2, 1))),
    }
    fields = {name: value for name, value in drawn.items() if chance.random() < 0.25}
    return _of_partition("PARTITION_CHANGE_RECORD", fields, chance)


def _of_partition(name: str, fields: dict[str, Any], chance: Random) -> MetadataRecord:
    version = chance.choice(tuple(RECORDS_BY_NAME[name].versions))
    sayable = {field.name for field in RECORDS_BY_NAME[name].fields_at(version)}
    key = {"topicId": chance.choice(_IDS), "partitionId": chance.choice((0, 1, 70_000))}
    known = {field: value for field, value in fields.items() if field in sayable}
    return new_record(name, version, {**key, **known})


_MADE = {
    "topic": _topic,
    "registered": _registered,
    "changed": _changed,
    "removed": lambda chance: new_record(
        "REMOVE_TOPIC_RECORD", 0, {"topicId": chance.choice(_IDS)}
    ),
    "cleared": lambda chance: new_record(
        "CLEAR_ELR_RECORD", 0, {"topicName": chance.choice(("", "orders", "payments"))}
    ),
    "marker": lambda chance: new_record(
        chance.choice(("BEGIN", "END", "ABORT")) + "_TRANSACTION_RECORD", 0, {}
    ),
    "config": lambda chance: new_record(
        "CONFIG_RECORD",
        0,
        {"resourceType": 2, "resourceName": "orders", "name": "x", "value": str(chance.random())},
    ),
}


@given(SEEDS)
@FEW
def test_the_rows_of_a_busy_log_are_those_of_the_scalar_replay(seed: int) -> None:
    placed = log(busy(seed))
    runs = [ReplayRun(0, len(placed), None)]
    assert rows_of(placed, runs) == by_scalar(placed, runs)


@given(SEEDS)
@FEW
def test_the_rows_of_any_log_are_those_of_the_scalar_replay_in_two_parts(seed: int) -> None:
    placed = log([*drawn(seed), *busy(seed, 40), *drawn(seed + 1)])
    runs = [ReplayRun(0, len(placed), None)]
    assert rows_of(placed, runs, 2) == by_scalar(placed, runs, 2)


@given(SEEDS)
@FEW
def test_a_run_that_begins_with_a_snapshot_has_the_rows_of_the_scalar_replay(seed: int) -> None:
    base, later = snapshot_id(10), snapshot_id(60)
    ids = [
        new_record("TOPIC_RECORD", 0, {"name": f"t{n}", "topicId": one})
        for n, one in enumerate(_IDS)
    ]
    held = [*ids, *(r for r in busy(seed) if r.type == "PARTITION_RECORD")]
    placed = [*of_snapshot(base, held), *of_snapshot(later, held), *log(busy(seed + 1), 10)]
    fork = [Placed(50 + n, record, "1tail", 50) for n, record in enumerate(busy(seed + 2, 20))]
    runs = [ReplayRun(10, 130, base)]
    assert rows_of([*placed, *fork], runs) == by_scalar([*placed, *fork], runs)


def test_nearly_all_records_of_partitions_are_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r for r in busy(3, 2000) if r.type in RECORD_TYPES]
    singly: list[int] = []
    entry = entries.Entries.entry
    monkeypatch.setattr(
        entries.Entries, "entry", lambda self, row: singly.append(row) or entry(self, row)
    )
    rows_of(log([*topics(), *records]), [ReplayRun(0, len(records) + 4, None)])
    assert len(singly) <= 1, "the first that can't be applied, for its reason"


def test_versions_that_overflow_one_call_of_the_kernel_come_from_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rooms = tuple(1500 for _ in range(version_tables.TEXTS))
    monkeypatch.setattr(partition_versions, "_ROOMS", rooms)
    monkeypatch.setattr(partition_versions, "_FIRST_SLOTS", 16)
    monkeypatch.setattr(partition_versions, "_FIRST_ARENA", 256)
    many = [
        new_record("PARTITION_CHANGE_RECORD", 0, {"topicId": one, "partitionId": 0, "isr": isr})
        for one in _IDS
        for isr in (tuple(range(500)), (1,), tuple(range(2, 700)))
    ]
    records = busy(11)
    placed = log([*records[:60], *many, *records[60:]])
    runs = [ReplayRun(0, len(placed), None)]
    assert rows_of(placed, runs) == by_scalar(placed, runs)
