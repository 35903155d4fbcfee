"""Ctrl-C in commands that wait for Spark: one line says what to run next.

pyspark's own handler of SIGINT asks the JVM to cancel all jobs, over a connection on which another
answer is awaited. Then py4j prints the stack traces of both calls, and the JVM those of its
tasks.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jobs.cli.outcome import DEBUG_VARIABLE, INTERRUPTED
from jobs.cli.output import complain
from pipelines.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def interruptible(job: str, then: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C, says on stderr that `job` was interrupted, and what `then` gives: its outcome, and
    the command to run. Raises KeyboardInterrupt, also where something failed because of the
    interrupt.

    Afterwards the former handler of SIGINT is back, unless Ctrl-C was pressed: then the next Ctrl-C
    ends the process at once.
    """
    before = signal.getsignal(signal.SIGINT)
    _handle_sigint_by(_interrupt)
    try:
        yield
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        complain(f"{job}: interrupted: {then()}")
        if isinstance(error, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from error
    finally:
        if _is_main_thread() and signal.getsignal(signal.SIGINT) is not _leave:
            signal.signal(signal.SIGINT, before)


@contextmanager
def stop_requested() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set. Work that is running can finish."""
    stop = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def started_spark(
    job: str, lake: Lake, extra_conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A session of pipelines.spark.session.

    If no session runs yet, a line on stderr says that one starts. From then on `_interrupt_spark`
    handles SIGINT, unless the command has its own handler. extra_conf: more settings of Spark.
    Raises UnwritableFileError where the disk of Spark's scratch files is full.
    """
    from pipelines.delta.failures import scratch_errors
    from pipelines.spark.session import is_running, spark_session

    if not is_running():
        complain(f"{job}: starting Spark")
        _handle_sigint_by(_interrupt_spark)
        if not os.environ.get(DEBUG_VARIABLE):
            _silence_pyspark()
    with scratch_errors(tempfile.gettempdir()):
        return spark_session(f"kraftlake {job}", lake=lake.place, extra_conf=extra_conf)


def _handle_sigint_by(handler: Callable[..., None]) -> None:
    """Make `handler` the handler of SIGINT, unless the command has set its own handler."""
    ours = (signal.default_int_handler, _interrupt)
    if _is_main_thread() and signal.getsignal(signal.SIGINT) in ours:
        signal.signal(signal.SIGINT, handler)


def _interrupt(*_: Any) -> None:
    """The handler of SIGINT while no Spark runs. It raises KeyboardInterrupt. It also hides the
    errors of destructors, which Python would print: the destructor of an object may fail where the
    interrupt has ended its constructor."""
    if not os.environ.get(DEBUG_VARIABLE):
        sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def _interrupt_spark(*_: Any) -> None:
    """The handler of SIGINT while Spark runs. It does what `_interrupt` does, and also hides what
    Spark, py4j and threads print because of it. The next SIGINT ends the process at once."""
    from pipelines.spark.jvm import mute

    signal.signal(signal.SIGINT, _leave)
    if not os.environ.get(DEBUG_VARIABLE):
        mute()
        logging.disable(logging.CRITICAL)
        threading.excepthook = lambda _: None
    _interrupt()


def _leave(*_: Any) -> None:
    """The handler of SIGINT after the first Ctrl-C: the process ends at once."""
    os._exit(INTERRUPTED)


def _silence_pyspark() -> None:
    """Silences py4j's loggers, the root logger and the server of accumulators. py4j logs the trace
    of each error that it also raises, and the code that catches the error reports it. The server
    prints a trace where the JVM has ended."""
    from pyspark import accumulators

    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(
        lambda record: not record.getMessage().endswith("while sending command.")
    )


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether the error is an interrupt, or came while an interrupt ended the work."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
