"""meta.properties: the owner of a log directory (Kafka: MetaProperties, KIP-631, KIP-858).

It is a Java properties file. Version 0 (of ZooKeeper clusters) has broker.id and possibly
cluster.id. Version 1 has node.id, cluster.id and, from Kafka 3.7 on, directory.id. Comments, order
and unknown keys are kept, so encoding gives the same bytes back. Java reads such files as Latin-1,
always.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.java_properties import ENCODING, escape, properties_in
from replica.format.text_file import integer
from replica.message.primitives import uuid_bytes
from replica.model.keys import ZERO_UUID, ReplicaId

FILE_NAME = "meta.properties"
_MAX_NODE_ID = 2**31 - 1


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The content of meta.properties."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str
    """The directory id; ZERO_UUID if the file names none."""
    properties: tuple[tuple[str, str], ...]
    """The properties as pairs of key and value, without escapes."""
    lines: tuple[str, ...]
    """The text of the file, split at each newline."""

    @property
    def replica(self) -> ReplicaId | None:
        """The replica that the file names; None if cluster.id or the node's id is missing."""
        if self.cluster_id is None or self.node_id is None:
            return None
        return ReplicaId(self.cluster_id, self.node_id, self.directory_id)


def decode(data: bytes) -> MetaProperties:
    """The properties. Raises DataError with the byte of the line that can't be read."""
    text = data.decode(ENCODING)
    found = {key: (value, position) for position, key, value in properties_in(text)}
    if "version" not in found:
        raise CorruptDataError("no version property", 0)
    version = integer(*found["version"], "version", _MAX_NODE_ID)
    if version > 1:
        raise UnsupportedDataError(f"version {version}, expected 0 or 1", found["version"][1])
    id_key = "node.id" if version == 1 else "broker.id"
    node_id = integer(*found[id_key], id_key, _MAX_NODE_ID) if id_key in found else None
    properties = {key: value for key, (value, _) in found.items()}
    directory_id = properties.get("directory.id", ZERO_UUID)
    try:
        uuid_bytes(directory_id)
    except CorruptDataError as error:
        position = found["directory.id"][1]
        raise CorruptDataError(f"directory.id {error.reason}", position) from error
    return MetaProperties(
        version,
        properties.get("cluster.id"),
        node_id,
        directory_id,
        tuple(properties.items()),
        tuple(text.split("\n")),
    )


def encode(meta: MetaProperties) -> bytes:
    """The file's bytes, from `lines`."""
    return "\n".join(meta.lines).encode(ENCODING)


def new_meta_properties(replica: ReplicaId, comments: tuple[str, ...] = ()) -> MetaProperties:
    """The properties (version 1) of a replica. comments: the first lines of the file, without
    '#'."""
    properties = {
        "node.id": str(replica.node_id),
        "directory.id": replica.directory_id,
        "version": "1",
        "cluster.id": replica.cluster_id,
    }
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{key}={escape(value)}" for key, value in properties.items()]
    return decode("\n".join([*lines, ""]).encode(ENCODING))
