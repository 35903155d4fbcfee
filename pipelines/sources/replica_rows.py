"""A metadata directory's facts besides its records: its small files, its snapshots, and the
findings of `kraftlake check` without a replay."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.bronze.findings import judged, rows_of
from pipelines.bronze.small_tables import snapshot_values, state_values
from pipelines.capture.inputs import inputs
from pipelines.capture.spool import Spool
from pipelines.object_store import is_uri, shown_uri
from pipelines.sources.files import Owner
from pipelines.sources.rows import owner_values
from replica.doctor.check.directory import gather
from replica.doctor.check.examined import Examined, examine
from replica.errors import UnreadableFileError
from replica.format.control import KRaftVoters
from replica.format.discovery import DirectoryPath
from replica.model.keys import ReplicaId

Row = dict[str, Any]


def replica_row(folder: str, given: ReplicaId | None = None, *, with_findings: bool = True) -> Row:
    """The row of kraft_replica. folder: a metadata directory, as an absolute path or a URI. given:
    the replica where no meta.properties names it. with_findings: False leaves `findings` None,
    which saves reading the records.

    Raises UnreadableFileError and UsageError where the folder can't be read.
    """
    shown = shown_uri(folder) if is_uri(folder) else folder
    with _examined(folder, shown) as examined:
        directory = examined.directory
        return {
            **owner_values(Owner(shown, directory.replica or given)),
            "is_fragment": directory.is_fragment,
            "log_start_offset": directory.log_start_offset,
            "log_end_offset": directory.log_end_offset,
            "first_offset": directory.first_offset,
            **state_values(directory),
            "snapshots": [*_snapshots(examined)],
            "findings": [*rows_of(examined, judged(gather(examined)))] if with_findings else None,
        }


def _snapshots(examined: Examined) -> Iterator[Row]:
    for snapshot in examined.directory.snapshots:
        if snapshot.id is not None:
            control = examined.control_records(snapshot)
            yield {
                **snapshot_values(snapshot),
                "file": examined.shown_file(snapshot.file.path),
                "voters": [one.value for _, one, said in control if isinstance(said, KRaftVoters)],
            }


@contextmanager
def _examined(folder: str, shown: str) -> Iterator[Examined]:
    if not is_uri(folder):
        yield examine(DirectoryPath(folder, folder))
        return
    bare, mark, query = folder.partition("?")
    with tempfile.TemporaryDirectory() as place, Spool(Path(place, "copies")) as spool:
        node = os.path.dirname(bare) + mark + query
        for given in inputs([node], spool, []):
            for found in given.find(spool, []):
                if isinstance(found, DirectoryPath) and found.shown == shown:
                    yield examine(found)
                    return
    raise UnreadableFileError(shown, "no metadata directory is there any more")
