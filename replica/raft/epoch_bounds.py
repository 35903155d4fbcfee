"""How far peers may raise the epoch.

Each election raises the epoch by one, and no quorum goes on to elect more than once in 100 ms. A
peer that names an epoch far above that is confused or lies. An epoch is an int32 in Kafka's
protocol and files. So a peer must not be able to use the epochs up: a quorum in the last epoch can
elect no leader any more.
"""

from __future__ import annotations

MAX_EPOCH = 2**31 - 1
MOST_AT_ONCE = 2**20
"""The number of epochs that a replica may have missed while it was away: one election each second
for 12 days."""
MS_EACH = 100
"""The time (ms) in which peers may add one epoch. So they need 6.8 years to use up 2^31 epochs."""


def is_explained(epoch: int, known: int, raised: int, running_ms: int) -> bool:
    """Whether elections explain an epoch that a peer names. known: the newest epoch that this
    replica knows. raised: the number of epochs that peers have added in the `running_ms` since this
    replica started."""
    allowed = MOST_AT_ONCE + running_ms // MS_EACH - raised
    return epoch <= min(known + max(allowed, 0), MAX_EPOCH)
