"""The reducer against Kafka 4.1.1's own MetadataBatchLoader and image writer, on random records.

tests/fuzz/image_campaign.py runs the same comparison for as long as you like.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.interop import known_faults
from tests.interop.image_agreement import hold_equal
from tests.interop.image_driver import ImageDriver
from tests.interop.kafka_jars import class_path_or_skip

FAULTS = {
    known_faults.LOST,
    known_faults.ABORT_UNDONE,
    known_faults.ORPHANS,
    known_faults.LOST_CREDENTIAL,
}


@pytest.mark.slow
def test_the_reducer_makes_of_random_records_what_kafka_makes_of_them() -> None:
    counts: Counter[str] = Counter()
    with ImageDriver(class_path_or_skip()) as driver:
        for seed in range(100):
            counts += hold_equal(driver, seed)
    assert counts["records"] > 20_000
    # Most images are equal as they are; the faults are met, so foretelling them is no empty talk.
    assert counts["equal"] > 8 * counts["unequal"]
    assert counts["snapshots written alike"] > counts["images"] // 2
    assert counts.keys() >= FAULTS
