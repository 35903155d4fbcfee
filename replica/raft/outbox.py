"""`Outbox`: the effects of the current step, which handlers fill in.

The outbox leaves out what the host knows already, and requests that may not be sent to a peer now.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import Endpoints
from replica.raft.config import Config
from replica.raft.connections import PeerConnections
from replica.raft.effects import Effects, LogRead, Reply, Send, SnapshotRead
from replica.raft.messages import PeerRequest, PeerResponse


class Outbox:
    """The effects of this step, and what the host and the peers know from earlier steps.

    effects: the effects of this step. The effects of earlier steps belong to the host.
    connections: the requests in flight, and which peers may get a request now.
    stored: what quorum-state holds on the disk.
    """

    def __init__(self, config: Config, stored: ElectionState | None) -> None:
        self.effects = Effects()
        self.connections = PeerConnections(config.request_timeout_ms, config.retry_backoff_ms)
        self._cluster_id = config.cluster_id
        self._stored = stored
        self._announced: LeaderAndEpoch | None = None

    def take(self) -> Effects:
        """Return the effects of the finished step, and begin a new step."""
        effects, self.effects = self.effects, Effects()
        return effects

    def persist(self, state: ElectionState) -> None:
        """Have the host write quorum-state, if the epoch, the leader or the vote in `state` isn't
        yet in the file."""
        if _persisted_part(state) != _persisted_part(self._stored):
            self._stored = self.effects.quorum_state = state

    def announce(self, leader: LeaderAndEpoch) -> None:
        """Report a leader or epoch to the host, unless it was reported already."""
        if leader != self._announced:
            self._announced = self.effects.leader_change = leader

    def reply(
        self, request_id: Hashable, response: PeerResponse, read: LogRead | SnapshotRead | None
    ) -> None:
        self.effects.replies.append(Reply(request_id, response, read))

    def send(self, node_id: int, endpoints: Endpoints, message: PeerRequest, now_ms: int) -> int:
        """Send a request with the cluster's id. Nothing is sent while another request to that peer
        is in flight, during the pause after a failed request, or before the same request may be
        sent again. Returns when (ms) the next request may be sent to the peer."""
        sendable_at = self.connections.sendable_at(node_id, message)
        if sendable_at > now_ms:
            return sendable_at
        correlation_id = self.connections.sent(node_id, now_ms, message)
        request = replace(message, cluster_id=self._cluster_id)
        self.effects.sends.append(Send(node_id, endpoints, correlation_id, request))
        return self.connections.ready_at(node_id)


def _persisted_part(state: ElectionState | None) -> object:
    return None if state is None else (state.epoch, state.leader_id, state.voted)
