"""FetchQuorumRecords of KIP-595's draft: a leader decides as for Fetch, and answers in another
form."""

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.raft.messages import FetchQuorumRecordsRequest
from tests.replica.raft.host import Host, batch, begin, config, fetch, key
from tests.replica.raft.test_high_watermark import leader

LOG = tuple(batch(base, base + 2, epoch, b"%d" % base) for base, epoch in ((0, 1), (3, 3), (6, 5)))


def draft(host, node_id, offset, fetch_epoch, *, is_follower=True, epoch=None):
    request = FetchQuorumRecordsRequest(
        replica=key(node_id),
        epoch=host.raft.role.epoch if epoch is None else epoch,
        fetch_offset=offset,
        fetch_epoch=fetch_epoch,
        is_follower=is_follower,
    )
    return host.ask(request)


@pytest.mark.parametrize("epoch", [5, 7])
def test_another_leader_epoch_is_a_mismatch_either_way(epoch):
    host = leader(log=LOG, epoch=5)
    response = draft(host, 2, 9, 5, epoch=epoch)
    assert (response.error, response.epoch, response.leader_id) == (ErrorCode.MISMATCH_EPOCH, 6, 1)


def test_a_diverging_follower_is_sent_to_the_end_of_the_largest_epoch_below():
    host = leader(log=LOG, epoch=5)
    response = draft(host, 2, 6, 2)
    assert response.error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert (response.next_fetch_offset, response.next_fetch_epoch) == (3, 1)
    assert response.records == b""
    assert key(2) not in host.raft.role.progress


def test_a_follower_gets_records_and_moves_the_high_watermark():
    host = leader(log=LOG, epoch=5)
    assert draft(host, 2, 3, 1).records == b"36"
    response = draft(host, 2, 10, 6)
    assert (response.error, response.high_watermark, response.last_caught_up) == (
        ErrorCode.NONE,
        10,
        1000,
    )


def test_a_draft_fetch_as_follower_by_a_former_voter_gets_not_follower_and_the_records():
    host = leader(log=LOG, epoch=5)
    response = draft(host, 9, 6, 3)
    assert (response.error, response.records) == (ErrorCode.NOT_FOLLOWER, b"6")
    observer = draft(host, 8, 6, 3, is_follower=False)
    assert (observer.error, observer.records) == (ErrorCode.NONE, b"6")
    assert key(8) not in host.raft.observers


def test_the_first_dirty_offset_is_the_end_of_the_newest_snapshot():
    host = leader()
    host.propose(b"a", b"b")
    fetch(host, 2, 3)
    assert draft(host, 2, 3, 1).first_dirty_offset == 0
    host.snapshot()
    assert draft(host, 2, 3, 1).first_dirty_offset == 3


def test_a_follower_serves_no_draft_fetch():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    assert draft(host, 3, 0, 0).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert draft(host, 3, 0, 0, epoch=9).error is ErrorCode.MISMATCH_EPOCH


def test_an_impossible_draft_fetch_is_refused_and_counted():
    host = leader()
    assert draft(host, 2, -1, 0).error is ErrorCode.INVALID_REQUEST
    assert draft(host, 1, 0, 0).error is ErrorCode.INVALID_REQUEST
    assert sum(host.raft.illegal_messages.values()) == 2
