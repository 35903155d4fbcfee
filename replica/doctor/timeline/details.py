"""Describes the effect of a change in a few words, for the event of the change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replica.metadata.changes.brokers_seen import is_new_process
from replica.metadata.changes.releases import release_of
from replica.metadata.image.settings import METADATA_VERSION, migration_name
from replica.metadata.redact import is_secret_setting
from replica.words import listed, shortened

OF_DIRECTORIES = ("broker_directories_changed", "broker_cordoned_directories_changed")
"""The changes of brokers' log directories."""
RESTARTED = "again (restarted)"
"""The beginning of the detail of a registration, if another process than before registered."""
FROM_NOTHING = "none -> "
"""The beginning of the detail of a change to the first value."""
NOW_WITH = ", now with levels up to"
"""In the detail of a registration: the node was started with another release of Kafka."""
WITHOUT, WITH_NEW = ", without directory", ", with new directory"
"""In the detail of a registration: the broker has other log directories than before."""
_AGAIN = ("controller_registered", "broker_registered")


def detail_of(what: str, old: Any, new: Any) -> str:
    if what == "voters_changed":
        return _voters(old or (), new or ())
    if what in _AGAIN and new is not None:
        return _registration(old, new)
    if what == "broker_directories_changed":
        return _directories(old, new, "lost", "has")
    if what == "broker_cordoned_directories_changed":
        return _directories(new, old, "cordoned", "took back")
    if what == "zk_migration_state_changed":
        old, new = (None if value is None else migration_name(value) for value in (old, new))
    if isinstance(old, dict) or isinstance(new, dict | bool):
        return ""
    before, after = ("none" if value is None else str(value) for value in (old, new))
    return f"{before} -> {after}"


def detail_of_config(name: str, old: str | None, new: str | None) -> str:
    """The values of a config before and after a change; "" where one may be a secret. old, new:
    None for a config that is not set."""
    if any(value is not None and is_secret_setting(name, value) for value in (old, new)):
        return ""
    before, after = (None if one is None else shortened(one) or '""' for one in (old, new))
    if before is None:
        return f"now {after}"
    return f"was {before}" if after is None else f"{before} -> {after}"


def _directories(before: Any, after: Any, lost: str, got: str) -> str:
    """The text about directories that only one of two lists has. lost, got: the words for a
    directory of only the first list, and of only the second."""
    gone = [one for one in before or () if one not in (after or ())]
    new = [one for one in after or () if one not in (before or ())]
    told = [
        f"{word} {'directory' if len(ids) == 1 else 'directories'} {listed(ids)}"
        for word, ids in ((lost, gone), (got, new))
        if ids
    ]
    return ", ".join(told)


def _voters(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> str:
    """The text that names the voters which were added and removed. A voter with a new disk counts
    as another voter, because it has another directory id."""
    before, after = ([(v["voterId"], v["voterDirectoryId"]) for v in one] for one in (old, new))
    now = f"now {_numbers(node for node, _ in after) or 'none'}"
    came = [
        f"{node} ({directory}) added"
        for node, directory in after
        if (node, directory) not in before
    ]
    went = [
        f"{node} ({directory}) removed"
        for node, directory in before
        if (node, directory) not in after
    ]
    if not before or not (came or went):
        return now
    return f"{', '.join([*went, *came])}; {now}"


def _registration(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    told = "for the first time in this log"
    if old is not None:
        is_new = is_new_process(old, new)
        told = RESTARTED if is_new else "again, by the same process"
        told += _levels(old, new)
        before, after = (set(one.get("logDirs") or ()) for one in (old, new))
        told += f"{WITHOUT} {listed(sorted(before - after))}" if before - after else ""
        told += f"{WITH_NEW} {listed(sorted(after - before))}" if before and after - before else ""
    return f"{told}, broker epoch {new['brokerEpoch']}" if "brokerEpoch" in new else told


def _levels(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """A clause with the newest metadata.version that a node supports; "" if that is the same as in
    the registration before, or missing in one of the two registrations. If the clause isn't empty,
    the node was started with another release of Kafka."""
    before, after = (
        next((f["maxSupportedVersion"] for f in found if f["name"] == METADATA_VERSION), None)
        for found in (old.get("features") or (), new.get("features") or ())
    )
    if after is None or before in (None, after):
        return ""
    return f"{NOW_WITH} {release_of(after)}"


def _numbers(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))
