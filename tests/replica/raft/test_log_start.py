"""When the log start moves up: by Kafka's policy and by KIP-630's (scenarios G30-G33)."""

import pytest

from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import SnapshotFacts
from replica.raft.inputs import Clean, SnapshotFrozen
from replica.raft.log_start import start_by_lag, start_by_retention
from tests.replica.raft.host import Host, batch, begin, config, elect, fetch
from tests.replica.raft.test_high_watermark import deliver, follower


def snapshots(*offsets, size=100, timestamps=None):
    times = timestamps or [0] * len(offsets)
    return [
        SnapshotFacts(OffsetAndEpoch(offset, 1), size, time)
        for offset, time in zip(offsets, times, strict=True)
    ]


@pytest.mark.scenario("G31")
def test_over_the_size_limit_only_the_newest_snapshot_is_left():
    assert start_by_retention(snapshots(1, 2, 3, 4, 5, 6), 1000, 50, None) == 6


def test_snapshots_go_oldest_first_until_the_rest_fits():
    assert start_by_retention(snapshots(1, 2, 3, 4), 100, 350, None) == 3
    assert start_by_retention(snapshots(1, 2, 3, 4), 100, 500, None) is None


@pytest.mark.scenario("G32")
def test_the_only_snapshot_stays_however_large():
    assert start_by_retention(snapshots(5), 10**9, 0, 10**9) is None


def test_snapshots_go_by_age_too():
    known = snapshots(1, 2, 3, timestamps=[10, 20, 30])
    assert start_by_retention(known, 0, -1, 25) == 3
    assert start_by_retention(known, 0, -1, 15) == 2
    assert start_by_retention(known, 0, -1, 5) is None
    assert start_by_retention(known, 0, -1, None) is None


def test_by_kip_630_a_leader_waits_for_its_live_replicas_or_for_the_time_limit():
    known = snapshots(10, 20, 30, timestamps=[100, 200, 300])
    assert start_by_lag(known, [25, 40], 0) == 20
    assert start_by_lag(known, [5, 40], 0) is None
    assert start_by_lag(known, [5, 40], 250) == 20


def leader_with_two_snapshots(**changes):
    host = Host(config(1, 1, 2, 3, **changes))
    elect(host)
    for data in (b"a", b"b"):
        host.propose(data)
        fetch(host, 2, host.disk.log_end)
        host.snapshot()
    return host


@pytest.mark.scenario("G30")
def test_cleaning_moves_the_log_start_to_a_snapshot_and_deletes_older_ones():
    host = leader_with_two_snapshots(retention_bytes=0)
    host.step(Clean(10**6))
    assert host.raft.log.log_start == 3
    assert list(host.disk.snapshots) == [OffsetAndEpoch(3, 1)]
    assert host.effects[-1].delete_snapshots == (OffsetAndEpoch(2, 1),)


@pytest.mark.scenario("G30")
def test_without_a_snapshot_or_within_limits_nothing_is_cleaned():
    bare = Host(config(1, 1, retention_bytes=0))
    bare.propose(b"a")
    bare.step(Clean(10**9))
    assert bare.raft.log.log_start == 0
    unsure = follower(end=10)
    for offset in (4, 8):
        unsure.step(SnapshotFrozen(SnapshotFacts(OffsetAndEpoch(offset, 1), 9)))
    unsure.step(Clean(10**12))
    assert (unsure.raft.high_watermark, unsure.raft.log.log_start) == (None, 0)
    rich = leader_with_two_snapshots()
    rich.step(Clean(1000))
    assert rich.raft.log.log_start == 0


@pytest.mark.scenario("G33")
def test_the_log_never_starts_above_what_is_known_to_be_committed():
    host = follower(end=10)
    deliver(host, high_watermark=4)
    host.step(SnapshotFrozen(SnapshotFacts(OffsetAndEpoch(4, 1), 9)))
    host.step(SnapshotFrozen(SnapshotFacts(OffsetAndEpoch(8, 1), 9)))
    host.step(Clean(10**12))
    assert host.raft.log.log_start == 0


def test_by_kip_630_a_follower_goes_no_further_than_its_leader_and_its_own_snapshot():
    host = Host(config(1, 1, 2, 3, start_lag_ms=60_000))
    begin(host, 2, epoch=1)
    deliver(host, batches=(batch(0, 3, 1), batch(4, 9, 1)))
    deliver(host, high_watermark=10)
    host.snapshot(4)
    deliver(host, high_watermark=10, log_start=3)
    assert host.raft.log.log_start == 0
    host.after(20)
    deliver(host, high_watermark=10, log_start=8)
    assert host.raft.log.log_start == 4


def test_by_kip_630_a_leader_keeps_what_a_live_replica_still_needs():
    host = leader_with_two_snapshots(start_lag_ms=60_000)
    host.after(2500)
    fetch(host, 2, 3)
    fetch(host, 3, 2)
    host.step(Clean(10**9))
    assert host.raft.log.log_start == 2
    fetch(host, 3, 3)
    host.step(Clean(0))
    assert host.raft.log.log_start == 3
