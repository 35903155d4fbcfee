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


def test_no_broker_starts_while_the_next_election_goes_to_an_empty_replica(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """Kafka elects for all partitions without leader whenever a broker is unfenced: the start of
    broker 5, which has more than the new disk of broker 4, makes broker 4 leader, and broker 5
    truncates."""
    folder = installed_anew(tmp_path / "nodes", other=True)
    never = (
        "first       Do not start broker 5, and restart no broker, while broker 4 runs: the next "
        "broker that comes up makes broker 4 leader of partitions solo-0 and solo-1, and broker 5 "
        "deletes its records of them."
    )
    then = (
        "First stop broker 4 and copy the log directories of broker 5. Then start broker 5. "
        "Partitions solo-0 and solo-1 then still have no leader, and broker 5 keeps its records."
    )
    stop = "Stop broker 4 before anything else"
    for command in (
        ("check",), ("what-happened",), ("recover", "--plan"), ("state", "--exposure"),
        ("plan", "--roll"), ("plan", "--stop-broker", "4"),
    ):  # fmt: skip
        lines = kraftlake(*command, folder).lines
        assert lines[0].startswith("OUTAGE      2 of 4 partitions (solo-0 and solo-1)")
        (first,) = [one for one in lines[:4] if one.startswith("first ")]
        assert first.startswith(never), command
        assert stop in first
        assert "Keep the former disk of broker 4" in first
        (step,) = [one for one in lines[:10] if one.lstrip().startswith("next ")][:1]
        assert then in step, command
        told = "\n".join(lines)
        assert "why it does not lead" not in told
        assert "After the start compare" not in told
        for one in told.splitlines():
            if "start broker 5" in one or "start node 5" in one:
                assert "stop broker 4" in one.lower() or "Do not start" in one, one


def test_a_stopped_broker_on_a_new_disk_is_not_started_from_it(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = installed_anew(tmp_path / "nodes", other=True, waits=True)
    lines = kraftlake("check", folder).lines
    assert lines[1].startswith("first       Do not start broker 4 from its new disk: it would lead")
    assert lines[2].startswith("  next      First copy the log directories of broker 5. Then start")
    assert "Then start broker 5. Partitions solo-0 and solo-1 then still have no" in lines[2]
    told = kraftlake("plan", "--roll", folder).out
    assert "start node 5" in told
    assert "start node 4" not in told
    assert "start broker 4 first" not in told


def test_a_stop_takes_no_leader_from_partitions_without_one(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = installed_anew(tmp_path / "nodes", other=True)
    told = kraftlake("plan", "--stop-broker", "4", folder).out
    assert "lose their leader" not in told
    assert "solo-0: has no leader now, before anything is stopped" in told
    assert "SAFE    stop node 4" in told


def test_the_exposure_counts_the_partitions_that_have_no_leader_now(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """A replica that could lead, and was not elected yet, is no leader."""
    folder = installed_anew(tmp_path / "nodes", other=True)
    now, *failures = kraftlake("state", "--exposure", "--json", folder).answers
    assert (now["kind"], now["leaderless"], now["needs_unclean"]) == ("nothing", 2, 2)
    gone = {(one["kind"], *one["gone"]): one["leaderless"] for one in failures if "gone" in one}
    assert gone["broker", "4"] == 2
