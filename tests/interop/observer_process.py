"""`kraftlake replica observe` as a process, and a proxy that records the requests through it."""

from __future__ import annotations

import signal
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path

from replica.format.discovery import discover
from replica.format.segment import scan
from tests.kraftlake_process import Process, started

WITHIN_S = 90.0


class ObserverProcess:
    """The observer, started on entry, killed on exit. folder: the folder of the recording; the
    process's output is beside it."""

    def __init__(self, folder: Path, bootstrap: str, *options: str) -> None:
        self.folder = folder
        self._options = ["-b", bootstrap, "-o", str(folder), *options]
        self._log = folder.with_suffix(".txt")
        self._process: Process | None = None

    @property
    def partition(self) -> Path:
        return self.folder / "__cluster_metadata-0"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        self._process = started(self._log, "replica", "observe", *self._options)

    def kill(self) -> None:
        """Sends SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(WITHIN_S)

    def wait_for(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + WITHIN_S
        while self.log.count(text) < times:
            assert self._process is not None
            assert self._process.poll() is None, f"ended before {text!r}:\n{self.log}"
            assert time.monotonic() < deadline, f"never said {text!r}:\n{self.log}"
            time.sleep(0.1)

    def __enter__(self) -> ObserverProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class RecordingProxy:
    """Passes on what arrives at `port`. asked: the API keys of all requests, in order."""

    def __init__(self, target_port: int) -> None:
        self.asked: list[int] = []
        self._target_port = target_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._sockets: list[socket.socket] = [self._listening]

    def __enter__(self) -> RecordingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._target_port))
                self._sockets += [client, server]
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as stream:
            while head := stream.read(4):
                frame = stream.read(struct.unpack(">i", head)[0])
                self.asked.append(struct.unpack_from(">h", frame)[0])
                server.sendall(head + frame)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


def log_bytes(partition: Path, start: int | None = None) -> bytes:
    """The batches of all segments from the segment at offset `start` on (None for
    all), as on disk."""
    whole = b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))
    if start is None:
        return whole
    positions = {batch.header.base_offset: batch.position for batch in scan(whole).batches}
    return whole[positions[start] :]


def first_offset(partition: Path) -> int:
    """The first offset of a recording's log."""
    (found,) = discover([str(partition)])
    return found.read().log_start_offset
