"""Starts one node of real Kafka on an invented case, and reports the result."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.kafka_node import java_command
from tests.replica.doctor.startup.answers import shortened
from tests.replica.doctor.startup.laid_out import Place
from tests.rights import bound

_STARTED = "Kafka Server started"
_REGISTERED = (
    "registration has been persisted", "Successfully registered broker",
    "the metadata.version is still 3.2-IV0",
)  # fmt: skip
_WAITS = (_STARTED, "Waiting for the controller to acknowledge", "Waiting for broker metadata")
_END_S, _JOIN_S, _AFTER_S, _POLL_S = 120.0, 12.0, 2.0, 0.1


def what_kafka_does(place: Place, version: str) -> tuple[str, str]:
    """(joins, waits or refuses; the node's log, with short names for the case's own paths and
    ports). A node joins when it has registered with the quorum, and still runs a little later. It
    waits when it hasn't registered after some seconds."""
    with running(place, version) as process:
        did = _did(process, _log(place))
    return did, shortened(_log(place).read_text(errors="replace"), place)


@contextmanager
def running(place: Place, version: str) -> Iterator[subprocess.Popen[bytes]]:
    """A node of real Kafka with these files, bound by their modes, and killed afterwards."""
    command = bound(*java_command("info", "kafka.Kafka", [str(place.properties)], version))
    with _log(place).open("wb") as written:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=written)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _log(place: Place) -> Path:
    return place.folder / "stderr.log"


def _did(process: subprocess.Popen[bytes], log: Path) -> str:
    began, waiting = time.monotonic(), 0.0
    while time.monotonic() - began < _END_S:
        if process.poll() is not None:
            return "refuses"
        text = log.read_text(errors="replace")
        if _STARTED in text and any(words in text for words in _REGISTERED):
            time.sleep(_AFTER_S)
            return "joins" if process.poll() is None else "refuses"
        if waiting and time.monotonic() - waiting > _JOIN_S:
            return "waits"
        if not waiting and any(words in text for words in _WAITS):
            waiting = time.monotonic()
        time.sleep(_POLL_S)
    raise AssertionError(f"it neither starts nor ends:\n{log.read_text()[-3000:]}")
