"""A replicated partition in memory: replicas that lag, lose leadership, truncate and trim.

Its nodes decide by replica.history, as real nodes do. While elections are clean, records are
committed as in Raft. An unclean election (`elect` of any node) may lose committed records, as
ordinary topics allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from replica.consumer.selector import PartitionView, ReplicaView
from replica.consumer.values import (
    EndOfEpoch,
    EpochEnded,
    Fetch,
    Fetched,
    ListedOffset,
    ListOffset,
    Metadata,
    RefreshMetadata,
    ResetPolicy,
)
from replica.format.record import Record, encode_records
from replica.history.epochs import assign, end_offset_for, truncate_from_start
from replica.history.fetch import LogView
from replica.history.reader import CaughtUp, Committed, OutOfRange, reader_fetch
from replica.model.kafka_errors import ErrorCode
from tests.replica.format.encoded import encode_batch

BATCH_RECORDS = 2
FETCH_RECORDS = 3


@dataclass
class Node:
    """A replica. log: (epoch, value) by offset. The test needs deleted records too, so they stay
    here."""

    node_id: int
    log: list[tuple[int, bytes]] = field(default_factory=list)
    log_start: int = 0
    epoch: int = 0
    led_epoch: int = -1
    high_watermark: int = 0
    leaders_high_watermark: int = 0
    is_up: bool = True

    @property
    def end(self) -> int:
        return len(self.log)

    def view(self) -> LogView:
        epochs = ()
        for offset, (epoch, _) in enumerate(self.log):
            epochs = assign(epochs, epoch, offset)
        return LogView(self.log_start, self.end, truncate_from_start(epochs, self.log_start))


class Partition:
    """A partition. followers_look_up: whether followers answer ListOffsets, as in the draft of
    KIP-392.

    trimmed: a replica that leads, or believes that it leads, may have called offsets below this one
    out of range.
    """

    def __init__(self, nodes=3, *, followers_look_up=True):
        self.nodes = [Node(node_id) for node_id in range(nodes)]
        self.epoch = 0
        self.leader = self.nodes[0]
        self.matched = {}
        self.trimmed = 0
        self.values = 0
        self.followers_look_up = followers_look_up
        self.elect(self.nodes[0])
        self.publish()

    # The changes of the partition.

    def elect(self, node):
        """Elects a node. It writes a record of its epoch at once, as KRaft's leaders do."""
        self.epoch += 1
        self.leader = node
        node.epoch = node.led_epoch = self.epoch
        self.epoch_start = node.end
        self.trimmed = max(self.trimmed, node.log_start)
        self.matched = {}
        self.append(1)

    def may_win(self, node):
        """Whether Raft would elect the candidate: a majority's logs are no newer than its log."""
        newest = _newest(node)
        return 2 * sum(_newest(other) <= newest for other in self.nodes) > len(self.nodes)

    def append(self, count):
        for _ in range(count):
            self.values += 1
            self.leader.log.append((self.epoch, b"%d" % self.values))
        self._commit()

    def replicate(self, node, count):
        """Lets a follower fetch once: its log is truncated to the part that the leader has too, and
        gets at most `count` records from there on."""
        leader = self.leader
        if node is leader or not node.is_up or not leader.is_up:
            return
        node.epoch = self.epoch
        shared = next(
            (o for o in range(min(node.end, leader.end)) if node.log[o] != leader.log[o]),
            min(node.end, leader.end),
        )
        del node.log[shared:]
        node.log += leader.log[shared : shared + count]
        if node.end < leader.log_start:  # from a snapshot
            node.log = list(leader.log[: leader.log_start])
            node.log_start = leader.log_start
        self.matched[node.node_id] = node.end
        self._commit()
        node.leaders_high_watermark = leader.high_watermark
        node.high_watermark = min(leader.high_watermark, node.end)

    def trim(self, node, count):
        node.log_start = min(node.log_start + count, node.high_watermark)
        if node.led_epoch == node.epoch:
            self.trimmed = max(self.trimmed, node.log_start)

    def publish(self):
        """Lets the metadata show the present leader and epoch."""
        replicas = tuple(ReplicaView(n.node_id, "127.0.0.1", 9092) for n in self.nodes)
        self.metadata = Metadata(PartitionView(self.leader.node_id, replicas), self.epoch)

    def _commit(self):
        ends = sorted(
            self.leader.end if node is self.leader else self.matched.get(node.node_id, 0)
            for node in self.nodes
        )
        majority = ends[(len(ends) - 1) // 2]
        if majority > self.epoch_start:
            self.leader.high_watermark = max(majority, self.leader.high_watermark)
        self.leader.high_watermark = min(self.leader.high_watermark, self.leader.end)
        self.leader.leaders_high_watermark = self.leader.high_watermark

    # The answers of its nodes.

    def answer(self, ask):
        if isinstance(ask, RefreshMetadata):
            return self.metadata if any(n.is_up for n in self.nodes) else Metadata(None)
        node = self.nodes[ask.node_id]
        kind = {Fetch: Fetched, EndOfEpoch: EpochEnded, ListOffset: ListedOffset}[type(ask)]
        if not node.is_up:
            return kind(ErrorCode.NETWORK_EXCEPTION)
        if ask.leader_epoch != node.epoch:
            older = ask.leader_epoch < node.epoch
            return kind(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
        is_leader = node is self.leader
        if isinstance(ask, Fetch):
            return self._fetch(node, ask, is_leader)
        if isinstance(ask, EndOfEpoch):
            return self._end_of_epoch(node, ask) if is_leader else kind(NOT_LEADER)
        if not is_leader and not self.followers_look_up:
            return kind(NOT_LEADER)
        return self._look_up(node, ask, is_leader)

    def _fetch(self, node, ask, is_leader):
        offset = ask.position.offset
        decision = reader_fetch(
            node.view(),
            node.high_watermark,
            node.leaders_high_watermark,
            offset,
        )
        facts = {"high_watermark": node.high_watermark, "log_start": node.log_start}
        if isinstance(decision, OutOfRange):
            return Fetched(ErrorCode.OFFSET_OUT_OF_RANGE, **facts)
        if not isinstance(decision, CaughtUp | Committed):
            return Fetched(ErrorCode.OFFSET_NOT_AVAILABLE, **facts)
        if is_leader and ask.rack:
            for other in self.nodes:
                if other is not node and other.is_up and other.log_start <= offset <= other.end:
                    return Fetched(preferred=other.node_id, **facts)
        if isinstance(decision, CaughtUp):
            return Fetched(**facts)
        end = min(decision.end_offset, offset + FETCH_RECORDS)
        return Fetched(data=_batches(node.log, offset, end), **facts)

    def _end_of_epoch(self, node, ask):
        end = end_offset_for(node.view().epochs, node.end, ask.position.epoch)
        return EpochEnded(end=end)

    def _look_up(self, node, ask, is_leader):
        if ask.policy is ResetPolicy.EARLIEST:
            at = node.log_start
        elif not is_leader:
            return ListedOffset(NOT_LEADER)
        elif node.high_watermark <= self.epoch_start:
            return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
        else:
            at = node.high_watermark
        return ListedOffset(offset=at, epoch=node.log[at][0] if at < node.end else node.epoch)


NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def _newest(node):
    return (node.log[-1][0] if node.log else 0, node.end)


def _batches(log, offset, end):
    """Batches of at most two records of one epoch. The first batch may begin below `offset`."""
    out, base = b"", offset - offset % BATCH_RECORDS
    while log[base][0] != log[offset][0]:
        base += 1
    while base < end:
        epoch = log[base][0]
        last = base
        while last + 1 < end and last + 1 - base < BATCH_RECORDS and log[last + 1][0] == epoch:
            last += 1
        records = [Record(o, 0, None, log[o][1]) for o in range(base, last + 1)]
        out += encode_batch(
            base_offset=base,
            leader_epoch=epoch,
            records=encode_records(records, base, 0),
            record_count=len(records),
            last_offset_delta=last - base,
            base_timestamp=0,
            max_timestamp=0,
        )
        base = last + 1
    return out
