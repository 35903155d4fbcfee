"""Writes a capture as folders: DIR/NODE/meta.properties and DIR/NODE/__cluster_metadata-0/... for
each node, and DIR/capture.json."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from replica.errors import UsageError
from replica.format import capture as capture_file
from replica.simulate.scenarios.quorum import Capture


def write_capture(capture: Capture, directory: str) -> None:
    """Write a capture. A new folder is written as a whole or not at all; an empty folder that
    exists is filled node by node.

    Raises UsageError for a folder that isn't empty and for a file, and OSError if the operating
    system fails to write.
    """
    refuse_filled(directory)
    target = Path(directory)
    above = target.resolve().parent
    above.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.resolve().name}-", dir=above))
    try:
        whole = made / "capture"
        _write(capture, whole)
        if target.is_dir():
            for each in sorted(whole.iterdir()):
                os.replace(each, target / each.name)
        else:
            os.replace(whole, target)
    finally:
        shutil.rmtree(made)


def refuse_filled(directory: str) -> None:
    """Raises UsageError for a folder that isn't empty, and for a file."""
    target = Path(directory)
    if target.exists() and not target.is_dir():
        raise UsageError(f"{directory}: a file; name a new folder")
    if target.is_dir() and any(target.iterdir()):
        raise UsageError(f"{directory}: not empty; name a new folder")


def captured_at(capture: Capture) -> datetime:
    """The time of the capture, in UTC."""
    return datetime.fromtimestamp(capture.captured_at_ms / 1000, UTC)


def files_of(capture: Capture) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) for each file. A path is relative to the capture's folder, with '/' between its
    parts."""
    for node_id, files in capture.files.items():
        for path, data in files.items():
            yield f"{node_id}/{path}", data
    info = capture_file.CaptureInfo(captured_at(capture))
    yield capture_file.FILE_NAME, capture_file.encode(info)


def _write(capture: Capture, directory: Path) -> None:
    for path, data in files_of(capture):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
