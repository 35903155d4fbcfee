"""The network: every message has its own fate, so they overtake each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Network:
    """Rates are probabilities for each message, from 0 to 1; delays in ms.

    cut: (sender, receiver) pairs that nothing passes, in that direction alone.
    """

    loss: float = 0.02
    duplication: float = 0.02
    straggling: float = 0.02
    delay_ms: int = 10
    straggler_ms: int = 1500
    cut: set[tuple[int, int]] = field(default_factory=set)

    def delays(self, random: Random, sender: int, receiver: int) -> list[int]:
        """When the copies of one message arrive, ms from now; none where it is lost."""
        if (sender, receiver) in self.cut or random.random() < self.loss:
            return []
        copies = 2 if random.random() < self.duplication else 1
        return [self._delay(random) for _ in range(copies)]

    def isolate(self, random: Random, nodes: list[int]) -> None:
        """Split the nodes in two; messages pass neither way, or one way only."""
        side = set(random.sample(nodes, random.randint(1, len(nodes) - 1)))
        one_way = random.random() < 0.3
        for a in side:
            for b in set(nodes) - side:
                self.cut.add((a, b))
                if not one_way:
                    self.cut.add((b, a))

    def heal(self) -> None:
        self.cut.clear()

    def stop_faults(self) -> None:
        """From now on every message arrives, soon."""
        self.heal()
        self.loss = self.duplication = self.straggling = 0.0

    def _delay(self, random: Random) -> int:
        slow = random.random() < self.straggling
        return 1 + random.randrange(self.straggler_ms if slow else self.delay_ms)
