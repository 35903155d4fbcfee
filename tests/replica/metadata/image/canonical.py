"""Records of a snapshot, sorted for comparison, because Kafka's hash maps give
them in any order."""

from __future__ import annotations

from collections.abc import Iterable

from replica.metadata.image.kind import compact
from replica.metadata.image.registrations import by_name
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.record import MetadataRecord


def canonical(records: Iterable[ReplayedRecord]) -> list[tuple[str, int, str]]:
    """(type, version, fields) of each metadata record, sorted. Lists whose order has no meaning are
    sorted too."""
    return sorted(_canonical(record) for record in records if isinstance(record, MetadataRecord))


def _canonical(record: MetadataRecord) -> tuple[str, int, str]:
    fields = dict(record.fields)
    for name in ("endPoints", "features"):
        if name in fields:
            fields[name] = by_name(fields[name])  # type: ignore[arg-type, assignment]
    for name in ("cordonedLogDirs", "logDirs", "renewers"):
        if fields.get(name) is not None:
            fields[name] = tuple(sorted(fields[name]))  # type: ignore[arg-type, type-var]
    if "entity" in fields:
        fields["entity"] = tuple(sorted(fields["entity"], key=compact))  # type: ignore[arg-type]
    return record.type, record.version, compact(fields)
