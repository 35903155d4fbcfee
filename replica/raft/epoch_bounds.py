"""How far peers may raise the epoch, and who may at all.

Each election raises the epoch by one, and no quorum elects more often than all 100 ms for long; a
peer that names an epoch far above it is confused or lies. An epoch is an int32 in Kafka's protocol
and files, so it must not be used up: a quorum without a next epoch elects nobody.
"""

from __future__ import annotations

MAX_EPOCH = 2**31 - 1
MOST_AT_ONCE = 2**20
"""Epochs that a replica may have missed while it was away: an election each second for 12 days."""
MS_EACH = 100
"""So 2^31 epochs, all named by peers, take 6.8 years."""


def allowance(raised: int, running_ms: int) -> int:
    """How many epochs peers may still add, who have added `raised` in these ms."""
    return MOST_AT_ONCE + running_ms // MS_EACH - raised


def is_explained(epoch: int, known: int, allowed: int) -> bool:
    """Whether elections explain a peer's epoch where `known` is the newest one here."""
    return epoch <= min(known + max(allowed, 0), MAX_EPOCH)
