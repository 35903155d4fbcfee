"""Kill any of three replicas with -9, again and again, while an administrator appends.

    python -m tests.fuzz.quorum_kills --kills 100 --write

Each replica is a process with a load of its own. In the end, all three logs must hold each record
whose commit was acknowledged: once, and at the acknowledged offset. A record without an answer may
be there once or not at all. --write adds a row to RESULTS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from random import Random

from replica.admin.appending import Appender, UnknownOutcomeError
from replica.admin.records import batch_of, record_of_value
from replica.errors import NoLeaderError
from replica.format.record import records_of
from replica.format.segment import scan
from replica.wire.client import ClientConfig
from tests.interop.mixed_quorum import TOPIC, MixedQuorum, Voter

RESULTS = Path(__file__).parent / "RESULTS.md"
_TIMEOUT_S = 60.0
_LONGEST_PAUSE_S = 0.5
_MARK = b"record "
_TABLE = "| date | kills | of |"


@dataclass(eq=False)
class Appending(threading.Thread):
    """Appends one batch of one or two records after the other, each with content of its own, until
    it is stopped. acknowledged: content -> offset. unknown: the content of batches without an
    answer."""

    quorum: MixedQuorum
    acknowledged: dict[bytes, int] = field(default_factory=dict)
    unknown: set[bytes] = field(default_factory=set)
    unsent: int = 0
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()

    def run(self) -> None:
        try:
            asyncio.run(self._append())
        except BaseException as error:  # noqa: BLE001 (told by `stop`)
            self.failure = error

    def stop(self) -> None:
        self.over.set()
        self.join(_TIMEOUT_S * 2)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure

    async def _append(self) -> None:
        servers = [("127.0.0.1", voter.port) for voter in self.quorum.voters.values()]
        appender = Appender(servers, TOPIC, ClientConfig(timeout_s=5.0), _TIMEOUT_S)
        number = 0
        while not self.over.is_set():
            values = [_MARK + str(number + n).encode() for n in range(1 + number % 2)]
            number += len(values)
            records = [record_of_value(value) for value in values]
            try:
                base = (await appender.append(batch_of(records, 0))).base_offset
            except UnknownOutcomeError:
                self.unknown.update(values)
            except NoLeaderError:
                self.unsent += len(values)
            else:
                self.acknowledged.update((v, base + n) for n, v in enumerate(values))
        await appender.close()


@dataclass
class QuorumKills:
    """A campaign of kills. killed: the number of kills by role."""

    quorum: MixedQuorum
    chance: Random
    killed: Counter[str] = field(default_factory=Counter)
    epochs: set[int] = field(default_factory=set)

    def run(self, kills: int) -> Appending:
        """Runs until all three replicas hold what is committed, and judges the logs."""
        appending = Appending(self.quorum)
        self._led()
        appending.start()
        for role in islice(self._roles(), kills):
            self._kill_one(role, appending)
        appending.stop()
        self._judge(appending)
        return appending

    def _roles(self) -> Iterator[str]:
        """The roles to kill. The leader is among each three once, at a random place, as often as
        chance would choose it."""
        while True:
            yield from self.chance.sample(("leader", "follower", "follower"), 3)

    def _kill_one(self, role: str, appending: Appending) -> None:
        """Kills a replica at a random moment. The next kill waits until the other two, or all
        three, append again."""
        time.sleep(self.chance.uniform(0, _LONGEST_PAUSE_S))
        leader = self._led()
        followers = [one for one in self.quorum.voters.values() if one is not leader]
        victim = leader if role == "leader" else self.chance.choice(followers)
        self.killed[role] += 1
        victim.kill()
        if self.chance.random() < 0.5:
            self._wait_for_one_more(appending)
        victim.start()
        self._wait_for_one_more(appending)

    def _wait_for_one_more(self, appending: Appending) -> None:
        known = len(appending.acknowledged)
        self.quorum.wait_until(
            lambda: len(appending.acknowledged) > known or appending.failure is not None,
            "nothing is appended any more",
        )

    def _led(self) -> Voter:
        leader = self.quorum.leader()
        self.epochs.add(leader.election[0])
        return leader

    def _judge(self, appending: Appending) -> None:
        end = self.quorum.wait_for_commits(max(appending.acknowledged.values()))
        self.quorum.wait_until(
            lambda: self.quorum.holding(end)[0] == 3, f"not all have the same up to {end}"
        )
        _, size = self.quorum.holding(end)
        for voter in self.quorum.voters.values():
            found = appended_in(voter.log(0, size))
            for value, offset in appending.acknowledged.items():
                at = found.get(value)
                assert at == [offset], f"{value!r}, told to be at {offset}, is at {at}"
            for value, offsets in found.items():
                assert len(offsets) == 1, f"{value!r} is there at {offsets}"
                assert value in appending.acknowledged or value in appending.unknown


def appended_in(log: bytes) -> dict[bytes, list[int]]:
    """The offsets of each of the appender's records."""
    found: dict[bytes, list[int]] = {}
    result = scan(log, expected_offset=0)
    assert not result.damages
    for batch in result.batches:
        header = batch.header
        data = log[batch.position : batch.position + header.size_bytes]
        for record in () if header.is_control else records_of(header, data):
            if (record.value or b"").startswith(_MARK):
                found.setdefault(record.value or b"", []).append(record.offset)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left running
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="kills-") as folder,
        MixedQuorum(Path(folder), kraftlake=3) as quorum,
    ):
        kills = QuorumKills(quorum, Random(options.seed))
        appending = kills.run(options.kills)
    took = time.monotonic() - began
    row = (
        f"| {datetime.now(UTC).date()} | {options.kills}, seed {options.seed} | "
        f"{kills.killed['leader']} leaders, {kills.killed['follower']} followers | "
        f"{len(kills.epochs)} | {len(appending.acknowledged):,} | {len(appending.unknown):,} | "
        f"{took:.0f} s | none |\n"
    )
    sys.stdout.write(row)
    if options.write:
        text = RESULTS.read_text(encoding="utf-8")
        RESULTS.write_text(with_row(text, row), encoding="utf-8")
    return 0


def with_row(text: str, row: str) -> str:
    """The text with a row at the end of the table of kills."""
    lines = text.splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith(_TABLE))
    while at < len(lines) and lines[at].startswith("|"):
        at += 1
    return "".join((*lines[:at], row, *lines[at:]))


if __name__ == "__main__":
    sys.exit(main())
