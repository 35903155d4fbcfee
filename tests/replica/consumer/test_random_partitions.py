"""Whatever happens to a partition, a reader gets each committed record once and in order, or a
report."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from replica.consumer.session import Fetching, Session, SessionSettings
from replica.consumer.values import FetchPosition, OffsetReset, ResetPolicy, Truncation
from tests.examples import examples
from tests.replica.consumer.asking import Chosen
from tests.replica.consumer.partition import Partition

ACTIONS = (
    *("append",) * 4,
    *("replicate",) * 8,
    *("consume",) * 8,
    "elect",
    "publish",
    "publish",
    "ask",
    "tell",
    "trim",
    "trim",
    "stop",
    "start",
    "start",
)
SCRIPTS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 41)), min_size=40, max_size=120
)
SETTLING_STEPS = 400
WISHES = st.sampled_from([None, 0, 1, 2])


class Reader:
    """A reader, with all that it has got. view: offset -> (epoch, value) of the records read so
    far."""

    def __init__(self, partition, wish, rack, policy=ResetPolicy.EARLIEST):
        self.partition = partition
        self.session = Session(policy, Chosen(wish), None, SessionSettings(rack=rack))
        self.now_ms = 0
        self.late = None
        self.view = {}
        self.next_offset = None
        self.reports = []

    def consume(self):
        """Send the next request and take its answer. The answer to a forgotten request comes too
        late, before it."""
        asked = self._next()
        late, self.late = self.late, None
        if late is not None:
            self._take(*late)
        if asked is None:
            asked = self._next()
        if asked is not None:
            self._take(asked[0], self.partition.answer(asked[1]))

    def ask(self):
        """Send a request whose answer is made now, and comes with the next `consume`."""
        asked = self._next()
        if asked is not None:
            self.late = (asked[0], self.partition.answer(asked[1]))

    def tell(self):
        """Give the session metadata that it has not asked for."""
        self.session.learn(self.partition.metadata)

    def _next(self):
        at = self.session.next_at()
        self.now_ms = max(self.now_ms + 1, at or 0)
        return self.session.next_ask(self.now_ms)

    def _take(self, ask_id, answer):
        polled = self.session.answer(ask_id, answer, self.now_ms)
        for report in polled.reports:
            self.reports.append(report)
            self._go_back(report)
        for read in polled.records:
            if self.next_offset is None:
                self.next_offset = read.offset
            assert read.offset == self.next_offset, "in order, none twice, none left out"
            self.view[read.offset] = (read.epoch, read.record.value)
            self.next_offset = read.offset + 1

    def _go_back(self, report):
        if isinstance(report, Truncation):
            offset = None if report.diverging is None else report.diverging.offset
        else:
            offset = report.after.offset
        if offset is not None:
            self.view = {o: entry for o, entry in self.view.items() if o < offset}
            self.next_offset = offset


def play(partition, reader, script, *, unclean=False):
    for action, number in script:
        node, count = partition.nodes[number % 3], number // 3
        if action == "consume":
            for _ in range(1 + count % 5):
                reader.consume()
        elif action in ("ask", "tell"):
            getattr(reader, action)()
        elif action == "elect":
            if node.is_up and (unclean or partition.may_win(node)):
                partition.elect(node)
        elif action in ("stop", "start"):
            node.is_up = action == "start"
        elif action == "append":
            partition.append(count)
        elif action == "publish":
            partition.publish()
        else:
            getattr(partition, action)(node, count)


def settle(partition, reader):
    """Nothing fails any more, so the reader gets to the end."""
    for node in partition.nodes:
        node.is_up = True
    partition.publish()
    for _ in range(2):
        for node in partition.nodes:
            partition.replicate(node, 10**6)
    for _ in range(SETTLING_STEPS):
        reader.consume()
        state, knows = reader.session.state, reader.session.leader.epoch == partition.epoch
        if not knows or not isinstance(state, Fetching):
            continue
        if state.position.offset == partition.leader.high_watermark:
            return
    raise AssertionError(f"stuck at {reader.session.state}, asking {reader._next()}")


@settings(max_examples=examples(150))
@given(SCRIPTS, WISHES, st.booleans(), st.sampled_from(["", "r1"]))
def test_clean_elections_lose_nothing_that_was_read(script, wish, followers_look_up, rack):
    partition = Partition(followers_look_up=followers_look_up)
    reader = Reader(partition, wish, rack)
    play(partition, reader, script)
    settle(partition, reader)
    for report in reader.reports:
        assert isinstance(report, OffsetReset), "nothing committed was truncated"
        assert report.before.offset < partition.trimmed, "a leader had said so"
        assert report.before.offset <= report.after.offset
    log = partition.leader.log
    for offset, entry in reader.view.items():
        assert entry == log[offset]
    if reader.view:
        missing = set(range(min(reader.view), partition.leader.high_watermark)) - set(reader.view)
        skipped = {o for r in reader.reports for o in range(r.before.offset, r.after.offset)}
        assert missing <= skipped


@settings(max_examples=examples(150))
@given(SCRIPTS, WISHES, st.booleans(), st.sampled_from(["", "r1"]))
def test_records_lost_by_unclean_elections_are_reported(script, wish, followers_look_up, rack):
    partition = Partition(followers_look_up=followers_look_up)
    reader = Reader(partition, wish, rack)
    play(partition, reader, script, unclean=True)
    settle(partition, reader)
    log, first = partition.leader.log, partition.leader.log_start
    wrong = {o for o, entry in reader.view.items() if o >= first and entry != log[o]}
    assert not wrong, reader.reports


@settings(max_examples=examples(100))
@given(SCRIPTS, st.lists(st.integers(0, 30), max_size=5))
def test_a_seek_in_the_middle_of_anything_goes_on_there(script, seeks):
    partition = Partition()
    reader = Reader(partition, 1, "")
    part = len(script) // (len(seeks) + 1)
    for number, offset in enumerate(seeks):
        play(partition, reader, script[number * part : (number + 1) * part])
        reader.session.seek(FetchPosition(offset))
        reader.next_offset = offset
        reader.view.clear()
    settle(partition, reader)
    for offset, entry in reader.view.items():
        assert entry == partition.leader.log[offset]
