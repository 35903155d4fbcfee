"""A short form of the campaign in every run; RESULTS.md has the long ones."""

from random import Random

import pytest

from replica.errors import CorruptDataError
from replica.format.batch import HEADER
from replica.format.whole_batch import control_batch, value_batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters, LeaderChange
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.storage.batches import message_of
from replica.wire.header import MAX_REQUEST_ELEMENTS, decode_request, encode_request
from tests.fuzz.attacked import Quorum
from tests.fuzz.endings import ENDINGS
from tests.fuzz.hostile_frames import Target
from tests.fuzz.judged_log import judged
from tests.fuzz.replica_campaign import MOST_GROWTH_KIB, Attack, Sample, attack

TARGET = Target("orders", "AAAAAAAAAAAAAAAAAAAAAg", "cluster")


@pytest.mark.slow
def test_a_replica_serves_its_clients_under_attack_and_keeps_its_vote_and_log(tmp_path):
    campaign = attack(tmp_path, seed=1, frames=3000)
    assert campaign.sent >= 3000
    assert campaign.counts["batches appended"] > 0
    assert all(campaign.counts[kind] > 0 for kind in ENDINGS if kind not in ("silent", "end"))


def test_hostile_requests_can_be_read_as_such_or_are_too_long():
    read, refused = 0, []
    for number in range(500):
        request = TARGET.request(Random(number))
        try:
            again = decode_request(encode_request(request))
        except CorruptDataError as error:
            refused.append(str(error))
            continue
        assert (again.api, again.version) == (request.api, request.version)
        read += 1
    assert 480 < read < 500
    assert all(f"more than {MAX_REQUEST_ELEMENTS} elements" in why for why in refused)


def test_frames_of_a_seed_are_the_same_each_time():
    one, other = (encode_request(TARGET.request(Random("1 2"))) for _ in range(2))
    assert one == other


def voter(node_id: int, *names: str) -> Voter:
    endpoints = tuple(Endpoint(name, "127.0.0.1", 9000 + node_id) for name in names)
    return Voter(ReplicaKey(node_id, f"{'fuzz' * 5}{node_id}A"), endpoints)


FORMATTED = voter_set(voter(node_id, "CONTROLLER") for node_id in (1, 2, 3))
OWN = voter_set(voter(node_id, "CONTROLLER", "CLIENTS") for node_id in (1, 2, 3))


def control(offset: int, *records: ControlRecord) -> bytes:
    return control_batch(offset, 1, 0, [message_of(record) for record in records])


BEGIN = control(0, LeaderChange(1, (), ()), KRaftVersion(1), KRaftVoters(FORMATTED))
LOAD = [value_batch(offset, 1, 0, [b"load"] * 2) for offset in (3, 5, 8)]


def test_a_hole_in_a_log_is_seen():
    with pytest.raises(AssertionError, match="damaged"):
        judged(BEGIN + LOAD[0] + LOAD[2], OWN)


def test_records_that_the_load_did_not_append_are_listed_by_offset():
    foreign = value_batch(7, 1, 0, [b"foreign"])
    found = judged(b"".join((BEGIN, *LOAD[:2], foreign, LOAD[2])), OWN)
    assert found.foreign == {7: foreign[HEADER.size :]}
    assert found.voter_updates == 0


def test_voters_may_tell_their_own_listeners_one_after_the_other():
    one = FORMATTED.with_voter(voter(2, "CONTROLLER", "CLIENTS"))
    both = one.with_voter(voter(3, "CONTROLLER", "CLIENTS"))
    log = BEGIN + LOAD[0] + control(5, KRaftVoters(one)) + control(6, KRaftVoters(both))
    assert judged(log, OWN).voter_updates == 2


@pytest.mark.parametrize(
    "records",
    [
        (KRaftVoters(FORMATTED.with_voter(voter(4, "CONTROLLER"))),),
        (KRaftVoters(FORMATTED.without(voter(3).key)),),
        (KRaftVoters(FORMATTED.with_voter(voter(2, "CLIENTS"))),),
        (KRaftVoters(OWN),),
        (KRaftVoters(FORMATTED),),
        (KRaftVersion(1),),
        (LeaderChange(2, (), ()),),
    ],
    ids=["added", "removed", "listeners of nobody", "two at once", "none", "version", "leader"],
)
def test_other_control_records_end_a_campaign(records):
    log = BEGIN + LOAD[0] + control(5, *records)
    with pytest.raises(AssertionError, match="control records at offset 5"):
        judged(log, OWN)


def test_an_epoch_begins_with_the_voters_that_were_formatted():
    with pytest.raises(AssertionError, match="control records at offset 0"):
        judged(control(0, KRaftVersion(1)), OWN)
    fewer = VoterSet(FORMATTED.voters[:2])
    begin = control(0, LeaderChange(1, (), ()), KRaftVersion(1), KRaftVoters(fewer))
    with pytest.raises(AssertionError, match="voters at offset 0"):
        judged(begin, OWN)


def test_growing_memory_ends_a_campaign(tmp_path):
    campaign = Attack(Quorum(tmp_path, dict.fromkeys((1, 2, 3))), 1, frames=100)
    campaign.sent = 100
    for frames, kib in ((1, 500_000), (10, 1000), (100, 1000 + MOST_GROWTH_KIB)):
        campaign.samples.append(Sample(frames, 1.0, (1000, kib, 1000), 1, 0.1))
    with pytest.raises(AssertionError, match="replica 1"):
        campaign.assert_bounded()
