"""Entities back from the text that the tables keep: what Kind.key_text and value_text give."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from replica.format.control import KRaftVersion, voters_from_plain
from replica.metadata.image.image import KIND_OF, PLACE_OF, Image
from replica.metadata.image.kind import Kind
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.plain_reader import from_plain
from replica.metadata.record import new_record
from replica.metadata.records import schema_named


class Read(NamedTuple):
    """An entity as State's tables hold it."""

    kind: Kind
    key: Any
    value: Any


def entity_of(kind_name: str, value_text: str) -> Read:
    """The entity with this value; the value's fields say the key too.

    Raises CorruptDataError, or KeyError, for what this release doesn't write.
    """
    kind, fields = KIND_OF[kind_name], json.loads(value_text)
    replay = Replay()
    if kind_name == "partition":
        # it has to have a topic
        topic = {"name": "", "topicId": fields["topicId"]}
        replay.apply(0, new_record("TOPIC_RECORD", 0, topic))
    replay.apply(0, _record(kind, fields))
    ((key, value),) = getattr(replay.state, kind.table).values.items()
    return Read(kind, key, value)


def image_of(entities: Iterable[tuple[str, str, int | None]]) -> Image:
    """The image with these entities: kind, value, and offset of the record that last changed each,
    None for one from before the log at hand (told as -1).

    Raises as entity_of; of a partition also where its topic is missing.
    """
    replay = Replay()
    for kind_name, value_text, offset in sorted(entities, key=lambda one: PLACE_OF[one[0]]):
        record = _record(KIND_OF[kind_name], json.loads(value_text))
        replay.apply(-1 if offset is None else offset, record)
    return replay.image()


def _record(kind: Kind, fields: dict[str, Any]) -> ReplayedRecord:
    if kind.record_type == "KRAFT_VOTERS":
        return voters_from_plain(fields)
    if kind.record_type == "KRAFT_VERSION":
        return KRaftVersion(0, fields["kRaftVersion"])
    return from_plain(kind.record_type, schema_named(kind.record_type).newest, fields)
