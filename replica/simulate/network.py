"""The simulated network. Each message is delayed, repeated or lost independently of the others, so
messages may overtake each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

Link = tuple[int, int]
"""(sender, receiver)."""


@dataclass(slots=True)
class Network:
    """The faults of the network. Rates are probabilities for each message, from 0 to 1. Delays are
    in ms.

    loss, duplication: the rates of messages that are lost or repeated.
    straggling: the rate of slow messages, which take up to straggler_ms.
    cut: the links (sender, receiver) that let no message pass.
    cut_requests: the links that let only responses pass.
    refusals: the rate at which the sender of a message learns that the receiver is down, as from a
        closed port.
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
        """The delays (ms) after which the copies of a message arrive; empty if the message is
        lost."""
        link = (sender, receiver)
        if link in self.cut or (is_request and link in self.cut_requests):
            return []
        if random.random() < self.loss:
            return []
        copies = 2 if random.random() < self.duplication else 1
        return [self._delay(random) for _ in range(copies)]

    def split(self, side: Iterable[int], others: Iterable[int], *, one_way: bool = False) -> None:
        """Let no message pass from `side` to `others`, nor back unless `one_way`, from now on."""
        links = [(a, b) for a in side for b in others if a != b]
        self.cut.update(links)
        if not one_way:
            self.cut.update((b, a) for a, b in links)

    def isolate(self, random: Random, nodes: list[int]) -> None:
        """Split the nodes into two random sides. No message passes between them, or messages pass
        in one direction only."""
        side = set(random.sample(nodes, random.randint(1, len(nodes) - 1)))
        self.split(side, set(nodes) - side, one_way=random.random() < 0.3)

    def heal(self) -> None:
        self.cut.clear()
        self.cut_requests.clear()

    def stop_faults(self) -> None:
        """Let every message arrive after a short delay from now on."""
        self.heal()
        self.loss = self.duplication = self.straggling = 0.0

    def _delay(self, random: Random) -> int:
        slow = random.random() < self.straggling
        return 1 + random.randrange(self.straggler_ms if slow else self.delay_ms)
