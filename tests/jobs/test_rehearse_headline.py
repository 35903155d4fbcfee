"""The second line of `rehearse`: what the runs showed, what that means, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.restored_disks import restored_quorum
from tests.replica.doctor.verdict.test_without_winner import (
    lose_one_after_the_other,
    quorum_of,
    stands_alone,
)

DYNAMIC = "kafka-4.1.1-dynamic"
FEW = ("--seeds", "0:6", "--failures", "0")
TWO = ("--seeds", "0:2", "--failures", "0")


def test_without_the_directories_of_a_majority_nothing_is_known(
    kraftlake: Kraftlake, data: Path
) -> None:
    ended = kraftlake("rehearse", *FEW, data / DYNAMIC / "split/2")
    assert ended.code == 3, ended.out
    assert ended.lines[1] == (
        "rehearsed   In 6 of 6 runs without voters 1 and 3 nobody leads at the end. Whether this "
        "start is safe is unknown, because nothing is known of the disks of voters 1 and 3, which "
        "are away in all runs: name the directories that hold their logs; if the disks are gone, "
        "say so by a scenario with dead = [1, 3]."
    )
    assert sum("nothing is known of the disks" in line for line in ended.lines) == 1


def test_without_a_live_majority_no_run_has_a_leader(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    script = tmp_path / "dead.toml"
    script.write_text("[[step]]\ndead = [1, 3]\n")
    ended = kraftlake("rehearse", *FEW, "--scenario", script, data / DYNAMIC / "split")
    assert ended.code == 1
    assert "in 6 of 6 runs, such as seed 0, nobody leads at the end" in ended.out
    assert ended.lines[1] == (
        "rehearsed   In 6 of 6 runs nobody leads at the end. Unsafe: don't start the nodes so; "
        "`kraftlake recover --plan` says how the quorum can go on."
    )


@pytest.mark.parametrize("is_static", [False, True])
def test_what_only_brokers_got_from_the_only_voter_is_lost_by_its_restored_disk(
    kraftlake: Kraftlake, tmp_path: Path, is_static: bool
) -> None:
    """The only voter's records were committed once it gave them away: nothing is unknown."""
    folder = restored_quorum(tmp_path / "nodes", is_static=is_static)
    ended = kraftlake("rehearse", *FEW, folder)
    assert ended.code == 1, ended.out
    assert ended.lines[1] == (
        "rehearsed   In 6 of 6 runs records of the metadata log that are proven committed are "
        "lost. Unsafe: don't start the nodes so; `kraftlake recover --plan` says how the quorum "
        "can go on."
    )
    assert "0 are known to be committed" not in ended.out
    assert "disk empty" not in ended.out
    (away,) = (line for line in ended.lines if "leave it stopped" in line)
    assert away.endswith("play the start without it, by a scenario with dead = [1]")


def test_a_start_that_loses_in_each_run_what_may_have_been_committed_is_unsafe(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    folder = restored_quorum(tmp_path / "nodes", voters=2, restored=(1, 2))
    ended = kraftlake("rehearse", *TWO, folder)
    assert ended.code == 1, ended.out
    assert ended.lines[1].startswith(
        "rehearsed   In 2 of 2 runs records of the metadata log are lost that may have been "
        "committed. Unsafe: "
    )
    one = kraftlake("rehearse", *TWO, folder / "1", folder / "3")
    assert one.code == 3, "the disk of voter 2 could still have them"


def test_a_leader_with_the_shorter_log_is_explained_by_the_leader_before_it(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """recover says that each of nodes 1 and 2 may win: node 3 leads only after one of them."""
    quorum = quorum_of(3)
    lose_one_after_the_other(quorum)
    stands_alone(quorum, tmp_path, 1)
    seeds = ("--failures", "0", "--seeds", "42:43")
    lines = kraftlake("rehearse", *seeds, tmp_path).lines
    assert "node 3 leads at the end of 1 of 1 run" in lines
    assert (
        "  node 3's own log ends at offset 18: another node led before it, and node 3 has that "
        "leader's records"
    ) in lines
    first = kraftlake("rehearse", "--failures", "0", "--seeds", "0:1", tmp_path).lines
    assert not any("led before it" in line for line in first), "node 1 needs no other leader"
