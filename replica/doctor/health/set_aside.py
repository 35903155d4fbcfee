"""Folders of partitions that a broker has marked for deletion or put aside, beside the metadata
logs that were given. Where the logs have two histories, these folders may hold the only records of
topics that one history lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from replica.doctor.check.examined import Examined
from replica.format.discovery import DirectoryPath
from replica.format.partition_folders import FolderState, folders_beside
from replica.words import counted, named

_SHOWN = 5


class SetAside(NamedTuple):
    """A folder that ends with -delete or -stray."""

    node: int
    topic: str
    state: FolderState


def set_aside_in(members: Iterable[Examined]) -> Iterator[SetAside]:
    """The folders beside these metadata logs that end with -delete or -stray."""
    for one in members:
        where = one.location
        if isinstance(where, DirectoryPath) and one.replica is not None and one.is_directory:
            for topic, _, state in folders_beside(where.path):
                if state in (FolderState.DELETED, FolderState.STRAY):
                    yield SetAside(one.replica.node_id, topic, state)


def set_aside_text(found: Sequence[SetAside]) -> str:
    """Sentences about the folders: their number, and what becomes of them; "" if there are none."""
    return " ".join(
        f"{_folders([one for one in found if one.state is state])}{becomes}"
        for state, becomes in (
            (FolderState.DELETED, ", which a started broker deletes within a minute "
             "(file.delete.delay.ms)."),
            (FolderState.STRAY, ", which a broker put aside and serves no longer."),
        )
        if any(one.state is state for one in found)
    )  # fmt: skip


def _folders(found: Sequence[SetAside]) -> str:
    nodes = sorted({one.node for one in found})
    topics = sorted({one.topic for one in found})
    who = named("node", [*map(str, nodes)], limit=_SHOWN)
    hold = "holds" if len(nodes) == 1 else "hold"
    state = found[0].state.value
    of_topics = named("topic", topics, limit=_SHOWN)
    return (
        f"{who[0].upper()}{who[1:]} {hold} {counted(len(found), 'folder')} *{state} of {of_topics}"
    )
