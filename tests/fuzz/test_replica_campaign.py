"""A short form of the campaign in every run; RESULTS.md has the long ones."""

from random import Random

import pytest

from replica.wire.header import decode_request, encode_request
from tests.fuzz.attacked import foreign_batches
from tests.fuzz.endings import ENDINGS
from tests.fuzz.hostile_batches import valid
from tests.fuzz.hostile_frames import Target
from tests.fuzz.replica_campaign import attack

TARGET = Target("orders", "AAAAAAAAAAAAAAAAAAAAAg", "cluster")
MOST_GROWTH_KIB = 150 * 1024


def test_a_replica_serves_its_clients_under_attack_and_keeps_its_vote_and_log(tmp_path):
    campaign = attack(tmp_path, seed=1, frames=3000)
    assert campaign.sent >= 3000
    assert campaign.counts["batches appended"] > 0
    assert all(campaign.counts[kind] > 0 for kind in ENDINGS if kind not in ("silent", "end"))
    campaign.assert_bounded(MOST_GROWTH_KIB)


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
