"""A broker that died with its disk and was installed anew: what keeps the only copy of records
stands before any start, in each answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.new_disks import installed_anew

KEEP = (
    "Keep the former disk of broker 4: it may have the only copy of the records of solo-0 and "
    "solo-1. Stop the producers of topic solo until it is decided which copy counts"
)


@pytest.mark.parametrize("is_unclean", [False, True])
def test_the_only_copy_is_kept_before_the_broker_that_lost_it_starts(
    kraftlake: Kraftlake, tmp_path: Path, is_unclean: bool
) -> None:
    folder = installed_anew(tmp_path / "nodes", is_unclean=is_unclean, waits=True)
    for command in ("check", "what-happened"):
        lines = kraftlake(command, folder).lines
        assert lines[0].startswith("OUTAGE      2 of 4 partitions (solo-0 and solo-1)")
        assert lines[1].startswith("first ")
        assert KEEP in lines[1]
        assert "Start broker 4" in lines[2]
    told = kraftlake("plan", "--stop-broker", "5", folder).lines
    assert "First keep the former disk of broker 4" in told[1]
    assert KEEP in told[2]


@pytest.mark.parametrize("is_unclean", [False, True])
def test_partitions_that_a_new_disk_leads_are_at_risk(
    kraftlake: Kraftlake, tmp_path: Path, is_unclean: bool
) -> None:
    """The mark of an unclean election is there only with eligible leader replicas."""
    lines = kraftlake("check", installed_anew(tmp_path / "nodes", is_unclean=is_unclean)).lines
    assert lines[0].startswith("AT RISK     solo-0 and solo-1: only broker 4 leads them or may")
    assert KEEP in lines[1]


def test_a_replica_on_another_disk_is_copied_before_it_follows_an_empty_leader(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """Broker 5 was out of sync, and has more than the new disk of broker 4: its start loses that,
    and gives no partition a leader."""
    folder = installed_anew(tmp_path / "nodes", other=True)
    lines = kraftlake("check", folder).lines
    assert lines[0].startswith("OUTAGE      2 of 4 partitions (solo-0 and solo-1)")
    assert KEEP in lines[1]
    assert lines[2].startswith(
        "  next      First copy the log directories of broker 5. The start of broker 5 gives none "
        "of these partitions a leader: they wait for broker 4, which is registered and up."
    )
    assert lines[3].startswith("also        The start of broker 5 discards records")
    told = kraftlake("plan", "--roll", folder).out
    assert "first copy the log directories of broker 5. Then start node 5" in told
