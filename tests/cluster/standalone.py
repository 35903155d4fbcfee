"""A real Spark standalone cluster: a master and workers of one core each, all on 127.0.0.1."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.request import urlopen

from pipelines.spark.java import find_java
from tests.descendants import descendants
from tests.interop.kafka_node import free_ports

_WITHIN_S = 300
_STOP_S = 30

T = TypeVar("T")


def spark_home() -> Path:
    """The folder of pyspark, which has all of Spark except the scripts that start a cluster."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def told(url: str) -> Any:
    """The JSON at a URL; None where nothing answers, or not (yet) with JSON."""
    with suppress(URLError, OSError, ValueError), urlopen(url, timeout=10) as answer:  # noqa: S310
        return json.load(answer)
    return None


def wait_for(
    what: str,
    look: Callable[[], T | None],
    said: Callable[[], str],
    goes_on: Callable[[], bool] = lambda: True,
    every_s: float = 0.2,
) -> T:
    """The first result of `look` that isn't None. Fails, with the text of `said`, where that takes
    too long, or where `goes_on` becomes false."""
    deadline = time.monotonic() + _WITHIN_S
    while True:
        can_still_come = goes_on()
        found = look()
        if found:
            return found
        assert can_still_come, f"ended without {what}\n{said()[-10_000:]}"
        assert time.monotonic() < deadline, f"no {what}\n{said()[-10_000:]}"
        time.sleep(every_s)


class Daemon:
    """A process of Spark, started by spark-class. It is ended by its id, with all processes that it
    started."""

    def __init__(self, log: Path, main_class: str, *words: str, **variables: str) -> None:
        self._log = log
        self._command = [str(spark_home() / "bin" / "spark-class"), main_class, *words]
        self._environment = environment(**variables)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                self._command, stdout=out, stderr=subprocess.STDOUT, env=self._environment
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def processes(self) -> list[int]:
        """The ids of the process and of all processes that it started."""
        assert self._process is not None
        return [self._process.pid, *descendants(self._process.pid)]

    def stop(self) -> None:
        """Ends the process in order. Then kills what is left of it."""
        if self._process is None or not self.is_running:
            return
        started = self.processes
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        send(signal.SIGKILL, started)
        self._process.wait()

    def freeze(self) -> None:
        """Sends SIGSTOP to the process and all processes that it started. Their connections stay,
        and nothing continues."""
        send(signal.SIGSTOP, self.processes)

    def thaw(self) -> None:
        send(signal.SIGCONT, self.processes)

    def kill(self) -> None:
        """Sends SIGKILL to the process and all processes that it started."""
        assert self._process is not None
        send(signal.SIGKILL, self.processes)
        self._process.wait()


def send(number: signal.Signals, processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _listens_at(port: int, ui_port: int) -> tuple[str, ...]:
    return "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui_port)


class Worker(Daemon):
    """A worker. An executor works in folder/APPLICATION/EXECUTOR."""

    def __init__(self, folder: Path, master: str, port: int, ui_port: int, **more: str) -> None:
        self.folder = folder
        folder.mkdir()
        super().__init__(
            folder.with_suffix(".log"),
            "org.apache.spark.deploy.worker.Worker",
            *_listens_at(port, ui_port),
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            str(folder),
            master,
            **more,
        )

    def executors(self, application: str) -> list[Path]:
        """The folders of the executors that the worker has started for an application."""
        return sorted(self.folder.glob(f"{application}/*"))


class Cluster:
    """A cluster, started on entry and ended on exit. variables: the environment of all its
    processes."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.variables = variables
        port, ui_port, *worker_ports = free_ports(6)
        self.master = f"spark://127.0.0.1:{port}"
        self._state = f"http://127.0.0.1:{ui_port}/json/"
        self._master = Daemon(
            folder / "master.log",
            "org.apache.spark.deploy.master.Master",
            *_listens_at(port, ui_port),
            **{**variables, "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"},
        )
        self.workers = [
            Worker(folder / f"worker-{number}", self.master, *ports, **variables)
            for number, ports in enumerate((worker_ports[:2], worker_ports[2:]), start=1)
        ]

    def state(self) -> dict[str, Any]:
        """The master's state: aliveworkers, activeapps and more."""
        return told(self._state) or {}

    def whole(self) -> None:
        """Waits until all workers run and are known to the master. Killed workers are
        started anew."""
        for worker in self.workers:
            if not worker.is_running:
                worker.start()
        wait_for("workers", lambda: self.state().get("aliveworkers") == 2, self._said)

    def _said(self) -> str:
        return "\n".join(one.log for one in (self._master, *self.workers))

    def __enter__(self) -> Cluster:
        try:
            self._master.start()
            wait_for("master", self.state, self._said)
            self.whole()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for one in (*self.workers, self._master):
            one.stop()


def environment(**variables: str) -> dict[str, str]:
    """The environment for Spark's own processes, and for programs that submit to them: this
    pyspark, this Java, only the loopback address, and no path to our code."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    kept.pop("PYTHONPATH", None)
    return {
        **kept,
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        **variables,
    }
