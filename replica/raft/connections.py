"""One request in flight for each peer, and a pause after a failure or before the same request is
sent again (Kafka: RequestManager, which has no pause after an answered request).

This module only remembers the requests: callers give the time in ms, and send the requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from replica.raft.config import FOREVER
from replica.raft.messages import PeerRequest


@dataclass(frozen=True, slots=True)
class PeerConnection:
    """The request that waits for a peer's answer, or the pause before the next request."""

    correlation_id: int | None = None
    """The correlation id of the request in flight; None if no request is in flight."""
    until: int = 0
    """The time (ms) at which the wait for the answer ends, or the pause after a failed request."""
    request: PeerRequest | None = None
    """The request in flight; None if no request is in flight."""


_READY = PeerConnection()


class PeerConnections:
    """The connections of all peers by node id. Bootstrap servers have negative ids."""

    def __init__(self, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._connections: dict[int, PeerConnection] = {}
        self._newest: dict[tuple[int, type[PeerRequest]], tuple[PeerRequest, int]] = {}
        """For each peer and type of request: the newest request, and the time (ms) from which it
        may be sent again."""
        self._last_correlation_id = 0

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """Whether a request may be sent to the peer now: no request to the peer is in flight, and
        the pause after a failed request is over."""
        return self._of(node_id).until <= now_ms

    def ready_at(self, node_id: int) -> int:
        """The time (ms) from which a request may be sent to the peer even if no answer comes; 0 for
        now."""
        return self._of(node_id).until

    def sendable_at(self, node_id: int, request: PeerRequest) -> int:
        """The time (ms) from which this request may be sent to the peer even if no answer comes; 0
        for now.

        A request that equals the newest request of its type waits until `retry_backoff_ms` after
        the newest was sent. The answer to the newest has changed nothing, or this request would
        differ, and a faulty peer may give the same answer without end. A fetch that waits for
        records at its leader takes longer than this pause.
        """
        newest, again = self._newest.get((node_id, type(request)), (None, 0))
        return max(self.ready_at(node_id), again if newest == request else 0)

    def is_backing_off(self, node_id: int, now_ms: int) -> bool:
        connection = self._of(node_id)
        return connection.correlation_id is None and connection.until > now_ms

    def has_timed_out(self, node_id: int, now_ms: int) -> bool:
        connection = self._of(node_id)
        return connection.correlation_id is not None and connection.until <= now_ms

    def has_any_in_flight(self, now_ms: int) -> bool:
        return bool(self._ends_of_waits(now_ms))

    def sent(self, node_id: int, now_ms: int, request: PeerRequest) -> int:
        """Note that a request goes out. Returns its correlation id."""
        self._last_correlation_id += 1
        deadline = now_ms + self._request_timeout_ms
        self._newest[node_id, type(request)] = (request, now_ms + self._retry_backoff_ms)
        self._connections[node_id] = PeerConnection(self._last_correlation_id, deadline, request)
        return self._last_correlation_id

    def asked(self, node_id: int) -> PeerRequest | None:
        """The request to this peer that is in flight; None if no request is in flight."""
        return self._of(node_id).request

    def expects(self, node_id: int, correlation_id: int, now_ms: int) -> bool:
        """Whether this replica still waits for the answer with this id. The wait ends with the
        request's timeout or with a newer request: an old answer must not be handled after a newer
        answer of another peer."""
        connection = self._of(node_id)
        return connection.correlation_id == correlation_id and connection.until > now_ms

    def forget(self, node_id: int) -> None:
        """Note that the request in flight is over. The next request may be sent at once."""
        self._connections.pop(node_id, None)

    def pause(self, node_id: int, now_ms: int) -> None:
        """Note that the request in flight has failed, or had a bad answer. No request is sent to
        the peer for `retry_backoff_ms`."""
        self._connections[node_id] = PeerConnection(None, now_ms + self._retry_backoff_ms)

    def reset(self) -> None:
        """Forget all requests, so that late answers are ignored. The core calls this whenever its
        role changes, except when it votes for another replica."""
        self._connections.clear()
        self._newest.clear()

    def ready_bootstrap(
        self, bootstrap_ids: Sequence[int], now_ms: int, draw: Callable[[int], int]
    ) -> int | None:
        """The id of a random bootstrap server to which a request may be sent now. None if there is
        no such server, or while a request to any peer is in flight. draw: a function that gives a
        random number from 0 to its argument (exclusive)."""
        if self.has_any_in_flight(now_ms) or not bootstrap_ids:
            return None
        start = draw(len(bootstrap_ids))
        ordered = (*bootstrap_ids[start:], *bootstrap_ids[:start])
        return next((node for node in ordered if self.is_ready(node, now_ms)), None)

    def next_bootstrap_at(self, bootstrap_ids: Sequence[int], now_ms: int) -> int:
        """The time (ms) from which a request may be sent to a bootstrap server: the end of the wait
        if a request is in flight, else the end of the shortest pause; FOREVER without bootstrap
        servers."""
        ends = self._ends_of_waits(now_ms) or [self.ready_at(node) for node in bootstrap_ids]
        return min(ends, default=FOREVER)

    def _ends_of_waits(self, now_ms: int) -> list[int]:
        """The times (ms) at which the requests in flight time out."""
        return [
            connection.until
            for connection in self._connections.values()
            if connection.correlation_id is not None and connection.until > now_ms
        ]

    def _of(self, node_id: int) -> PeerConnection:
        return self._connections.get(node_id, _READY)
