"""Compares the replay with Kafka's own image code on random sequences of records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import accumulate
from random import Random

from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import MetadataRecord, new_record
from replica.model.control import KRAFT_VERSION
from tests.drift.facts import facts_of
from tests.interop.image_driver import ImageDriver
from tests.interop.kafka_jars import numbers
from tests.interop.known_faults import (
    Delta,
    TopicsByKafka,
    UnexplainedError,
    faults_in,
    without_zk,
)
from tests.replica.metadata.image.canonical import canonical
from tests.replica.metadata.image.sequences import Release, Sequence

_COMMITS = 40
_GROUP = 32
_UNKNOWN_CONFIGS = {
    (2, "message.format.version"),
    (16, "no.such.config"),
    (32, "no.such.config"),
}
"""Resource type and name of configs in the sequences that Kafka 4 does not know. From 4.3 on the
image of a node lacks them; the image of a broker (4) has every config of brokers."""


def release_of(version: str) -> Release:
    """What a Kafka release reads, by its own classes."""
    facts = facts_of(version)
    levels = (int(level) for level, row in facts["levels"].items() if row["isProduction"])
    read = Release({row["name"]: row["newest"] for row in facts["records"]}, max(levels))
    if numbers(version) >= (4, 0):
        return read
    # 3.9 has no groups with configs, and treats kraft.version as an ordinary feature
    types = tuple(each for each in read.resource_types if each != _GROUP)
    features = tuple(name for name in read.features if name != KRAFT_VERSION)
    return replace(read, resource_types=types, features=features, careless=0)


def hold_equal(driver: ImageDriver, seed: int) -> Counter[str]:
    """Replays the sequence of a seed in both, and compares after each delta: the images, the
    refused records, and the snapshots written from Kafka's image. Our replay doesn't get records of
    configs that the release leaves out of its image.

    Returns counts of what was compared, and of each named fault. After a fault that changes the
    image, our replay continues from Kafka's image. Raises UnexplainedError at any other difference.
    """
    commits = Sequence(Random(seed), release_of(driver.version)).commits(_COMMITS)
    records = [record for commit in commits for batch in commit for record in batch]
    commit_ends = {end - 1 for end in accumulate(sum(map(len, commit)) for commit in commits)}
    answer = driver.replay(commits)
    counts, is_old = Counter(sequences=1), numbers(driver.version) < (4, 0)
    if numbers(driver.version) >= (4, 3):
        records, counts["configs left out"] = _without_unknown_configs(records)
    replay, base, start = Replay(), Image(), 0
    for published in answer.images:
        part = tuple(enumerate(records))[start : published.last_offset + 1]
        refused = frozenset(offset for offset, record in part if replay.apply(offset, record))
        by_kafka = frozenset(offset for offset, _ in part) & answer.refused
        assert published.image is not None, "the records hold no code that Kafka can't write"
        ours, theirs = without_zk(replay.image()), without_zk(published.image)
        ends_commit = published.last_offset in commit_ends
        delta = Delta(base, part, ends_commit, numbers(driver.version) < (4, 3))
        topics = TopicsByKafka(delta)
        if topics.has_namesakes or (is_old and topics.misses_a_topic):
            counts["sequences cut short"] += 1
            break
        try:
            names = faults_in(delta, (ours, refused), (theirs, by_kafka), failed=published.failed)
            _hold_snapshot_equal(published.image, published.own)
        except UnexplainedError as error:
            raise UnexplainedError(f"seed {seed}, to {published.last_offset}: {error}") from error
        counts.update(records=len(part), refusals=len(by_kafka))
        counts.update(("images", "equal" if theirs == ours else "unequal", *names))
        counts["snapshots written alike"] += published.own is not None
        if theirs != ours:
            replay = Replay(published.image)
        base, start = theirs, published.last_offset + 1
    return counts


def _without_unknown_configs(records: list[MetadataRecord]) -> tuple[list[MetadataRecord], int]:
    """(the records, with records that change nothing in place of unknown configs; the number of
    replaced records)."""
    nothing = new_record("NO_OP_RECORD", 0, {})
    kept = [nothing if _is_unknown_config(record) else record for record in records]
    return kept, sum(map(_is_unknown_config, records))


def _is_unknown_config(record: MetadataRecord) -> bool:
    fields = record.fields
    return (fields.get("resourceType"), fields.get("name")) in _UNKNOWN_CONFIGS


def _hold_snapshot_equal(image: Image, own: tuple[MetadataRecord, ...] | None) -> None:
    if own is None:
        return
    ours, theirs = canonical(to_records(image)), canonical(own)
    if ours != theirs:
        differing = sorted(set(ours) ^ set(theirs))[:4]
        raise UnexplainedError(f"the snapshots differ: {differing}")
