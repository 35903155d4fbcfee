"""The directory of a recording. As for any replica, its meta.properties says whose directory it is.
The archive lies beside the log."""

from __future__ import annotations

import os
from random import SystemRandom

from replica.errors import UsageError
from replica.format.file_names import ARCHIVE_FOLDER
from replica.format.meta_properties import FILE_NAME
from replica.model.keys import ReplicaId
from replica.node.formatting import check_id, new_uuid
from replica.storage.filesystem import FileSystem
from replica.storage.identity import read_identity, write_identity

LOWEST_ID, IDS = 1_000_000_000, 1_000_000_000
"""An observer to which the user gives no node id draws one of this many ids. They begin far above
the ids that people give their nodes."""


def recorded_replica(files: FileSystem, folder: str, node_id: int | None) -> ReplicaId | None:
    """The replica whose recording `folder` holds. None where the folder is missing or empty.

    Raises UsageError for a directory that no recorder made, or for one of another node id.
    """
    if not os.path.isdir(folder) or not os.listdir(folder):
        return None
    found = read_identity(files, folder)
    # After a crash in make_recording, the directory holds nothing but the archive.
    if found is None and set(os.listdir(folder)) <= {ARCHIVE_FOLDER}:
        return None
    if found is None or not os.path.isdir(f"{folder}/{ARCHIVE_FOLDER}"):
        raise UsageError(f"{folder}: holds files, but no recording; name a new directory by -o")
    if node_id not in (None, found.node_id):
        raise UsageError(
            f"{folder}: recorded as node {found.node_id}: leave --node-id out, or record node "
            f"{node_id} into another directory"
        )
    return found


def new_replica(cluster_id: str, node_id: int | None) -> ReplicaId:
    """The replica of a new recording. Raises UsageError for a malformed cluster id."""
    check_id("cluster id", cluster_id)
    drawn = LOWEST_ID + SystemRandom().randrange(IDS)
    return ReplicaId(cluster_id, drawn if node_id is None else node_id, new_uuid())


def make_recording(files: FileSystem, folder: str, replica: ReplicaId) -> None:
    """Make the archive, then write meta.properties. Both are durable."""
    files.make_directory(f"{folder}/{ARCHIVE_FOLDER}")
    write_identity(files, folder, replica)


def check_cluster(folder: str, recorded: ReplicaId, cluster_id: str | None) -> None:
    """Raises UsageError where the directory holds a recording of another cluster."""
    if cluster_id not in (None, recorded.cluster_id):
        raise UsageError(
            f"{folder}/{FILE_NAME}: recorded cluster {recorded.cluster_id}, these nodes belong to "
            f"{cluster_id}: name another directory by -o"
        )
