"""Which replica a directory belongs to, and which directories were captured together, for ingest
and check."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from replica.errors import DataError, UnreadableFileError, UsageError
from replica.format import capture, meta_properties
from replica.format.discovery import DirectoryPath
from replica.format.reading import MAX_STATE_BYTES, read_own_file
from replica.model.keys import ZERO_UUID, ReplicaId
from replica.words import listed

_REPLICA = re.compile(r"(?P<cluster>[^:]+):(?P<node>[0-9]{1,10})(:(?P<directory>[^:]+))?")
_MAX_NODE_ID = 2**31 - 1


def batch_of(location: DirectoryPath, argument: str, order: Sequence[str]) -> str:
    """The text that identifies the group: the name in --order, else the path of the capture.json
    beside the directory, else "".

    argument: the user's path below which the directory lies. Raises UsageError where it lies in no
    folder of --order.
    """
    if not order:
        return file_beside(location, capture.FILE_NAME) or ""
    given = Path(argument).parts or (os.path.basename(os.getcwd()),)
    parts = given + Path(os.path.relpath(location.shown, argument)).parts
    named = [part for part in parts if part in order]
    if not named:
        names = ",".join(order)
        raise UsageError(f"--order {names}: {location.shown} lies in none of these folders")
    return named[-1]


def captured_at(batch: str) -> datetime:
    """The time of a batch. batch: the path of the capture.json that its directories share; "" for
    directories without one. Where no time can be read, the time is the first possible one, so that
    such a batch comes before all others."""
    try:
        return capture.decode(read_own_file(batch, MAX_STATE_BYTES)).captured_at
    except (UnreadableFileError, DataError):
        return datetime.min.replace(tzinfo=UTC)


def file_beside(location: DirectoryPath, name: str) -> str | None:
    """The file with this name in the node's folder, or in the folder above it. None where neither
    has it."""
    node_folder = os.path.dirname(os.path.abspath(location.path))
    for folder in (node_folder, os.path.dirname(node_folder)):
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            return path
    return None


def replica_at(path: str) -> ReplicaId | None:
    """The replica of a directory, by the meta.properties in it or in the folder above it. None
    where neither can be read."""
    for folder in (path, os.path.dirname(os.path.abspath(path))):
        try:
            data = read_own_file(os.path.join(folder, meta_properties.FILE_NAME), MAX_STATE_BYTES)
            return meta_properties.decode(data).replica
        except (UnreadableFileError, DataError):
            continue
    return None


def parse_replica(text: str, option: str = "--as ") -> ReplicaId:
    """The replica in CLUSTER:NODE[:DIRECTORY]. option: the option before the text, for the message.
    Without DIRECTORY, the directory id is the zero UUID. Raises UsageError for a text of another
    form."""
    match = _REPLICA.fullmatch(text)
    if match is None or int(match["node"]) > _MAX_NODE_ID:
        raise UsageError(f"{option}{text}: expected CLUSTER:NODE[:DIRECTORY], such as MkU3OEVB:1")
    return ReplicaId(match["cluster"], int(match["node"]), match["directory"] or ZERO_UUID)


def refuse_unused(order: Sequence[str], batches: Collection[str]) -> None:
    """Raises UsageError for a name in --order that is the folder of no directory. batches: the
    names of the folders in which directories lie."""
    unused = [name for name in order if name not in batches]
    if unused:
        raise UsageError(f"--order: no directory lies in a folder called {', '.join(unused)}")


class AmbiguousOrderError(UsageError):
    """Two captures of one replica in unknown order; `captures` names them."""

    def __init__(self, captures: str, hint: str) -> None:
        super().__init__(f"{captures}: {hint}")
        self.captures = captures


def ambiguous_order(one: str, other: str, node_id: int) -> AmbiguousOrderError:
    """The error for two captures of one replica in unknown order, by their shown names."""
    names = _differing_parts(one, other)
    folders = f" (as {listed(names)} are)" if names else ""
    return AmbiguousOrderError(
        f"{one} and {other} are captures of the same replica (node {node_id})",
        "nothing says which is older: --order OLDEST,...,NEWEST names the folders of all captures"
        f"{folders} in their order of time",
    )


def _differing_parts(one: str, other: str) -> list[str]:
    """The names of the folders in which the paths of two directories differ, as --order takes them.
    Where one capture lies within the other's folder, this folder and the inner one. Empty where one
    of the paths is above the other."""
    first, second = Path(one).parts, Path(other).parts
    pairs = zip(first, second, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common == min(len(first), len(second)):
        return []
    if len(first) == len(second):
        return [first[common], second[common]]
    outer = first[common - 1] if common else os.path.basename(os.getcwd())
    return [outer, max(first, second, key=len)[common]]
