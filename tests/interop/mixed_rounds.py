"""Rounds of kill -9 and restart over a quorum of kraftlake voters and Kafka's.

    python -m tests.interop.mixed_rounds --rounds 50 --mix 2+1 --write

--mix is OURS+KAFKAS. --write adds a row to ROUNDS.md; a round that fails ends the run, with what
each voter said.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.interop.kafka_jars import NEWEST, VERSIONS
from tests.interop.mixed_quorum import KAFKAS, OURS, MixedQuorum, Voter

RESULTS = Path(__file__).parent / "ROUNDS.md"
MIXES = {"3+0": 3, "2+1": 2, "1+2": 1}
_LEADER_DIES = 0.7
"""The share of the rounds in which the leader is killed."""


@dataclass
class Rounds:
    """The state of a quorum so far. committed: the end (exclusive) of what is known to be
    committed. size: the bytes of the log that all had alike when the last round ended. led:
    observed elections, by kind. killed: by kind and role."""

    quorum: MixedQuorum
    choice: random.Random
    number: int = 0
    epoch: int = 0
    committed: int = 0
    size: int = 0
    led: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)

    def round(self, *, overthrow: bool = False) -> None:
        """Commits, kills one voter, commits with the other two, starts the killed voter again, and
        waits until all three are alike.

        overthrow: the leader dies together with the other voter of its kind, which comes back at
        once. A follower that has fetched from a leader grants no pre-vote until it misses the
        leader itself (KIP-996), and then stands for election: so the kind with only one voter would
        lead by luck alone.
        """
        leader = self._elected(self.epoch - 1)
        self._commit(at_least=2)
        is_leader = overthrow or self.choice.random() < _LEADER_DIES
        others = [v for v in self.quorum.voters.values() if v is not leader]
        victim = leader if is_leader else self.choice.choice(others)
        victim.kill()
        self.killed[f"{victim.kind} {'leader' if is_leader else 'follower'}"] += 1
        for other in others if overthrow else ():
            if other.kind == leader.kind:
                other.kill()
                other.start()
        self._hold(at_least=2)
        self._elected(self.epoch if is_leader else self.epoch - 1)
        self._commit(at_least=2)
        victim.start()
        self.size = self._commit(at_least=3)
        self.number += 1

    def judge(self) -> None:
        """Asserts that everything committed is the same on all nodes, from the first byte on."""
        assert len(self.quorum.digests(self.size)) == 1

    def _elected(self, above_epoch: int) -> Voter:
        leader = self.quorum.leader(above_epoch)
        epoch, _ = leader.election
        if epoch > self.epoch:
            self.epoch = epoch
            self.led[leader.kind] += 1
        return leader

    def _commit(self, at_least: int) -> int:
        """Commits something new in `at_least` logs. Gives the byte at which it ends."""
        self.committed = self.quorum.wait_for_commits(self.committed)
        return self._hold(at_least)

    def _hold(self, at_least: int) -> int:
        """Waits until `at_least` logs hold what is committed, from the point at which all were
        alike when a round began."""
        end, byte = self.committed, [0]

        def is_held() -> bool:
            count, byte[0] = self.quorum.holding(end, self.size)
            return count >= at_least

        self.quorum.wait_until(is_held, f"fewer than {at_least} logs have the same up to {end}")
        return byte[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--mix", choices=sorted(MIXES), default="2+1")
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="end then, with what there is")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left running
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="mixed-") as folder,
        MixedQuorum(Path(folder), MIXES[options.mix], options.kafka) as quorum,
    ):
        rounds = Rounds(quorum, random.Random(options.seed))
        while rounds.number < options.rounds and time.monotonic() - began < 60 * options.minutes:
            rounds.round()
            sys.stderr.write(f"{time.monotonic() - began:7.1f} s: round {rounds.number}\n")
        rounds.judge()
    row = _row(rounds, options.mix, options.kafka, time.monotonic() - began)
    sys.stdout.write(row)
    if options.write:
        with RESULTS.open("a", encoding="utf-8") as results:
            results.write(row)
    return 0


def _row(rounds: Rounds, mix: str, version: str, took_s: float) -> str:
    """date, mix, Kafka, rounds, killed, elected, newest epoch, records, bytes, time."""
    cells = (
        datetime.now(UTC).date().isoformat(),
        mix,
        version,
        rounds.number,
        ", ".join(f"{count} {what}" for what, count in sorted(rounds.killed.items())),
        ", ".join(f"{rounds.led[kind]} {kind}" for kind in (OURS, KAFKAS)),
        rounds.epoch,
        f"{rounds.committed:,}",
        f"{rounds.size:,}",
        f"{took_s:.0f} s",
    )
    return f"| {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    sys.exit(main())
