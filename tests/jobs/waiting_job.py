"""Lets a job wait for another job, which is killed meanwhile. Gives the output of the waiting
job."""

from __future__ import annotations

import time
from pathlib import Path

from pipelines.lake import Lake, forgetting
from pipelines.lake.forgetting import Targets
from pipelines.lake.lock import locked
from tests.kraftlake_process import WITHIN_S, started


def said_behind_a_killed_forget(job: str, lake: str, folder: Path) -> str:
    """The output of a job that waits for the lake while a forget there ends half done. The job is
    refused.

    folder: for a file with the output, because a capture that is read beside its writer loses
    lines.
    """
    said = folder / "said.txt"
    with locked(Lake(lake), lambda: None):
        process = started(said, job, "--lake", lake)
        while "waiting for it to end" not in said.read_text():
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)
        forgetting.begin(Lake(lake), Targets(captures=frozenset(["c"])))
    assert process.wait(WITHIN_S) == 2, said.read_text()
    assert "was interrupted: run `kraftlake forget --lake" in said.read_text()
    return said.read_text()
