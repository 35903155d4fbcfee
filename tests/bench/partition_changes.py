"""Changes of random partitions of a large cluster, and how soon they were committed, as a line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from replica.metadata.codec import encode
from tests.bench.start import TOPIC_PARTITIONS
from tests.replica.metadata.image.made import change

AT_ONCE = 10
"""Changes in one append, and in one request."""


@dataclass(frozen=True)
class Commit:
    """A commit. has_snapshot: whether the leader wrote a snapshot meanwhile."""

    ms: float
    has_snapshot: bool
    epoch: int


def changes(partitions: int) -> Iterator[bytes]:
    chance = Random(os.getpid())
    while True:
        number = chance.randrange(partitions)
        topic_id = f"{number // TOPIC_PARTITIONS:021}A"
        isr = tuple(chance.sample(range(30), 2))
        partition_id = number % TOPIC_PARTITIONS
        yield encode(change(topicId=topic_id, partitionId=partition_id, isr=isr, leader=isr[0]))


def told(name: str, commits: Sequence[Commit], end: str) -> str:
    """A line about commits. name: the quorum or voter that made them. end: the end of the line."""
    parts = [f"{name} led epochs {sorted({commit.epoch for commit in commits})}"]
    for words, has_snapshot in (("without", False), ("with", True)):
        found = sorted(commit.ms for commit in commits if commit.has_snapshot == has_snapshot)
        if found:
            shares = (found[int(len(found) * share)] for share in (0.5, 0.99, 0.999))
            shown = ", ".join(f"{ms:.1f}" for ms in shares)
            parts.append(f"{words} a snapshot {len(found)} appends, p50, p99, p999, most {shown}")
            parts[-1] += f", {found[-1]:.1f} ms"
    return "; ".join([*parts, end]) + "\n"
