"""A process on a terminal of its own, as a person runs it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time

DEADLINE_S = 60
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, command: list[str], **variables: str) -> None:
        self._end, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "COLUMNS": "200", **variables}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self._text = ""

    def until(self, text: str) -> str:
        """The output up to and including a text."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self._text:
            assert time.monotonic() < deadline, self._text
            if select.select([self._end], [], [], 1)[0]:
                try:
                    came = os.read(self._end, 65536).decode(errors="replace")
                except OSError:  # the process has closed its end
                    came = ""
                assert came, self._text
                self._text += _ESCAPES.sub("", came).replace("\r", "")
        before, _, self._text = self._text.partition(text)
        return before + text

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._end)

    def rest(self) -> str:
        """The output up to the end of the process, which must be near."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            if select.select([self._end], [], [], 1)[0]:
                try:
                    came = os.read(self._end, 65536).decode(errors="replace")
                except OSError:  # the process has closed its end
                    break
                if not came:
                    break
                self._text += _ESCAPES.sub("", came)
        self.process.wait(DEADLINE_S)
        return self._text
