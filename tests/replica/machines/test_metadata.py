"""The metadata machine: committed records become an image, and a snapshot gives it again."""

import pytest

from replica.machines.metadata import MetadataMachine
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.model.control import KRaftVersion
from replica.model.epochs import OffsetAndEpoch
from tests.replica.machines.batches import leader_change, snapshot, values
from tests.replica.metadata.image.made import OTHER_TOPIC, TOPIC, remove_topic, topic

BEGIN = new_record("BEGIN_TRANSACTION_RECORD", 0, {})
END = new_record("END_TRANSACTION_RECORD", 0, {})


def committed(*records):
    machine = MetadataMachine()
    machine.commit([leader_change(0), values(1, *(encode(record) for record in records))])
    return machine


def topics(machine):
    return set(machine.image.tables["topics"].values)


def snapshotted(machine):
    records = machine.snapshot_records()()
    snapshot_id = OffsetAndEpoch(machine.next_offset, 1)
    machine.snapshot_finished(snapshot_id)
    return snapshot_id, records


def test_committed_records_are_in_the_image():
    machine = committed(topic())
    assert (topics(machine), machine.next_offset) == ({TOPIC}, 2)


def test_a_loaded_snapshot_gives_the_same_image_with_the_voters_layer_s_own_records():
    machine = committed(topic(), topic("clicks", OTHER_TOPIC))
    snapshot_id, records = snapshotted(machine)
    loaded = MetadataMachine()
    loaded.load_snapshot(snapshot_id, snapshot(records, KRaftVersion(1)))
    assert topics(loaded) == topics(machine) == {TOPIC, OTHER_TOPIC}
    assert loaded.image.tables["kraft_version"].values == {"": 1}
    assert loaded.next_offset == machine.next_offset


def test_loading_a_snapshot_replaces_the_state():
    machine = committed(topic())
    machine.load_snapshot(OffsetAndEpoch(9, 2), snapshot(()))
    assert (topics(machine), machine.next_offset) == (set(), 9)


def test_an_open_transaction_is_in_no_image_and_no_snapshot():
    machine = committed(BEGIN, topic())
    assert topics(machine) == set()
    assert not machine.can_snapshot
    with pytest.raises(AssertionError, match="no half of a transaction"):
        machine.snapshot_records()()
    machine.commit([values(3, encode(END))])
    assert topics(machine) == {TOPIC}


def test_the_changed_ratio_counts_what_the_last_snapshot_no_longer_says_rightly():
    machine = committed(topic(), topic("clicks", OTHER_TOPIC))
    assert machine.changed_ratio() == 1.0
    snapshotted(machine)
    assert machine.changed_ratio() == 0.0
    machine.commit([values(3, encode(remove_topic()))])
    assert machine.changed_ratio() == 0.5
