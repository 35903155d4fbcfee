"""The JVM that this process starts: its start, its end, and which of its output is shown."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from pipelines.lake.library_text import own_stderr
from replica.errors import KraftlakeError, UsageError
from replica.terminal_text import one_line_bytes, to_stderr

# What the JVM prints before any logging is set up. No user can act on it.
_JVM_NOISE = (
    b"WARNING: Using incubator modules",
    b"WARNING: package sun.security.action not in java.base",  # from Java 24 on
    b"Picked up JAVA_TOOL_OPTIONS",
)
_LARGE_TASK = b"contains a task of very large size"
"""A part of Spark's warning about a task that carries many bytes. kraftlake's tasks carry rows of
the driver on purpose."""
_METRICS_MODE = "hadoop.metrics.init.mode"
_STACK_FRAME = (b"\tat ", b"\t... ")
_ENDED_WITHIN_S = 0.5
"""The seconds from a connection's end to the end of the JVM behind it."""
_muted = threading.Event()
_started: list[subprocess.Popen[bytes]] = []
"""The JVMs that this process has started."""


class EndedJvmError(KraftlakeError):
    """Spark's JVM has ended before the command that started it."""


def launch(conf: SparkConf) -> Any:
    """Starts the JVM. Its output is filtered, and kept off stdout, which is for `--json`. Raises
    UsageError where the JVM doesn't start."""
    read_end, write_end = os.pipe()
    threading.Thread(
        target=_forward, args=(os.fdopen(read_end, "rb"),), name="spark-stderr", daemon=True
    ).start()
    try:
        gateway = launch_gateway(  # type: ignore[no-untyped-call]
            conf, popen_kwargs={"stdout": write_end, "stderr": subprocess.STDOUT}
        )
        _started.append(gateway.proc)
        return gateway
    except PySparkRuntimeError as error:
        raise UsageError(
            "Spark's JVM did not start; what it printed is above. Check JAVA_HOME and "
            "spark.driver.memory."
        ) from error
    except KeyboardInterrupt as interrupt:
        _end_started(interrupt)
        raise
    finally:
        os.close(write_end)


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Keeps the process's handler of SIGINT while pyspark makes a context. pyspark installs another
    handler, which calls the JVM over a connection on which an answer is awaited, and both calls may
    wait without end. Meanwhile SIGINT is blocked, for some seconds, and is handled afterwards.

    Where the handler is Python's own, as in a notebook, pyspark's handler replaces it.
    """
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before in (None, signal.default_int_handler):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _end_started(interrupt: KeyboardInterrupt) -> None:
    """Ends the JVM that was starting. Otherwise it would wait for this process without end, even
    after this process has ended. Only a frame of pyspark in the interrupt's traceback has the JVM's
    process."""
    trace = interrupt.__traceback__
    while trace is not None:
        process = trace.tb_frame.f_locals.get("proc")
        if isinstance(process, subprocess.Popen):
            process.kill()
        trace = trace.tb_next


def raise_if_ended(error: Exception) -> None:
    """Raises EndedJvmError where a JVM that this process started has ended. pyspark's own error,
    such as `error`, is then about a connection, and doesn't name the JVM."""
    for jvm in _started:
        with suppress(subprocess.TimeoutExpired):
            raise EndedJvmError(_end_of(jvm.wait(_ENDED_WITHIN_S))) from error


def _end_of(code: int) -> str:
    how = f"ended (exit code {code})"
    if code == -signal.SIGKILL:
        how = "was killed (SIGKILL), as the kernel kills where memory runs out"
    elif code < 0:
        how = f"was ended by signal {-code}"
    return f"Spark's JVM {how}: run this again; nothing that was committed is lost"


def _forward(stream: IO[bytes]) -> None:
    """Passes the JVM's lines on to stderr, without its known noise and, unless KRAFTLAKE_DEBUG is
    set, without the frames of its stack traces. Ends with the JVM."""
    unwanted = _JVM_NOISE if os.environ.get("KRAFTLAKE_DEBUG") else _JVM_NOISE + _STACK_FRAME
    with stream:
        for line in stream:
            if not (_muted.is_set() or line.startswith(unwanted) or _LARGE_TASK in line):
                os.write(own_stderr(), one_line_bytes(line.rstrip(b"\r\n")) + b"\n")


def stop_hadoop_metrics(jvm: Any) -> None:
    """Prevents the start of Hadoop's metrics, which s3a would cause, unless the user has configured
    them. Hadoop's metrics look for their settings in the current folder. These settings may be a
    stranger's, and name files to write and jars to load."""
    if jvm.java.lang.System.getProperty(_METRICS_MODE) is None and _METRICS_MODE not in os.environ:
        jvm.java.lang.System.setProperty(_METRICS_MODE, "STANDBY")


def say_java(jvm: Any) -> None:
    """With KRAFTLAKE_DEBUG, says which Java runs Spark."""
    if os.environ.get("KRAFTLAKE_DEBUG"):
        version, home = map(jvm.java.lang.System.getProperty, ("java.version", "java.home"))
        to_stderr(f"kraftlake: Spark runs on Java {version} ({home})")


def mute() -> None:
    """Discards the JVM's output from now on, for a process that is about to end."""
    _muted.set()
