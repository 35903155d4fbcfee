"""Every snapshot that Kafka wrote into the recorded captures holds what the log adds up to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from replica.metadata.image import EMPTY, Image, differences, orphan_topic_configs
from replica.metadata.record import MetadataRecord
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


def starts(folder: Path) -> Iterator[tuple[int, Image]]:
    """Where a replay of this replica's log can begin: at offset 0, and after each snapshot."""
    if log_of(folder)[0].offset == 0:
        yield 0, EMPTY
    for (end, _), path in snapshots_of(folder).items():
        yield end, replayed(records_in(path))[0].image()


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


def verdicts(scenario: Path) -> Iterator[tuple[Path, str, int, int]]:
    """(folder, snapshot id, start of the replay, orphan topic configs) of each complete snapshot
    against each replay of the scenario that leads to it. Any other difference fails."""
    folders = sorted(scenario.glob("*/*/__cluster_metadata-0"))
    for folder in folders:
        for (end, epoch), path in snapshots_of(folder).items():
            content = replayed(records_in(path))[0].image()
            for start, replay in chain.from_iterable(replays_to(f, end, epoch) for f in folders):
                orphans = orphan_topic_configs(content, replay)
                assert tuple(differences(content, replay)) == orphans, path
                assert (content == replay) == (not orphans)
                yield folder, f"{end}-{epoch}", start, len(orphans)


def test_every_snapshot_of_kafka_3_7_equals_every_replay_to_it(data: Path) -> None:
    found = list(verdicts(data / "kafka-3.7.2-static"))
    assert {orphans for _, _, _, orphans in found} == {0}
    assert len({(folder, snapshot) for folder, snapshot, _, _ in found}) == 17


def test_snapshots_of_kafka_4_1_hold_orphan_topic_configs_and_no_other_difference(
    data: Path,
) -> None:
    found = list(verdicts(data / "kafka-4.1.1-dynamic"))
    assert len({(folder, snapshot) for folder, snapshot, _, _ in found}) == 12
    assert {row[1:] for row in found} == {
        *(("792-3", 0, 0), ("1496-5", 0, 8), ("2571-6", 0, 12), ("2598-6", 0, 12)),
        *(("1496-5", 792, 8), ("2571-6", 792, 12), ("2598-6", 792, 12)),
        # A snapshot has orphans itself, which a replay over it inherits.
        *(("2571-6", 1496, 4), ("2598-6", 1496, 4), ("2598-6", 2571, 0)),
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
