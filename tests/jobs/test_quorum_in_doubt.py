"""`plan` and `state --exposure` where the disks of so many voters can't be relied on that the
others are no majority: nobody knows whether the quorum has a leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.restored_disks import restored_quorum

FIRST = "First do what `kraftlake check` says about "


@pytest.mark.parametrize(
    ("voters", "restored", "why"),
    [
        (
            1,
            (1,),
            "voter 1 can't be counted: its directory can't be relied on, and it is the only voter",
        ),
        (
            2,
            (1, 2),
            "voters 1 and 2 can't be counted: their directories can't be relied on",
        ),
    ],
)
def test_no_answer_is_safe_beside_a_verdict_that_the_quorum_is_at_risk(
    kraftlake: Kraftlake, tmp_path: Path, voters: int, restored: tuple[int, ...], why: str
) -> None:
    """No partition needs the last broker, so only the quorum speaks against its stop."""
    folder = restored_quorum(tmp_path / "nodes", voters, restored)
    last = str(voters + 2)
    stop = kraftlake("plan", "--stop-broker", last, folder)
    assert stop.lines[0].startswith("AT RISK")
    assert stop.code == 3, stop.out
    assert stop.lines[1].startswith(
        f"plan        UNKNOWN: stop node {last}: quorum has perhaps no leader ({why}): without "
        "one it accepts no change"
    )
    assert f"{FIRST}voter" in stop.lines[1]
    exposed = kraftlake("state", "--exposure", folder).lines
    assert exposed[1].startswith("exposure    Once broker ")
    assert " 2 of 4 partitions " in exposed[1]
    assert (
        "The voters that can be counted are no majority now: these are the numbers if" in exposed[1]
    )
    assert "leaves 3 of 4 partitions without one" in exposed[1]
    assert sum("has perhaps no leader" in line for line in exposed) == 1


def test_the_only_voter_is_named_as_such(kraftlake: Kraftlake, tmp_path: Path) -> None:
    folder = restored_quorum(tmp_path / "nodes")
    stop = kraftlake("plan", "--stop-broker", 1, folder)
    assert stop.code == 1
    only = "has no leader without voter 1, which is the only voter"
    assert stop.lines[1].startswith(f"plan        UNSAFE: stop node 1: quorum {only}. {FIRST}")
    roll = kraftlake("plan", "--roll", folder)
    assert roll.code == 1
    assert f"node 1 can't be stopped (the quorum {only})" in roll.lines[1]
    assert "--stop-broker 1" not in roll.out, "it says nothing more"
    assert "none of 1 voters" not in stop.out + roll.out
    alone = kraftlake("plan", "--roll", restored_quorum(tmp_path / "sound", restored=()))
    assert f"node 1 can't be stopped (the quorum {only})" in alone.out
    assert "perhaps no leader" not in alone.out
