"""meta.properties: who a log directory belongs to (Kafka: MetaProperties, KIP-631 and KIP-858).

A Java properties file. Version 0 (ZooKeeper times) has broker.id and maybe cluster.id; version 1
has node.id, cluster.id and, from Kafka 3.7 on, directory.id. Comments, order and unknown keys are
kept, so encoding gives the same bytes back.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.text_file import integer, text_of
from replica.types import ZERO_UUID, ReplicaId

FILE_NAME = "meta.properties"
_MAX_NODE_ID = 2**31 - 1
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """lines: the file's lines without their line breaks; properties: key -> value, unescaped."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str
    properties: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]

    @property
    def replica(self) -> ReplicaId | None:
        """The replica named here, None where cluster or node id is missing."""
        if self.cluster_id is None or self.node_id is None:
            return None
        return ReplicaId(self.cluster_id, self.node_id, self.directory_id)


def decode(data: bytes) -> MetaProperties:
    """Raises DataError naming the byte of the line that can't be read."""
    text = text_of(data)
    lines = tuple(text.split("\n"))
    properties: dict[str, str] = {}
    positions: dict[str, int] = {}
    position = 0
    for line in lines:
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            key, value = _key_and_value(stripped, position)
            properties[key] = value
            positions[key] = position
        position += len(line.encode("utf-8")) + 1
    if "version" not in properties:
        raise CorruptDataError("no version property", 0)
    version = integer(properties["version"], positions["version"], "version", 0, _MAX_NODE_ID)
    if version > 1:
        raise UnsupportedDataError(f"version {version}, expected 0 or 1", positions["version"])
    id_key = "node.id" if version == 1 else "broker.id"
    node_id = None
    if id_key in properties:
        node_id = integer(properties[id_key], positions[id_key], id_key, 0, _MAX_NODE_ID)
    return MetaProperties(
        version,
        properties.get("cluster.id"),
        node_id,
        properties.get("directory.id", ZERO_UUID),
        tuple(properties.items()),
        lines,
    )


def encode(meta: MetaProperties) -> bytes:
    """The file's bytes, from `lines`."""
    return "\n".join(meta.lines).encode("utf-8")


def new_meta_properties(replica: ReplicaId, comments: tuple[str, ...] = ()) -> MetaProperties:
    """Version 1 for a replica, with the given comment lines (without '#') on top."""
    properties = {
        "node.id": str(replica.node_id),
        "directory.id": replica.directory_id,
        "version": "1",
        "cluster.id": replica.cluster_id,
    }
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{key}={_escape(value)}" for key, value in properties.items()]
    return MetaProperties(
        1,
        replica.cluster_id,
        replica.node_id,
        replica.directory_id,
        tuple(properties.items()),
        (*lines, ""),
    )


def _key_and_value(line: str, position: int) -> tuple[str, str]:
    """A line split at the first unescaped '=', ':' or blank, as java.util.Properties does."""
    index = 0
    while index < len(line) and line[index] not in "=: \t\f":
        index += 2 if line[index] == "\\" else 1
    rest = line[index:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return _unescape(line[:index], position), _unescape(rest, position)


def _unescape(text: str, position: int) -> str:
    out = []
    index = 0
    while index < len(text):
        char = text[index]
        if char != "\\":
            out.append(char)
            index += 1
            continue
        escaped = text[index + 1 : index + 2]
        if escaped == "u":
            digits = text[index + 2 : index + 6]
            try:
                out.append(chr(int(digits, 16)))
            except ValueError as error:
                raise CorruptDataError(f"bad escape \\u{digits}", position) from error
            index += 6
            continue
        out.append(_ESCAPES.get(escaped, escaped))
        index += 2
    return "".join(out)


def _escape(value: str) -> str:
    return "".join(f"\\{char}" if char in "\\=:#!" else char for char in value)
