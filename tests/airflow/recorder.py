"""A kraftlake environment whose spark-submit records its arguments, and ends with given exit codes.

Everything before spark-submit is Airflow's own. test_pipeline.py runs the part after it with a real
spark-submit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SUBMIT = """\
#!{python}
import json, sys
from pathlib import Path
here = Path(__file__).parent
with (here / "lines.jsonl").open("a") as lines:
    lines.write(json.dumps(sys.argv[1:]) + "\\n")
codes = json.loads((here / "codes.json").read_text())
(here / "codes.json").write_text(json.dumps(codes[1:]))
print("kraftlake: as if it ended")
sys.exit(codes[0] if codes else 0)
"""


@dataclass(frozen=True)
class Recorder:
    """Calls of spark-submit that were recorded. folder: the folder for KRAFTLAKE_VENV."""

    folder: Path

    @property
    def lines(self) -> list[list[str]]:
        """For each call, the words after spark-submit."""
        file = self.folder / "bin" / "lines.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def recorder(folder: Path, codes: Sequence[int] = ()) -> Recorder:
    """Makes the environment. codes: the exit codes of the first calls; later calls end with 0."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    (binaries / "codes.json").write_text(json.dumps(list(codes)))
    # no link: an interpreter finds its environment by the path that started it
    _executable(binaries / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    _executable(binaries / "spark-submit", _SUBMIT.format(python=sys.executable))
    return Recorder(folder)


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
