"""Ways to damage the files of a node as no correct engine does. Each function here returns a
change: a function that takes all files of a node, and returns them with one file changed, renamed
or removed."""

from __future__ import annotations

from collections.abc import Callable

from replica.format import leader_epoch_checkpoint
from replica.format.control import SnapshotHeader
from replica.format.file_names import METADATA_FOLDER
from replica.format.frames import Frame, frames
from replica.format.snapshot import SnapshotName, SnapshotState, format_name, parse_name
from replica.format.whole_batch import control_batch, messages_in
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.simulate.node_files import Files

_FOLDER = f"{METADATA_FOLDER}/"


def flip_bit(path: str, position: int) -> Callable[[Files], Files]:
    """A change that flips the lowest bit of the byte at `position`, as a failing disk does."""

    def change(files: Files) -> Files:
        data = bytearray(files[_FOLDER + path])
        data[position] ^= 1
        return {**files, _FOLDER + path: bytes(data)}

    return change


def flip_bit_of_newest_snapshot(position: int) -> Callable[[Files], Files]:
    return lambda files: flip_bit(_snapshots(files)[-1], position)(files)


def replace_with(path: str, data: bytes) -> Callable[[Files], Files]:
    """A change that replaces the bytes of a file."""
    return lambda files: {**files, _FOLDER + path: data}


def empty_newest_snapshot(files: Files) -> Files:
    """Empty the newest snapshot, as if power was lost when its name was on the disk and its bytes
    were not."""
    return replace_with(_snapshots(files)[-1], b"")(files)


def halve_newest_snapshot(files: Files) -> Files:
    """Cut the newest snapshot after half of its bytes. Returns the files after this change."""
    name = _snapshots(files)[-1]
    data = files[_FOLDER + name]
    return replace_with(name, data[: len(data) // 2])(files)


def stale_newest_snapshot(files: Files) -> Files:
    """Replace the records of the newest snapshot, behind its header, by the records of the previous
    snapshot."""
    older, newest = (files[_FOLDER + name] for name in _snapshots(files)[-2:])
    stale = newest[: _frames(newest)[0].end_position] + older[_frames(older)[0].end_position :]
    return replace_with(_snapshots(files)[-1], stale)(files)


def move_newest_snapshot(by: int) -> Callable[[Files], Files]:
    """A change after which the newest snapshot's name and header say that the snapshot ends `by`
    offsets later, with the same records."""

    def change(files: Files) -> Files:
        name = _snapshots(files)[-1]
        parsed = parse_name(name)
        assert parsed is not None
        moved = OffsetAndEpoch(parsed.id.offset + by, parsed.id.epoch)
        data = _dated(files[_FOLDER + name], _append_time(files, moved.offset - 1))
        rest = {path: each for path, each in files.items() if path != _FOLDER + name}
        return {**rest, _FOLDER + format_name(SnapshotName(moved, SnapshotState.COMPLETE)): data}

    return change


def shift_last_epoch(files: Files) -> Files:
    """Let leader-epoch-checkpoint say that the newest epoch began one offset later than in the
    log."""
    name = leader_epoch_checkpoint.FILE_NAME
    *older, newest = leader_epoch_checkpoint.decode(files[_FOLDER + name])
    shifted = EpochStart(newest.epoch, newest.start_offset + 1)
    return replace_with(name, leader_epoch_checkpoint.encode((*older, shifted)))(files)


def remove_first_segment(files: Files) -> Files:
    """Remove the first segment and its indexes, like a retention that deletes more than the newest
    snapshot allows."""
    first = min(path for path in files if path.endswith(".log")).removesuffix(".log")
    return {path: data for path, data in files.items() if not path.startswith(f"{first}.")}


def _snapshots(files: Files) -> list[str]:
    """The names of complete snapshots, the oldest first."""
    names = (path.removeprefix(_FOLDER) for path in files)
    return sorted(name for name in names if name.endswith(".checkpoint") and parse_name(name))


def _frames(data: bytes) -> list[Frame]:
    return list(frames(data, start=0, expected_offset=None))


def _dated(snapshot: bytes, timestamp: int) -> bytes:
    """A snapshot's bytes with another LastContainedLogTimestamp (ms)."""
    head = _frames(snapshot)[0]
    header, *others = messages_in(snapshot[: head.end_position])
    assert isinstance(header, SnapshotHeader)
    dated = SnapshotHeader(header.version, timestamp)
    batch = control_batch(head.base_offset, head.epoch, head.max_timestamp, [dated, *others])
    return batch + snapshot[head.end_position :]


def _append_time(files: Files, offset: int) -> int:
    """The append time (ms) of the log's record at `offset`."""
    logs = [data for path, data in files.items() if path.endswith(".log")]
    return next(
        frame.max_timestamp
        for data in logs
        for frame in _frames(data)
        if frame.base_offset <= offset <= frame.last_offset
    )
