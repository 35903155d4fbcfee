"""The replay of what is committed, in slices, over logs that mean well and over such that don't."""

from replica.doctor.watching.committed import OTHERS, CommittedReplay
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.record import Record
from replica.format.whole_batch import record_batch, value_batch
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from replica.model.batch import Batch
from tests.replica.metadata.image.made import topic


class NoSnapshots:
    newest = None

    def batches(self, snapshot_id):
        return ()


class Log:
    """In memory, from offset 0 on."""

    snapshots = NoSnapshots()
    log_start = 0

    def __init__(self):
        self.held = []

    @property
    def log_end(self):
        return self.held[-1].end_offset if self.held else 0

    def add(self, *values, at=1_000):
        self._add(value_batch(self.log_end, 1, at, values), len(values))

    def add_control(self, code):
        key = b"\x00\x00" + code.to_bytes(2, "big")
        records = [Record(self.log_end, 1_000, key, b"\x00\x00")]
        self._add(record_batch(self.log_end, 1, 1_000, records, CONTROL_ATTRIBUTE), 1)

    def _add(self, data, count):
        end = self.log_end
        self.held.append(Batch(end, end + count - 1, 1, 1_000, (), data))

    def batches(self, start_offset, end_offset):
        return [each for each in self.held if start_offset <= each.base_offset < end_offset]


def read(committed, log):
    while not committed.advance(log.log_end, 1.0):
        pass
    return committed


def partition(**fields):
    return encode(new_record("PARTITION_RECORD", 0, {"topicId": f"{1:021}A", **fields}))


def change(**fields):
    return encode(new_record("PARTITION_CHANGE_RECORD", 0, {"topicId": f"{1:021}A", **fields}))


def test_a_slice_without_time_reads_nothing_and_the_next_one_goes_on():
    log = Log()
    for number in range(500):
        log.add(encode(topic(f"topic-{number}", f"{number:021}A")))
    committed = CommittedReplay(log)
    assert not committed.advance(log.log_end, 0.0)
    assert committed.next_offset == 0
    assert len(read(committed, log).image().tables["topics"].values) == 500


def test_reassignments_have_the_time_of_the_record_with_which_they_began():
    log = Log()
    log.add(encode(topic("orders", f"{1:021}A")), partition(partitionId=0, replicas=(1, 2)))
    log.add(change(partitionId=0, addingReplicas=(3,), replicas=(1, 2, 3)), at=5_000)
    log.add(change(partitionId=0, leader=2), at=9_000)
    committed = read(CommittedReplay(log), log)
    (start,) = committed.starts.values()
    assert (start.offset, start.at) == (2, 5_000)
    log.add(change(partitionId=0, addingReplicas=(), replicas=(1, 2, 3)))
    assert read(committed, log).starts == {}


def test_types_beyond_the_first_hundred_are_counted_together():
    log = Log()
    log.add(encode(topic("orders", f"{1:021}A")))
    committed = read(CommittedReplay(log), log)
    for code in range(300, 600):
        log.add_control(code)
    read(committed, log)
    assert sum(committed.counts.values()) == 300
    assert len(committed.counts) == 101
    assert committed.counts[OTHERS] == 200
    assert not committed.is_whole
    assert (committed.state_offset, committed.next_offset) == (1, 301)


def test_a_batch_that_does_not_decode_ends_the_state_and_nothing_else():
    log = Log()
    log.add(encode(topic("orders", f"{1:021}A")))
    broken = bytearray(value_batch(1, 1, 1_000, [b"value"]))
    broken[61] = 0xFF
    log._add(bytes(broken), 1)
    log.add(encode(topic("later", f"{2:021}A")))
    committed = read(CommittedReplay(log), log)
    assert (committed.is_whole, committed.state_offset, committed.next_offset) == (False, 1, 3)
    assert list(committed.image().tables["topics"].values.values()) == ["orders"]
