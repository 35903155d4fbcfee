"""Snapshots: a leader serves them, a follower fetches them, and a log restarts at them (scenarios
G)."""

import pytest

from replica.errors import UsageError
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState, SnapshotFacts
from replica.raft.effects import SnapshotRead
from replica.raft.inputs import Clean, Request, SnapshotFetched
from replica.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from replica.raft.roles import Follower, Prospective
from replica.raft.snapshots import SnapshotPolicy
from tests.replica.raft.host import (
    Disk,
    Host,
    batch,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
)
from tests.replica.raft.snapshot_text import snapshot_text
from tests.replica.raft.test_high_watermark import deliver, follower, leader


def content(offset, epoch, *applied):
    """A snapshot's bytes."""
    facts = SnapshotFacts(OffsetAndEpoch(offset, epoch), 0)
    return snapshot_text(facts, applied)


def leader_with_snapshot(*, trimmed=False):
    """Node 1 leads epoch 1 of three: records 0 to 5, a snapshot (4, 1), all committed."""
    host = Host(config(1, 1, 2, 3, retention_bytes=0))
    elect(host)
    host.propose(b"a", b"b", b"c")
    fetch(host, 2, 4)
    assert host.snapshot() == OffsetAndEpoch(4, 1)
    host.propose(b"d", b"e")
    fetch(host, 2, 6)
    if trimmed:
        host.snapshot()
        host.step(Clean(10**6))
        assert host.disk.log_start == 6
    return host


def fetch_snapshot(host, snapshot_id, position=0, epoch=None, **changes):
    request = FetchSnapshotRequest(
        replica=key(2),
        epoch=host.raft.role.epoch if epoch is None else epoch,
        snapshot_id=OffsetAndEpoch(*snapshot_id),
        position=position,
        **changes,
    )
    return host.ask(request)


def fetching(snapshot_id=(4, 1), **changes):
    """Node 1 following node 2 in epoch 1, its first FetchSnapshot unanswered."""
    host = Host(config(1, 1, 2, 3, **changes))
    begin(host, 2, epoch=1)
    deliver(host, snapshot_id=OffsetAndEpoch(*snapshot_id))
    return host


def send_slice(host, data, start, end, snapshot_id=(4, 1), **changes):
    send = host.take(FetchSnapshotRequest)[0]
    answer = FetchSnapshotResponse(
        **{
            "epoch": 1,
            "leader_id": 2,
            "snapshot_id": OffsetAndEpoch(*snapshot_id),
            "size": len(data),
            "position": start,
            "data": data[start:end],
            **changes,
        }
    )
    host.answer(send, answer)
    return send


@pytest.mark.scenario("G01", "T13")
def test_an_empty_follower_gets_the_snapshot_though_the_log_starts_at_zero():
    host = leader_with_snapshot()
    response = fetch(host, 3, 0, last_epoch=0, max_wait_ms=500)
    assert (response.snapshot_id, response.batches) == (OffsetAndEpoch(4, 1), ())


@pytest.mark.scenario("G02", "B08")
def test_a_follower_below_the_log_start_gets_the_snapshot_at_once_and_no_error():
    host = leader_with_snapshot(trimmed=True)
    response = fetch(host, 3, 2, last_epoch=1, max_wait_ms=500)
    assert (response.error, response.snapshot_id) == (ErrorCode.NONE, OffsetAndEpoch(6, 1))


@pytest.mark.scenario("G03", "B07", "B12")
def test_a_follower_of_an_epoch_before_the_snapshot_gets_it_at_once():
    disk = Disk(
        ElectionState(4),
        log_start=3,
        batches=[batch(3, 5, 4)],
        flushed=6,
        snapshots={OffsetAndEpoch(3, 4): content(3, 4)},
    )
    host = Host(config(1, 1, 2, 3), disk)
    elect(host)
    response = fetch(host, 2, 6, last_epoch=2, max_wait_ms=500)
    assert response.snapshot_id == OffsetAndEpoch(3, 4)


@pytest.mark.scenario("B06", "B09", "B10", "B11", "T12")
def test_at_the_log_start_the_epoch_decides():
    disk = Disk(
        ElectionState(5),
        log_start=3,
        batches=[batch(3, 5, 4)],
        flushed=6,
        snapshots={OffsetAndEpoch(3, 2): content(3, 2)},
    )
    host = Host(config(1, 1, 2, 3), disk)
    elect(host)
    assert fetch(host, 2, 3, last_epoch=3).snapshot_id == OffsetAndEpoch(3, 2)
    assert fetch(host, 2, 3, last_epoch=2).batches[0].base_offset == 3
    assert fetch(host, 2, 4, last_epoch=3).diverging == OffsetAndEpoch(3, 2)
    assert fetch(host, 2, 100, last_epoch=2).diverging == OffsetAndEpoch(3, 2)
    assert fetch(host, 2, 4, last_epoch=1).snapshot_id == OffsetAndEpoch(3, 2)


@pytest.mark.scenario("G04", "G05", "G24")
def test_a_follower_fetches_slices_restarts_its_log_and_fetches_on_from_there():
    data = content(4, 1, (1, b"a"))
    host = fetching()
    half = len(data) // 2
    assert send_slice(host, data, 0, half).message.position == 0
    assert host.loaded == []
    assert send_slice(host, data, half, len(data)).message.position == half
    assert host.loaded == [OffsetAndEpoch(4, 1)]
    assert host.applied == [(1, b"a")]
    assert (host.raft.log.log_start, host.raft.log.log_end) == (4, 4)
    assert host.raft.high_watermark == 4
    after = host.take(FetchRequest)[0].message
    assert (after.fetch_offset, after.last_fetched_epoch) == (4, 1)


@pytest.mark.scenario("G06")
def test_a_follower_goes_back_to_plain_fetches_when_the_leader_has_deleted_the_snapshot():
    host = fetching()
    send = host.take(FetchSnapshotRequest)[0]
    gone = FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND, epoch=1, leader_id=2)
    host.answer(send, gone)
    host.after(20)
    assert host.take(FetchRequest)[0].message.fetch_offset == 0
    assert host.raft.role.fetching is None


def test_a_follower_goes_back_to_plain_fetches_when_a_leader_of_kafka_fails_over_its_refusal():
    """Kafka 4.4 says so, without epoch and leader, in place of each refusal of FetchSnapshot."""
    host = fetching()
    deadline = host.raft.role.fetch_deadline
    send = host.take(FetchSnapshotRequest)[0]
    host.answer(send, FetchSnapshotResponse(error=ErrorCode.UNKNOWN_SERVER_ERROR))
    host.after(20)
    assert host.take(FetchRequest)[0].message.fetch_offset == 0
    assert host.raft.role.fetching is None
    assert host.raft.role.fetch_deadline == deadline


@pytest.mark.scenario("G07")
def test_a_newer_epoch_ends_a_snapshot_fetch():
    host = fetching()
    send = host.take(FetchSnapshotRequest)[0]
    host.answer(
        send, FetchSnapshotResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=2, leader_id=3)
    )
    assert (host.raft.role.leader_id, host.raft.role.fetching) == (3, None)
    assert host.take(FetchRequest)[0].node_id == 3


@pytest.mark.scenario("G08")
def test_an_answer_of_an_older_epoch_is_ignored_and_the_slice_asked_for_again():
    data = content(4, 1)
    host = fetching()
    send_slice(host, data, 0, 5, epoch=0)
    host.after(20)
    assert host.take(FetchSnapshotRequest)[0].message.position == 0


@pytest.mark.scenario("G09")
@pytest.mark.parametrize("impossible", [(-1, 1), (4, -1)])
def test_a_slice_of_an_impossible_snapshot_ends_the_fetch(impossible):
    host = fetching()
    send_slice(host, b"data", 0, 4, snapshot_id=impossible)
    assert host.raft.role.fetching is None
    host.after(20)
    assert host.take(FetchRequest)[0].message.fetch_offset == 0


@pytest.mark.scenario("G10", "T14")
@pytest.mark.parametrize("impossible", [(-1, 1), (4, -1)])
def test_an_impossible_snapshot_id_does_not_renew_the_fetch_timeout(impossible):
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    deadline = host.raft.role.fetch_deadline
    host.after(100)
    deliver(host, snapshot_id=OffsetAndEpoch(*impossible))
    assert host.raft.role.fetch_deadline == deadline
    assert host.take(FetchRequest) == []
    host.after(1900)
    assert isinstance(host.raft.role, Prospective)


@pytest.mark.scenario("G11")
def test_a_replica_that_no_longer_follows_ignores_a_slice():
    host = fetching()
    send = host.take(FetchSnapshotRequest)[0]
    host.after(2000)
    assert isinstance(host.raft.role, Prospective)
    host.answer(send, FetchSnapshotResponse(epoch=1, leader_id=2, size=3, data=b"abc"))
    assert all(effects.snapshot_parts == [] for effects in host.effects)


@pytest.mark.parametrize(
    "wrong",
    [{"start": 3}, {"snapshot_id": (5, 1)}, {"size": 2}, {"end": 0}],
)
def test_a_slice_that_was_not_asked_for_is_illegal(wrong):
    host = fetching()
    send_slice(host, b"snapshot", **{"start": 0, "end": 4, **wrong})
    assert host.raft.role.fetching.position == 0
    assert sum(host.raft.illegal_messages.values()) == 1


def test_bytes_that_are_no_snapshot_are_rejected_and_fetched_anew():
    host = fetching()
    send_slice(host, b"garbage", 0, 7)
    assert host.loaded == []
    assert isinstance(host.raft.role, Follower)
    assert host.take(FetchRequest) == [], "the leader would name the same snapshot again"
    host.after(20)
    assert host.take(FetchRequest)[0].message.fetch_offset == 0


@pytest.mark.scenario("G12", "G13")
def test_a_leader_serves_slices_that_join_to_the_file():
    host = leader_with_snapshot()
    data = host.disk.snapshots[OffsetAndEpoch(4, 1)]
    whole = fetch_snapshot(host, (4, 1))
    assert (whole.data, whole.size, whole.position) == (data, len(data), 0)
    half = len(data) // 2
    first = fetch_snapshot(host, (4, 1), max_bytes=half)
    second = fetch_snapshot(host, (4, 1), position=half)
    assert first.data + second.data == data


@pytest.mark.scenario("G14")
def test_a_position_outside_of_the_snapshot_is_refused():
    host = leader_with_snapshot()
    size = len(host.disk.snapshots[OffsetAndEpoch(4, 1)])
    for position in (-1, size, size + 1):
        response = fetch_snapshot(host, (4, 1), position=position)
        assert response.error is ErrorCode.POSITION_OUT_OF_RANGE


@pytest.mark.scenario("G15", "G16")
def test_unknown_snapshots_and_the_bootstrap_one_are_not_found():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    for snapshot_id in ((0, 0), (4, 1)):
        assert fetch_snapshot(host, snapshot_id).error is ErrorCode.SNAPSHOT_NOT_FOUND


@pytest.mark.scenario("G17", "G18")
def test_snapshots_are_a_leader_s_to_serve_in_its_epoch():
    host = leader_with_snapshot()
    assert fetch_snapshot(host, (4, 1), epoch=0).error is ErrorCode.FENCED_LEADER_EPOCH
    assert fetch_snapshot(host, (4, 1), epoch=2).error is ErrorCode.UNKNOWN_LEADER_EPOCH
    begin(host, 3, epoch=2)
    response = fetch_snapshot(host, (4, 1))
    assert (response.error, response.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 3)


@pytest.mark.scenario("G19")
def test_a_leader_s_snapshot_lies_below_its_high_watermark():
    host = leader(1, 2)
    with pytest.raises(UsageError):
        host.raft.may_create_snapshot(OffsetAndEpoch(1, 1))
    host.propose(b"a", b"b")
    fetch(host, 2, 2)
    assert host.raft.may_create_snapshot(OffsetAndEpoch(2, 1))
    with pytest.raises(UsageError):
        host.raft.may_create_snapshot(OffsetAndEpoch(3, 1))
    with pytest.raises(UsageError):
        host.raft.may_create_snapshot(OffsetAndEpoch(2, 2))


@pytest.mark.scenario("G20", "G21")
def test_a_snapshot_s_epoch_is_that_of_its_last_record():
    host = follower(epoch=3)
    deliver(host, batches=(batch(0, 4, 1), batch(5, 9, 3)))
    deliver(host, high_watermark=10)
    assert host.raft.may_create_snapshot(OffsetAndEpoch(5, 1))
    assert host.raft.may_create_snapshot(OffsetAndEpoch(10, 3))
    for wrong in (OffsetAndEpoch(5, 2), OffsetAndEpoch(10, 1), OffsetAndEpoch(7, 2)):
        with pytest.raises(UsageError):
            host.raft.may_create_snapshot(wrong)


@pytest.mark.scenario("G22", "G23")
def test_a_snapshot_that_is_there_or_below_the_log_start_is_not_written():
    host = leader_with_snapshot(trimmed=True)
    assert not host.raft.may_create_snapshot(OffsetAndEpoch(3, 1))
    assert not host.raft.may_create_snapshot(OffsetAndEpoch(6, 1))


@pytest.mark.scenario("G25")
def test_a_fetched_snapshot_no_newer_than_the_log_leaves_the_log_alone():
    host = follower(end=10)
    host.step(SnapshotFetched(SnapshotFacts(OffsetAndEpoch(5, 1), 9)))
    assert (host.raft.log.log_start, host.raft.log.log_end, host.loaded) == (0, 10, [])


@pytest.mark.scenario("G26", "G34")
def test_a_log_older_than_its_snapshot_restarts_at_it():
    snapshot = OffsetAndEpoch(20, 3)
    disk = Disk(
        ElectionState(3),
        batches=[batch(0, 9, 1)],
        flushed=10,
        snapshots={snapshot: content(20, 3, (1, b"a"))},
    )
    host = Host(config(1, 1, 2, 3), disk)
    assert (disk.batches, disk.log_start) == ([], 20)
    assert (host.loaded, host.applied) == ([snapshot], [(1, b"a")])
    assert host.raft.log.position == snapshot


@pytest.mark.scenario("G34")
def test_a_replica_that_starts_loads_its_newest_snapshot_then_commits_from_there():
    host = leader_with_snapshot()
    again = host.restarted()
    assert again.loaded == [OffsetAndEpoch(4, 1)]
    assert [data for _, data in again.applied] == [b"a", b"b", b"c"]
    begin(again, 2, epoch=2)
    send = again.take(FetchRequest)[0]
    again.answer(send, FetchResponse(epoch=2, leader_id=2, high_watermark=6))
    assert [data for _, data in again.applied] == [b"a", b"b", b"c", b"d", b"e"]


def test_a_slice_is_limited_by_the_leader_s_response_size():
    host = Host(config(1, 1, response_max_bytes=10))
    host.propose(b"a")
    snapshot_id = host.snapshot()
    request = FetchSnapshotRequest(replica=key(2), epoch=1, snapshot_id=snapshot_id, position=3)
    effects = host.raft.step(Request("r", request), host.now)
    assert effects.replies[0].read == SnapshotRead(snapshot_id, 3, 10)


def test_released_kafka_takes_a_snapshot_by_bytes_or_by_time():
    policy = SnapshotPolicy(max_new_bytes=100, max_interval_ms=1000)
    assert policy.is_due(100, 0, 0.0)
    assert policy.is_due(1, 1000, 0.0)
    assert not policy.is_due(99, 999, 1.0)
    assert not policy.is_due(0, 5000, 1.0)
    assert not SnapshotPolicy(max_new_bytes=100, max_interval_ms=0).is_due(99, 10**9, 1.0)


def test_the_draft_takes_a_snapshot_by_bytes_and_changed_records():
    policy = SnapshotPolicy(max_new_bytes=100, min_changed_ratio=0.5)
    assert policy.is_due(100, 0, 0.5)
    assert not policy.is_due(100, 10**9, 0.4)
    assert not policy.is_due(99, 10**9, 0.9)
