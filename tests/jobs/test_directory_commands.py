"""The list of the commands that read directories is whole."""

from __future__ import annotations

from tests.jobs.directory_commands import COPYING, READING
from tests.packages.test_installed import CORE

OTHERS = {
    "diff": "compares two directories: its tests are in test_diff.py",
    "rehearse": "prints no record: test_what_is_opened.py calls it",
    "explain": "takes the name of a rule",
    "prune": "removes old captures by their names, and reads no log",
    "simulate": "takes no directory",
    "consume": "reads from a replica",
    "replica": "runs a replica on a directory of its own",
    "completion": "writes a script for a shell",
}


def test_every_command_without_a_lake_reads_directories_or_is_named_among_the_others() -> None:
    listed = [*READING, *COPYING, *OTHERS]
    assert sorted(listed) == sorted(CORE)
