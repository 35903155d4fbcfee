"""Gives orders to the shim in the processes of a quorum, and checks what the processes did."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from tests.interop.mixed_quorum import WITHIN_S, Voter

SHIM = Path(__file__).parent / "shim"
Fault = tuple[str, str, int]
"""(call, regular expression of the path, errno), see the shim."""


class Lies:
    """The file with the orders. Processes that were started with `variables` follow them."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lies.json"

    @property
    def variables(self) -> dict[str, str]:
        paths = [str(SHIM), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"PYTHONPATH": os.pathsep.join(paths), "LYING_DISKS": str(self._path)}

    def tell(self, faults: Sequence[Fault] = (), clock_s: float = 0) -> None:
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps({"faults": faults, "clock_s": clock_s}))
        temporary.replace(self._path)


ALL_FROM_DISK = {"kraftlake.log.newest.bytes": 0}
"""The property of a replica that keeps no batch in memory, so that it reads
what its disk returns."""


def ended(voter: Voter, times: int = 1) -> str:
    """The last line of a process that has ended by itself with exit code 1. times: how often it has
    ended so."""
    assert voter.process is not None
    assert voter.process.wait(WITHIN_S) == 1
    voter.process = None
    said = (voter.folder / "output.txt").read_text()
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert len(re.findall("^kraftlake: ", said, re.MULTILINE)) == times, said
    return last
