"""Makes entities from the JSON texts that EntityKind.value_text has written into tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from replica.errors import CorruptDataError
from replica.format.control import KRaftVersion, voters_from_plain
from replica.metadata.image.image import KIND_OF, PLACE_OF, Image
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.partition import RefusedPartitionError, registered
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.metadata.json_text import from_plain
from replica.metadata.record import MetadataRecord
from replica.metadata.records import RECORDS_BY_NAME


class StoredEntity(NamedTuple):
    """An entity as State's tables hold it."""

    kind: EntityKind
    key: Any
    value: Any


def entity_of(kind_name: str, value_text: str) -> StoredEntity:
    """The entity with this value, whose fields include the key.

    Raises CorruptDataError for a text that kraftlake doesn't write: anybody may have written the
    table.
    """
    kind = _kind(kind_name)
    record = _record(kind, value_text)
    if isinstance(record, MetadataRecord) and kind_name == "partition":
        return _partition(kind, record.fields)
    replay = Replay()
    replay.apply(0, record)
    entities = getattr(replay.state, kind.table).values
    if len(entities) != 1:
        raise _foreign(kind)
    ((key, value),) = entities.items()
    return StoredEntity(kind, key, value)


def _partition(kind: EntityKind, fields: Mapping[str, Any]) -> StoredEntity:
    """The partition with these fields, without a check that its topic exists."""
    try:
        value = registered(fields)
    except RefusedPartitionError as error:
        raise _foreign(kind) from error
    return StoredEntity(kind, (fields["topicId"], fields["partitionId"]), value)


def _foreign(kind: EntityKind) -> CorruptDataError:
    return CorruptDataError(f"the value of a {kind.name} is not one that kraftlake writes")


def image_of(entities: Iterable[tuple[str, str, int | None]]) -> Image:
    """The image with these entities. Each has a kind, a value, and the offset of the record that
    last changed the entity. The offset is None if this record is below the log's start; the image
    then has the offset -1.

    Raises CorruptDataError for an unknown kind, and for a value that isn't the JSON of its record.
    An entity whose record the replay refuses is left out, such as a partition without its topic.
    """
    replay = Replay()
    for kind_name, value_text, offset in sorted(entities, key=lambda e: PLACE_OF.get(e[0], -1)):
        record = _record(_kind(kind_name), value_text)
        replay.apply(-1 if offset is None else offset, record)
    return replay.image()


def _kind(kind_name: str) -> EntityKind:
    kind = KIND_OF.get(kind_name)
    if kind is None:
        raise CorruptDataError(f"{kind_name!r} is no kind of entity")
    return kind


def _record(kind: EntityKind, value_text: str) -> ReplayedRecord:
    try:
        fields = json.loads(value_text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise CorruptDataError(f"the value of a {kind.name} is no JSON object")
    if kind.record_type == "KRAFT_VOTERS":
        return voters_from_plain(fields)
    if kind.record_type == "KRAFT_VERSION":
        version = fields.get("kRaftVersion")
        if not isinstance(version, int):
            raise CorruptDataError(f"the value of a {kind.name} has no kRaftVersion")
        return KRaftVersion(0, version)
    return from_plain(kind.record_type, RECORDS_BY_NAME[kind.record_type].newest, fields)
