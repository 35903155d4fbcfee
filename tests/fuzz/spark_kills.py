"""Processes of Spark killed with -9 while `kraftlake ingest --engine spark` runs; the campaign is
in tests.fuzz.ingest_kills.

The driver is two processes: the command, which is Python, and the JVM that it starts. Executors are
JVMs that a cluster's workers start, and each has Python workers, which decode.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.cluster.standalone import Cluster
from tests.fuzz.running_ingest import RunningIngest, kill
from tests.kraftlake_process import REPOSITORY

COMMAND, JVM = "the command", "its JVM"
EXECUTOR, PYTHON_WORKER = "an executor", "a Python worker"
_MARKS = {EXECUTOR: b"CoarseGrainedExecutorBackend", PYTHON_WORKER: b"pyspark.daemon"}
_ERROR = "kraftlake: error: "
_SHORT_RUN = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions"
    " -XX:-BytecodeVerificationRemote"
)
"""A JVM that works for seconds takes a quarter less processor time without its second compiler and
without the verification of classes."""


@dataclass(frozen=True)
class Killed:
    """A kill. after_s: the seconds from the ingest's first line, or from the first executor, to the
    kill. said: the last line before it. victim: the process that was killed. fault: what was wrong
    with the end of an ingest that lost another process than its own; None where nothing was."""

    after_s: float
    said: str
    victim: str = COMMAND
    fault: str | None = None


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of ingests by Spark. The temporary files that killed ingests leave lie below
    `folder`."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(scratch), "JAVA_TOOL_OPTIONS": _SHORT_RUN, **more}


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[Cluster, dict[str, str]]]:
    """A cluster of two workers, and the environment of ingests that run on it."""
    daemons, conf = folder / "daemons", folder / "conf"
    daemons.mkdir()
    conf.mkdir()
    with Cluster(daemons, {"JAVA_TOOL_OPTIONS": _SHORT_RUN}) as running:
        (conf / "log4j2.properties").symlink_to(REPOSITORY / "conf" / "log4j2.properties")
        (conf / "spark-defaults.conf").write_text(
            f"spark.master {running.master}\n"
            "spark.driver.bindAddress 127.0.0.1\n"
            "spark.driver.host 127.0.0.1\n"
            "spark.ui.enabled false\n"
            f"spark.executorEnv.PYTHONPATH {REPOSITORY}\n"
        )
        named = {"SPARK_CONF_DIR": str(conf), "PYSPARK_PYTHON": sys.executable}
        yield running, environment(folder, **named)


def kill_command(running: RunningIngest) -> str:
    kill(running.pid)
    return COMMAND


def kill_jvm(running: RunningIngest) -> str:
    """Kills the JVM of the command; the command itself where it has none yet."""
    below = running.descendants
    if not below:
        return kill_command(running)
    kill(below[0])
    return JVM


def kill_python_worker(running: RunningIngest) -> str:
    """Kills the first Python worker of the command's own JVM, as soon as it has one."""
    found = running.wait_for(lambda: _workers_below(running))
    assert found, running.said
    kill(found[0])
    return PYTHON_WORKER


def _workers_below(running: RunningIngest) -> list[int]:
    mark = _MARKS[PYTHON_WORKER]
    return [pid for pid in running.descendants if mark in _command_of(pid)]


def fault_of(code: int, said: str) -> str | None:
    """What is wrong with the end of an ingest that lost processes of Spark; None where it ended
    well, or with one line that says why."""
    if code == 0:
        return None
    if "Traceback" in said or "internal error" in said:
        return f"more than a line: {said[-3000:]}"
    last = (said.splitlines() or [""])[-1]
    return None if last.startswith(_ERROR) else f"exit {code}: {last}"


def kill_executors(
    running: RunningIngest, of: Cluster, draw: Random, most: int, longest_pause_s: float
) -> Iterator[Killed]:
    """Kills up to `most` executors and Python workers, a random pause before each. Ends with the
    ingest."""
    running.wait_for(lambda: _victims(of))
    began = time.monotonic()
    for _ in range(most):
        running.pause(draw.uniform(0.0, longest_pause_s))
        found = running.wait_for(lambda: _victims(of))
        if found is None:
            return
        victim = draw.choice(sorted(found))
        kill(draw.choice(found[victim]))
        yield Killed(time.monotonic() - began, (running.lines or [""])[-1], victim)


def _victims(of: Cluster) -> dict[str, list[int]]:
    """The processes of the cluster's executors, by what they are."""
    found: dict[str, list[int]] = {}
    for worker in of.workers:
        for pid in worker.processes:
            for victim, mark in _MARKS.items():
                if mark in _command_of(pid):
                    found.setdefault(victim, []).append(pid)
    return found


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # the process has ended
        return b""
