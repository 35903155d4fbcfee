"""Clauses about the changes that lost records would have made, with the number of changes of each
type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines.report.source import Row
from replica.metadata.changes.catalogue import CHANGES
from replica.metadata.records import RECORDS_BY_NAME
from replica.words import counted, listed

_MAX_PHRASES = 3
_TOPICS = {"topic_created": "partition_created", "topic_deleted": "partition_deleted"}
"""Changes of a topic, and the changes of partitions that come with them."""


_OF_ITSELF = ("isr", "elr", "last_known_elr", "leader", "partition_epoch", "broker", "controller",
              "producer_ids")  # fmt: skip
"""The beginnings of the names of changes that Kafka makes by itself. Changes that users asked for
are named before them."""


@dataclass(frozen=True)
class LostChange:
    """The changes of one type that lost records made."""

    change: str
    count: int
    again: int = 0
    """The number of lost changes that a later record makes again, to an entity of the same name.
    Later records that are lost, too, don't count."""
    with_topic: bool = False
    """Whether the changes are of partitions whose topic another lost record creates or deletes."""

    @property
    def never(self) -> int:
        """The number of changes that no later record made again."""
        return self.count - self.again


@dataclass(frozen=True)
class Effect:
    """Facts about lost records besides their number."""

    written_ms: tuple[int, int] | None = None
    """The smallest and the largest time of the records, in ms since 1970 (UTC); None where no time
    is known."""
    changes: tuple[LostChange, ...] = ()
    unknown_from: int | None = None
    """The offset from which on the records' changes are unknown; None where all
    changes are known."""
    unread: int = 0
    """The number of lost records that could not be read."""


def effect(
    first: int,
    records: int,
    written: Sequence[Row],
    types: Sequence[Row],
    changes: Sequence[Row] | None,
    state_ranges: Sequence[Row],
) -> Effect:
    """The effect of a number of lost records from offset `first` on.

    written, types, changes: rows of change_queries.written, record_types and changes; changes is
    None where the lake has no typed changes. state_ranges: rows of queries.state_ranges.
    """
    times = ((row["first_ms"], row["last_ms"]) for row in written)
    written_ms = next((both for both in times if both[0] is not None), None)
    if changes is None:
        return Effect(written_ms)
    lost = tuple(
        LostChange(row["change"], row["changes"], row["again"], row["with_topic"])
        for row in changes
    )
    unread = max(records - sum(row["records"] for row in types), 0)
    # the changes are known where the state before them, and every record's type, is known
    unknown = (row["first_offset"] for row in types if not _is_known(row))
    unknown_from = min(unknown, default=None)
    ranges = [(row["from_offset"], row["to_offset"]) for row in state_ranges]
    is_known = any(start <= first <= end for start, end in ranges)
    if not is_known and (ranges or not changes):
        unknown_from = first
    return Effect(written_ms, lost, unknown_from, unread)


def _is_known(row: Row) -> bool:
    if row["is_control"]:
        return True
    schema = RECORDS_BY_NAME.get(row["record_type"])
    return schema is not None and row["record_version"] in schema.versions


def never_made_text(effect: Effect) -> str:
    """The changes of records that another branch has superseded, such as `5 topics with 15
    partitions were never created`, and what is not known about them; empty where it is known that
    they would have changed nothing."""
    never = [(one, one.never) for one in effect.changes if one.never]
    again = sum(one.again for one in effect.changes)
    told = [
        f"{what} {'was' if count == 1 else 'were'} never {done}"
        for what, count, done in _phrases(never)
    ]
    if again:
        again_text = "1 change was" if again == 1 else f"{again} changes were"
        told.append(f"{again_text} made again later")
    return "; ".join(one for one in (listed(told), unknown_text(effect)) if one)


def made_text(effect: Effect) -> str:
    """The changes of records that may be committed, such as `5 topics with 15 partitions
    created`."""
    found = [(one, one.count) for one in effect.changes]
    return listed([f"{what} {done}" for what, _, done in _phrases(found)])


def unknown_text(effect: Effect) -> str:
    """The unknown facts about the lost records, in words; empty where all facts are known."""
    parts = []
    if effect.unknown_from is not None:
        parts.append(
            f"this release doesn't know what the records from offset {effect.unknown_from} on "
            "would have changed"
        )
    if effect.unread:
        parts.append(f"{effect.unread} of the records could not be read")
    return "; ".join(parts)


def _phrases(changes: Sequence[tuple[LostChange, int]]) -> Sequence[tuple[str, int, str]]:
    """(entities, number, what was done to them): first the changes that users asked for, then the
    changes that Kafka made by itself, each by descending number. Types beyond a limit become one
    phrase."""
    changes = [*_merged(changes)]
    partitions = {one.change: count for one, count in changes if one.with_topic}
    found: list[tuple[str, int, str]] = []
    ranks: dict[str, bool] = {}
    for one, count in changes:
        if one.with_topic and _TOPICS_OF.get(one.change) in {other.change for other, _ in changes}:
            continue
        singular, plural, done = words_of(one.change)
        what = f"{count} {singular if count == 1 else plural}"
        own = partitions.get(_TOPICS.get(one.change, ""), 0)
        if own:
            what += f" with {counted(own, 'partition')}"
        found.append((what, count, done))
        ranks[what] = one.change.startswith(_OF_ITSELF)
    found.sort(key=lambda phrase: (ranks[phrase[0]], -phrase[1]))
    left = found[_MAX_PHRASES:]
    if len(left) < 2:
        return found
    rest = sum(count for _, count, _ in left)
    return [*found[:_MAX_PHRASES], (f"{rest} other changes", rest, "made")]


def _merged(changes: Iterable[tuple[LostChange, int]]) -> Iterator[tuple[LostChange, int]]:
    """(change, number) for each type of change. The creations and deletions of partitions whose
    topic was created or deleted, too, are counted apart."""
    counts: dict[LostChange, int] = {}
    for one, count in changes:
        with_topic = one.with_topic and one.change in _TOPICS_OF
        key = LostChange(one.change, 0, with_topic=with_topic)
        counts[key] = counts.get(key, 0) + count
    yield from counts.items()


_TOPICS_OF = {partition: topic for topic, partition in _TOPICS.items()}
_KNOWN = frozenset(change.name for change in CHANGES)
_NOUNS = {
    "leader": "partition leader",
    "leader_epoch": "partition leader epoch",
    "isr": "ISR",
    "elr": "ELR",
    "last_known_elr": "last known ELR",
    "replicas": "replica assignment",
    "directories": "partition's directories",
    "broker_changed": "broker registration",
    "broker_directories": "broker's directories",
    "broker_cordoned_directories": "broker's cordoned directories",
    "acl": "ACL",
    "scram_credential": "SCRAM credential",
    "quota": "client quota",
    "producer_ids": "block of producer ids",
    "zk_migration_state": "ZooKeeper migration state",
    "voters": "voter set",
    "kraft_version": "KRaft version",
}
"""Names of entities that differ from the words of their types of change. The key is a type of
change, or its words without the last one."""
_PLURALS = {
    "partition's directories": "partitions' directories",
    "broker's directories": "brokers' directories",
    "broker's cordoned directories": "brokers' cordoned directories",
    "block of producer ids": "blocks of producer ids",
}


def words_of(change: str) -> tuple[str, str, str]:
    """The words for a type of change: the entity's name in singular and plural, and what is done to
    it. Most words are in the type's own name, such as delegation_token_created."""
    if change not in _KNOWN:
        return f"{change} change", f"{change} changes", "made"
    name, _, done = change.rpartition("_")
    noun = _NOUNS.get(change) or _NOUNS.get(name) or name.replace("_", " ")
    done = "created anew" if done == "recreated" else done
    return noun, _PLURALS.get(noun, f"{noun}s"), done
