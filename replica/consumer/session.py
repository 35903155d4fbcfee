"""A reader of one partition as a state machine without I/O: KIP-320 and KIP-392.

The caller sends what `next_ask` returns and brings the answer to `answer`; one request is in flight
at a time. Whatever changes the state (a seek, a new leader) forgets the request in flight, whose
answer is then ignored. Kafka: SubscriptionState, OffsetFetcher, FetchCollector; scenario ids are
those of the catalogue's part K.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from replica.consumer import records, values
from replica.consumer.replicas import KnownLeader, Replicas
from replica.consumer.selector import ReplicaSelector
from replica.errors import DataError, KraftlakeError
from replica.history.epochs import epoch_for_offset, truncate_from_end
from replica.model.epochs import UNDEFINED_OFFSET, Epochs, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE

NOTHING = values.Polled()

_NOT_THERE_YET = (ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_LEADER_EPOCH)
"""A follower that says so is behind, not broken."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """retry_backoff_ms: between an error and the next request. metadata_max_age_ms: metadata is
    asked for at least that often; also the lease of a preferred replica. rack: client.rack."""

    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 300_000
    rack: str = ""


@dataclass(frozen=True, slots=True)
class AwaitReset:
    """No position: the offset that `policy` names is to be looked up. lost: the position that the
    leader's log doesn't hold, or whose epoch it doesn't know (is_truncated); None at the start and
    where the caller asked for a reset."""

    policy: values.ResetPolicy
    lost: values.FetchPosition | None = None
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class AwaitValidation:
    """Waits until the leader has told where position.epoch ends; nothing is fetched before."""

    position: values.FetchPosition


@dataclass(frozen=True, slots=True)
class Fetching:
    """Records from `position` on are wanted."""

    position: values.FetchPosition


State = AwaitReset | AwaitValidation | Fetching


class Session:
    """start: None begins where `policy` says. The selector is configured; `close` closes it."""

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
        self._high_watermark = UNDEFINED_OFFSET
        self._followers_look_up = True
        self._reconciled: values.FetchPosition | None = None
        self._epochs: Epochs = ()
        self._state: State = AwaitReset(policy)
        if start is not None:
            self.seek(start)
        elif policy is values.ResetPolicy.NONE:
            self._error = values.NoOffsetError(None)

    @property
    def state(self) -> State:
        return self._state

    @property
    def position(self) -> values.FetchPosition | None:
        """The position of the next record that is returned; None while it is being looked up."""
        return None if isinstance(self._state, AwaitReset) else self._state.position

    @property
    def high_watermark(self) -> int:
        """Exclusive, of the replica that was read last; -1 before the first answer."""
        return self._high_watermark

    @property
    def leader(self) -> KnownLeader:
        """The leader in the metadata."""
        return self._replicas.leader

    def seek(self, position: values.FetchPosition) -> None:
        """Go on there. With an epoch, the leader is asked first whether it knows that history."""
        self._epochs = ()
        self._high_watermark = UNDEFINED_OFFSET
        self._place(position)

    def reset(self, policy: values.ResetPolicy) -> None:
        """Go on at the earliest or latest offset; NONE is the caller's bug."""
        assert policy is not values.ResetPolicy.NONE, "reset to where?"
        if self._state == AwaitReset(policy) and self._error is None:
            return  # the lookup that is in flight is for the same policy
        self._epochs = ()
        self._high_watermark = UNDEFINED_OFFSET
        self._enter(AwaitReset(policy))

    def close(self) -> None:
        """The session ends; the answer to what is in flight is of no use."""
        self._in_flight = None
        self._replicas.close()

    def next_ask(self, now_ms: int) -> tuple[int, values.Ask] | None:
        """What to ask now, with the id to answer to; None while a request is in flight or it is
        not yet time to ask again, see `next_at`.

        Raises NoOffsetError and LogTruncationError, each time until `seek` or `reset`.
        """
        if self._error is not None:
            raise self._error
        if self._in_flight is not None or now_ms < self._not_before:
            return None
        self._in_flight = (next(self._ids), self._ask(now_ms))
        return self._in_flight

    def next_at(self) -> int | None:
        """When (ms) `next_ask` has something to ask; None while a request is in flight."""
        return None if self._in_flight is not None else self._not_before

    def learn(self, metadata: values.Metadata) -> bool:
        """Metadata came, asked for or not; False where it names no partition or an older epoch.

        With another leader or epoch the position must be validated, if its epoch is known, and the
        answer to a request that is in flight is thrown away (KIP-320).
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
        """What the answer to the request of that id brings; nothing where it came too late.

        Raises ReadRefusedError and DataError; the position stays, and the request may be repeated.
        """
        if self._in_flight is None or self._in_flight[0] != ask_id:
            return NOTHING
        _, ask = self._in_flight
        self._in_flight = None
        if isinstance(ask, values.Fetch) and isinstance(answer, values.Fetched):
            return self._fetched(ask, answer, now_ms)
        if isinstance(ask, values.EndOfEpoch) and isinstance(answer, values.EpochEnded):
            return self._epoch_ended(ask, answer, now_ms)
        if isinstance(ask, values.LookUpOffset) and isinstance(answer, values.LookedUp):
            return self._looked_up(ask, answer, now_ms)
        assert isinstance(answer, values.Metadata), f"{type(answer).__name__} answers no {ask}"
        return self._refreshed(answer, now_ms)

    def forget(self, ask_id: int, now_ms: int) -> None:
        """The request of that id has failed for good: it is made again only when asked for."""
        if self._in_flight is not None and self._in_flight[0] == ask_id:
            self._in_flight = None
            self._back_off(now_ms)

    def _ask(self, now_ms: int) -> values.Ask:
        leader = self.leader
        if self._refresh or leader.node_id == NO_NODE or now_ms >= self._metadata_due:
            return values.RefreshMetadata()
        state = self._state
        if isinstance(state, AwaitValidation):
            return values.EndOfEpoch(leader.node_id, state.position, leader.epoch)
        node_id = self._replicas.node(now_ms)
        if isinstance(state, Fetching):
            rack = "" if self._replicas.avoids_any(now_ms) else self._settings.rack
            return values.Fetch(node_id, state.position, leader.epoch, rack)
        # the leader's earliest offset may be missing on the replica that is read (KIP-392's draft)
        by_replica = state.policy is values.ResetPolicy.EARLIEST and self._followers_look_up
        return values.LookUpOffset(
            node_id if by_replica else leader.node_id, state.policy, leader.epoch
        )

    def _enter(self, state: State) -> None:
        self._state = state
        self._in_flight = None
        self._error = None

    def _place(self, position: values.FetchPosition) -> None:
        """Read on from a position that this leader hasn't judged."""
        if position.epoch >= 0 and self.leader.epoch >= 0:
            self._enter(AwaitValidation(position))
        else:
            self._enter(Fetching(position))

    def _follow_leader(self) -> None:
        """Another leader or epoch: what is the position still worth?"""
        state = self._state
        position = state.lost if isinstance(state, AwaitReset) else state.position
        if position is None:
            self._in_flight = None
        elif self._error is None:  # what one leader's log lacked, the next one's may hold
            self._place(position)

    def _refreshed(self, metadata: values.Metadata, now_ms: int) -> values.Polled:
        """Without an answer, reading goes on by what is known, until that fails."""
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
            # A replica that doesn't know this epoch yet is behind: newer metadata wouldn't help.
            refresh = fetched.error is not ErrorCode.UNKNOWN_LEADER_EPOCH
            return self._failed(ask.node_id, fetched.error, now_ms, refresh=refresh)
        self._replicas.served(ask.node_id, fetched.high_watermark)
        self._high_watermark = fetched.high_watermark
        self._prefer(ask, fetched.preferred, now_ms)
        try:
            taken = records.take(fetched.data, ask.position, self._epochs)
        except DataError:
            self._replicas.failed(ask.node_id, now_ms)
            self._back_off(now_ms)
            raise
        if taken.position != ask.position:
            self._reconciled = None
        self._epochs = taken.epochs
        self._state = Fetching(taken.position)
        return values.Polled(taken.records)

    def _prefer(self, ask: values.Fetch, preferred: int | None, now_ms: int) -> None:
        if preferred is None or ask.node_id != self.leader.node_id:
            return
        if not self._replicas.prefer(preferred, now_ms):
            self._refresh = True
            self._back_off(now_ms)

    def _out_of_range(self, ask: values.Fetch, fetched: values.Fetched, now_ms: int) -> None:
        """A follower's OFFSET_OUT_OF_RANGE proves nothing: the leader is asked next. A position
        below the log start is reset by the policy at once. A position above the log end may have
        been truncated: the leader is asked once where the position's epoch ends (KIP-392)."""
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
        """The position isn't in the leader's log: reset it by the policy, or keep the
        error for the caller where the policy is NONE."""
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
            self._refresh = True  # who said out of range may be in sync no more
        return NOTHING

    def _diverging(self, end: OffsetAndEpoch) -> OffsetAndEpoch:
        """The position at which the leader's log diverges from the records that were read, given
        the leader's largest epoch up to ours. Records that were read in later epochs aren't in its
        log, wherever that log ends."""
        later = (entry.start_offset for entry in self._epochs if entry.epoch > end.epoch)
        return OffsetAndEpoch(min(end.offset, next(later, end.offset)), end.epoch)

    def _truncated(
        self, position: values.FetchPosition, diverging: OffsetAndEpoch
    ) -> values.Polled:
        """The log was truncated below the position: go on where the logs part, unless the policy is
        NONE (KIP-320)."""
        if self._policy is values.ResetPolicy.NONE:
            self._error = values.LogTruncationError(position, diverging)
            return NOTHING
        self._epochs = truncate_from_end(self._epochs, diverging.offset)
        read_epoch = epoch_for_offset(self._epochs, diverging.offset - 1)
        self._reconciled = None
        if read_epoch is None or read_epoch == diverging.epoch:
            self._enter(Fetching(values.FetchPosition(diverging.offset, diverging.epoch)))
        else:  # the leader may not hold the rest of what was read either
            self._enter(AwaitValidation(values.FetchPosition(diverging.offset, read_epoch)))
        return values.Polled(reports=(values.Truncation(position, diverging),))

    def _looked_up(
        self, ask: values.LookUpOffset, found: values.LookedUp, now_ms: int
    ) -> values.Polled:
        is_leader = ask.node_id == self.leader.node_id
        if found.error is ErrorCode.NOT_LEADER_OR_FOLLOWER and not is_leader:
            self._followers_look_up = False  # released Kafka: only a leader looks up for consumers
            return NOTHING
        if found.error is not ErrorCode.NONE:
            return self._failed(ask.node_id, found.error, now_ms)
        if found.offset < 0:
            return self._failed(ask.node_id, ErrorCode.OFFSET_NOT_AVAILABLE, now_ms)
        state = self._state
        assert isinstance(state, AwaitReset), "any other state forgets the lookup"
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
        """To be tried again; what else may have changed is asked first, unless not `refresh`."""
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
