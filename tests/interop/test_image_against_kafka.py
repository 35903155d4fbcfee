"""The replay against the MetadataBatchLoader and image writer of each release of Kafka, on random
records.

tests/fuzz/image_campaign.py runs the same comparison for as long as you like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from replica.metadata.image.replay import MARKERS, Replay
from replica.metadata.record import MetadataRecord, new_record
from tests.interop import known_faults
from tests.interop.image_agreement import hold_equal
from tests.interop.image_driver import ImageDriver
from tests.interop.kafka_jars import NEWEST, VERSIONS, class_path_or_skip, numbers
from tests.interop.matrix import hold
from tests.replica.metadata.image.recorded import records_in

SEQUENCES = 100
FAULTS = {known_faults.ABORT_UNDONE, known_faults.ORPHANS, known_faults.LOST_CREDENTIAL}


def compared(version: str, sequences: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    with ImageDriver(version) as driver:
        for seed in range(sequences):
            counts += hold_equal(driver, seed)
    return counts


@pytest.mark.slow
def test_the_replay_makes_of_a_few_records_what_the_newest_kafka_makes_of_them() -> None:
    class_path_or_skip()
    counts = compared(NEWEST, 10)
    assert counts["records"] > 2000
    assert counts["configs left out"] > 50


@pytest.mark.slow
def test_the_replay_makes_of_random_records_what_kafka_makes_of_them(kafka_version: str) -> None:
    counts = compared(kafka_version, SEQUENCES)
    is_kafka_4 = numbers(kafka_version) >= (4, 0)
    assert counts["records"] > 18_000
    # Most images are equal as they are; the faults are met, so foretelling them is no empty talk.
    assert counts["equal"] > 8 * counts["unequal"]
    assert counts["snapshots written alike"] > counts["images"] // 2
    assert counts.keys() >= FAULTS | ({known_faults.LOST} if is_kafka_4 else set())
    hold(kafka_version, "image", f"{SEQUENCES}")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_the_replay_refuses_of_hostile_records_those_that_kafka_4_refuses(
    data: Path, version: str
) -> None:
    """Each record is a commit, so that no record is lost with others. At the end of a transaction
    Kafka may lose records (known_faults) that the replay doesn't lose, so markers are judged on
    their own. Kafka 3.9 accepts brokers with nameless listeners, and partitions of no topic."""
    class_path_or_skip(version)
    logged = list(records_in(data / "generated-all-types" / "00000000000000000000.log"))
    no_op = new_record("NO_OP_RECORD", 0, {})
    records = [one.record if isinstance(one.record, MetadataRecord) else no_op for one in logged]
    without_markers = [no_op if record.type in MARKERS else record for record in records]
    with ImageDriver(version) as driver:
        by_kafka = driver.replay([[[record]] for record in records]).refused
        plain_by_kafka = driver.replay([[[record]] for record in without_markers]).refused
    assert plain_by_kafka == _refused(without_markers)
    assert len(plain_by_kafka) == 478
    markers = {offset for offset, record in enumerate(records) if record.type in MARKERS}
    assert by_kafka & markers == _refused(records) & markers
    assert len(by_kafka & markers) == 51


def _refused(records: Sequence[MetadataRecord]) -> set[int]:
    replay = Replay()
    return {offset for offset, record in enumerate(records) if replay.apply(offset, record)}
