"""Rounds of partitions around a quorum of Kafka's controllers and kraftlake's replicas.

    python -m tests.interop.partition_rounds --seeds 0:20 --mix 2+1 --write

--mix is OURS+KAFKAS, of three or five voters. Each seed decides the faults of one round; the rounds
of one call go over one quorum, while clients append and read. In the end all logs have to be the
same bytes up to the high watermark, the appends linearizable, and what was read a part of the log.
--write adds a row to PARTITIONS.md; what fails ends the run, with what each node said.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from tests.interop.append_history import Outcome, contradictions
from tests.interop.appending_clients import NAME, Clients, appending
from tests.interop.cutting_proxy import CuttingProxies, Faults, Way
from tests.interop.kafka_jars import NEWEST
from tests.interop.mixed_quorum import KAFKAS, OURS, part
from tests.interop.partitioned_quorum import Node, PartitionedQuorum, partitioned
from tests.interop.read_history import contradictions_of_reads
from tests.interop.reading_sessions import Readers, pieces_of, reading

RESULTS = Path(__file__).with_name("PARTITIONS.md")
MIXES = {
    "1+2": (KAFKAS, OURS, KAFKAS),
    "2+1": (KAFKAS, OURS, OURS),
    "2+3": (KAFKAS, OURS, KAFKAS, OURS, KAFKAS),
    "3+2": (KAFKAS, OURS, KAFKAS, OURS, OURS),
}
KINDS = ("cut off", "cut in two", "one way out", "one way in", "slow", "broken connections")
_LEADER = 0.6
"""The share of the rounds in which the leader's ways are cut."""
_REMOVES = 0.3
"""The share of the rounds in which a voter is removed. Kafka's voter joins again by itself,
kraftlake's voter once it has been started again."""
_KILLS = 0.3
"""The share of the rounds in which a node is killed by SIGKILL. It starts again when the ways are
healed."""
_LONGEST_DELAY_S = 0.4


@dataclass
class Rounds:
    """The state of a quorum so far. start_again: kraftlake's replicas that were removed."""

    quorum: PartitionedQuorum
    clients: Clients
    number: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    led: Counter[str] = field(default_factory=Counter)
    removed: int = 0
    killed: int = 0
    start_again: set[int] = field(default_factory=set)

    def round(self, seed: int) -> None:
        """Makes one fault for some seconds, then none, until all nodes are voters and hold what is
        committed, and an append has been acknowledged since."""
        choice, proxies = random.Random(seed), self.quorum.proxies
        assert proxies is not None
        epoch, leader = self.quorum.newest_election()
        kind = choice.choice(KINDS)
        self._strike(choice, proxies, kind, leader)
        until = time.monotonic() + choice.uniform(3.0, 7.0)
        if choice.random() < _REMOVES:
            self._remove(choice)
        killed = self._kill(choice) if choice.random() < _KILLS else []
        while time.monotonic() < until:
            if kind == "broken connections":
                proxies.faults.break_connections(_all_ways(self.quorum))
            time.sleep(0.5)
        proxies.faults.heal(loses=choice.random() < 0.5)
        for node in killed:
            self.quorum.start_again(node)
        before = self.clients.acknowledged()
        self.quorum.wait_for_all(self.start_again)
        self.quorum.wait_until(
            lambda: self.clients.acknowledged() > before + 3, "no append is acknowledged"
        )
        self.number += 1
        self.faults[kind] += 1
        now, leads = self.quorum.newest_election()
        if now > epoch:
            self.led[self.quorum.nodes[leads].kind] += 1

    def _strike(
        self, choice: random.Random, proxies: CuttingProxies, kind: str, leader: int
    ) -> None:
        ids = sorted(self.quorum.nodes)
        one = leader if leader in ids and choice.random() < _LEADER else choice.choice(ids)
        rest = [each for each in ids if each != one]
        faults: Faults = proxies.faults
        match kind:
            case "cut off":
                faults.cut = between([one], rest)
            case "cut in two":
                few = [one, *choice.sample(rest, (len(ids) - 1) // 2 - 1)]
                faults.cut = between(few, [each for each in ids if each not in few])
            case "one way out":
                faults.cut = frozenset(product([one], rest))
            case "one way in":
                faults.cut = frozenset(product(rest, [one]))
            case "slow":
                faults.delay_s = choice.uniform(0.05, _LONGEST_DELAY_S)
            case _:
                faults.break_connections(_all_ways(self.quorum))

    def _remove(self, choice: random.Random) -> None:
        """Removes a voter that can join again: neither node 1 nor the leader. A leader that is cut
        off accepts the request, and can't carry it out, or does so later."""
        leader = self.quorum.newest_election()[1]
        rest = [each for each in sorted(self.quorum.nodes) if each not in (1, leader)]
        one = choice.choice(rest)
        self.removed += self.quorum.remove(one)
        if self.quorum.nodes[one].kind == OURS:
            self.start_again.add(one)

    def _kill(self, choice: random.Random) -> list[Node]:
        node = self.quorum.nodes[choice.choice(sorted(self.quorum.nodes))]
        node.kill()
        self.killed += 1
        return [node]

    def judge(self, readers: Readers) -> int:
        """Ends all nodes. Gives the end (exclusive) of the records that all of them hold alike.
        Raises AssertionError where logs differ, the appends are not linearizable, or a read
        contradicts the log."""
        end = self.quorum.wait_for_all()
        for node in self.quorum.nodes.values():
            node.kill()
        logs = {node_id: part(node.log, end) for node_id, node in self.quorum.nodes.items()}
        assert len(set(logs.values())) == 1, {n: len(log or b"") for n, log in logs.items()}
        appended = self.quorum.appended(end, NAME)
        found = contradictions(self.clients.history, list(appended.values()))
        known = {append.value: append for append in self.clients.history}
        appends = {at: known[value] for at, value in appended.items() if value in known}
        log = pieces_of(logs[1] or b"")
        found += contradictions_of_reads(readers.history, log, appends)
        assert not found, found[:20]
        return end


def between(some: list[int], others: list[int]) -> frozenset[Way]:
    """The ways in both directions."""
    return frozenset([*product(some, others), *product(others, some)])


def _all_ways(quorum: PartitionedQuorum) -> frozenset[Way]:
    return between(list(quorum.nodes), list(quorum.nodes))


def _read_by(readers: Readers) -> str:
    """The number of sessions, and the number of records that each kind of node
    gave in each role."""
    sessions = {read.session for read in readers.history}
    counts: Counter[str] = Counter()
    for read in readers.history:
        who = read.node.partition(",")[0]
        counts[who] += read.pieces[-1].end_offset - read.pieces[0].base_offset
    of = ", ".join(f"{count:,} of {who}" for who, count in sorted(counts.items()))
    return f"{len(sessions)}: {of or 'none'}"


def run(folder: Path, mix: str, seeds: range, within_s: float) -> str:
    """A row of the table: the result of as many seeds as the time allows, at least one."""
    began = time.monotonic()
    with partitioned(folder, MIXES[mix]) as quorum:
        with appending(quorum, seeds[0]) as clients, reading(quorum, seeds[0]) as readers:
            rounds = Rounds(quorum, clients)
            for seed in seeds:
                rounds.round(seed)
                told = f"{dict(rounds.faults)}, {clients.acknowledged()} acknowledged"
                print(f"seed {seed}: {told}", flush=True)  # noqa: T201
                if time.monotonic() - began > within_s:
                    break
        end = rounds.judge(readers)
        proxies = quorum.proxies
    assert proxies is not None
    outcomes = Counter(each.outcome for each in clients.history)
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(rounds.faults.items()))
    led = ", ".join(f"{count} {kind}" for kind, count in sorted(rounds.led.items()))
    seen = proxies.faults
    cells = (
        datetime.now(UTC).date().isoformat(),
        mix,
        NEWEST,
        f"{seeds[0]} to {seeds[0] + rounds.number - 1}",
        faults,
        led or "none",
        f"{rounds.removed} / {rounds.killed}",
        f"{seen.passed:,} / {seen.held:,} / {seen.discarded:,}",
        " / ".join(f"{outcomes[each]:,}" for each in Outcome),
        f"{end:,}",
        _read_by(readers),
        f"{time.monotonic() - began:.0f} s",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20", metavar="A:B")
    parser.add_argument("--mix", choices=MIXES, default="2+1")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no round after them")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    first, _, end = given.seeds.partition(":")
    with tempfile.TemporaryDirectory(prefix="kraftlake-partitions-") as folder:
        seeds = range(int(first), int(end))
        row = run(Path(folder), given.mix, seeds, given.minutes * 60)
    print(row)  # noqa: T201
    if given.write:
        with RESULTS.open("a", encoding="utf-8") as page:
            page.write(f"{row}\n")


if __name__ == "__main__":
    main()
