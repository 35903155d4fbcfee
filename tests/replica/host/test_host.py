"""The host on a real disk: what was committed is there again after opening, by log and snapshot."""

from dataclasses import fields, replace
from random import Random

import pytest

from replica.format.batch import decode_header
from replica.format.frames import frames
from replica.format.record import records_of
from replica.format.whole_batch import value_batch
from replica.host.host import Host
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine
from replica.metadata.codec import encode
from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import Endpoint, Voter, voter_set, without_directories
from replica.raft.config import Config
from replica.raft.effects import Effects, SnapshotPart
from replica.raft.inputs import Append, Clean, Proposal, Propose, Request, Response, Tick, Truncated
from replica.raft.messages import BeginQuorumEpochRequest, FetchRequest, FetchResponse
from replica.raft.roles import Leader
from replica.simulate.disk import SimulatedDisk
from replica.storage.batches import batch_in, bytes_of
from replica.storage.filesystem import LocalDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from tests.replica.metadata.image.made import OTHER_TOPIC, TOPIC, topic

LOCAL = Voter(ReplicaKey(1, "directoryofvoter00000A"), (Endpoint("CONTROLLER", "localhost", 9093),))


@pytest.fixture
def folder(tmp_path):
    folder = str(tmp_path / "__cluster_metadata-0")
    log = open_log(LocalDisk(), folder)
    voters = KRaftVoters(voter_set([LOCAL]))
    log.snapshots.write(BOOTSTRAP_SNAPSHOT, 0, [KRaftVersion(1), voters]).freeze()
    log.close()
    return folder


def opened(folder, machine, at_once=None, **changes):
    config = Config("cluster", LOCAL, append_when_idle=False, **changes)
    log, store = open_log(LocalDisk(), folder), QuorumStateFile(LocalDisk(), folder)
    return Host(config, log, store, machine, Random(1).randrange, 0, at_once)


def step(host, event, now_ms=1):
    """Step a lone voter, and do the flushes that it owes."""
    host.step(event, now_ms)
    flush(host, now_ms)


def flush(host, now_ms=1):
    while host.owes_flush:
        host.flush(now_ms)


def leading(folder, machine, **changes):
    host = opened(folder, machine, **changes)
    step(host, Tick(), 1)
    assert isinstance(host.raft.role, Leader)
    return host


def propose(host, value):
    proposal = Proposal(1, value_batch(0, 0, 1, [value]))
    step(host, Propose(host.raft.role.epoch, (proposal,)))


def test_a_lone_voter_has_all_it_committed_after_opening_again(folder):
    host = leading(folder, OpaqueMachine())
    for number in range(5):
        propose(host, b"%d" % number)
    before = host.machine.state
    assert before.batches == 5
    host.log.close()

    assert leading(folder, OpaqueMachine()).machine.state == before


def test_records_appended_within_the_linger_are_one_batch_on_disk(folder):
    host = leading(folder, OpaqueMachine())
    values = (b"a", b"b" * 1000, b"")
    for value in values:
        step(host, Append(host.raft.role.epoch, (value,)))
    assert host.machine.state.batches == 0
    later = 1 + host.config.append_linger_ms
    step(host, Tick(), later)
    assert host.machine.state.batches == 1
    (written,) = [b for b in host.log.batches(0, host.log.log_end) if not b.control]
    header = decode_header(written.data)
    assert tuple(record.value for record in records_of(header, written.data)) == values
    assert (header.leader_epoch, header.base_timestamp, header.max_timestamp) == (1, 1, 1)


def test_a_step_is_carried_out_though_nobody_looks_at_what_it_returns(folder):
    host = leading(folder, OpaqueMachine())
    end = host.log.log_end
    proposal = Proposal(1, value_batch(0, 0, 1, [b"x"]))
    host.step(Propose(host.raft.role.epoch, (proposal,)), 1)
    assert (host.log.log_end, host.owes_flush) == (end + 1, True)


def test_a_host_carries_out_every_effect_in_order_and_leaves_the_last_to_the_network(folder):
    """The core never asks for so much at once, so the test says what it asks for."""
    host = leading(folder, OpaqueMachine())
    propose(host, b"x")
    host.snapshot(1)
    flush(host)
    (bootstrap, newest) = host.log.snapshots
    names = [field.name for field in fields(Effects)]
    asked = {
        "quorum_state": ElectionState(9),
        "truncate_to": newest.offset - 1,
        "reset_to": newest,
        "append": [Batch(newest.offset, newest.offset, 9, 0, values=(b"y",))],
        "snapshot_parts": [SnapshotPart(OffsetAndEpoch(9, 9), 0, b"z", is_last=False)],
        "log_start": newest.offset,
        "delete_snapshots": (bootstrap,),
        "load_snapshot": newest,
        "commit": newest.offset + 1,
        "leader_change": LeaderAndEpoch(2, 9),
    }
    assert [*asked, "replies", "sends", "stopped"] == names
    order, running = [], []
    for watched, called, name in [
        (host.store, "write", "quorum_state"),
        (host.log, "truncate_to", "truncate_to"),
        (host.log, "reset_to", "reset_to"),
        (host.log, "append", "append"),
        (host.log.snapshots, "write_part", "snapshot_parts"),
        (host.log, "advance_log_start", "log_start"),
        (host.log.snapshots, "delete", "delete_snapshots"),
        (host.machine, "load_snapshot", "load_snapshot"),
        (host.machine, "commit", "commit"),
    ]:
        note_calls(watched, called, name, order, running)
    whole, heard = Effects(**asked), []

    def core(event, now_ms):
        heard.append(event)
        return whole if isinstance(event, Tick) else Effects()

    host.raft.step = core
    assert host.tick(1)[0] is whole
    assert order == [*names[:-4]]
    assert heard == [Tick(), Truncated(newest.offset - 1)]
    assert host.machine.next_offset == newest.offset + 1


def note_calls(of, method, name, order, running):
    """Note each call of the method, but for those within another call."""
    called = getattr(of, method)

    def noted(*arguments):
        if not running:
            order.append(name)
        running.append(name)
        result = called(*arguments)
        running.pop()
        return result

    setattr(of, method, noted)


def test_a_leader_answers_a_fetch_with_the_bytes_of_its_log(folder):
    host = leading(folder, OpaqueMachine())
    propose(host, b"value")
    fetch = FetchRequest(
        cluster_id="cluster",
        replica=ReplicaKey(9, "directoryofobserver00A"),
        epoch=host.raft.role.epoch,
        fetch_offset=0,
        last_fetched_epoch=0,
    )
    (effects,) = host.step(Request(1, fetch), 2)

    answer = host.filled(effects.replies[0])

    assert answer.data == host.log.read(0, 2**20)
    assert b"value" in bytes(answer.data)


def test_a_snapshot_of_metadata_stands_for_the_log_below_it(folder):
    host = leading(folder, MetadataMachine())
    propose(host, encode(topic("a", TOPIC)))
    propose(host, encode(topic("b", OTHER_TOPIC)))
    host.snapshot(1)
    flush(host)
    end = host.machine.next_offset
    image = host.machine.image
    host.log.close()

    host = opened(folder, MetadataMachine())
    step(host, Tick(), 0)
    assert host.raft.log.snapshots[-1].snapshot_id.offset == end
    assert host.machine.image == image
    assert set(image.tables["topics"].values) == {TOPIC, OTHER_TOPIC}


def test_a_snapshot_of_nothing_new_is_not_written(folder):
    host = leading(folder, OpaqueMachine())
    propose(host, b"x")
    host.snapshot(1)
    flush(host)
    count = len(host.raft.log.snapshots)
    host.snapshot(1)
    flush(host)
    assert len(host.raft.log.snapshots) == count


def test_a_snapshot_carries_the_append_time_of_the_last_record_it_contains(folder):
    host = leading(folder, OpaqueMachine())
    proposal = Proposal(1, value_batch(0, 0, 77, [b"x"]))
    step(host, Propose(host.raft.role.epoch, (proposal,)))
    host.snapshot(1)
    flush(host)
    assert host.raft.log.snapshots[-1].timestamp == 77


def follower_that_owes_a_flush(disk):
    """A follower of node 2 on `disk` that has fetched one record, and what it sent since; its
    leader said that the record is committed."""
    voters = without_directories(voter_set([LOCAL, replace(LOCAL, key=ReplicaKey(2))]))
    disk.make_directory("node")
    host = reopened(disk, Config("cluster", LOCAL, static_voters=voters))
    begin = BeginQuorumEpochRequest(epoch=1, leader_id=2)
    (effects,) = host.step(Request("leader", begin), 1)
    batches = tuple(
        batch_in(data, frame)
        for data in [value_batch(0, 1, 1, [b"x"])]
        for frame in frames(data, start=0, expected_offset=None)
    )
    answer = FetchResponse(epoch=1, leader_id=2, batches=batches, high_watermark=1)
    done = host.step(Response(2, effects.sends[0].correlation_id, answer), 2)
    sent = [send for effects in done for send in effects.sends]
    assert (host.machine.next_offset, host.owes_flush) == (1, True)
    return host, sent


def reopened(disk, config):
    log, store = open_log(disk, "node/topic-0"), QuorumStateFile(disk, "node/topic-0")
    return Host(config, log, store, OpaqueMachine(), Random(1).randrange, 0)


def after_power_loss(disk, host):
    disk.crash()
    disk.restart()
    return reopened(disk, host.config)


def test_a_record_that_a_crash_could_take_is_acknowledged_by_no_fetch():
    disk = SimulatedDisk(Random(1))
    host, sent = follower_that_owes_a_flush(disk)
    assert sent == []
    assert after_power_loss(disk, host).log.log_end == 0


def test_a_record_that_a_fetch_acknowledges_outlives_a_crash():
    disk = SimulatedDisk(Random(1))
    host, _ = follower_that_owes_a_flush(disk)
    (effects,) = host.flush(3)
    (send,) = effects.sends
    assert send.message.fetch_offset == 1
    assert after_power_loss(disk, host).log.log_end == 1


def test_a_record_is_acknowledged_only_when_the_flush_that_another_thread_does_has_ended():
    disk = SimulatedDisk(Random(1))
    host, sent = follower_that_owes_a_flush(disk)
    begun = host.begin_flush()
    assert host.begin_flush() is None, "it owes no other"
    sent += [send for effects in host.tick(3) for send in effects.sends]
    begun.run()
    assert sent == []
    (effects,) = host.end_flush(begun, 4)
    assert [send.message.fetch_offset for send in effects.sends] == [1]
    assert after_power_loss(disk, host).log.log_end == 1


def test_a_snapshot_holds_nothing_that_a_crash_could_take_from_the_log():
    """A follower learns with the records that others have committed them."""
    disk = SimulatedDisk(Random(1))
    host, _ = follower_that_owes_a_flush(disk)
    host.snapshot(3)
    assert host.raft.log.latest_snapshot == OffsetAndEpoch(1, 1)
    host = after_power_loss(disk, host)
    assert (host.log.log_start, host.log.log_end) == (0, 1)


def test_a_snapshot_tells_the_kraft_version_and_the_voters_that_were_committed_at_its_end():
    """An upgrade of kraft.version lies in the log above the snapshot's end, not yet committed. A
    new leader may cut it off."""
    disk = SimulatedDisk(Random(1))
    host, _ = follower_that_owes_a_flush(disk)
    (effects,) = host.flush(3)
    upgrade = Batch(1, 2, 1, 1, (KRaftVersion(1), KRaftVoters(voter_set([LOCAL]))))
    answer = FetchResponse(
        epoch=1,
        leader_id=2,
        batches=(replace(upgrade, data=bytes_of(upgrade)),),
        high_watermark=1,
    )
    host.step(Response(2, effects.sends[0].correlation_id, answer), 4)
    assert host.raft.log.kraft_version == 1

    host.snapshot(5)

    (facts,) = host.log.snapshots.facts()
    assert facts.snapshot_id == OffsetAndEpoch(1, 1)
    assert (facts.kraft_version, facts.voters) == (0, None)


def test_a_snapshot_holds_the_state_at_its_end_though_more_was_committed_before_it_is_written(
    folder,
):
    host = leading(folder, MetadataMachine())
    propose(host, encode(topic("a", TOPIC)))
    begun = host.begin_snapshot()
    propose(host, encode(topic("b", OTHER_TOPIC)))
    host.end_snapshot(begun, begun.write(), 1)
    flush(host)

    written = MetadataMachine()
    written.load_snapshot(begun.snapshot_id, host.log.snapshots.batches(begun.snapshot_id))
    assert set(written.image.tables["topics"].values) == {TOPIC}
    assert host.raft.log.snapshots[-1].snapshot_id == begun.snapshot_id


def test_a_snapshot_that_ends_below_the_log_start_once_it_is_written_is_removed(folder):
    host = leading(folder, MetadataMachine(), retention_bytes=0)
    propose(host, encode(topic("a", TOPIC)))
    begun = host.begin_snapshot()
    propose(host, encode(topic("b", OTHER_TOPIC)))
    host.snapshot(1)
    flush(host)
    step(host, Clean(host.log.size_bytes))
    assert host.log.log_start > begun.snapshot_id.offset

    host.end_snapshot(begun, begun.write(), 1)
    flush(host)

    assert begun.snapshot_id not in host.log.snapshots
    known = [each.snapshot_id for each in host.raft.log.snapshots]
    assert known == list(host.log.snapshots)
    host.log.close()
    again = opened(folder, MetadataMachine())
    assert [each.snapshot_id for each in again.raft.log.snapshots] == known
