"""Holds the reducer to Kafka's own image code on random sequences of records."""

from __future__ import annotations

from collections import Counter
from random import Random

from replica.metadata.image import Image, Replay, to_records
from replica.metadata.image.kind import by_name, compact
from replica.metadata.record import MetadataRecord
from tests.interop.image_driver import ImageDriver, Published
from tests.interop.known_faults import Delta, UnexplainedError, faults_in, without_zk
from tests.replica.metadata.image.sequences import Sequence

_COMMITS = 40


def hold_equal(driver: ImageDriver, seed: int) -> Counter[str]:
    """Runs the sequence of a seed through both; counts of records, images, refusals, equal images,
    and images that each named fault of Kafka explains. Raises UnexplainedError."""
    commits = Sequence(Random(seed)).commits(_COMMITS)
    records = [record for commit in commits for batch in commit for record in batch]
    commit_ends, end = set(), -1
    for commit in commits:
        end += sum(map(len, commit))
        commit_ends.add(end)
    answer = driver.replay(commits)
    counts = Counter(sequences=1)
    replay, base, start = Replay(), Image(), 0
    for published in answer.images:
        part = tuple(enumerate(records))[start : published.last_offset + 1]
        refused = frozenset(offset for offset, record in part if replay.apply(offset, record))
        by_kafka = frozenset(offset for offset, _ in part) & answer.refused
        ours = without_zk(replay.image())
        delta = Delta(base, part, published.last_offset in commit_ends)
        try:
            names = faults_in(
                delta, (ours, refused), (published.image, by_kafka), failed=published.failed
            )
            _hold_snapshot_equal(published)
        except UnexplainedError as error:
            raise UnexplainedError(f"seed {seed}, to {published.last_offset}: {error}") from error
        counts.update(records=len(part), refusals=len(by_kafka))
        counts.update(("images", "equal" if published.image == ours else "unequal", *names))
        counts["snapshots written alike"] += published.own is not None
        if published.image != ours:
            replay = Replay(published.image)
        base, start = published.image, published.last_offset + 1
        if _has_doubtful_names(base):
            counts["sequences cut short"] += 1
            break
    return counts


def _has_doubtful_names(image: Image) -> bool:
    """Two topics of one name: after faults that lost a REMOVE_TOPIC. Which of them Kafka then finds
    by name hangs on a hash map."""
    names = list(image.tables["topics"].values.values())
    return len(names) > len(set(names))


def _hold_snapshot_equal(published: Published) -> None:
    if published.own is None:
        return
    theirs = sorted(map(_canonical, published.own))
    ours = sorted(
        _canonical(r) for r in to_records(published.image) if isinstance(r, MetadataRecord)
    )
    if ours != theirs:
        differing = sorted(set(ours) ^ set(theirs))[:4]
        raise UnexplainedError(f"the snapshots differ: {differing}")


def _canonical(record: MetadataRecord) -> tuple[str, int, str]:
    """Type, version and fields, sorted where Kafka's hash maps give any order."""
    fields = dict(record.fields)
    for name in ("endPoints", "features"):
        if name in fields:
            fields[name] = by_name(fields[name])  # type: ignore[arg-type, assignment]
    for name in ("logDirs", "renewers"):
        if name in fields:
            fields[name] = tuple(sorted(fields[name]))  # type: ignore[arg-type, type-var]
    if "entity" in fields:
        fields["entity"] = tuple(sorted(fields["entity"], key=compact))  # type: ignore[arg-type]
    return record.type, record.version, compact(fields)
