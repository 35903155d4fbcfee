"""The files that replica.storage would write for a disk of the in-memory host."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from random import Random

from replica.format.whole_batch import value_batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.simulate.disk import SimulatedDisk
from replica.storage.filesystem import read_whole
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.raft.host import Disk
from tests.replica.raft.snapshot_text import read_snapshot

FOLDER = "__cluster_metadata-0"
TEXT_FILES = ("quorum-state", "leader-epoch-checkpoint")


def files_of(disk: Disk) -> list[str]:
    """A line for each file that isn't empty: the content of a text file (its lines joined by
    spaces), or the size and the SHA-256 of another file."""
    files = SimulatedDisk(Random(0))
    files.make_directory(FOLDER)
    if disk.state is not None:
        QuorumStateFile(files, FOLDER).write(disk.state)
    assert disk.log_start == 0, "the files of a log that starts later are those of a snapshot"
    log = open_log(files, FOLDER, LogConfig())
    log.append([_encoded(batch) for batch in disk.batches])
    log.flush()
    for data in disk.snapshots.values():
        _write_snapshot(log.snapshots, data)
    log.close()
    return [_line(name, read_whole(files, f"{FOLDER}/{name}", 2**31)) for name in _names(files)]


def _encoded(batch):
    """A data batch with as many records as it has offsets, all of the same value."""
    if batch.control:
        return batch
    values = [batch.data] * (batch.last_offset - batch.base_offset + 1)
    data = value_batch(batch.base_offset, batch.epoch, batch.timestamp, values)
    return replace(batch, data=data)


def _write_snapshot(snapshots, data):
    facts, applied = read_snapshot(data)
    records = []
    if facts.kraft_version:
        records = [KRaftVersion(facts.kraft_version), KRaftVoters(facts.voters)]
    writer = snapshots.write(facts.snapshot_id, facts.timestamp, records)
    writer.append([value for _, value in applied])
    writer.freeze()


def _names(files):
    return [name for name in files.names(FOLDER) if not name.endswith("index")]


def _line(name, content):
    if name in TEXT_FILES:
        return f"{name}: {' '.join(content.decode().split())}"
    return f"{name}: {len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()[:32]}"
