"""What to do before a change begins with what `check` says to do, in the same order."""

from __future__ import annotations

import pytest

from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.verdict.facts import verdict_on_state
from tests.replica.doctor.verdict.test_lost_directories import a_dead_disk


@pytest.mark.parametrize("stopped", [12, 13, None])
def test_a_broker_without_one_of_its_disks_runs_on_until_the_others_have_started(
    stopped: int | None,
) -> None:
    """Restarted before, it may lead without records, and broker 12 then deletes its own."""
    cluster = a_dead_disk()
    (said,) = verdict_on_state(cluster).next_steps[:1]
    assert "Leave broker 13 running. Before any restart of it: start broker 12" in said
    found = roll(cluster) if stopped is None else stop_brokers(cluster, [stopped])
    first, second, *_ = found.first
    assert first == (
        "leave broker 13 running, whose log directory is offline, and before any restart of it "
        "start node 12, wait until it is in sync, and ask again"
    )
    assert second.startswith("keep the files of the log directory of broker 13 that is offline")
