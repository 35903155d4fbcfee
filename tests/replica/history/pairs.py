"""The relation of two logs that were not compared before."""

from __future__ import annotations

from replica.history import divergence
from replica.history.log import ReplicaLog


def diverge(a: ReplicaLog, b: ReplicaLog) -> divergence.Divergence:
    """The relation of `a` and `b`, and what the loser of an election between them gives up."""
    return divergence.diverge(a, b, divergence.compare(a, b))
