"""Real Kafka controllers as processes on 127.0.0.1, and Kafka's command-line tools."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom
from typing import IO

from tests.interop.class_archive import archive_options, java
from tests.interop.kafka_jars import NEWEST, class_path, tools_class_path

LISTENER = "CONTROLLER"
_START_S, _STOP_S, _TOOL_S = 120, 60, 120
_POLL_S = 0.1
_GIVEN: set[int] = set()
"""Ports that this process has given out; their users may not listen there yet."""


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens now, each given once. They are below the ports of outgoing
    connections."""
    with ExitStack() as stack:
        return [_bound(stack.enter_context(socket.socket())) for _ in range(count)]


def _bound(free: socket.socket) -> int:
    while True:
        port = SystemRandom().randrange(10_000, 32_000)
        if port in _GIVEN:
            continue
        with suppress(OSError):
            free.bind(("127.0.0.1", port))
            _GIVEN.add(port)
            return port


def run_tool(
    main_class: str, *arguments: object, version: str = NEWEST, within_s: float = _TOOL_S
) -> subprocess.CompletedProcess[str]:
    """Runs a command-line tool of Kafka. Its stderr has what its classes log at WARN or above."""
    return subprocess.run(
        tool_command("warn", main_class, map(str, arguments), version),
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )


class Controller:
    """A controller on the log directory `folder`/log, which may exist; started on entry, and
    stopped on exit. `log` is its log at INFO."""

    def __init__(
        self,
        folder: Path,
        node_id: int,
        ports: Mapping[int, int],
        *,
        is_static: bool,
        settings: Mapping[str, object] | None = None,
        version: str = NEWEST,
    ) -> None:
        """ports: the port of each voter. is_static: whether controller.quorum.voters names the
        voters (kraft.version 0). version: Kafka's, one of kafka_jars.VERSIONS."""
        self.version = version
        self.log_dir = folder / "log"
        self.port = ports[node_id]
        self.properties = folder / "server.properties"
        self._log_file = folder / "stderr.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.is_stopped = False
        folder.mkdir(parents=True, exist_ok=True)
        quorum = "voters" if is_static else "bootstrap.servers"
        named = (f"{id}@127.0.0.1:{port}" for id, port in ports.items())
        plain = (f"127.0.0.1:{port}" for port in ports.values())
        lines = {
            "process.roles": "controller",
            "node.id": node_id,
            f"controller.quorum.{quorum}": ",".join(named if is_static else plain),
            "listeners": f"{LISTENER}://127.0.0.1:{self.port}",
            "controller.listener.names": LISTENER,
            "listener.security.protocol.map": f"{LISTENER}:PLAINTEXT",
            "log.dirs": self.log_dir,
            **(settings or {}),
        }
        self.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    @property
    def partition(self) -> Path:
        return self.log_dir / "__cluster_metadata-0"

    @property
    def log(self) -> str:
        return self._log_file.read_text(errors="replace")

    def format(self, cluster_id: str, *arguments: str) -> None:
        """Does what kafka-storage format does, in this process."""
        command = ("format", "-t", cluster_id, "-c", self.properties, *arguments)
        ran = run_tool("kafka.tools.StorageTool", *command, version=self.version)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def start(self) -> None:
        self._run(java_command("info", "kafka.Kafka", [str(self.properties)], self.version))

    def stop(self, within_s: float = _STOP_S) -> int:
        """Stops the node in order, as kafka-server-stop does. Gives the exit code (143 after
        SIGTERM)."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(within_s)
        finally:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """Sends SIGKILL, also to a stopped process. Does nothing where it doesn't run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.is_stopped = False

    def freeze(self) -> None:
        """Sends SIGSTOP: the node keeps its connections, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def wait_for(self, text: str) -> None:
        """Waits until the node has logged `text`. Fails with its log where it ended, or took too
        long."""
        deadline = time.monotonic() + _START_S
        while text not in self.log:
            assert self.is_running, f"ended before {text!r}:\n{self.log[-5000:]}"
            assert time.monotonic() < deadline, f"never said {text!r}:\n{self.log[-5000:]}"
            time.sleep(_POLL_S)

    def wait_for_end(self) -> int:
        """Waits for the node's end. Gives its exit code."""
        assert self._process is not None
        return self._process.wait(_START_S)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Controller:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_running:
            self.stop()

    def _run(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=self._fresh_log()
        )

    def _fresh_log(self) -> IO[bytes]:
        return self._log_file.open("wb")


def java_command(
    level: str,
    main_class: str,
    arguments: Sequence[str] | map[str],
    version: str = NEWEST,
    heap: str = "256m",
    *,
    is_short_lived: bool = True,
) -> list[str]:
    """The command line of a Java program. is_short_lived: whether it should start soon rather than
    run fast later, as benchmarks need."""
    return [
        str(java().executable),
        f"-Xmx{heap}",
        *(("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") if is_short_lived else ()),
        *archive_options(version),
        f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}",
        "-cp",
        class_path(version),
        main_class,
        *arguments,
    ]


def tool_command(
    level: str, main_class: str, arguments: Sequence[str] | map[str], version: str = NEWEST
) -> list[str]:
    """The command line of a command-line tool."""
    *options, _, main = java_command(level, main_class, (), version)
    return [*options, tools_class_path(version), main, *arguments]
