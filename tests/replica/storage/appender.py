"""A process that appends and votes for ever, and says on stdout what is safe; made to be killed.

`python -m tests.replica.storage.appender FOLDER SEED`: lines `end OFFSET` and `vote EPOCH`, each
written once the disk has it.
"""

from __future__ import annotations

import os
import sys
from random import Random

from replica.raft.ports import ElectionState
from replica.storage.filesystem import LocalDisk
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from replica.types import OffsetAndEpoch, ReplicaKey
from tests.replica.storage.content import batch

CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
EPOCH = 3
SIZES = (10, 300)


def run(folder: str, seed: int) -> None:
    """Appends on, from wherever the log ends."""
    random = Random(seed)
    log = open_log(LocalDisk(), folder, CONFIG)
    votes = QuorumStateFile(LocalDisk(), folder)
    voted = votes.read()
    epoch = 0 if voted is None else voted.epoch
    while True:
        for _ in range(random.randint(1, 4)):
            log.append([batch(log.log_end, epoch=EPOCH, size=random.choice(SIZES))])
        say(f"end {log.flush()}")
        if random.random() < 0.1:
            epoch += 1
            votes.write(ElectionState(epoch, voted=ReplicaKey(epoch % 3)))
            say(f"vote {epoch}")
        if random.random() < 0.02:
            snapshot_id = OffsetAndEpoch(log.log_end, EPOCH)
            log.snapshots.write(snapshot_id, 1, ()).freeze()
            log.advance_log_start(snapshot_id.offset)
            log.snapshots.delete_before(snapshot_id)


def say(line: str) -> None:
    """In one write, past all buffers: what was said before the kill is read after it."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
