"""Every snapshot that Kafka wrote in the recorded captures equals the replay of the log before
it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from replica.format.control import KRaftVersion, KRaftVoters
from replica.metadata.image.image import EMPTY, Image, differences, orphan_topic_configs
from replica.metadata.image.snapshot import to_records
from replica.metadata.record import MetadataRecord
from tests.replica.metadata.image.canonical import canonical
from tests.replica.metadata.image.recorded import Logged, records_in, replayed


@cache
def log_of(folder: Path) -> tuple[Logged, ...]:
    return tuple(logged for path in sorted(folder.glob("*.log")) for logged in records_in(path))


def snapshots_of(folder: Path) -> dict[tuple[int, int], Path]:
    """(end offset, epoch) -> file, complete or renamed to .deleted; without the bootstrap 0-0."""
    ids = {
        tuple(map(int, path.name.split(".")[0].split("-"))): path
        for path in folder.glob("*.checkpoint*")
    }
    return {(end, epoch): path for (end, epoch), path in sorted(ids.items()) if end > 0}


@cache
def content_of(path: Path) -> Image:
    return replayed(records_in(path))[0].image()


def starts(folder: Path) -> Iterator[tuple[int, Image]]:
    """The images at which a replay of this replica's log can begin: the empty one at offset 0, and
    each snapshot's."""
    if log_of(folder)[0].offset == 0:
        yield 0, EMPTY
    for (end, _), path in snapshots_of(folder).items():
        yield end, content_of(path)


def replays_to(folder: Path, end: int, epoch: int) -> Iterator[tuple[int, Image]]:
    """(where it began, the replay) up to `end`, for each way the replica's log goes there."""
    for start, image in starts(folder):
        part = [logged for logged in log_of(folder) if start <= logged.offset < end]
        if not part or (part[0].offset, part[-1].offset) != (start, end - 1):
            continue
        if part[-1].epoch == epoch:
            replay, refusals = replayed(part, image)
            assert not refusals
            assert not replay.in_transaction
            yield start, replay.image()


def verdicts(scenario: Path) -> Iterator[tuple[str, int, int]]:
    """(snapshot id, start of the replay, orphan topic configs) of each complete snapshot in the
    captures against each replay of any replica that leads to it. Another difference fails."""
    snapshots: dict[tuple[int, int], list[Path]] = {}
    folders = sorted(scenario.glob("*/*/__cluster_metadata-0"))
    for folder in folders:
        for snapshot, path in snapshots_of(folder).items():
            snapshots.setdefault(snapshot, []).append(path)
    for (end, epoch), paths in snapshots.items():
        replays = list(chain.from_iterable(replays_to(folder, end, epoch) for folder in folders))
        assert replays
        for path in paths:
            for start, replay in replays:
                orphans = orphan_topic_configs(content_of(path), replay)
                assert tuple(differences(content_of(path), replay)) == orphans, path
                assert (content_of(path) == replay) == (not orphans)
                yield f"{end}-{epoch}", start, len(orphans)


def test_every_snapshot_of_kafka_3_7_equals_every_replay_to_it(data: Path) -> None:
    found = set(verdicts(data / "kafka-3.7.2-static"))
    assert {orphans for _, _, orphans in found} == {0}
    assert {snapshot for snapshot, _, _ in found} == {"519-5", "531-5", "1913-8"}


def test_snapshots_of_kafka_4_1_hold_orphan_topic_configs_and_no_other_difference(
    data: Path,
) -> None:
    assert set(verdicts(data / "kafka-4.1.1-dynamic")) == {
        ("792-3", 0, 0),
        ("1496-5", 0, 8),
        ("2571-6", 0, 12),
        ("2598-6", 0, 12),
        ("1496-5", 792, 8),
        ("2571-6", 792, 12),
        ("2598-6", 792, 12),
        # A snapshot has orphans itself, which a replay over it inherits.
        ("2571-6", 1496, 4),
        ("2598-6", 1496, 4),
        ("2598-6", 2571, 0),
    }


def test_snapshots_of_kafka_4_4_hold_orphan_topic_configs_and_no_other_difference(
    data: Path,
) -> None:
    found = set(verdicts(data / "kafka-4.4.0-dynamic"))
    assert {snapshot for snapshot, _, _ in found} == {"771-3", "784-3", "2147-4"}
    assert {orphans for snapshot, _, orphans in found if snapshot != "2147-4"} == {0}


def test_a_snapshot_s_image_is_written_as_kafka_wrote_the_snapshot(data: Path) -> None:
    paths = [p for p in data.glob("*/*/*/*/*.checkpoint*") if not p.name.startswith("0" * 20)]
    assert len(paths) == 40
    for path in paths:
        kafka = [logged.record for logged in records_in(path)]
        ours = to_records(content_of(path))
        assert canonical(ours) == canonical(kafka), path
        control = [record for record in kafka if isinstance(record, KRaftVersion | KRaftVoters)]
        assert {type(record) for record in control} == {
            type(record) for record in ours if not isinstance(record, MetadataRecord)
        }


def test_a_log_that_ends_inside_a_transaction_shows_the_state_before_it(data: Path) -> None:
    records = list(records_in(data / "generated-all-types" / "00000000000000000000.log"))
    replay, refusals = replayed(records)
    begins = [logged.offset for logged in records if _type(logged) == "BEGIN_TRANSACTION_RECORD"]
    ends = [logged.offset for logged in records if _type(logged).startswith(("END_", "ABORT_"))]
    refused = {refusal.offset for refusal in refusals}
    begin = min(b for b in begins if b not in refused and b > max(set(ends) - refused))
    assert replay.in_transaction
    before, _ = replayed(logged for logged in records if logged.offset < begin)
    assert replay.image() == before.image()
    assert not before.in_transaction


def _type(logged: Logged) -> str:
    return logged.record.type if isinstance(logged.record, MetadataRecord) else ""
