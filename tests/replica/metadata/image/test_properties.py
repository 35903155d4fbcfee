"""What holds for every sequence of records, drawn from seeds."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.codec import decode, encode
from replica.metadata.image.image import Image
from replica.metadata.image.kind import Entity, compact
from replica.metadata.image.partitioning import BROADCAST, PartitionKey, key_of, owner_of
from replica.metadata.image.replay import Refusal, Replay, ReplayedRecord
from replica.metadata.image.snapshot import ELR_VERSION, to_records
from replica.metadata.image.texts import entity_of
from replica.metadata.record import MetadataRecord
from replica.metadata.records import RECORDS
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.replica.metadata.image.made import ABORT, TOPIC, feature
from tests.replica.metadata.image.sequences import Sequence

SEEDS = st.integers(0, 2**32)
VOTERS = KRaftVoters(0, (Voter(ReplicaKey(1, TOPIC), (Endpoint("A", "h", 1),), 0, 1),))


def drawn(seed: int) -> list[MetadataRecord]:
    commits = Sequence(Random(seed)).commits(20)
    return [record for commit in commits for batch in commit for record in batch]


def replayed(
    records: Iterable[ReplayedRecord], image: Image | None = None, first: int = 0
) -> Replay:
    replay = Replay(image or Image())
    for offset, record in enumerate(records, first):
        replay.apply(offset, record)
    return replay


def test_the_sequences_hold_every_record_type_and_version() -> None:
    found = {(r.type, r.version) for seed in range(40) for r in drawn(seed)}
    assert found == {(schema.name, v) for schema in RECORDS for v in schema.versions}


@given(SEEDS)
def test_a_replay_can_go_on_from_the_image_of_any_point_outside_a_transaction(seed: int) -> None:
    records = drawn(seed)
    replay, whole = Replay(), replayed(records)
    for offset, record in enumerate(records):
        if not replay.in_transaction and offset % 7 == 0:
            rest = replayed(records[offset:], replay.image(), offset)
            assert list(rest.image().entities()) == list(whole.image().entities())
        replay.apply(offset, record)


@given(SEEDS)
def test_replaying_the_records_of_an_image_gives_the_image(seed: int) -> None:
    says_all = [ABORT, feature("metadata.version", 33), feature(ELR_VERSION, 1)]
    image = replayed([*drawn(seed), *says_all, KRaftVersion(0, 1), VOTERS]).image()
    records = to_records(image)
    assert replayed(records).image() == image
    values = [encode(record) for record in records if isinstance(record, MetadataRecord)]
    assert [encode(decode(value)) for value in values] == values


@given(SEEDS)
def test_every_entity_comes_back_from_its_text(seed: int) -> None:
    image = replayed([*drawn(seed), ABORT, KRaftVersion(0, 1), VOTERS]).image()
    for kind, key, value in image.items():
        read = entity_of(kind.name, kind.value_text(key, value))
        assert read[:2] == (kind, key)
        assert kind.value_text(key, read.value) == kind.value_text(key, value)
        assert kind.value_text(key, value) == compact(kind.fields(key, value))


@given(SEEDS, st.integers(1, 5))
def test_parts_replayed_apart_add_up_to_the_whole(seed: int, parts: int) -> None:
    records = drawn(seed)
    whole = Replay()
    refusals = [r for n, record in enumerate(records) if (r := whole.apply(n, record))]
    entities: list[Entity] = []
    found: list[Refusal] = []
    for part in range(parts):
        replay = Replay()
        for offset, record in enumerate(records):
            mine = _part(key_of(record), parts) == part
            if mine or record.type in BROADCAST:
                refusal = replay.apply(offset, record)
                found += [refusal] if refusal and mine else []
        entities += (e for e in replay.image().entities() if _part(owner_of(e), parts) == part)
    assert sorted(entities) == sorted(whole.image().entities())
    assert sorted(found) == refusals


def _part(key: PartitionKey, parts: int) -> int:
    return sum(map(ord, key.family + key.key)) % parts


@pytest.mark.parametrize("seed", range(5))
def test_within_a_transaction_the_image_stands_still(seed: int) -> None:
    replay = Replay()
    for offset, record in enumerate(drawn(seed)):
        before = replay.image()
        replay.apply(offset, record)
        if replay.in_transaction:
            assert replay.image() == before
