"""A short form of the campaign in every run; RESULTS.md has the long ones."""

from random import Random

import pytest

from replica.format.batch import HEADER
from replica.storage.batches import value_batch
from replica.wire.header import decode_request, encode_request
from tests.fuzz.attacked import Quorum, foreign_batches
from tests.fuzz.endings import ENDINGS
from tests.fuzz.hostile_batches import valid
from tests.fuzz.hostile_frames import Target
from tests.fuzz.replica_campaign import MOST_GROWTH_KIB, Attack, Sample, attack

TARGET = Target("orders", "AAAAAAAAAAAAAAAAAAAAAg", "cluster")


def test_a_replica_serves_its_clients_under_attack_and_keeps_its_vote_and_log(tmp_path):
    campaign = attack(tmp_path, seed=1, frames=3000)
    assert campaign.sent >= 3000
    assert campaign.counts["batches appended"] > 0
    assert all(campaign.counts[kind] > 0 for kind in ENDINGS if kind not in ("silent", "end"))


def test_hostile_requests_can_be_read_as_such():
    for number in range(500):
        request = TARGET.request(Random(number))
        again = decode_request(encode_request(request))
        assert (again.api, again.version) == (request.api, request.version)


def test_frames_of_a_seed_are_the_same_each_time():
    one, other = (encode_request(TARGET.request(Random("1 2"))) for _ in range(2))
    assert one == other


def test_a_hole_in_a_log_is_seen():
    batch = valid(Random(1))
    with pytest.raises(AssertionError, match="damaged"):
        foreign_batches(batch + batch)


def test_what_is_not_of_the_load_is_told_by_its_offset():
    load = [value_batch(offset, 1, 0, [b"load"] * 2) for offset in (1, 3, 6)]
    foreign = value_batch(5, 1, 0, [b"foreign"])
    found = foreign_batches(
        value_batch(0, 1, 0, [b"load"]) + b"".join((*load[:2], foreign, load[2]))
    )
    assert found == {5: foreign[HEADER.size :]}


def test_growing_memory_ends_a_campaign(tmp_path):
    campaign = Attack(Quorum(tmp_path, dict.fromkeys((1, 2, 3))), 1, frames=100)
    campaign.sent = 100
    for frames, kib in ((1, 500_000), (10, 1000), (100, 1000 + MOST_GROWTH_KIB)):
        campaign.samples.append(Sample(frames, 1.0, (1000, kib, 1000), 1, 0.1))
    with pytest.raises(AssertionError, match="replica 1"):
        campaign.assert_bounded()
