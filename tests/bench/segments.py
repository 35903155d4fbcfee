"""Writes a metadata log segment of a given size: the mix of records of a busy cluster, one seed.

    python -m tests.bench.segments OUT.log --bytes 300000000

Records are drawn once (POOL of them, written by replica.metadata.codec) and then repeated in
batches of 1 to 50, with a LeaderChange before each EPOCH_BATCHES batches. Everything is
contiguous, uncompressed and sound.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.control import LeaderChange, LeaderVoter, encode_control
from replica.format.record import Record, encode_records
from replica.message.primitives import uuid_text
from replica.message.schema import Field, Kind, Value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.metadata.records import RECORDS_BY_NAME
from tests.replica.format.encoded import encode_batch

SEED = 7
POOL = 40_000
EPOCH_BATCHES = 2000
MIX: dict[tuple[str, int], float] = {
    ("PARTITION_RECORD", 1): 25,
    ("PARTITION_RECORD", 2): 10,
    ("PARTITION_CHANGE_RECORD", 1): 30,
    ("PARTITION_CHANGE_RECORD", 2): 12,
    ("TOPIC_RECORD", 0): 7,
    ("CONFIG_RECORD", 0): 7,
    ("BROKER_REGISTRATION_CHANGE_RECORD", 2): 4,
    ("REMOVE_TOPIC_RECORD", 0): 1,
    ("NO_OP_RECORD", 0): 1,
    ("PRODUCER_IDS_RECORD", 0): 0.5,
    ("REGISTER_BROKER_RECORD", 3): 0.3,
    ("CLIENT_QUOTA_RECORD", 0): 0.5,
    ("ACCESS_CONTROL_ENTRY_RECORD", 0): 0.7,
    ("UNFENCE_BROKER_RECORD", 0): 0.5,
    ("FENCE_BROKER_RECORD", 0): 0.5,
}
"""The percentage of each type and version among the records."""

_TAGGED = {
    "isr": 0.9,
    "leader": 0.45,
    "fenced": 0.6,
    "inControlledShutdown": 0.3,
    "eligibleLeaderReplicas": 0.15,
    "lastKnownElr": 0.1,
    "leaderRecoveryState": 0.02,
}
"""The probability that a tagged field is set; 0.05 for other fields."""
_TOPICS = ("orders", "payments", "clicks", "user-events", "inventory", "audit", "metrics")
_CONFIGS = ("retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas")
_NUMBERS = {
    "partitionId": 100,
    "leader": 40,
    "leaderEpoch": 200,
    "partitionEpoch": 500,
    "brokerId": 40,
    "brokerEpoch": 10_000_000,
    "featureLevel": 20,
}
_RANGES = {Kind.INT8: 2, Kind.INT16: 30, Kind.UINT16: 9093, Kind.INT32: 40, Kind.INT64: 10**9}


def record_values(count: int, chance: random.Random) -> list[bytes]:
    """The values of `count` records drawn from MIX."""
    kinds = chance.choices(list(MIX), list(MIX.values()), k=count)
    return [_value(name, version, chance) for name, version in kinds]


def _value(name: str, version: int, chance: random.Random) -> bytes:
    fields = {}
    for f in RECORDS_BY_NAME[name].fields_at(version):
        if f.tag is None or chance.random() < _TAGGED.get(f.name, 0.05):
            fields[f.name] = _drawn(name, f, chance)
    return encode(new_record(name, version, fields))


def _drawn(record: str, f: Field, chance: random.Random) -> Value:
    if f.is_array:
        rare = f.name in ("removingReplicas", "addingReplicas") and chance.random() < 0.95
        return tuple(_one(record, f, chance) for _ in range(0 if rare else 3))
    return _one(record, f, chance)


def _one(record: str, f: Field, chance: random.Random) -> Value:
    if f.kind is Kind.STRUCT:
        return {inner.name: _drawn(record, inner, chance) for inner in f.fields}
    if f.kind is Kind.UUID:
        return uuid_text(chance.randbytes(16))
    if f.kind is Kind.BOOL:
        return chance.random() < 0.5
    if f.kind is Kind.FLOAT64:
        return float(chance.randrange(1, 100) * 1024)
    if f.kind is Kind.STRING:
        if record == "CONFIG_RECORD" and f.name == "name":
            return chance.choice(_CONFIGS)
        return f"{chance.choice(_TOPICS)}-{chance.randrange(10**6)}"
    return chance.randrange(_NUMBERS.get(f.name, _RANGES[f.kind]))


def _leader_change(base_offset: int, epoch: int, time: int) -> bytes:
    voters = tuple(LeaderVoter(voter) for voter in (1, 2, 3))
    key, value = encode_control(LeaderChange(0, 1 + epoch % 3, voters, voters[:2]))
    return encode_batch(
        base_offset=base_offset,
        leader_epoch=epoch,
        records=encode_records([Record(base_offset, time, key, value)], base_offset, time),
        record_count=1,
        last_offset_delta=0,
        base_timestamp=time,
        max_timestamp=time,
        attributes=CONTROL_ATTRIBUTE,
    )


def batches(size: int, seed: int = SEED, pool: int = POOL) -> Iterator[tuple[bytes, int]]:
    """(batch, number of its records) until `size` bytes are reached."""
    chance = random.Random(seed)
    yield from _batches(cycle(record_values(pool, chance)), size, chance)


def cluster_values(partitions: int, changes: int, chance: random.Random) -> Iterator[bytes]:
    """The records of a cluster with `partitions` partitions on 40 brokers, ten in a topic. After
    them come the same `changes` changes again and again without an end. Every change can be
    applied."""
    brokers, ids = range(40), [uuid_text(chance.randbytes(16)) for _ in range(partitions // 10)]
    for topic_id in ids:
        name = {"name": topic_id, "topicId": topic_id}
        yield encode(new_record("TOPIC_RECORD", 0, name))
        for number in range(10):
            replicas = tuple(chance.sample(brokers, 3))
            where = {"partitionId": number, "topicId": topic_id}
            state = {"replicas": replicas, "isr": replicas, "leader": replicas[0]}
            yield encode(new_record("PARTITION_RECORD", 1, {**where, **state}))
    drawn = []
    for _ in range(changes):
        change: dict[str, Value] = {"partitionId": chance.randrange(10)}
        change |= {"topicId": chance.choice(ids), "isr": tuple(chance.sample(brokers, 2))}
        if chance.random() < 0.5:
            change["leader"] = chance.choice(brokers)
        drawn.append(encode(new_record("PARTITION_CHANGE_RECORD", 1, change)))
    yield from cycle(drawn)


def _batches(
    values: Iterator[bytes], size: int, chance: random.Random
) -> Iterator[tuple[bytes, int]]:
    offset, epoch, time, written, number = 0, 0, 1_700_000_000_000, 0, 0
    while written < size:
        if number % EPOCH_BATCHES == 0:
            epoch += 1
            batch = _leader_change(offset, epoch, time)
            yield batch, 1
            offset += 1
            written += len(batch)
        count = chance.randint(1, 50)
        records = [
            Record(offset + i, time + i // 8, None, value)
            for i, value in enumerate(islice(values, count))
        ]
        batch = encode_batch(
            base_offset=offset,
            leader_epoch=epoch,
            records=encode_records(records, offset, time),
            record_count=count,
            last_offset_delta=count - 1,
            base_timestamp=time,
            max_timestamp=time + (count - 1) // 8,
        )
        yield batch, count
        offset += count
        time += chance.randrange(1, 40)
        written += len(batch)
        number += 1


def write_segment(path: Path, size: int, seed: int = SEED) -> int:
    """Writes a segment of the mix to `path`. Gives the number of records."""
    return _write(path, batches(size, seed))


def write_cluster(
    path: Path,
    size: int,
    partitions: int = 200_000,
    changes: int = 100_000,
    seed: int = SEED,
) -> int:
    """Writes a log of cluster_values to `path`. Gives the number of records."""
    chance = random.Random(seed)
    return _write(path, _batches(cluster_values(partitions, changes, chance), size, chance))


def _write(path: Path, made: Iterator[tuple[bytes, int]]) -> int:
    records = 0
    with path.open("wb") as out:
        for batch, count in made:
            out.write(batch)
            records += count
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    options = parser.parse_args()
    records = write_segment(options.path, options.bytes)
    sys.stderr.write(f"{records} records, {options.path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
