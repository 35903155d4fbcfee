"""Kafka's command-line tools of one release in one warm JVM, because a start
of each costs seconds."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.interop.kafka_node import tool_command

_PROGRAM = Path(__file__).with_name("Tools.java")
TOO_LONG = 124


class Said(NamedTuple):
    """The result of a tool. code: the exit code, or TOO_LONG."""

    code: int
    text: str

    @property
    def is_done(self) -> bool:
        return self.code == 0


class Tools:
    """The tools, started on entry, killed on exit. version: of the tools and of the classes that
    they run with."""

    def __init__(self, folder: Path, version: str) -> None:
        self.version = version
        self.seconds: dict[str, float] = {}
        self._log = folder / "tools.log"
        self.client = folder / "client.properties"
        self.client.write_text("default.api.timeout.ms=8000\nrequest.timeout.ms=4000\n")

    def __enter__(self) -> Tools:
        command = tool_command("off", str(_PROGRAM), [], self.version)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def run(self, main_class: str, *arguments: object, within_s: int = 15) -> Said:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        began = time.monotonic()
        self._process.stdin.write(json.dumps([within_s, main_class, *map(str, arguments)]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        spent = time.monotonic() - began
        self.seconds[main_class] = self.seconds.get(main_class, 0) + spent
        return Said(answer["code"], answer["text"])
