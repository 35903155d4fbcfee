"""A function for each micro-batch of a stream: for writes that are idempotent themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

_POLL_S = 1


def for_each_batch(
    stream: DataFrame,
    checkpoint: str,
    work: Callable[[], None],
    *,
    every_s: float | None,
    stop: threading.Event,
) -> None:
    """Call `work` whenever the stream has something new; it is called again after a crash.

    checkpoint: a folder that holds how far the stream was followed. every_s: seconds between looks
    at the source; None ends when all that was there at the beginning has been worked on. stop: set
    to end it after the work that is under way. Raises what `work` raises; what it didn't end is
    work again next time.
    """
    failures: list[BaseException] = []
    working, is_ended = threading.Lock(), threading.Event()

    def work_once(_: DataFrame, __: int) -> None:
        with working:
            try:
                if is_ended.is_set():  # to return would say that the batch is done
                    raise InterruptedError("told to end before this batch")
                work()
            except BaseException as error:
                failures.append(error)
                raise

    writer = stream.writeStream.foreachBatch(work_once).option("checkpointLocation", checkpoint)
    writer = (
        writer.trigger(availableNow=True)
        if every_s is None
        else writer.trigger(processingTime=f"{every_s} seconds")
    )
    query = writer.start()
    try:
        # never for long: what comes by signal is seen between two calls of the JVM
        while not query.awaitTermination(_POLL_S) and not stop.is_set():
            pass
        with working:
            is_ended.set()
    except PySparkException:
        if failures:
            raise failures[0] from None
        raise
    finally:
        query.stop()
