"""Attacks a running quorum over TCP, while clients and voters that behave well go on.

    python -m tests.fuzz.replica_campaign --seed 1 --frames 1000000 --write

Three voters, each a process with its log. On thousands of connections they get requests with
hostile values in every API and version, broken batches, damaged frames, noise, false lengths,
frames that never end or come byte by byte, and silent connections. The run fails if readers are not
served, or the voters don't replicate, within a time limit. At the end, all logs must hold the
acknowledged records, and only records that were sent; no vote and no epoch may have changed.
--write adds to RESULTS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from replica.errors import DataError
from replica.format.batch import HEADER
from replica.format.frames import frames as batches_in
from replica.wire.apis.writing import PRODUCE
from replica.wire.frame import framed
from replica.wire.header import WireRequest, correlation_id_of, decode_response, encode_request
from tests.fuzz.attacked import (
    CLUSTER_ID,
    HOST,
    TOPIC,
    TOPIC_ID,
    WITHIN_S,
    Attacked,
    Quorum,
    watermark,
)
from tests.fuzz.endings import ENDINGS, HELD, LIKELY, WITHOUT_FRAME, Ending
from tests.fuzz.hostile_frames import Target, is_answered
from tests.fuzz.judged_log import judged

RESULTS = Path(__file__).parent / "RESULTS.md"
MOST_GROWTH_KIB = 250 * 1024
WORKERS, MOST_HELD, CROWD = 9, 150, 1100
_BURST = 40
_RECENT = 1000
_SAMPLE_S = 2.0
_TELL_EVERY = 30
_PATIENCE_S = 10.0
"""The most seconds for an answer to a frame that ends a connection: such a
frame may ask to wait."""
_AT_LEADER, _WHERE_VOTERS_LOG_IN = 0.4, 0.1


@dataclass
class Sample:
    """A sample: the frames sent so far, the seconds, the memory in KiB of the leader and of both
    followers, the high watermark, and the time until all readers were served up to it."""

    frames: int
    at_s: float
    resident: tuple[int, ...]
    committed: int
    waited_s: float


@dataclass
class Attack:
    """An attack. frames, most_s: the frames to send, and the seconds for them. counts: the sent
    frames by kind, and their results."""

    quorum: Quorum
    seed: int
    frames: int
    most_s: float = 1e9
    counts: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    sent: int = 0
    _bursts: int = 0

    def __post_init__(self) -> None:
        self.target = Target(TOPIC, TOPIC_ID, CLUSTER_ID)
        self._held: list[asyncio.StreamWriter] = []
        self._recent: deque[tuple[WireRequest, bytes]] = deque(maxlen=_RECENT)
        self._began = time.monotonic()

    async def run(self) -> None:
        """Runs the attack. Raises AssertionError or TimeoutError for what must not happen."""
        await self._sample()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch())
            workers = [group.create_task(self._work()) for _ in range(WORKERS)]
            await asyncio.wait(workers)
            watching.cancel()
        for writer in self._held:
            writer.transport.abort()
        await self._crowd()
        await self._sample()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_SAMPLE_S)
            await self._sample()

    async def _sample(self) -> None:
        """Takes a sample. Raises where a replica doesn't serve readers, or lacks
        committed records."""
        quorum, began = self.quorum, time.monotonic()
        committed = await watermark(quorum.leader.port)
        for replica in quorum.followers:
            while (held := await watermark(replica.port)) < committed:
                who = f"{replica.node_id} holds {held} of {committed}"
                assert time.monotonic() < began + WITHIN_S, who
                await asyncio.sleep(0.05)
        waited = time.monotonic() - began
        for replica in quorum.replicas.values():
            replica.assert_sound()
        self.target.end = committed
        memory = tuple(r.resident_kib for r in (quorum.leader, *quorum.followers))
        at = time.monotonic() - self._began
        self.samples.append(Sample(self.sent, at, memory, committed, waited))
        if len(self.samples) % _TELL_EVERY == 0:
            sys.stderr.write(f"{at:8.0f} s: {self.sent:,} frames, {memory} KiB\n")

    async def _work(self) -> None:
        while self.sent < self.frames and time.monotonic() - self._began < self.most_s:
            self._bursts += 1
            chance = Random(f"{self.seed} {self._bursts}")
            at_leader = chance.random() < _AT_LEADER
            replica = self.quorum.leader if at_leader else chance.choice(self.quorum.followers)
            await self._burst(replica, chance)

    async def _burst(self, replica: Attacked, chance: Random) -> None:
        """Sends requests on one connection, then something that ends it. On the voters' listener
        the first request without a password is the last."""
        end = chance.choice(LIKELY)
        at_voters = chance.random() < _WHERE_VOTERS_LOG_IN
        port = replica.voters_port if at_voters else replica.port
        most = 0 if end in HELD or end == "reset" else 1 if at_voters else _BURST
        sends = [self._request(chance, number) for number in range(chance.randint(0, most))]
        reader, writer = await asyncio.open_connection(HOST, port)
        self.counts["connections"] += 1
        left = deque(request for request, _ in sends)
        try:
            writer.write(b"".join(framed(frame) for _, frame in sends))
            is_held = await self._end(end, writer, chance)
            self._count(end, end not in WITHOUT_FRAME)
            if is_held:
                self._hold(writer)
                return
            async with asyncio.timeout(WITHIN_S) as patience:
                await self._answers(reader, left, patience)
        except TimeoutError:
            if left:
                raise AssertionError(f"no answer to {left[0]}") from None
            self.counts["waiting for long"] += 1  # as a damaged frame may ask for
        if left:
            self.counts[f"closed by {left.popleft().api}"] += 1
        self._count("hostile values", len(sends) - len(left))
        writer.transport.abort()

    def _count(self, kind: str, number: int) -> None:
        self.counts[kind] += number
        self.sent += number

    def _request(self, chance: Random, number: int) -> tuple[WireRequest, bytes]:
        """A request with its frame. A quarter of them is new. The others are repeated among other
        requests, at other replicas, whose logs have grown."""
        if len(self._recent) == _RECENT and chance.random() < 0.75:
            found, frame = chance.choice(self._recent)
        else:
            is_new = chance.random() < 0.9
            found = self.target.request(chance) if is_new else self.target.sound(chance)
            self._offer(found)
            frame = encode_request(found)
            self._recent.append((found, frame))
            self.counts["requests made"] += 1
        request = WireRequest(found.api, found.version, number, found.client_id, found.message)
        return request, frame[:4] + number.to_bytes(4, "big") + frame[8:]

    def _offer(self, request: WireRequest) -> None:
        for data in _record_sets(request):
            self.offered.update(hash(each) for each in _record_bytes(data))

    async def _end(self, kind: str, writer: asyncio.StreamWriter, chance: Random) -> bool:
        """Ends the connection. Gives whether it is left open."""
        request = self.target.request(chance)
        self._offer(request)
        made = ENDINGS[kind](Ending(self.target, writer, request, chance))
        last = made if isinstance(made, bytes) else await made
        if not writer.transport.is_closing():
            writer.write(last)
            if kind not in HELD:
                # the replica may have closed it for an earlier fault
                with contextlib.suppress(OSError):
                    writer.write_eof()
        return kind in HELD

    def _hold(self, writer: asyncio.StreamWriter) -> None:
        """Keeps the connection silent, and closes the oldest silent connection."""
        self._held.append(writer)
        if len(self._held) > MOST_HELD:
            self._held.pop(0).transport.abort()

    async def _answers(
        self, reader: asyncio.StreamReader, asked: deque[WireRequest], patience: asyncio.Timeout
    ) -> None:
        """Reads answers. Each is the answer to the next request; `asked` has the requests without
        an answer."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                while asked and not is_answered(asked[0]):
                    asked.popleft()
                if not asked:
                    patience.reschedule(asyncio.get_running_loop().time() + _PATIENCE_S)
                size = int.from_bytes(await reader.readexactly(4), "big")
                raw = await reader.readexactly(size)
                self.counts["answers"] += 1
                if not asked:
                    continue  # go on to the frame at the end, which no replica can read
                request = asked[0]
                assert correlation_id_of(raw) == request.correlation_id, f"not to {request}"
                asked.popleft()
                # not all, because encoding takes longer than answering
                if request.api is PRODUCE or request.correlation_id % 8 == 0:
                    message = decode_response(request.api, request.version, raw)
                    self._acknowledge(request, message)

    def _acknowledge(self, request: WireRequest, message: dict[str, object]) -> None:
        """Notes which records must be in the log from now on, for a Produce."""
        if request.api is not PRODUCE:
            return
        answers = [
            each
            for topic in message["responses"]  # type: ignore[attr-defined]
            for each in topic["partitionResponses"]
        ]
        for data, answer in zip(_record_sets(request), answers, strict=True):
            if answer["errorCode"] != 0:
                continue
            at = answer["baseOffset"]
            self.counts["batches appended"] += 1
            for batch in batches_in(data, start=0, expected_offset=None):
                self.acknowledged[at] = data[batch.position + HEADER.size : batch.end_position]
                at += batch.last_offset - batch.base_offset + 1

    async def _crowd(self) -> None:
        """Opens more connections at once than a replica takes. Afterwards it serves as before."""

        async def one() -> None:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, self.quorum.leader.port)
                crowd.append(writer)

        crowd: list[asyncio.StreamWriter] = []
        await asyncio.gather(*(one() for _ in range(CROWD)))
        self.counts["crowd"] = len(crowd)
        for writer in crowd:
            writer.transport.abort()

    def judge(self, elections: list[bytes]) -> None:
        """Judges the logs at the end, after followers stopped in order. elections: quorum-state of
        each replica before the attack."""
        quorum = self.quorum
        assert _elections(quorum) == elections, "somebody's message changed a vote or an epoch"
        for replica in quorum.replicas.values():
            replica.assert_sound()
        for replica in quorum.followers:
            assert replica.stop() == 0, replica.said[-5000:]
        quorum.leader.kill()
        log = quorum.leader.log
        for replica in quorum.followers:
            assert log.startswith(replica.log), f"{replica.node_id} holds other bytes"
        committed = min(len(replica.log) for replica in quorum.followers)
        found = judged(log[:committed], quorum.voters)
        foreign = found.foreign
        for offset, data in self.acknowledged.items():
            assert foreign.get(offset) == data, f"what was acknowledged at {offset} isn't there"
        for offset, data in foreign.items():
            assert hash(data) in self.offered, f"nobody sent what is at {offset}"
        self.counts["foreign batches in the log"] = len(foreign)
        self.counts["voter set updates by voters themselves"] = found.voter_updates

    def assert_bounded(self) -> None:
        """Asserts that no replica's resident memory has grown by MOST_GROWTH_KIB or more since a
        tenth of the frames were sent."""
        for which in range(len(self.quorum.replicas)):
            settled = [s.resident[which] for s in self.samples if s.frames >= self.sent // 10]
            grown = max(settled) - settled[0]
            assert grown < MOST_GROWTH_KIB, f"replica {which} of a sample grew by {grown} KiB"


def _record_sets(request: WireRequest) -> list[bytes]:
    """The records of each partition of a Produce."""
    if request.api is not PRODUCE:
        return []
    return [
        each.get("records") or b""
        for topic in request.message["topicData"]
        for each in topic["partitionData"]
    ]


def _record_bytes(data: bytes) -> list[bytes]:
    """The bytes of each batch without its header, where batches can be told apart."""
    found = []
    with contextlib.suppress(DataError):
        for batch in batches_in(data, start=0, expected_offset=None, check_crc=False):
            found.append(data[batch.position + HEADER.size : batch.end_position])
    return found


def _elections(quorum: Quorum) -> list[bytes]:
    return [replica.election for replica in quorum.replicas.values()]


def attack(folder: Path, seed: int, frames: int, most_s: float = 1e9) -> Attack:
    """Runs the whole campaign. Raises where anything was broken."""
    with Quorum(folder) as quorum:
        campaign = Attack(quorum, seed, frames, most_s)
        elections = _elections(quorum)
        asyncio.run(campaign.run())
        campaign.judge(elections)
    campaign.assert_bounded()
    return campaign


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=1e9, help="end then, with what there is")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left running
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        campaign = attack(Path(folder), options.seed, options.frames, options.minutes * 60)
    text = _report(campaign)
    sys.stdout.write(text)
    if options.write:
        with RESULTS.open("a", encoding="utf-8") as results:
            results.write(text)
    return 0


def _report(campaign: Attack) -> str:
    samples = campaign.samples
    last = samples[-1]
    lines = [
        f"\n{datetime.now(UTC).date()}, seed {campaign.seed}: {campaign.sent:,} frames in "
        f"{last.at_s:.0f} s, {len(samples)} looks; all readers were served, and all "
        f"voters had caught up, after {max(s.waited_s for s in samples):.2f} s at most; high "
        f"watermark {last.committed:,}.",
        "",
        "| replica | at the start | a tenth | half | the end | peak | slope of the last half |",
        "|---|---|---|---|---|---|---|",
    ]
    for which, name in enumerate(("leader", "follower", "follower")):
        memory = [sample.resident[which] / 1024 for sample in samples]
        cells = [memory[0], memory[len(memory) // 10], memory[len(memory) // 2], memory[-1]]
        shown = " | ".join(f"{cell:.1f} MiB" for cell in (*cells, max(memory)))
        lines.append(f"| {name} | {shown} | {_slope(samples, which):+.2f} MiB/100,000 frames |")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in campaign.counts.most_common())
    return "\n".join((*lines, "", f"{kinds}.", ""))


def _slope(samples: list[Sample], which: int) -> float:
    """The slope by least squares over the last half, in MiB for 100,000 frames."""
    points = [(s.frames / 1e5, s.resident[which] / 1024) for s in samples[len(samples) // 2 :]]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((px - x) ** 2 for px, _ in points)
    return sum((px - x) * (py - y) for px, py in points) / spread if spread else 0.0


if __name__ == "__main__":
    sys.exit(main())
