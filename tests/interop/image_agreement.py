"""Holds the reducer to Kafka's own image code on random sequences of records."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from random import Random

from replica.metadata.image import Image, Replay, to_records
from replica.metadata.record import MetadataRecord
from tests.interop.image_driver import ImageDriver
from tests.interop.known_faults import (
    Delta,
    TopicsByKafka,
    UnexplainedError,
    faults_in,
    without_zk,
)
from tests.replica.metadata.image.canonical import canonical
from tests.replica.metadata.image.sequences import Sequence

_COMMITS = 40


def hold_equal(driver: ImageDriver, seed: int) -> Counter[str]:
    """Runs the sequence of a seed through both, and compares after each delta: the images, which
    records were refused, and the snapshots written from Kafka's image.

    Returns counts of what was compared and of each named fault met; after a fault that changes the
    image the reducer goes on from Kafka's. Raises UnexplainedError at any other difference.
    """
    commits = Sequence(Random(seed)).commits(_COMMITS)
    records = [record for commit in commits for batch in commit for record in batch]
    commit_ends = {end - 1 for end in accumulate(sum(map(len, commit)) for commit in commits)}
    answer = driver.replay(commits)
    counts = Counter(sequences=1)
    replay, base, start = Replay(), Image(), 0
    for published in answer.images:
        part = tuple(enumerate(records))[start : published.last_offset + 1]
        refused = frozenset(offset for offset, record in part if replay.apply(offset, record))
        by_kafka = frozenset(offset for offset, _ in part) & answer.refused
        assert published.image is not None, "the records hold no code that Kafka can't write"
        ours = without_zk(replay.image())
        delta = Delta(base, part, published.last_offset in commit_ends)
        if TopicsByKafka(delta).has_namesakes:
            counts["sequences cut short"] += 1
            break
        try:
            kafka = published.image, by_kafka
            names = faults_in(delta, (ours, refused), kafka, failed=published.failed)
            _hold_snapshot_equal(published.image, published.own)
        except UnexplainedError as error:
            raise UnexplainedError(f"seed {seed}, to {published.last_offset}: {error}") from error
        counts.update(records=len(part), refusals=len(by_kafka))
        counts.update(("images", "equal" if published.image == ours else "unequal", *names))
        counts["snapshots written alike"] += published.own is not None
        if published.image != ours:
            replay = Replay(published.image)
        base, start = published.image, published.last_offset + 1
    return counts


def _hold_snapshot_equal(image: Image, own: tuple[MetadataRecord, ...] | None) -> None:
    if own is None:
        return
    ours, theirs = canonical(to_records(image)), canonical(own)
    if ours != theirs:
        differing = sorted(set(ours) ^ set(theirs))[:4]
        raise UnexplainedError(f"the snapshots differ: {differing}")
