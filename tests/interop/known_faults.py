"""The faults of Kafka's image code that random records meet. This module predicts each of them from
the records. Kafka 4.1, 4.3 and 4.4 have all of them, and 3.9 has all but one.

A delta is the records that are published together. All faults have one cause: Kafka looks at the
image before the delta where the delta so far should count. For each delta this module says what
Kafka's image must be. A difference that it hasn't predicted is an error.

- LOST: a record of a topic that doesn't exist leaves a topic without image in the delta. Up to 4.2
  so does CLEAR_ELR after a topic was created and removed. Applying such a delta throws, and all its
  records are lost (TopicsDelta.getOrCreateTopicDelta; KAFKA-19497 is one such case).
- ABORT_UNDONE: after an ABORT, a further record in the same commit causes the aborted records to be
  applied, because Kafka drops the delta only at the next flush
  (MetadataBatchLoader.maybeFlushBatches).
- LEAKED_CONFIGS: REMOVE_TOPIC deletes the configs only of topics that had configs before the delta
  (ConfigurationsDelta.replay). The orphaned configs in snapshots of real clusters come from this.
- LOST_CREDENTIAL: after a mechanism's last user is removed, credentials that the same delta sets
  later (in the order of a hash map) are lost (ScramDelta.apply).
- SECOND_REMOVAL: Kafka refuses no second removal, in one delta, of an entity that existed before
  the delta.
- ODD_CLEAR: Kafka looks for the topic of CLEAR_ELR in the image before the delta.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.metadata.image.image import Image, differences, orphan_topic_configs
from replica.metadata.image.replay import MARKERS, Replay
from replica.metadata.image.state import TOPIC_RESOURCE, EntityTable
from replica.metadata.record import MetadataRecord

LOST = "lost delta"
ABORT_UNDONE = "undone abort"
ORPHANS = "orphan topic configs"
LEAKED_CONFIGS = "configs leaked to a later topic"
LOST_CREDENTIAL = "lost SCRAM credentials"
SECOND_REMOVAL = "second removal not refused"
ODD_CLEAR = "CLEAR_ELR refused by one side"

Outcome = tuple[Image, frozenset[int]]
"""The image after a delta, and the offsets of the records that were refused."""

_BEGIN, _END, _ABORT = MARKERS
_SCRAM = ("USER_SCRAM_CREDENTIAL_RECORD", "REMOVE_USER_SCRAM_CREDENTIAL_RECORD")


@dataclass(frozen=True)
class Delta:
    """The records of one publication. base: Kafka's image before it. records: (offset, record).
    ends_commit: whether the end of a commit published it, and not a BEGIN within the commit.
    keeps_created: whether Kafka is older than 4.3, and does not forget a topic that the delta
    created and removed."""

    base: Image
    records: tuple[tuple[int, MetadataRecord], ...]
    ends_commit: bool
    keeps_created: bool = False

    @property
    def _behind_abort(self) -> tuple[str, ...] | None:
        """The types of the records after the ABORT; None where no transaction was aborted.

        A BEGIN starts a delta, so a delta holds one transaction at most.
        """
        types = tuple(record.type for _, record in self.records)
        ends = [index for index, name in enumerate(types) if name in (_END, _ABORT)]
        if _BEGIN not in types or not ends or types[ends[0]] != _ABORT:
            return None
        return types[ends[0] + 1 :]

    @property
    def is_applied(self) -> bool:
        """Whether the delta is applied. Kafka drops the delta of an aborted transaction, or is
        meant to drop it."""
        return self._behind_abort is None or self.has_undone_abort

    @property
    def has_undone_abort(self) -> bool:
        behind = self._behind_abort
        if behind is None:
            return False
        return not self.ends_commit or any(name not in MARKERS for name in behind)

    def replayed_without_markers(self) -> tuple[Image, frozenset[int]]:
        """(the image, refused offsets), as if no record were a transaction marker."""
        replay = Replay(self.base)
        refused = {
            offset
            for offset, record in self.records
            if record.type not in MARKERS and replay.apply(offset, record)
        }
        return replay.image(), frozenset(refused)


def without_zk(image: Image) -> Image:
    """The image without ZooKeeper. Kafka 4 doesn't support ZooKeeper: it still has the record type,
    and ignores it. Kafka 3.9 has a state of the migration in every image, even where no record
    named one."""
    return Image({**image.tables, "zk_migration": EntityTable()})


class TopicsByKafka:
    """The topics of a delta by TopicsDelta and ConfigurationsDelta, with their faults.

    broken: ids of topics without image in the delta.
    configs: the table at the delta's end. leaked: the configs in it that a removal should have
        deleted.
    has_namesakes: whether two topics had one name at a time, as after a fault that lost a
        REMOVE_TOPIC. Which of them Kafka then finds by name depends on where commits end.
    misses_a_topic: whether a record names a topic that Kafka doesn't have: 3.9 accepts such a
        record that Kafka 4 refuses, and loses the delta as Kafka 4 does.
    second_removals, odd_clears: offsets of REMOVE_TOPIC that Kafka accepts though the topic is
        gone, and of CLEAR_ELR that only Kafka refuses or only Kafka accepts.
    """

    def __init__(self, delta: Delta) -> None:
        self._in_base: dict[str, str] = delta.base.tables["topics"].values
        self._live = dict(self._in_base)
        self._created: dict[str, str] = {}  # name -> id
        self._keeps_created = delta.keeps_created
        self._base_configs = delta.base.tables["configs"].values
        self.configs: dict[tuple[int, str, str], str] = dict(self._base_configs)
        self.leaked: set[tuple[int, str, str]] = set()
        self.has_namesakes = self.misses_a_topic = False
        self.broken: set[str] = set()
        self.second_removals: set[int] = set()
        self.odd_clears: set[int] = set()
        for offset, record in delta.records:
            self._replay(offset, record)

    def _replay(self, offset: int, record: MetadataRecord) -> None:
        fields = record.fields
        topic_id = str(fields.get("topicId"))
        if record.type == "TOPIC_RECORD":
            name = str(fields["name"])
            self.has_namesakes |= any(n == name and i != topic_id for i, n in self._live.items())
            self._live[topic_id] = name
            self._created[name] = topic_id
            self.broken.discard(topic_id)
        elif record.type in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
            if topic_id not in self._live:
                self.misses_a_topic = True
                self.broken.add(topic_id)
        elif record.type == "REMOVE_TOPIC_RECORD":
            self._remove(offset, topic_id)
        elif record.type == "CLEAR_ELR_RECORD":
            self._clear(offset, str(fields["topicName"]))
        elif record.type == "CONFIG_RECORD":
            self._configure(record)

    def _remove(self, offset: int, topic_id: str) -> None:
        was_broken = topic_id in self.broken
        self.broken.discard(topic_id)
        name = self._live.pop(topic_id, None)
        if name is None and not was_broken and topic_id in self._in_base:
            name = self._in_base[topic_id]
            self.second_removals.add(offset)
        if not self._keeps_created and name is not None:
            self._created.pop(name, None)
        of_topic = {key for key in self.configs if key[:2] == (TOPIC_RESOURCE, name)}
        if any(key[:2] == (TOPIC_RESOURCE, name) for key in self._base_configs):
            for key in of_topic:
                del self.configs[key]
        else:
            self.leaked |= of_topic

    def _clear(self, offset: int, name: str) -> None:
        """Handles CLEAR_ELR. A topic that the delta removed is skipped silently if it was in the
        base; else the delta breaks."""
        if not name:
            gone = {i for i in self._created.values() if i not in self._live} - set(self._in_base)
            if gone:
                # Kafka stops at one of them; which partitions it cleared depends on a hash map
                self.broken |= gone
                self.odd_clears.add(offset)
        elif name not in self._live.values():
            created = self._created.get(name)
            if created is not None and created not in self._in_base:
                self.broken.add(created)
            elif created is not None or name in self._in_base.values():
                self.odd_clears.add(offset)

    def _configure(self, record: MetadataRecord) -> None:
        fields = record.fields
        key = (fields["resourceType"], fields["resourceName"], fields["name"])
        self.leaked.discard(key)  # type: ignore[arg-type]
        if fields["value"] is None:
            self.configs.pop(key, None)  # type: ignore[arg-type]
        else:
            self.configs[key] = fields["value"]  # type: ignore[index, assignment]


def second_acl_removals(delta: Delta) -> frozenset[int]:
    """The offsets of removals of ACLs that were in the base and are already gone."""
    base, live = delta.base.tables["acls"].values, set(delta.base.tables["acls"].values)
    found = set()
    for offset, record in delta.records:
        if record.type == "ACCESS_CONTROL_ENTRY_RECORD":
            live.add(record.fields["id"])
        elif record.type == "REMOVE_ACCESS_CONTROL_ENTRY_RECORD":
            if record.fields["id"] in base and record.fields["id"] not in live:
                found.add(offset)
            live.discard(record.fields["id"])
    return frozenset(found)


def losing_mechanisms(delta: Delta) -> frozenset[int]:
    """SCRAM mechanisms that may lose whatever the delta sets: the delta removes some user, and all
    users that the mechanism had before."""
    is_set = {
        (str(record.fields["name"]), record.fields["mechanism"]): record.type == _SCRAM[0]
        for _, record in delta.records
        if record.type in _SCRAM
    }
    removed = {key for key, kept in is_set.items() if not kept}
    before = set(delta.base.tables["scram"].values)
    return frozenset(
        int(str(mechanism))
        for _, mechanism in removed
        if {key for key in before if key[1] == mechanism} <= removed
    )


class UnexplainedError(AssertionError):
    """Kafka and the replay differ in a way that no named fault predicts."""


def faults_in(
    delta: Delta,
    ours: tuple[Image, frozenset[int]],
    kafka: tuple[Image, frozenset[int]],
    failed: bool,
) -> frozenset[str]:
    """The names of the faults that the delta shows. ours, kafka: (image, refused offsets).

    failed: whether Kafka reported that applying the delta threw. Raises UnexplainedError.
    """
    names = set()
    expected, refused = ours
    topics = TopicsByKafka(delta)
    if delta.has_undone_abort:
        markers = {offset for offset, record in delta.records if record.type in MARKERS}
        expected, others = delta.replayed_without_markers()
        refused = (refused & markers) | others
    if failed != (bool(topics.broken) and delta.is_applied):
        raise UnexplainedError(f"applying failed: {failed}, broken topics: {topics.broken}")
    if failed:
        names.add(LOST)
        expected = delta.base
    elif delta.is_applied:
        names |= _config_faults(expected, topics)
        expected = _with_table(expected, "configs", topics.configs)
        names |= _scram_faults(expected, kafka[0], losing_mechanisms(delta))
        if LOST_CREDENTIAL in names:
            expected = _with_table(expected, "scram", kafka[0].tables["scram"].values)
    expected = without_zk(expected)
    if expected != ours[0] and delta.has_undone_abort:
        names.add(ABORT_UNDONE)
    if kafka[0] != expected:
        raise UnexplainedError(f"images differ: {[*differences(kafka[0], expected)][:3]}")
    return frozenset(names) | _refusal_faults(delta, topics, refused, kafka[1])


def _with_table(image: Image, name: str, values: dict[object, object]) -> Image:
    return Image({**image.tables, name: EntityTable(values, dict.fromkeys(values, 0))})


def _config_faults(expected: Image, topics: TopicsByKafka) -> set[str]:
    held = expected.tables["configs"].values
    if held != {key: value for key, value in topics.configs.items() if key not in topics.leaked}:
        raise UnexplainedError("configs differ by more than a topic's removal leaks")
    if not topics.leaked:
        return set()
    leaky = _with_table(expected, "configs", topics.configs)
    is_orphans = len(orphan_topic_configs(leaky, expected)) == len(topics.leaked)
    return {ORPHANS if is_orphans else LEAKED_CONFIGS}


def _scram_faults(expected: Image, kafka: Image, losing: frozenset[int]) -> set[str]:
    """A losing mechanism has either all that the delta set, or nothing."""
    found = kafka.tables["scram"].values
    kept = {key: v for key, v in expected.tables["scram"].values.items() if key in found}
    lost = expected.tables["scram"].values.keys() - found.keys()
    emptied = {mechanism for _, mechanism in lost}
    if not lost:
        return set()
    if found != kept or not emptied <= losing or emptied & {m for _, m in found}:
        raise UnexplainedError(f"lost credentials {lost}")
    return {LOST_CREDENTIAL}


def _refusal_faults(
    delta: Delta, topics: TopicsByKafka, refused: frozenset[int], by_kafka: frozenset[int]
) -> set[str]:
    differing = refused ^ by_kafka
    second = topics.second_removals | second_acl_removals(delta)
    if not differing <= second | topics.odd_clears or differing & second & by_kafka:
        raise UnexplainedError(f"refused by one side only: {sorted(differing)}")
    return {
        name
        for name, offsets in ((SECOND_REMOVAL, second), (ODD_CLEAR, topics.odd_clears))
        if differing & offsets
    }
