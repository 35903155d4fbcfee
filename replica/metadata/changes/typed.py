"""Compares two versions of an entity and gives the changes between them, by the types of the
catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from replica.metadata.changes.catalogue import CHANGES, Change
from replica.metadata.changes.partitions import partition_changes
from replica.metadata.changes.releases import release_of
from replica.metadata.image.image import KIND_OF
from replica.metadata.image.kind import EntityKind, compact
from replica.metadata.image.settings import METADATA_VERSION


def changes_of(kind: EntityKind, key: Any, old: Any, new: Any) -> list[Change]:
    """The changes from `old` to `new`, which are values of State's tables, or None for no entity.

    Equal values give no changes. The changes are complete: writing the `new` of each change into
    the fields that its type names turns `old` into `new`, except for the epochs of a partition.
    """
    if old is None or new is None or kind.name not in _FIELD_BY_FIELD:
        return list(_as_a_whole(kind, key, old, new))
    return _FIELD_BY_FIELD[kind.name](old, new)


class _Names(NamedTuple):
    """The types of the changes by which an entity of one kind appears, disappears, and gets another
    value. If `removed` or `changed` is "", its changes have the type `created`."""

    created: str
    removed: str = ""
    changed: str = ""


_NAMES = {
    "topic": _Names("topic_created", "topic_deleted", "topic_renamed"),
    "partition": _Names("partition_created", "partition_deleted"),
    "config": _Names("config_set", "config_removed"),
    "broker": _Names("broker_registered", "broker_unregistered"),
    "controller": _Names("controller_registered", "controller_unregistered"),
    "feature": _Names("feature_level_changed", "feature_removed"),
    "acl": _Names("acl_created", "acl_deleted", "acl_changed"),
    "scram": _Names("scram_credential_set", "scram_credential_removed"),
    "client_quota": _Names("quota_set", "quota_removed"),
    "delegation_token": _Names(
        "delegation_token_created", "delegation_token_removed", "delegation_token_changed"
    ),
    "producer_ids": _Names("producer_ids_allocated", "producer_ids_removed"),
    "zk_migration_state": _Names("zk_migration_state_changed"),
    "voters": _Names("voters_changed"),
    "kraft_version": _Names("kraft_version_changed"),
}
_SHOWN_FIELDS = {one.name: one.value for one in CHANGES}


def _as_a_whole(kind: EntityKind, key: Any, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    created, removed, changed = _NAMES[kind.name]
    change = created if old is None else removed if new is None else changed
    change = change or created
    if kind.name == "feature" and key == METADATA_VERSION:
        change = "metadata_version_changed"
    before, after = (
        None if value is None else _told(kind, key, value, change) for value in (old, new)
    )
    if before != after:
        yield Change(change, before, after)


def _told(kind: EntityKind, key: Any, value: Any, change: str) -> str:
    """The JSON of a value for a change of this type: one field, or all fields."""
    if change == "metadata_version_changed":
        return compact(release_of(value))
    shown = _SHOWN_FIELDS[change]
    return compact(kind.fields(key, value)[shown[0]]) if shown else kind.value_text(key, value)


def _broker_changes(old: Any, new: Any) -> list[Change]:
    kind = KIND_OF["broker"]

    def whole(change: str) -> list[Change]:
        return [Change(change, *(kind.value_text(one["brokerId"], one) for one in (old, new)))]

    if old["brokerEpoch"] != new["brokerEpoch"]:
        return whole("broker_registered")
    found: list[Change] = []
    for field, changes in _BROKER_FIELDS.items():
        if old[field] != new[field]:
            before, after = compact(old[field]), compact(new[field])
            found.append(Change(changes[after == "true"], before, after))
    if any(old[field] != new[field] for field in old.keys() - _BROKER_FIELDS.keys()):
        return whole("broker_changed")
    return found


_BROKER_FIELDS = {
    "fenced": ("broker_unfenced", "broker_fenced"),
    "inControlledShutdown": ("broker_shutdown_ended", "broker_shutdown_started"),
    "logDirs": ("broker_directories_changed", ""),
    "cordonedLogDirs": ("broker_cordoned_directories_changed", ""),
}
"""Field -> the names of its changes. A boolean has a name for the change to false and a name for
the change to true; a list has one name."""

_FIELD_BY_FIELD: dict[str, Callable[[Any, Any], list[Change]]] = {
    "partition": partition_changes,
    "broker": _broker_changes,
}
