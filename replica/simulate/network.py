"""The network: each message is delayed, doubled or lost on its own, so messages overtake each
other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

Link = tuple[int, int]
"""(sender, receiver)."""


@dataclass(slots=True)
class Network:
    """Rates are probabilities for each message, from 0 to 1; delays in ms.

    cut: links that nothing passes, in that direction alone. cut_requests: those that answers
    still pass. refusals: how often a node that is down says so, as a closed port does.
    """

    loss: float = 0.02
    duplication: float = 0.02
    straggling: float = 0.02
    refusals: float = 0.5
    delay_ms: int = 10
    straggler_ms: int = 1500
    cut: set[Link] = field(default_factory=set)
    cut_requests: set[Link] = field(default_factory=set)

    def delays(self, random: Random, sender: int, receiver: int, *, is_request: bool) -> list[int]:
        """When the copies of one message arrive, in ms from now; none where the message is lost."""
        link = (sender, receiver)
        if link in self.cut or (is_request and link in self.cut_requests):
            return []
        if random.random() < self.loss:
            return []
        copies = 2 if random.random() < self.duplication else 1
        return [self._delay(random) for _ in range(copies)]

    def split(self, side: Iterable[int], others: Iterable[int], *, one_way: bool = False) -> None:
        """From now on nothing passes from `side` to `others`; nor back, unless one_way."""
        links = [(a, b) for a in side for b in others if a != b]
        self.cut.update(links)
        if not one_way:
            self.cut.update((b, a) for a, b in links)

    def isolate(self, random: Random, nodes: list[int]) -> None:
        """Split the nodes in two; messages pass neither way, or one way only."""
        side = set(random.sample(nodes, random.randint(1, len(nodes) - 1)))
        self.split(side, set(nodes) - side, one_way=random.random() < 0.3)

    def heal(self) -> None:
        self.cut.clear()
        self.cut_requests.clear()

    def stop_faults(self) -> None:
        """From now on every message arrives, soon."""
        self.heal()
        self.loss = self.duplication = self.straggling = 0.0

    def _delay(self, random: Random) -> int:
        slow = random.random() < self.straggling
        return 1 + random.randrange(self.straggler_ms if slow else self.delay_ms)
