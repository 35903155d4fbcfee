"""How far peers may raise the epoch.

Each election raises the epoch by one, and no quorum holds more than one election in 100 ms for
long. A peer that names a much higher epoch is faulty or lies. An epoch is an int32 in Kafka's
protocol and files, and a quorum in the last epoch can elect no leader any more. So a peer must not
be able to use up the epochs.
"""

from __future__ import annotations

from replica.raft.roles import OlderLeader

MAX_EPOCH = 2**31 - 1
MOST_AT_ONCE = 2**20
"""The number of epochs that a replica may have missed while it was away: one election each second
for 12 days."""
MS_EACH = 100
"""The time (ms) in which peers may raise the epoch by one. So 2^31 epochs last for 6.8 years."""


def is_explained(epoch: int, known: int, raised: int, running_ms: int) -> bool:
    """Whether elections explain an epoch that a peer names.

    known: the newest epoch that this replica knows.
    raised: by how many epochs peers have raised it since this replica started.
    running_ms: the time since this replica started.
    """
    allowed = MOST_AT_ONCE + running_ms // MS_EACH - raised
    return epoch <= min(known + max(allowed, 0), MAX_EPOCH)


class PeerEpochs:
    """What peers have said about epochs since this replica started at `began` (ms).

    older_leader: the leader of an older epoch, the newest that answers have named since this
        replica entered its epoch; None if no answer named such a leader.
    """

    def __init__(self, began: int) -> None:
        self._began = began
        self._raised = 0
        self.older_leader: OlderLeader | None = None

    def is_plausible(self, epoch: int, known: int, now_ms: int) -> bool:
        """Whether elections can explain an epoch that a peer names. known: the newest epoch that
        this replica knows."""
        return is_explained(epoch, known, self._raised, now_ms - self._began)

    def raised(self, known: int, epoch: int) -> None:
        """Note that a peer's message has brought this replica from the epoch `known` to `epoch`.
        The rise from epoch 0 doesn't count, because the first epoch that a new replica sees may be
        high."""
        if known > 0:
            self._raised += epoch - known

    def named(self, leader: OlderLeader) -> None:
        """Note a leader of an older epoch that an answer names."""
        if self.older_leader is None or self.older_leader.epoch <= leader.epoch:
            self.older_leader = leader
