"""A state machine that is far behind is given its records between steps: the host goes on
meanwhile, and nothing that depends on these records comes before them."""

from dataclasses import fields
from random import Random

import pytest

from replica.format.whole_batch import value_batch
from replica.machines.metadata import MetadataMachine
from replica.machines.opaque import OpaqueMachine
from replica.metadata.codec import encode
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import NO_NODE
from replica.model.stored import LeaderAndEpoch
from replica.raft.effects import Effects, SnapshotPart
from replica.raft.inputs import Tick
from replica.raft.roles import Leader
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.recovery import open_log
from replica.storage.stored_batches import StoppedReadError
from tests.replica.host.test_host import flush, folder, leading, opened, propose  # noqa: F401
from tests.replica.metadata.image.made import topic
from tests.replica.simulate.test_host import only_node, started

RECORDS = 20


@pytest.fixture
def filled(folder):  # noqa: F811 - the fixture of test_host
    """The folder of a lone voter that has committed RECORDS topics, and its image then."""
    host = leading(folder, MetadataMachine())
    for number in range(RECORDS):
        propose(host, encode(topic(f"t{number}", f"{number:021}A")))
    image = host.machine.image
    host.log.close()
    return folder, image


def reopened(folder, at_once=3):  # noqa: F811
    """The voter once it leads again, with a machine that gets so many records within a step."""
    host = opened(folder, MetadataMachine(), at_once=at_once)
    done = host.tick(1)
    while host.owes_flush:
        done += host.flush(1)
    assert isinstance(host.raft.role, Leader)
    return host, done


def named(effects):
    """The leaders that these effects name."""
    changes = [each.leader_change for each in effects if each.leader_change is not None]
    return [each for each in changes if each.leader_id != NO_NODE]


def test_a_leader_leads_before_its_machine_has_the_log_and_is_named_afterwards(filled):
    folder, image = filled  # noqa: F811
    host, done = reopened(folder)
    assert (host.machine.next_offset, host.is_behind) == (0, True)
    assert host.commit_end == host.raft.high_watermark == host.log.log_end
    assert named(done) == []
    begun = host.begin_replay()
    assert host.begin_replay() is None, "one at a time"
    begun.run()
    assert named(host.end_replay(begun)) == [LeaderAndEpoch(1, host.raft.role.epoch)]
    assert (host.machine.image, host.is_behind) == (image, False)


def test_records_that_come_while_the_machine_catches_up_are_given_after_the_others(filled):
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder)
    begun = host.begin_replay()
    propose(host, encode(topic("late", f"{'late':-<21}A")))
    begun.run()
    assert host.machine.next_offset == host.log.log_end - 1
    first, rest = host.end_replay(begun)
    assert (first.commit, rest.commit) == (host.log.log_end - 1, host.log.log_end)
    assert (host.machine.next_offset, host.is_behind) == (host.log.log_end, False)
    assert "late" in host.machine.image.tables["topics"].values.values()


def test_no_snapshot_is_taken_of_a_machine_that_catches_up(filled):
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder)
    begun = host.begin_replay()
    assert host.begin_snapshot() is None
    begun.run()
    assert host.begin_snapshot() is None
    host.end_replay(begun)
    assert host.begin_snapshot() is not None


def test_a_replay_that_was_stopped_ends_without_an_outcome(filled):
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder)
    begun = host.begin_replay()
    begun.stop()
    with pytest.raises(StoppedReadError):
        begun.run()


def test_a_large_snapshot_is_loaded_before_the_records_behind_it(filled):
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder, at_once=None)
    flush(host)
    host.snapshot(1)
    propose(host, encode(topic("behind", f"{'behind':-<21}A")))
    image, newest = host.machine.image, host.log.snapshots.newest
    host.log.close()
    host, done = reopened(folder)
    assert host.machine.next_offset == 0
    assert [each.load_snapshot for each in done] == [None] * len(done)
    begun = host.begin_replay()
    assert begun.loads == newest
    begun.run()
    assert host.machine.next_offset == newest.offset
    loaded, rest = host.end_replay(begun)
    assert (loaded.load_snapshot, loaded.leader_change) == (newest, None)
    assert (rest.commit, named([rest])) == (
        host.log.log_end,
        [LeaderAndEpoch(1, host.raft.role.epoch)],
    )
    assert host.machine.image == image


def test_a_leaders_newer_snapshot_takes_the_place_of_what_the_machine_still_lacks(filled):
    """The files of the log are removed while the machine is given them."""
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder)
    begun, newer = host.begin_replay(), OffsetAndEpoch(100, 9)
    content = snapshot_bytes(newer)
    effects = Effects(
        snapshot_parts=[SnapshotPart(newer, 0, content, is_last=True)],
    )
    asked = [effects, Effects(), Effects(reset_to=newer, load_snapshot=newer, commit=100)]
    host.raft.step = lambda event, now_ms: asked.pop(0)
    host.step(Tick(), 2)
    host.step(Tick(), 2)
    assert (host.log.log_start, host.is_behind) == (100, True)
    begun.run()
    assert host.machine.next_offset < 100
    host.end_replay(begun)
    while host.is_behind:
        begun = host.begin_replay()
        begun.run()
        host.end_replay(begun)
    assert host.machine.next_offset == 100
    assert set(host.machine.image.tables["topics"].values.values()) == {"newer"}


def snapshot_bytes(snapshot_id):
    disk = SimulatedDisk(Random(1))
    disk.make_directory("other")
    snapshots = open_log(disk, "other/log").snapshots
    writer = snapshots.write(snapshot_id, 7, [])
    writer.append([encode(topic("newer", f"{'newer':-<21}A"))])
    writer.freeze()
    return snapshots.read(snapshot_id, 0, 2**20)


@pytest.mark.parametrize("is_replaying", [True, False])
def test_a_machine_hears_of_another_leader_before_it_loads_that_leader_s_snapshot(
    filled, is_replaying
):
    """Else a machine that leads would be given a snapshot (campaign, seed 4049812)."""
    folder, _ = filled  # noqa: F811
    host, _ = reopened(folder)
    newer, other = OffsetAndEpoch(100, 9), LeaderAndEpoch(2, 9)
    fetched = Effects(snapshot_parts=[SnapshotPart(newer, 0, snapshot_bytes(newer), is_last=True)])
    asked = [Effects(leader_change=other), fetched, Effects(),
             Effects(reset_to=newer, load_snapshot=newer, commit=100)]  # fmt: skip
    begun = host.begin_replay() if is_replaying else None
    host.raft.step = lambda event, now_ms: asked.pop(0)
    done = [*host.step(Tick(), 2), *host.step(Tick(), 2), *host.step(Tick(), 2)]
    if begun is not None:
        begun.run()
        done += host.end_replay(begun)
    if (rest := host.begin_replay()) is not None:
        rest.run()
        done += host.end_replay(rest)
    order = [name for each in done for name, value in each.in_order()
             if name == "load_snapshot" or value == other]  # fmt: skip
    assert order == ["leader_change", "load_snapshot"]


def test_the_power_goes_between_any_parts_of_a_replay_and_a_restart_recovers():
    """Nothing of a replay is on the disk: what is lost is given to the machine again."""
    node = only_node()
    node.at_once = 0
    host = started(node)
    for time in range(0, 5000, 100):
        host.tick(time)
        while host.owes_flush:
            host.flush(time)
    for number in range(5):
        base = host.log.log_end
        data = value_batch(base, host.raft.role.epoch, 1, [b"%d" % number])
        host.log.append([Batch(base, base, host.raft.role.epoch, 1, (), data)])
    host.log.flush()
    end = host.log.log_end
    for losing in ("before", "begun", "run", "counted"):
        node.disk.crash()
        host = started(node, now=6000)
        done = 0
        for time in range(6000, 12000, 100):
            host.tick(time)
            while host.owes_flush:
                host.flush(time)
        assert host.is_behind
        if losing == "before":
            continue
        begun = host.begin_replay()
        if losing == "begun":
            continue
        begun.run()
        if losing == "run":
            host.effects_left = 0
            with pytest.raises(PowerLossError):
                host.end_replay(begun)
            continue
        host.end_replay(begun)
        done = host.machine.next_offset
        assert done == host.commit_end == host.raft.high_watermark > end
    expected = OpaqueMachine()
    expected.commit(host.log.batches(0, done))
    assert host.machine.state == expected.state


def test_the_effects_of_a_replay_are_all_that_concern_a_machine():
    """Another effect for the machine would overtake those that were put off."""
    names = [field.name for field in fields(Effects)]
    at = names.index("load_snapshot")
    assert names[at:] == [
        "load_snapshot", "commit", "leader_change", "replies", "sends", "stopped",
    ]  # fmt: skip
