"""A follower fetches until its log equals its leader's, whatever it held before (scenarios B)."""

import pytest

from replica.model.stored import ElectionState
from replica.raft.inputs import Clean
from replica.raft.messages import FetchRequest, FetchSnapshotRequest
from tests.replica.raft.host import Disk, Host, batch, begin, config, elect, fetch
from tests.replica.raft.test_high_watermark import leader

FETCHES = (FetchRequest, FetchSnapshotRequest)


def of_epochs(*epochs):
    """A batch of one record for each epoch."""
    return tuple(batch(offset, offset, epoch) for offset, epoch in enumerate(epochs))


def follower_with(*batches, of):
    """Node 2 following node 1, its first fetch unanswered."""
    epoch = of.raft.role.epoch
    host = Host(config(2, 1, 2, 3), Disk(ElectionState(epoch), batches=list(batches)))
    host.disk.flushed = host.disk.log_end
    begin(host, 1, epoch=epoch)
    return host


def catch_up(host, of):
    """Answer the follower's requests until it is at the leader's log end. Returns how often the
    leader answered with a diverging epoch."""
    rounds = 0
    while host.raft.log.position != of.raft.log.position:
        sends, host.sends = host.sends, []
        fetching = next(s for s in sends if isinstance(s.message, FETCHES))
        response = of.ask(fetching.message)
        rounds += getattr(response, "diverging", None) is not None
        host.answer(fetching, response)
    return rounds


@pytest.mark.scenario("B37")
def test_logs_of_alternating_epochs_agree_after_several_truncations():
    leading = leader(log=of_epochs(1, 3, 3, 5, 5, 7, 7), epoch=7)
    host = follower_with(*of_epochs(1, 2, 2, 4, 4, 6), of=leading)
    assert catch_up(host, leading) == 3
    assert host.disk.batches == leading.disk.batches


@pytest.mark.scenario("B38")
def test_a_follower_with_more_of_an_epoch_than_its_leader_cuts_to_the_leader_s_end():
    leading = leader(log=of_epochs(1, 1, 1), epoch=1)
    host = follower_with(*of_epochs(1, 1, 1, 1, 1, 1, 1), of=leading)
    first = host.sends[-1].message
    assert first.fetch_offset > leading.disk.log_end
    assert catch_up(host, leading) == 1
    assert host.disk.batches == leading.disk.batches


@pytest.mark.scenario("B39", "G35")
def test_a_follower_that_the_log_start_has_passed_again_loads_the_newer_snapshot():
    leading = Host(config(1, 1, 2, 3, retention_bytes=0))
    elect(leading)
    host = follower_with(of=leading)

    def snapshot_and_trim(value):
        leading.propose(value)
        fetch(leading, 3, leading.disk.log_end)
        snapshot_id = leading.snapshot()
        leading.step(Clean(10**6))
        return snapshot_id

    first = snapshot_and_trim(b"a")
    leading.propose(b"b")
    catch_up(host, leading)
    assert host.loaded == [first]
    snapshot_and_trim(b"c")
    newest = snapshot_and_trim(b"d")
    assert leading.disk.log_start == newest.offset > host.disk.log_end
    catch_up(host, leading)
    assert host.loaded == [first, newest]
    assert (host.disk.log_start, host.raft.log.position) == (newest.offset, newest)
    assert [value for _, value in host.applied] == [b"a", b"b", b"c", b"d"]
