"""Rows replayed at once add up to what the scalar replay says of them record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import DataError
from replica.format.byte_source import byte_source
from replica.format.record import Record, encode_records
from replica.message.primitives import uuid_text
from replica.metadata.codec import encode
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import Refusal, Replay, meaning
from replica.metadata.image.state import TABLES, State
from replica.metadata.record import MetadataRecord
from replica.model.keys import ZERO_UUID
from replica.scan.bulk_replay import BulkReplay
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table
from tests.bench.segments import record_values
from tests.replica.format.encoded import encode_batch
from tests.replica.metadata.image import made
from tests.replica.metadata.image.sequences import Sequence as Records

SEEDS = st.integers(0, 2**32)
_TOPICS = [uuid_text((b"topic-%d-" % n) * 2) for n in range(3)]
_DIRECTORIES = (ZERO_UUID, made.DIRECTORY, made.OTHER_DIRECTORY)


def _segment(values: Sequence[bytes], chance: Random) -> bytes:
    """The records in batches of one to nine, from offset 0 on."""
    whole = bytearray()
    offset = 0
    while offset < len(values):
        some = values[offset : offset + chance.randint(1, 9)]
        records = [Record(offset + n, 7, None, value) for n, value in enumerate(some)]
        whole += encode_batch(
            base_offset=offset,
            leader_epoch=1,
            records=encode_records(records, offset, 7),
            record_count=len(some),
            last_offset_delta=len(some) - 1,
            base_timestamp=7,
            max_timestamp=7,
        )
        offset += len(some)
    return bytes(whole)


def _chunks(data: bytes) -> Iterator[Chunk]:
    for region in Regions(data, 0, 0).read(program_table(keep_secrets=True)):
        assert isinstance(region, Chunk)
        yield region


def _told(state: State) -> dict[str, Any]:
    """All that a state holds, but for empty sets that say nothing."""
    tables = {name: getattr(state, name) for name in TABLES}
    told: dict[str, Any] = {n: (table.values, table.offsets) for n, table in tables.items()}
    for name in ("topic_ids", "removals", "registrations"):
        told[name] = getattr(state, name)
    for name in ("partition_ids", "topic_configs"):
        told[name] = {key: held for key, held in getattr(state, name).items() if held}
    return told


class _Scalar:
    """The truth: Replay over the same rows."""

    def __init__(self, image: Image) -> None:
        self.replay = Replay(image)
        self.refusals: list[Refusal] = []

    def take(self, chunk: Chunk, low: int, high: int) -> int:
        for row in range(low, high):
            record = chunk.record(row)
            try:
                message = meaning(record, is_control=chunk.is_control(row))
            except DataError:
                return row
            refusal = self.replay.apply(record.offset, message)
            if refusal is not None:
                self.refusals.append(refusal)
        return high


def hold_equal(data: bytes, chance: Random, image: Image = EMPTY) -> int:
    """AssertionError unless both replays agree, looked at now and then; rows replayed."""
    scalar, bulk = _Scalar(image), BulkReplay(image)
    first: Refusal | None = None
    refused = rows = 0
    source = byte_source(data)
    for chunk in _chunks(data):
        low = 0
        while low < chunk.row_count:
            high = min(chunk.row_count, low + chance.choice((1, 3, 20, 1000, 100_000)))
            taken = bulk.take(chunk, source, low, high, explain=first is None)
            assert taken.row == scalar.take(chunk, low, high)
            first = first or (taken.first and taken.first[1])
            refused += taken.refused
            rows += taken.row - low
            assert refused == len(scalar.refusals)
            assert first == (scalar.refusals[0] if scalar.refusals else None)
            if taken.row < high:
                return rows
            if high == chunk.row_count or chance.random() < 0.5:
                _hold_images_equal(bulk, scalar.replay)
            low = high
    return rows


def _hold_images_equal(bulk: BulkReplay, replay: Replay) -> None:
    one, other = bulk.image(), replay.image()
    assert _told(bulk.state) == _told(replay.state)
    assert one == other
    assert list(one.entities()) == list(other.entities())


def _rough_record(chance: Random) -> MetadataRecord:
    """Records of few topics, brokers and configs, without any thought for what there is."""
    pick = chance.choice
    topic_id, name = pick(_TOPICS), pick(("a", "b", "é" * 90))
    some = lambda pool: tuple(chance.choices(pool, k=chance.randint(0, 3)))  # noqa: E731
    lists = {
        "isr": some((1, 2, 3)),
        "replicas": some((1, 2, 3)),
        "directories": some(_DIRECTORIES),
        "removingReplicas": some((1, 2)),
        "addingReplicas": tuple(range(chance.choice((0, 1, 200)))),
        "eligibleLeaderReplicas": some((1, 2)),
        "lastKnownElr": some((1, 2)),
    }
    where = {"topicId": topic_id, "partitionId": pick((0, 1, -1))}
    makers: list[Callable[[], MetadataRecord]] = [
        lambda: made.topic(name, topic_id),
        lambda: made.remove_topic(topic_id),
        lambda: made.partition(**where, **lists, leaderEpoch=pick((0, 2**31 - 1))),
        lambda: made.partition(**where, partitionEpoch=pick((3, 2**31 - 1))),
        lambda: made.change(**where, leader=pick((-1, 1, 2)), isr=lists["isr"]),
        lambda: made.change(**where, **{n: v for n, v in lists.items() if chance.random() < 0.4}),
        lambda: made.change(**where, leaderRecoveryState=pick((0, 1, 2))),
        lambda: made.config(pick((None, "", "7")), pick(("x", "y")), name, pick((2, 2, 4))),
        lambda: made.config(pick((None, "8")), "z", name),
    ]
    rare: list[Callable[[], MetadataRecord]] = [
        lambda: made.clear_elr(pick(("", name))),
        lambda: made.broker(pick((1, 2)), pick((10, 11)), pick((0, 3, 4)), **_listeners(chance)),
        lambda: made.broker_change(pick((10, 11)), fenced=pick((-1, 0, 1))),
        lambda: pick((made.BEGIN, made.END, made.ABORT)),
    ]
    return pick(rare if chance.random() < 0.05 else makers)()


def _listeners(chance: Random) -> dict[str, Any]:
    """Up to three listeners, now and then one without a name, which no registration may have."""
    names = chance.choices(("PLAINTEXT", "é", "x" * 130, ""), (9, 9, 9, 1), k=chance.randint(0, 3))
    listener = {"host": chance.choice(("", "h")), "port": 9092, "securityProtocol": -1}
    return {"endPoints": tuple({"name": name, **listener} for name in names)}


@given(SEEDS)
def test_registrations_with_and_without_names_of_listeners_are_judged_alike(seed: int) -> None:
    chance = Random(seed)
    versions = (0, 1, 2, 3, 4)
    records = [
        made.broker(chance.choice((1, 2)), 10 + n, chance.choice(versions), **_listeners(chance))
        if chance.random() < 0.7
        else made.broker_change(10 + n - 1, fenced=chance.choice((-1, 0, 1)))
        for n in range(40)
    ]
    assert hold_equal(_segment([encode(r) for r in records], chance), chance) == len(records)


def test_a_listener_without_a_name_behind_listeners_with_unknown_tags_is_refused() -> None:
    named = made.broker(2, 10, 0, endPoints=_endpoints("a", "b", "c"))
    value = encode(named)
    tagged = b"\x02\x32\x01\x01\x33\x00"  # tags 50 of one byte, 0x01, and 51 of none
    broken = value.replace(
        b"\x02a\x02h\x23\x84\x00\x00\x00", b"\x02a\x02h\x23\x84\x00\x00" + tagged
    )
    for nameless in (False, True):
        last = broken.replace(b"\x02c\x02h", b"\x01\x02h") if nameless else broken
        assert len(last) == len(value) + 5 - nameless
        values = [encode(made.broker(1)), last, encode(made.topic())]
        hold_equal(_segment(values, Random(1)), Random(1))


def _endpoints(*names: str) -> tuple[dict[str, Any], ...]:
    return tuple({"name": n, "host": "h", "port": 9092, "securityProtocol": 0} for n in names)


@given(SEEDS)
def test_rough_histories_of_topics_are_replayed_as_by_the_scalar_replay(seed: int) -> None:
    chance = Random(seed)
    records = [_rough_record(chance) for _ in range(chance.choice((20, 200)))]
    assert hold_equal(_segment([encode(r) for r in records], chance), chance) == len(records)


@given(SEEDS)
def test_histories_with_records_of_every_type_are_too(seed: int) -> None:
    chance = Random(seed)
    commits = Records(chance).commits(chance.choice((5, 60)))
    values = [encode(r) for commit in commits for batch in commit for r in batch]
    assert hold_equal(_segment(values, chance), chance) == len(values)


@given(SEEDS)
def test_a_replay_goes_on_from_an_image(seed: int) -> None:
    chance = Random(seed)
    replay = Replay()
    for offset in range(100):
        replay.apply(offset, _rough_record(chance))
    values = [encode(_rough_record(chance)) for _ in range(100)]
    hold_equal(_segment(values, chance), chance, replay.image())


@given(SEEDS)
def test_changed_bytes_are_replayed_up_to_the_record_without_a_meaning(seed: int) -> None:
    chance = Random(seed)
    values = [bytearray(encode(_rough_record(chance))) for _ in range(60)]
    for _ in range(chance.randint(1, 6)):
        value = chance.choice(values)
        value[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
    hold_equal(_segment([bytes(value) for value in values], chance), chance)


def test_the_mix_of_the_benchmark_is_replayed_as_by_the_scalar_replay() -> None:
    chance = Random(1)
    values = record_values(20_000, chance) * 2
    assert hold_equal(_segment(values, chance), chance) == len(values)


@pytest.mark.slow
def test_the_kernels_tables_grow_with_the_entities_of_the_log() -> None:
    chance = Random(2)
    values = [encode(made.topic())]
    values += [encode(made.partition(partitionId=n, leader=n)) for n in range(70_000)]
    values += [encode(made.change(partitionId=3 * n, isr=(n,))) for n in range(20_000)]
    values += [encode(made.config("1", f"key-{n}" * 30)) for n in range(5_000)]
    assert hold_equal(_segment(values, chance), chance) == len(values)
