"""A machine that is given many stored batches at once has the state of one that was given them
batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import DataError
from replica.format.whole_batch import value_batch
from replica.machines import metadata
from replica.machines.metadata import MetadataMachine, use
from replica.metadata.codec import encode
from replica.metadata.image.state import TABLES, State
from replica.model.batch import Batch
from replica.model.control import KRaftVersion
from replica.model.epochs import OffsetAndEpoch
from replica.scan.stored_replay import replay_stored
from replica.simulate.disk import SimulatedDisk
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.metadata.image.made import BEGIN, END, partition, topic
from tests.replica.metadata.image.sequences import Sequence as Records
from tests.replica.storage.content import leader_change

SEEDS = st.integers(0, 2**32)
UNKNOWN = b"\x01\xc8\x01\x00"
"""A record of api key 200, which no release has."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Also few batches, and those of many entities, are replayed at once."""
    monkeypatch.setattr(metadata, "BULK_BYTES", 0)
    monkeypatch.setattr(metadata, "_BYTES_PER_ENTITY", 0)
    yield
    use(None)


def written(chance: Random, commits: int) -> FileLog:
    """A log of several segments with random records, leaders' batches, and records of an unknown
    type; half of a transaction may be at its end."""
    disk = SimulatedDisk(Random(1))
    disk.make_directory("node")
    log = open_log(disk, "node/log", LogConfig(segment_bytes=4096, index_interval_bytes=512))
    log.append([leader_change(0, 1)])
    for commit in Records(chance).commits(commits):
        for batch in commit:
            append(log, *map(encode, batch))
        if chance.random() < 0.1:
            append(log, UNKNOWN)
    if chance.random() < 0.3:
        append(log, encode(BEGIN))
        append(log, encode(topic("half", f"{'half':-<21}A")))
    return log


def append(log: FileLog, *values: bytes) -> None:
    base = log.log_end
    data = value_batch(base, 1, base, values)
    log.append([Batch(base, base + len(values) - 1, 1, base, (), data)])


def told(machine: MetadataMachine) -> dict[str, Any]:
    """All that a machine holds, but for empty sets that say nothing."""
    state: State = machine._replay.state
    found: dict[str, Any] = {name: table_of(state, name) for name in TABLES}
    for name in ("topic_ids", "removals", "registrations"):
        found[name] = getattr(state, name)
    for name in ("partition_ids", "topic_configs"):
        found[name] = {key: held for key, held in getattr(state, name).items() if held}
    found["is open"], found["boundary"] = not machine.can_snapshot, machine._replay._boundary
    found["visible"], found["end"] = list(machine.image.entities()), machine.next_offset
    return found


def table_of(state: State, name: str) -> tuple[Any, Any]:
    table = getattr(state, name)
    return table.values, table.offsets


def commit(machine: MetadataMachine, log: FileLog, end: int, *, bulk: bool) -> None:
    use(replay_stored if bulk else None)
    stored = log.stored(machine.next_offset, end)
    machine.commit(stored)
    stored.close()


@given(SEEDS)
def test_committed_batches_give_the_same_state_at_once_in_pieces_and_one_by_one(seed: int) -> None:
    chance = Random(seed)
    log = written(chance, chance.choice((3, 40)))
    ends = [batch.end_offset for batch in log.batches(0, log.log_end)]
    one_by_one, at_once, mixed = MetadataMachine(), MetadataMachine(), MetadataMachine()
    one_by_one.commit(log.batches(0, log.log_end))
    commit(at_once, log, log.log_end, bulk=True)
    for end in [*sorted(chance.choices(ends, k=4)), log.log_end]:
        if end > mixed.next_offset:
            commit(mixed, log, end, bulk=chance.random() < 0.5)
    assert told(at_once) == told(one_by_one)
    assert told(mixed) == told(one_by_one)


@given(SEEDS)
def test_a_snapshot_is_loaded_at_once_as_record_by_record(seed: int) -> None:
    chance = Random(seed)
    log = written(chance, 20)
    machine = MetadataMachine()
    machine.commit(log.batches(0, log.log_end))
    if not machine.can_snapshot:
        append(log, encode(END))
        machine.commit(log.batches(machine.next_offset, log.log_end))
    snapshot_id = OffsetAndEpoch(log.log_end, 1)
    writer = log.snapshots.write(snapshot_id, 7, [KRaftVersion(1)])
    writer.append(machine.snapshot_records()())
    writer.freeze()
    loaded = []
    for replay in (replay_stored, None):
        use(replay)
        loaded.append(MetadataMachine())
        loaded[-1].load_snapshot(snapshot_id, log.snapshots.stored(snapshot_id))
    one_by_one = MetadataMachine()
    one_by_one.load_snapshot(snapshot_id, log.snapshots.batches(snapshot_id))
    assert told(loaded[0]) == told(loaded[1]) == told(one_by_one)


def test_a_record_that_does_not_decode_is_named_with_its_file_and_byte(tmp_path: Any) -> None:
    log = open_log(LocalDisk(), f"{tmp_path}/log")
    append(log, encode(topic()), *(encode(partition(partitionId=n)) for n in range(50)))
    append(log, encode(partition(partitionId=50))[:-3])
    errors = []
    for bulk in (True, False):
        with pytest.raises(DataError) as raised:
            commit(MetadataMachine(), log, log.log_end, bulk=bulk)
        errors.append(raised.value)
    assert errors[0].reason == errors[1].reason
    assert errors[0].path == f"{tmp_path}/log/{0:020}.log"
    log.close()


def test_a_damaged_batch_is_named_with_its_file_and_byte(tmp_path: Any) -> None:
    log = open_log(LocalDisk(), f"{tmp_path}/log")
    for number in range(50):
        append(log, encode(partition(partitionId=number)))
    path = tmp_path / "log" / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for bulk in (True, False):
        with pytest.raises(DataError) as raised:
            commit(MetadataMachine(), log, log.log_end, bulk=bulk)
        assert raised.value.path == str(path)
        assert raised.value.position is not None
        assert len(data) // 2 - 100 < raised.value.position <= len(data) // 2


def test_stored_batches_are_read_although_their_files_are_removed_meanwhile(tmp_path: Any) -> None:
    log = open_log(LocalDisk(), f"{tmp_path}/log", LogConfig(segment_bytes=4096))
    append(log, encode(topic()))
    for number in range(200):
        append(log, encode(partition(partitionId=number)))
    expected = MetadataMachine()
    expected.commit(log.batches(0, 150))
    for bulk in (True, False):
        use(replay_stored if bulk else None)
        stored = log.stored(0, 150)
        if not bulk:
            for path in (tmp_path / "log").glob("*.log"):
                path.unlink()
        machine = MetadataMachine()
        machine.commit(stored)
        stored.close()
        assert told(machine) == told(expected)
