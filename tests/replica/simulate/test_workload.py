"""The batches of clients: each is different, and metadata is as a controller writes it."""

from random import Random

import pytest

from replica.machines.metadata import MetadataMachine
from replica.metadata.codec import decode, encode
from replica.metadata.image.replay import Replay
from replica.metadata.record import new_record
from replica.simulate.workload import METADATA, OPAQUE
from tests.replica.machines.batches import values

BEGIN = encode(new_record("BEGIN_TRANSACTION_RECORD", 0, {}))
ABORT = encode(new_record("ABORT_TRANSACTION_RECORD", 0, {}))


def made(workload, machine, number=1, *, is_active=True, is_idle=True, random=None):
    random = random or Random(number)
    return workload.batches(random, number, machine, is_active=is_active, is_idle=is_idle)


def test_opaque_bytes_are_appended_whatever_the_machine_knows():
    batches = {made(OPAQUE, OPAQUE.machine(), n, is_active=False) for n in range(1, 500)}
    assert len(batches) == 499


def test_a_controller_waits_until_its_machine_knows_that_it_leads():
    assert made(METADATA, METADATA.machine(), is_active=False) == ()


def test_no_record_of_a_controller_is_refused_and_all_kinds_are_written():
    machine, replay, random, kinds = MetadataMachine(), Replay(), Random(1), set()
    for number in range(1, 400):
        is_idle = random.random() < 0.7
        for batch in made(METADATA, machine, number, is_idle=is_idle, random=random):
            records = [decode(value) for value in batch]
            refused = [replay.apply(machine.next_offset, record) for record in records]
            assert refused == [None] * len(records)
            kinds.update(record.type for record in records)
            machine.commit([values(machine.next_offset, *batch)])
    assert kinds == {
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
        "PARTITION_CHANGE_RECORD",
        "REMOVE_TOPIC_RECORD",
        "BEGIN_TRANSACTION_RECORD",
        "END_TRANSACTION_RECORD",
    }


@pytest.mark.parametrize(("is_idle", "expected"), [(True, ((ABORT,),)), (False, ())])
def test_a_transaction_left_open_is_aborted_as_soon_as_nothing_is_in_flight(is_idle, expected):
    machine = MetadataMachine()
    machine.commit([values(0, BEGIN)])
    assert made(METADATA, machine, is_idle=is_idle) == expected
