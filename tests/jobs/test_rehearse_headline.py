"""The second line of `rehearse`: what the runs showed, what that means, and what to do."""

from __future__ import annotations

from pathlib import Path

from tests.jobs.conftest import Kraftlake

DYNAMIC = "kafka-4.1.1-dynamic"
FEW = ("--seeds", "0:6", "--failures", "0")


def test_without_the_directories_of_a_majority_nothing_is_known(
    kraftlake: Kraftlake, data: Path
) -> None:
    ended = kraftlake("rehearse", *FEW, data / DYNAMIC / "split/2")
    assert ended.code == 3, ended.out
    assert ended.lines[1] == (
        "rehearsed   In 6 of 6 runs without voters 1 and 3 nobody leads at the end. Whether this "
        "start is safe is unknown, because nothing is known of the disks of voters 1 and 3, which "
        "are away in all runs: name the directories that hold their logs, or let the scenario say "
        "that the nodes are dead or their disks empty."
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
