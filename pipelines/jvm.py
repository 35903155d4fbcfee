"""The JVM of a session of our own: how it starts and ends, and what of its output is passed on."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from replica.errors import UsageError

# What the JVM prints before any logging is set up, and nobody can act on.
_JVM_NOISE = (b"WARNING: Using incubator modules", b"Picked up JAVA_TOOL_OPTIONS")
_STACK_FRAME = (b"\tat ", b"\t... ")
_muted = threading.Event()


def launch(conf: SparkConf) -> Any:
    """The JVM, its output filtered and kept off stdout, which belongs to `--json`."""
    read_end, write_end = os.pipe()
    threading.Thread(
        target=_forward, args=(os.fdopen(read_end, "rb"),), name="spark-stderr", daemon=True
    ).start()
    try:
        return launch_gateway(  # type: ignore[no-untyped-call]
            conf, popen_kwargs={"stdout": write_end, "stderr": subprocess.STDOUT}
        )
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
    """Who handles SIGINT, or ignores it, does so behind a context, too, which brings a handler of
    its own: that one asks the JVM over the connection that may be waiting for an answer, and then
    both wait. Ctrl-C is held back meanwhile, for some seconds."""
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
    """Ends the JVM that was starting, which would wait for us for ever. Only the frame of pyspark's
    that was interrupted knows its process."""
    trace = interrupt.__traceback__
    while trace is not None:
        process = trace.tb_frame.f_locals.get("proc")
        if isinstance(process, subprocess.Popen):
            process.kill()
        trace = trace.tb_next


def _forward(stream: IO[bytes]) -> None:
    """Passes the JVM's lines on to stderr, but for its known noise and, unless they are wanted, the
    frames of its stack traces. Ends with the JVM."""
    unwanted = _JVM_NOISE if os.environ.get("KRAFTLAKE_DEBUG") else _JVM_NOISE + _STACK_FRAME
    with stream:
        for line in stream:
            if not (_muted.is_set() or line.startswith(unwanted)):
                os.write(2, line)


def mute() -> None:
    """Nothing that the JVM prints is passed on any more: for who is about to end the process."""
    _muted.set()
