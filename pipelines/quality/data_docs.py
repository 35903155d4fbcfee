"""Great Expectations in a process of its own, which ends with this process.

The import of Great Expectations takes more than a second of CPU, as long as a small build. So the
process starts when a job starts, and imports while the job works. It validates the runs of this
process, one after the other, and gives their Data Docs.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Any

from pipelines.quality.counted_run import CountedRun
from replica.errors import KraftlakeError
from replica.import_path import environment, python_of

_MODULE = "pipelines.quality.checkpoint"
_LOCK = threading.Lock()
_NUMBERS = count()


class NoDataDocsError(KraftlakeError):
    """Great Expectations has not validated a run."""


@dataclass
class CheckpointProcess:
    """The process of Great Expectations (pipelines.quality.checkpoint)."""

    process: subprocess.Popen[bytes]
    stderr: IO[bytes]
    """The file that gets what the process writes to stderr."""
    _answers: dict[int, dict[str, Any]] = field(default_factory=dict, init=False)

    @classmethod
    def start(cls) -> CheckpointProcess:
        """A new process. It imports nothing from the current folder."""
        said = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the process runs
        process = subprocess.Popen(  # noqa: S603 - This is our own interpreter and module.
            python_of(_MODULE),
            cwd=os.sep,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
        )
        return cls(process, said)

    @property
    def is_running(self) -> bool:
        """Whether the process is alive, so that `ask` can give it work."""
        return self.process.poll() is None

    def ask(self, run: CountedRun) -> int:
        """Sends a run to the process. Returns the number by which `answer` waits for its answer."""
        number = next(_NUMBERS)
        assert self.process.stdin is not None, "it is a pipe"
        try:
            self.process.stdin.write(json.dumps({"number": number, "run": run}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # `answer` says why
            pass
        return number

    def answer(self, number: int) -> dict[str, Any]:
        """Waits for the answer with this number. Raises NoDataDocsError where the process has
        ended."""
        assert self.process.stdout is not None, "it is a pipe"
        while number not in self._answers:
            line = self.process.stdout.readline()
            if not line:
                raise NoDataDocsError(f"Great Expectations made no Data Docs: {self._reason()}")
            told = json.loads(line)
            # no caller waits for the answer to an earlier run
            self._answers = {told["number"]: told}
        return self._answers.pop(number)

    def end(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()
        self.stderr.close()

    def _reason(self) -> str:
        code = self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its process ended with exit code {code}"


@dataclass(frozen=True)
class PendingDocs:
    """Data Docs that are being made."""

    process: CheckpointProcess
    number: int

    def pages(self) -> dict[str, bytes]:
        """The pages by file name. Raises NoDataDocsError where the process has ended."""
        with _LOCK:
            told = self.process.answer(self.number)
        return {name: page.encode() for name, page in told["pages"].items()}


_RUNNING: list[CheckpointProcess] = []


def start_great_expectations() -> CheckpointProcess:
    """This process's child that runs Great Expectations. Starts one where there is none, without
    waiting for it."""
    with _LOCK:
        if _RUNNING and not _RUNNING[0].is_running:
            _RUNNING.pop().end()
        if not _RUNNING:
            _RUNNING.append(CheckpointProcess.start())
        return _RUNNING[0]


def begin_docs(run: CountedRun) -> PendingDocs:
    """Begins to validate a run and to make its Data Docs."""
    process = start_great_expectations()
    with _LOCK:
        return PendingDocs(process, process.ask(run))


@atexit.register
def _end_all() -> None:
    while _RUNNING:
        _RUNNING.pop().end()
