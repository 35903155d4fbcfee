"""meta.properties: who a log directory belongs to (Kafka: MetaProperties, KIP-631 and KIP-858).

A Java properties file. Version 0 (ZooKeeper times) has broker.id and maybe cluster.id; version 1
has node.id, cluster.id and, from Kafka 3.7 on, directory.id. Comments, order and unknown keys are
kept, so encoding gives the same bytes back. Java reads such files as Latin-1, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.primitives import uuid_bytes
from replica.format.text_file import integer
from replica.types import ZERO_UUID, ReplicaId

FILE_NAME = "meta.properties"
_MAX_NODE_ID = 2**31 - 1
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {char: f"\\{name}" for name, char in _ESCAPES.items()}
_BLANKS = " \t\f"
_ENCODING = "latin-1"
_NATURAL_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_UNICODE_ESCAPE = re.compile(r"[0-9A-Fa-f]{4}")


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """lines: the file's text, split at \\n; properties: key -> value, unescaped."""

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
    text = data.decode(_ENCODING)
    properties: dict[str, str] = {}
    positions: dict[str, int] = {}
    for position, line in _logical_lines(text):
        key, value = _key_and_value(line, position)
        properties[key] = value
        positions[key] = position
    if "version" not in properties:
        raise CorruptDataError("no version property", 0)
    version = integer(properties["version"], positions["version"], "version", 0, _MAX_NODE_ID)
    if version > 1:
        raise UnsupportedDataError(f"version {version}, expected 0 or 1", positions["version"])
    id_key = "node.id" if version == 1 else "broker.id"
    node_id = None
    if id_key in properties:
        node_id = integer(properties[id_key], positions[id_key], id_key, 0, _MAX_NODE_ID)
    directory_id = properties.get("directory.id", ZERO_UUID)
    try:
        uuid_bytes(directory_id)
    except CorruptDataError as error:
        raise CorruptDataError(f"directory.id {error.reason}", positions["directory.id"]) from error
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
    return "\n".join(meta.lines).encode(_ENCODING)


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


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(byte position, line) without blank lines and comments; a last backslash joins two lines."""
    joined, start = "", 0
    for match in _NATURAL_LINE.finditer(text):
        line = match[1].lstrip(_BLANKS)
        if not joined:
            start = match.start()
            if not line or line[0] in "#!":
                continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2 and match.end() < len(text):
            joined += line[:-1]
            continue
        yield start, joined + line
        joined = ""


def _key_and_value(line: str, position: int) -> tuple[str, str]:
    """A line split at the first unescaped '=', ':' or blank, as java.util.Properties does."""
    index = 0
    while index < len(line) and line[index] not in f"=:{_BLANKS}":
        index += 2 if line[index] == "\\" else 1
    rest = line[index:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
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
            if _UNICODE_ESCAPE.fullmatch(digits) is None:
                raise CorruptDataError(f"bad escape \\u{digits}", position)
            out.append(chr(int(digits, 16)))
            index += 6
            continue
        out.append(_ESCAPES.get(escaped, escaped))
        index += 2
    try:
        # Java's characters are UTF-16 units: two escapes may make one character
        return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise CorruptDataError("an escape is half a character", position) from error


def _escape(value: str) -> str:
    escaped = "".join(_escape_char(char) for char in value)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_char(char: str) -> str:
    if char in "\\=:#!":
        return f"\\{char}"
    if char in _ESCAPED:
        return _ESCAPED[char]
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
