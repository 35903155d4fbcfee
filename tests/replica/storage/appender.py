"""A process that does to a log everything that a replica does, without end, and prints on stdout
what is safe. Tests kill it.

`python -m tests.replica.storage.appender FOLDER SEED`. Before it begins something it prints `doing
WHAT`. Once the disk has it, it prints `end OFFSET EPOCH` (the log below OFFSET is safe, its last
entry is of EPOCH), `vote EPOCH` or `snapshot OFFSET EPOCH`. Before a truncation it prints `keep
OFFSET EPOCH`, the part that is safe from now on. What it writes follows from offset and epoch
alone, so that tests can check it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from random import Random

from replica.history.epochs import epoch_for_offset
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import batch, leader_change

CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
PARTITION = "__cluster_metadata-0"
SNAPSHOT_VALUES = 40
ACTIONS = ("append",) * 6 + ("vote", "truncate", "elect", "snapshot")


def batch_at(offset: int, epoch: int, *, starts_epoch: bool) -> Batch:
    """The only batch that is ever written at this offset in this epoch."""
    if starts_epoch:
        return leader_change(offset, epoch)
    return batch(offset, epoch=epoch, size=(10, 300, 900)[(offset + epoch) % 3])


def vote_of(epoch: int) -> ElectionState:
    """The vote of an epoch, in both versions of the file by turns."""
    return ElectionState(
        epoch, voted=ReplicaKey(epoch % 3), kraft_version=epoch % 2, voter_ids=(0, 1, 2)
    )


def snapshot_values(snapshot_id: OffsetAndEpoch) -> Iterator[bytes]:
    for number in range(SNAPSHOT_VALUES):
        yield b"%d-%d-%d" % (snapshot_id.offset, snapshot_id.epoch, number) * 100


class Appender:
    """The appender. epoch: of the log; a truncation always begins a new epoch, as in Raft."""

    def __init__(self, folder: str, seed: int) -> None:
        self.random = Random(seed)
        files, partition = LocalDisk(), f"{folder}/{PARTITION}"
        say("doing open")
        self.log: FileLog = open_log(files, partition, CONFIG)
        self.votes = QuorumStateFile(files, partition)
        self.voted = self.votes.read()
        known = [entry.epoch for entry in self.log.facts().epochs]
        self.epoch = max([0, *known, *(id.epoch for id in self.log.snapshots)])

    def run(self) -> None:
        """Continues from the end of the log, in a new epoch."""
        self.elect()
        while True:
            action = self.random.choice(ACTIONS)
            say(f"doing {action}")
            getattr(self, action)()

    def append(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            end = self.log.log_end
            self.log.append([batch_at(end, self.epoch, starts_epoch=False)])
        self.flush()

    def elect(self) -> None:
        self.epoch += 1
        self.log.append([batch_at(self.log.log_end, self.epoch, starts_epoch=True)])
        self.flush()

    def vote(self) -> None:
        epoch = 1 if self.voted is None else self.voted.epoch + 1
        self.voted = vote_of(epoch)
        self.votes.write(self.voted)
        say(f"vote {epoch}")

    def truncate(self) -> None:
        least = max([self.log.log_start, *(id.offset for id in self.log.snapshots)])
        end = self.random.randint(max(least, self.log.log_end - 60), self.log.log_end)
        self.say_end("keep", end)
        self.log.truncate_to(end)
        self.elect()

    def snapshot(self) -> None:
        end = self.log.log_end
        if end == self.log.log_start:
            return
        snapshot_id = OffsetAndEpoch(end, self.log.facts().epochs[-1].epoch)
        writer = self.log.snapshots.write(snapshot_id, 1, ())
        for value in snapshot_values(snapshot_id):
            writer.append([value])
        writer.freeze()
        say(f"snapshot {end} {snapshot_id.epoch}")
        say("doing trim")
        self.log.advance_log_start(end)
        self.log.snapshots.delete_before(snapshot_id)

    def flush(self) -> None:
        self.log.flush()
        self.say_end("end", self.log.log_end)

    def say_end(self, what: str, end: int) -> None:
        entries = self.log.facts().epochs
        epoch = epoch_for_offset(entries, end - 1) if end > self.log.log_start else None
        say(f"{what} {end} {-1 if epoch is None else epoch}")


def say(line: str) -> None:
    """Prints a line in one write, without buffers, so that what was printed before the kill can be
    read after it."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    with DirectoryLock(sys.argv[1]):
        Appender(sys.argv[1], int(sys.argv[2])).run()
