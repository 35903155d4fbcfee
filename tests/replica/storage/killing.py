"""Kills the appender with SIGKILL at random moments, and judges what it leaves."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from replica.format.batch import decode_header
from replica.format.directory import read_directory
from replica.format.record import records_of
from replica.history.epochs import epoch_for_offset
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.storage.batches import bytes_of
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from tests.replica.storage.appender import (
    CONFIG,
    PARTITION,
    batch_at,
    snapshot_values,
    vote_of,
)

ROOT = Path(__file__).parents[3]
LONGEST_LIFE_S = 0.3


@dataclass
class Killing:
    """Rounds on one log directory. counts: what the kills met (`doing X`, `torn`, `rolled`, ...).

    end, epoch: what was promised about the log. vote: the last epoch in which a vote was promised.
    snapshot: the last snapshot that was called complete.
    """

    folder: Path
    random: Random
    end: int = 0
    epoch: int = -1
    vote: int = 0
    snapshot: OffsetAndEpoch | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def partition(self) -> str:
        return f"{self.folder}/{PARTITION}"

    def round(self) -> None:
        """Runs one process, kills it, and compares everything that it printed with what is on the
        disk."""
        self._hear(self._killed())
        self._judge_before_opening()
        with DirectoryLock(str(self.folder)):
            log = open_log(LocalDisk(), self.partition, CONFIG)
            self._judge_log(log)
            self._judge_snapshots(log)
            self._judge_vote()
            self.counts["repaired"] += bool(log.repairs)
            log.close()
        self.counts["rounds"] += 1

    def _killed(self) -> list[str]:
        seed = str(self.random.randrange(2**31))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.replica.storage.appender", str(self.folder), seed],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(self.random.uniform(0, LONGEST_LIFE_S))
        process.kill()
        rest = process.stdout.read()
        process.stdout.close()
        assert process.wait() == -9
        return (first + rest).decode().split("\n")[:-1]

    def _hear(self, lines: list[str]) -> None:
        doing = ""
        for line in lines:
            what, *rest = line.split()
            match what:
                case "doing":
                    doing = rest[0]
                case "end" | "keep":
                    self.end, self.epoch = map(int, rest)
                case "vote":
                    self.vote = int(rest[0])
                case "snapshot":
                    self.snapshot = OffsetAndEpoch(*map(int, rest))
            if what != "doing":
                self.counts[f"{what} said"] += 1
        self.counts[f"killed in {doing}"] += 1

    def _judge_before_opening(self) -> None:
        """Check, before the log is opened, that a reader of its directory sees everything that was
        promised."""
        if not Path(self.partition).is_dir():
            return
        found = read_directory(self.partition)
        assert (found.log_end_offset or 0) >= self.end
        if found.segments and found.segments[-1].file.size_bytes == 0:
            self.counts["newest segment empty"] += 1

    def _judge_log(self, log: FileLog) -> None:
        epochs = log.facts().epochs
        assert log.log_end >= self.end
        if self.end > log.log_start and self.epoch >= 0:
            assert epoch_for_offset(epochs, self.end - 1) == self.epoch
        at = log.log_start
        seen: list[EpochStart] = []
        for found in log.batches(log.log_start, log.log_end):
            assert found.base_offset == at
            starts = bool(found.control)
            assert found.data == bytes_of(batch_at(at, found.epoch, starts_epoch=starts))
            if not seen or found.epoch > seen[-1].epoch:
                assert starts or not seen, "an epoch begins with its leader's record"
                seen.append(EpochStart(found.epoch, at))
            at = found.end_offset
        assert at == log.log_end
        assert tuple(seen) == epochs if seen else len(epochs) <= 1
        self.end = log.log_end
        self.epoch = seen[-1].epoch if seen else -1
        self.counts["records kept"] = log.log_end

    def _judge_snapshots(self, log: FileLog) -> None:
        there = list(log.snapshots)
        if self.snapshot is not None:
            assert there, "a complete snapshot vanished"
            assert there[-1].offset >= self.snapshot.offset
        for snapshot_id in there:
            values = [
                record.value
                for batch in log.snapshots.batches(snapshot_id)
                if not (header := decode_header(batch.data)).is_control
                for record in records_of(header, batch.data)
            ]
            assert values == list(snapshot_values(snapshot_id))
        self.counts["snapshots there"] += len(there)

    def _judge_vote(self) -> None:
        """Check that the disk has the last vote that was printed, or the next vote, which was being
        written."""
        voted = QuorumStateFile(LocalDisk(), self.partition).read()
        if voted is None:
            assert self.vote == 0
            return
        assert self.vote <= voted.epoch <= self.vote + 1
        wanted = vote_of(voted.epoch)
        assert (voted.epoch, voted.voted, voted.leader_id) == (
            wanted.epoch,
            wanted.voted,
            wanted.leader_id,
        )
        self.counts["vote written, not said"] += voted.epoch > self.vote
        self.vote = voted.epoch
