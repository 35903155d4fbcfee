"""How far peers may raise the epoch.

Each election raises the epoch by one, and no quorum goes on to elect more than once in 100 ms. A
peer that names an epoch far above that is confused or lies. An epoch is an int32 in Kafka's
protocol and files, so peers must not use the epochs up: a quorum without a next epoch elects
nobody.
"""

from __future__ import annotations

MAX_EPOCH = 2**31 - 1
MOST_AT_ONCE = 2**20
"""How many epochs a replica may have missed while it was away: an election each second for 12
days."""
MS_EACH = 100
"""Peers may add one epoch in this time. So they need 6.8 years to use up 2^31 epochs."""


def allowance(raised: int, running_ms: int) -> int:
    """How many epochs peers may still add, after they have added `raised` in `running_ms`."""
    return MOST_AT_ONCE + running_ms // MS_EACH - raised


def is_explained(epoch: int, known: int, allowed: int) -> bool:
    """Whether elections explain an epoch that a peer names. known: the newest epoch here."""
    return epoch <= min(known + max(allowed, 0), MAX_EPOCH)
