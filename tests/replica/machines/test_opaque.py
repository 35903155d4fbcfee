"""The opaque machine: its state tells histories apart, and survives a snapshot."""

import pytest

from replica.errors import CorruptDataError
from replica.machines.opaque import OpaqueMachine, OpaqueState
from replica.model.epochs import OffsetAndEpoch
from tests.replica.machines.batches import leader_change, snapshot, values

SNAPSHOT = OffsetAndEpoch(3, 1)


def machine(*batches):
    made = OpaqueMachine()
    made.commit(batches)
    return made


def test_control_batches_move_the_offset_and_not_the_state():
    made = machine(leader_change(0))
    assert (made.state, made.next_offset) == (OpaqueState(), 1)


def test_the_same_batches_give_the_same_state_and_another_order_another():
    first, second = values(0, b"a"), values(1, b"b")
    assert machine(first, second).state == machine(first, second).state
    assert machine(first, second).state != machine(values(0, b"b"), values(1, b"a")).state
    assert machine(first, second).state.batches == 2


def test_a_loaded_snapshot_goes_on_as_the_machine_that_made_it():
    made = machine(leader_change(0), values(1, b"a", b"b"))
    loaded = OpaqueMachine()
    loaded.load_snapshot(SNAPSHOT, snapshot(made.snapshot_records()()))
    assert (loaded.state, loaded.next_offset) == (made.state, 3)
    for each in (made, loaded):
        each.commit([values(3, b"c")])
    assert loaded.state == made.state


def test_a_batch_that_leaves_a_gap_is_a_bug_of_the_host():
    with pytest.raises(AssertionError, match="each committed batch comes once"):
        machine(values(1, b"a"))


@pytest.mark.parametrize("records", [(), (b"short",), (bytes(40), bytes(40))])
def test_a_snapshot_of_something_else_is_refused(records):
    with pytest.raises(CorruptDataError, match="snapshot 3-1 holds no state"):
        OpaqueMachine().load_snapshot(SNAPSHOT, snapshot(records))
