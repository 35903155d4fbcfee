"""Writes the files of a simulated node to its disk, and reads them back."""

from __future__ import annotations

from collections.abc import Mapping

from replica.model.keys import ReplicaId
from replica.simulate.disk import SimulatedDisk
from replica.simulate.host import FOLDER, HOME
from replica.simulate.node import SimulatedMachine
from replica.storage.identity import write_identity

Files = dict[str, bytes]
"""The files of a node: path in its log directory, such as meta.properties -> content."""


def identify(node: SimulatedMachine) -> None:
    """Write meta.properties to an empty disk, with the cluster and the replica of the node's
    config."""
    replica = ReplicaId(node.config.cluster_id, node.node_id, node.local.key.directory_id)
    write_identity(node.disk, HOME, replica)
    node.disk.make_directory(FOLDER)


def put_files(disk: SimulatedDisk, files: Mapping[str, bytes]) -> None:
    """Put the files of a captured node on a disk, unchanged and durable."""
    for path, data in files.items():
        disk.put(f"{HOME}/{path}", data)


def files_on(node: SimulatedMachine) -> Files:
    """The files on a node's disk, including bytes that are written but not yet synced."""
    if node.host is None:
        node.disk.restart()
    with node.disk.inspected():
        return {
            f"{folder}/{name}".removeprefix(f"{HOME}/"): node.disk.content(f"{folder}/{name}")
            for folder in (HOME, FOLDER)
            for name in node.disk.names(folder)
        }
