"""What a player did to a cluster and what it saw. Answers are compared with this. It is a file of
JSON, so that kraftlake can be asked again without Kafka."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.interop.recorder.script import Shown

FILE = "story.json"
DONE, REFUSED, UNKNOWN = "done", "refused", "unknown"
STOP = "stop of broker"
"""The begin of a question in Story.done, before the broker's id."""


@dataclass
class Deed:
    """A step as it was carried out. Times are in ms since 1970. nodes: the nodes of the step.
    outcome: of an operation, whether Kafka acknowledged it."""

    began: int
    ended: int
    step: str
    name: str
    nodes: list[int]
    outcome: str
    text: str = ""


@dataclass
class Sight:
    """At this time a running node was first seen to know this leader of an epoch."""

    at: int
    epoch: int
    leader: int


@dataclass
class Down:
    """A node whose process doesn't run or is suspended. how: SIGTERM, SIGKILL or SIGSTOP."""

    node: int
    since: int
    how: str


@dataclass
class Acknowledged:
    """What exists, by Kafka's acknowledgements. doubtful: names for which one operation or more has
    an unknown outcome."""

    topics: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    acls: list[list[str]] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    quotas: dict[str, int] = field(default_factory=dict)
    doubtful: list[str] = field(default_factory=list)


@dataclass
class Story:
    """The story of a round.

    shown, left: of the round.
    down: the nodes that are down at the end.
    changed: nodes whose disk was wiped or is an older copy, by what was done.
    described: the output of kafka-topics when all was healed.
    quiet: the same just before the copies were made, where nothing is left wrong.
    copied: the begin of the copies, in ms since 1970.
    backup: the time of the newest backup, of which a node's disk may be an older copy.
    done: the question to kraftlake, its answer, the outcome on the cluster, and how it came.
    dumps: for each copy, the differences from Kafka's dump of it.
    """

    seed: int
    kind: str
    version: str
    is_static: bool
    voters: list[int]
    brokers: list[int]
    cluster_id: str
    shown: str = ""
    left: list[str] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    acknowledged: Acknowledged = field(default_factory=Acknowledged)
    down: list[Down] = field(default_factory=list)
    changed: dict[str, str] = field(default_factory=dict)
    shown_node: int = -1
    described: str = ""
    quiet: str = ""
    copied: int = 0
    backup: int = 0
    done: list[list[str]] = field(default_factory=list)
    dumps: dict[str, str] = field(default_factory=dict)

    @property
    def down_nodes(self) -> set[int]:
        return {one.node for one in self.down}

    @property
    def left_voters(self) -> list[int]:
        """The voters that run."""
        return [node for node in self.voters if node not in self.down_nodes]

    @property
    def has_majority(self) -> bool:
        lost = {int(node) for node, what in self.changed.items() if what == "wiped"}
        return len(set(self.left_voters) - lost) > len(self.voters) // 2

    @property
    def ends_early(self) -> set[int]:
        """The voters whose log in the copies may end before the newest one: they are down, or their
        disk is an older copy."""
        older = {self.shown_node} if self.shown == Shown.OLDER.value else set()
        return (self.down_nodes | older) & set(self.voters)

    def lag_ms(self, node: int) -> int:
        """How long before the end of the newest log the log of such a voter ends."""
        newest = self.copied if self.has_majority else max(one.since for one in self.down)
        is_older = self.shown == Shown.OLDER.value and node == self.shown_node
        if is_older or self.changed.get(str(node)) == "restored":
            return newest - self.backup
        return newest - next(one.since for one in self.down if one.node == node)

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=1))


def loaded(folder: Path) -> Story:
    told: dict[str, Any] = json.loads((folder / FILE).read_text())
    told["deeds"] = [Deed(**one) for one in told["deeds"]]
    told["sights"] = [Sight(**one) for one in told["sights"]]
    told["down"] = [Down(**one) for one in told["down"]]
    told["acknowledged"] = Acknowledged(**told["acknowledged"])
    return Story(**told)
