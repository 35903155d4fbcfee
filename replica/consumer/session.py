"""A reader of one partition as a state machine without I/O (KIP-320, KIP-392; Kafka:
SubscriptionState, OffsetFetcher, FetchCollector).

The caller sends the request that `next_ask` returns, and gives the answer to `answer`. One request
is in flight at a time. When a seek or a new leader changes the state, the session forgets the
request in flight and ignores its answer.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from replica.consumer import fetched_records, values
from replica.consumer.replicas import KnownLeader, Replicas
from replica.consumer.selector import ReplicaSelector
from replica.errors import DataError, KraftlakeError
from replica.history.epochs import epoch_for_offset, truncate_from_end
from replica.model.epochs import UNDEFINED_OFFSET, Epochs, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE

NOTHING = values.Polled()

_NOT_THERE_YET = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH)
"""The errors of a follower that lags, but works."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The settings of a reader."""

    retry_backoff_ms: int = 100
    """The pause between an error and the next request."""
    metadata_max_age_ms: int = 300_000
    """The longest time between two requests for metadata, and the lease of a preferred replica."""
    rack: str = ""
    """The value of client.rack."""


@dataclass(frozen=True, slots=True)
class AwaitReset:
    """A state without a position. The next step is to look up the offset that `policy` names."""

    policy: values.ResetPolicy
    lost: values.FetchPosition | None = None
    """The previous position, if the leader's log doesn't hold it; None at the start, and if the
    caller asked for a reset."""
    is_truncated: bool = False
    """Whether the leader's log also doesn't know the epoch of the previous position."""


@dataclass(frozen=True, slots=True)
class AwaitValidation:
    """A position that isn't validated. The next step is to ask the leader where position.epoch
    ends. Nothing is fetched before."""

    position: values.FetchPosition


@dataclass(frozen=True, slots=True)
class Fetching:
    """A valid position. Records are fetched from `position` on."""

    position: values.FetchPosition


State = AwaitReset | AwaitValidation | Fetching


class Session:
    """A reader.

    start: the position at which to begin; None for the offset that `policy` names.
    selector: a configured selector, which `close` closes.

    state: the current state of the reader.
    high_watermark: the high watermark (exclusive) of the replica that was read last; -1 before the
        first answer.
    """

    def __init__(
        self,
        policy: values.ResetPolicy,
        selector: ReplicaSelector,
        start: values.FetchPosition | None = None,
        settings: SessionSettings | None = None,
    ) -> None:
        self._policy = policy
        self._settings = settings or SessionSettings()
        self._replicas = Replicas(selector, self._settings.metadata_max_age_ms)
        self._ids = itertools.count()
        self._in_flight: tuple[int, values.Ask] | None = None
        self._error: KraftlakeError | None = None
        self._not_before = 0
        self._metadata_due = 0
        self._refresh = True
        self.high_watermark = UNDEFINED_OFFSET
        self._followers_look_up = True
        """Whether to ask followers for their log start. Followers of released Kafka don't answer
        this."""
        self._reconciled: values.FetchPosition | None = None
        """The position about which the leader was asked, because a replica answered that it is out
        of range."""
        self._epochs: Epochs = ()
        self.state: State = AwaitReset(policy)
        if start is not None:
            self.seek(start)
        elif policy is values.ResetPolicy.NONE:
            self._error = values.NoOffsetError(None)

    @property
    def position(self) -> values.FetchPosition | None:
        """The position of the next record that is returned. None while the reader looks it up."""
        return None if isinstance(self.state, AwaitReset) else self.state.position

    @property
    def leader(self) -> KnownLeader:
        """The leader that the metadata names."""
        return self._replicas.leader

    def seek(self, position: values.FetchPosition) -> None:
        """Read on from this position. If the position has an epoch, the leader is first asked where
        this epoch ends."""
        self._epochs = ()
        self.high_watermark = UNDEFINED_OFFSET
        self._place(position)

    def reset(self, policy: values.ResetPolicy) -> None:
        """Read on from the earliest or the latest offset. The policy must not be NONE."""
        assert policy is not values.ResetPolicy.NONE, "NONE names no offset"
        if self.state == AwaitReset(policy) and self._error is None:
            return  # The reader already looks up the offset of this policy.
        self._epochs = ()
        self.high_watermark = UNDEFINED_OFFSET
        self._enter(AwaitReset(policy))

    def close(self) -> None:
        """End the session, and forget the request in flight."""
        self._in_flight = None
        self._replicas.close()

    def next_ask(self, now_ms: int) -> tuple[int, values.Ask] | None:
        """The next request, with its id for `answer`. None while a request is in flight, and before
        the time of `next_at`.

        Raises NoOffsetError and LogTruncationError in every call until `seek` or `reset`.
        """
        if self._error is not None:
            raise self._error
        if self._in_flight is not None or now_ms < self._not_before:
            return None
        self._in_flight = (next(self._ids), self._ask(now_ms))
        return self._in_flight

    def next_at(self) -> int | None:
        """The time (ms) at which `next_ask` has a request. None while a request is in flight."""
        return None if self._in_flight is not None else self._not_before

    def learn(self, metadata: values.Metadata) -> bool:
        """Take metadata, whether the session has asked for it or not. Returns False if the metadata
        has no partition, or an older epoch.

        If the leader or its epoch has changed, the session forgets the request in flight. If the
        epoch of the position is known, the position must then be validated (KIP-320).
        """
        if metadata.partition is None:
            return False
        before = self.leader
        leader = KnownLeader(metadata.partition.leader_id, metadata.leader_epoch, metadata.topic_id)
        if not self._replicas.learn(metadata.partition, leader):
            return False
        if self.leader != before:
            self._reconciled = None
            self._follow_leader()
        return True

    def answer(self, ask_id: int, answer: values.Answer, now_ms: int) -> values.Polled:
        """Take the answer to the request with this id. Returns the resulting records and reports.
        The answer to a forgotten request is ignored.

        Raises ReadRefusedError and DataError. The position then stays, and the caller may continue
        with `next_ask`.
        """
        if self._in_flight is None or self._in_flight[0] != ask_id:
            return NOTHING
        _, ask = self._in_flight
        self._in_flight = None
        if isinstance(ask, values.Fetch) and isinstance(answer, values.Fetched):
            return self._fetched(ask, answer, now_ms)
        if isinstance(ask, values.EndOfEpoch) and isinstance(answer, values.EpochEnded):
            return self._epoch_ended(ask, answer, now_ms)
        if isinstance(ask, values.ListOffset) and isinstance(answer, values.ListedOffset):
            return self._looked_up(ask, answer, now_ms)
        assert isinstance(answer, values.Metadata), f"{type(answer).__name__} answers no {ask}"
        return self._refreshed(answer, now_ms)

    def forget(self, ask_id: int, now_ms: int) -> None:
        """Note that the request with this id has failed. `next_ask` then gives another request."""
        if self._in_flight is not None and self._in_flight[0] == ask_id:
            self._in_flight = None
            self._back_off(now_ms)

    def _ask(self, now_ms: int) -> values.Ask:
        leader = self.leader
        if self._refresh or leader.node_id == NO_NODE or now_ms >= self._metadata_due:
            return values.RefreshMetadata()
        state = self.state
        if isinstance(state, AwaitValidation):
            return values.EndOfEpoch(leader.node_id, state.position, leader.epoch)
        node_id = self._replicas.node(now_ms)
        if isinstance(state, Fetching):
            rack = "" if self._replicas.avoids_any(now_ms) else self._settings.rack
            return values.Fetch(node_id, state.position, leader.epoch, rack)
        # The replica from which records are read may start at a later offset than the leader does
        # (KIP-392's draft).
        by_replica = state.policy is values.ResetPolicy.EARLIEST and self._followers_look_up
        return values.ListOffset(
            node_id if by_replica else leader.node_id, state.policy, leader.epoch
        )

    def _enter(self, state: State) -> None:
        self.state = state
        self._in_flight = None
        self._error = None

    def _place(self, position: values.FetchPosition) -> None:
        """Read on from a position that the leader has not validated yet."""
        if position.epoch >= 0 and self.leader.epoch >= 0:
            self._enter(AwaitValidation(position))
        else:
            self._enter(Fetching(position))

    def _follow_leader(self) -> None:
        """Let the new leader validate the position."""
        state = self.state
        position = state.lost if isinstance(state, AwaitReset) else state.position
        if position is None:
            self._in_flight = None
        elif self._error is None:
            # The new leader's log may hold a position that the old leader's log lacked.
            self._place(position)

    def _refreshed(self, metadata: values.Metadata, now_ms: int) -> values.Polled:
        """Take the answer to a request for metadata. If the answer has nothing new, the reader
        continues with the older metadata."""
        self._refresh = False
        self._metadata_due = now_ms + self._settings.metadata_max_age_ms
        if not self.learn(metadata) or self.leader.node_id == NO_NODE:
            self._back_off(now_ms)
        if metadata.error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise values.ReadRefusedError
        return NOTHING

    def _fetched(self, ask: values.Fetch, fetched: values.Fetched, now_ms: int) -> values.Polled:
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(ask, fetched, now_ms)
            return NOTHING
        if fetched.error is not ErrorCode.NONE:
            # a replica that doesn't know this epoch yet lags; newer metadata wouldn't help
            refresh = fetched.error is not ErrorCode.UNKNOWN_LEADER_EPOCH
            return self._failed(ask.node_id, fetched.error, now_ms, refresh=refresh)
        self._replicas.served(ask.node_id, fetched.high_watermark)
        self.high_watermark = fetched.high_watermark
        self._prefer(ask, fetched.preferred, now_ms)
        try:
            taken = fetched_records.take(fetched.data, ask.position, self._epochs)
        except DataError:
            self._replicas.failed(ask.node_id, now_ms)
            self._back_off(now_ms)
            raise
        if taken.position != ask.position:
            self._reconciled = None
        self._epochs = taken.epochs
        self.state = Fetching(taken.position)
        return values.Polled(taken.records)

    def _prefer(self, ask: values.Fetch, preferred: int | None, now_ms: int) -> None:
        if preferred is None or ask.node_id != self.leader.node_id:
            return
        if not self._replicas.prefer(preferred, now_ms):
            self._refresh = True
            self._back_off(now_ms)

    def _out_of_range(self, ask: values.Fetch, fetched: values.Fetched, now_ms: int) -> None:
        """Handle OFFSET_OUT_OF_RANGE (KIP-392). The answer of a follower proves nothing, so the
        leader is asked next. A position below the log start is reset by the policy at once. Records
        before a position above the log end may have been truncated, so the leader is asked once
        where the position's epoch ends."""
        position = ask.position
        self._replicas.failed(ask.node_id, now_ms)
        self._back_off(now_ms)
        has_epochs = position.epoch >= 0 and self.leader.epoch >= 0
        is_too_small = position.offset < fetched.log_start
        if has_epochs and not is_too_small and self._reconciled != position:
            self._reconciled = position
            self._enter(AwaitValidation(position))
        elif ask.node_id == self.leader.node_id:
            self._lose(
                position, values.NoOffsetError(position, fetched.log_start, fetched.high_watermark)
            )

    def _lose(self, position: values.FetchPosition, error: KraftlakeError) -> None:
        """Give up the position, which isn't in the leader's log. The policy names the next offset.
        If the policy is NONE, the caller gets the error."""
        if self._policy is values.ResetPolicy.NONE:
            self._error = error
        else:
            is_truncated = isinstance(error, values.LogTruncationError)
            self._enter(AwaitReset(self._policy, position, is_truncated))

    def _epoch_ended(
        self, ask: values.EndOfEpoch, ended: values.EpochEnded, now_ms: int
    ) -> values.Polled:
        if ended.error is not ErrorCode.NONE:
            return self._failed(ask.node_id, ended.error, now_ms)
        position, end = ask.position, ended.end
        if end is not None and (end.offset < 0 or end.epoch < 0):
            self._lose(position, values.LogTruncationError(position, None))
            return NOTHING
        if end is not None:
            diverging = self._diverging(end)
            if diverging.offset < position.offset:
                return self._truncated(position, diverging)
        self._enter(Fetching(position))
        if self._reconciled == position:
            # the replica that answered OFFSET_OUT_OF_RANGE may have left the ISR
            self._refresh = True
        return NOTHING

    def _diverging(self, end: OffsetAndEpoch) -> OffsetAndEpoch:
        """The position at which the leader's log diverges from the records that were read.

        end: the leader's largest epoch that isn't larger than the position's, with the end offset
        of this epoch. Records that were read in later epochs aren't in the leader's log.
        """
        later = (entry.start_offset for entry in self._epochs if entry.epoch > end.epoch)
        return OffsetAndEpoch(min(end.offset, next(later, end.offset)), end.epoch)

    def _truncated(
        self, position: values.FetchPosition, diverging: OffsetAndEpoch
    ) -> values.Polled:
        """Read on where the leader's log diverges, because that log was truncated below the
        position. If the policy is NONE, the caller gets an error instead (KIP-320)."""
        if self._policy is values.ResetPolicy.NONE:
            self._error = values.LogTruncationError(position, diverging)
            return NOTHING
        self._epochs = truncate_from_end(self._epochs, diverging.offset)
        read_epoch = epoch_for_offset(self._epochs, diverging.offset - 1)
        self._reconciled = None
        if read_epoch is None or read_epoch == diverging.epoch:
            self._enter(Fetching(values.FetchPosition(diverging.offset, diverging.epoch)))
        else:
            # the leader's log may lack earlier records too
            self._enter(AwaitValidation(values.FetchPosition(diverging.offset, read_epoch)))
        return values.Polled(reports=(values.Truncation(position, diverging),))

    def _looked_up(
        self, ask: values.ListOffset, found: values.ListedOffset, now_ms: int
    ) -> values.Polled:
        is_leader = ask.node_id == self.leader.node_id
        if found.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and not is_leader:
            self._followers_look_up = False
            return NOTHING
        if found.error is not ErrorCode.NONE:
            return self._failed(ask.node_id, found.error, now_ms)
        if found.offset < 0:
            return self._failed(ask.node_id, ErrorCode.OFFSET_NOT_AVAILABLE, now_ms)
        state = self.state
        assert isinstance(state, AwaitReset), "a change of the state forgets this request"
        after = values.FetchPosition(found.offset, found.epoch)
        self._epochs = ()
        self._enter(Fetching(after))
        if state.lost is None:
            return NOTHING
        truncation = (values.Truncation(state.lost, None),) if state.is_truncated else ()
        return values.Polled(reports=(*truncation, values.OffsetReset(state.lost, after)))

    def _failed(
        self, node_id: int, error: ErrorCode, now_ms: int, *, refresh: bool = True
    ) -> values.Polled:
        """Note an error, after which the request is tried again. refresh: whether to ask for
        metadata first."""
        self._back_off(now_ms)
        if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise values.ReadRefusedError
        self._refresh = self._refresh or refresh
        if error in _NOT_THERE_YET:
            self._replicas.not_there_yet(node_id, now_ms)
        else:
            self._replicas.failed(node_id, now_ms)
        return NOTHING

    def _back_off(self, now_ms: int) -> None:
        self._not_before = now_ms + self._settings.retry_backoff_ms
