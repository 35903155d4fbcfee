"""Runs a session by hand. Time advances until the session has a request, and tests give the
answers."""

from __future__ import annotations

from replica.consumer.selector import LeaderSelector, PartitionView, ReplicaView
from replica.consumer.session import Session, SessionSettings
from replica.consumer.values import (
    EndOfEpoch,
    EpochEnded,
    Fetched,
    FetchPosition,
    Metadata,
    NoOffsetError,
    RefreshMetadata,
    ResetPolicy,
)
from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.record import Record, encode_records
from replica.model.epochs import OffsetAndEpoch
from tests.replica.format.encoded import encode_batch

LEASE_MS = 300_000


class Chosen(LeaderSelector):
    """A selector that always chooses the same node."""

    def __init__(self, node_id=None):
        self.node_id = node_id
        self.shown = []
        self.closed = False

    def select(self, partition):
        self.shown.append(partition)
        return self.node_id

    def close(self):
        self.closed = True


def metadata(leader=1, epoch=5, nodes=(1, 2, 3), in_sync=(1, 2, 3), topic_id="t"):
    replicas = tuple(
        ReplicaView(node, "127.0.0.1", 9090 + node, in_sync=node in in_sync) for node in nodes
    )
    return Metadata(PartitionView(leader, replicas), epoch, topic_id)


def batch(base, last, epoch=5, offsets=None, *, is_control=False):
    """A batch from `base` to `last` (inclusive). offsets: the offsets of the records that
    compaction has left; by default all."""
    offsets = range(base, last + 1) if offsets is None else offsets
    found = [Record(offset, 1000, None, b"v%d" % offset) for offset in offsets]
    return encode_batch(
        base_offset=base,
        leader_epoch=epoch,
        records=encode_records(found, base, 1000),
        record_count=len(found),
        last_offset_delta=last - base,
        base_timestamp=1000,
        max_timestamp=1000,
        attributes=CONTROL_ATTRIBUTE if is_control else 0,
    )


def fetched(*batches, hw=1000, **facts):
    return Fetched(data=b"".join(batches), high_watermark=hw, log_start=0, **facts)


class Asking:
    """A session with its clock. now_ms advances to the time of the session's next request, for
    which a host would wait."""

    def __init__(self, policy=ResetPolicy.EARLIEST, start=None, selector=None, known=None, rack=""):
        self.session = Session(policy, selector or Chosen(), start, SessionSettings(rack=rack))
        self.now_ms = 0
        self.reports = []
        self.read = []
        self.refreshed = 0
        self.known = known
        if known is not None:
            self._first_metadata()

    def _first_metadata(self):
        try:
            ask_id, ask = self.session.next_ask(0)
        except NoOffsetError:
            return
        assert isinstance(ask, RefreshMetadata)
        self.answer(ask_id, self.known)

    def ask(self):
        """The next request with its id. Requests for metadata get the known metadata at once."""
        while True:
            at = self.session.next_at()
            assert at is not None, "a request is in flight"
            self.now_ms = max(self.now_ms, at)
            ask_id, ask = self.session.next_ask(self.now_ms)
            if not isinstance(ask, RefreshMetadata):
                return ask_id, ask
            self.refreshed += 1
            self.answer(ask_id, self.known)

    def answer(self, ask_id, answer):
        polled = self.session.answer(ask_id, answer, self.now_ms)
        self.reports += polled.reports
        self.read += [(record.offset, record.epoch) for record in polled.records]
        return polled

    def exchange(self, answer):
        """Answers the next request, and returns the request."""
        ask_id, ask = self.ask()
        self.answer(ask_id, answer)
        return ask


def reading(offset, epoch=-1, **changes):
    """A session that fetches from a position which the leader of epoch 5 has confirmed."""
    changes.setdefault("known", metadata())
    asking = Asking(start=FetchPosition(offset, epoch), **changes)
    if epoch >= 0:
        ask = asking.exchange(EpochEnded(end=OffsetAndEpoch(1000, epoch)))
        assert isinstance(ask, EndOfEpoch)
    asking.refreshed = 0
    return asking
