"""A function for each micro-batch of a stream: for writes that are idempotent themselves."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame


def for_each_batch(
    stream: DataFrame, checkpoint: str, work: Callable[[], None], *, every_s: float | None
) -> None:
    """Call `work` whenever the stream has something new; it is called again after a crash.

    checkpoint: a folder that holds how far the stream was followed. every_s: seconds between looks
    at the source, until the process is stopped; None ends when all that was there at the beginning
    has been worked on. Raises what `work` raises; what it didn't end is work again next time.
    """
    failures: list[BaseException] = []

    def work_once(_: DataFrame, __: int) -> None:
        try:
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
        query.awaitTermination()
    except PySparkException:
        if failures:
            raise failures[0] from None
        raise
    finally:
        query.stop()
