"""Quorums of Kafka's controllers and kraftlake's replicas between which ways are cut.
partition_rounds.py does the same for as many rounds as you like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.partition_rounds import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mix", ["1+2", "2+1"])
def test_a_mixed_quorum_under_partitions_keeps_what_it_acknowledged_in_the_order_of_its_log(
    tmp_path: Path, mix: str
) -> None:
    class_path_or_skip()
    assert f"| {mix} |" in run(tmp_path, mix, range(3), within_s=300.0)
