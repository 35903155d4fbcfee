"""Quorums of Kafka's controllers and kraftlake's replicas between which ways are cut.
partition_rounds.py does the same for as many rounds as you like."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.partition_rounds import MIXES, between, run
from tests.interop.partitioned_quorum import partitioned

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mix", ["1+2", "2+1"])
def test_a_mixed_quorum_under_partitions_keeps_what_it_acknowledged_in_the_order_of_its_log(
    tmp_path: Path, mix: str
) -> None:
    class_path_or_skip()
    assert f"| {mix} |" in run(tmp_path, mix, range(3), within_s=300.0)


def test_a_voter_of_kafka_s_that_was_removed_unheard_lives_on_and_joins_again(
    tmp_path: Path,
) -> None:
    """It asks for pre-votes in the epoch of the others; the answer INVALID_REQUEST would end it."""
    class_path_or_skip()
    with partitioned(tmp_path, MIXES["1+2"]) as quorum:
        assert quorum.proxies is not None
        quorum.proxies.faults.cut = between([3], [1, 2])
        quorum.wait_until(lambda: quorum.newest_election()[1] in (1, 2), "nobody else leads")
        quorum.wait_until(
            lambda: quorum.remove(3) or quorum.voters() == {1, 2}, "it is not removed"
        )
        time.sleep(3.0)  # longer than its fetch timeout
        quorum.proxies.faults.heal(loses=False)
        quorum.wait_for_all()
