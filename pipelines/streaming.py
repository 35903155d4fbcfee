"""Structured Streaming over metadata directories: a stream of kraft_captures, whose micro-batches
do the work of a job.

Each micro-batch has the stream's id and a number of its own, and neither ever changes. The work
commits both to Delta as an app transaction, so that a micro-batch that Spark runs again after a
kill is known as done.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from deltalake import Transaction
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.lake import Lake
from pipelines.object_store import is_uri
from pipelines.sources import register
from pipelines.spark.connect import refuse_remote

Work = Callable[[Transaction, int], None]
"""What a micro-batch does. It gets the app transaction of the micro-batch, and how many directories
have changed."""
_LOOK_S = 0.2
"""The seconds between two checks whether the stream is to stop."""


def follow_captures(
    spark: SparkSession,
    lake: Lake,
    paths: Sequence[str],
    work: Work,
    every_s: float | None,
    stop: threading.Event,
) -> None:
    """Run a stream over the paths until `stop` is set, and then until the work of the running
    micro-batch is done.

    every_s: the seconds between two checks of the paths. With None the paths are checked once, and
    the stream ends (Spark's availableNow).
    The checkpoint lies in the lake, one for each list of paths, so the next stream over these paths
    continues. Raises what the work raises, UsageError for Spark Connect, and
    StreamingQueryException where Spark itself fails.
    """
    refuse_remote("a stream of kraft_captures")  # its work needs this process
    register(spark)
    places = [path if is_uri(path) else os.path.abspath(path) for path in paths]
    batches = _MicroBatches(work, stop)
    changes = spark.readStream.format("kraft_captures").option("paths", json.dumps(places)).load()
    writer = (
        changes.writeStream.queryName(f"kraftlake: {lake.root}")
        .option("checkpointLocation", checkpoint_of(lake, places))
        .foreachBatch(batches.run)
    )
    if every_s is None:
        query = writer.trigger(availableNow=True).start()
    else:
        query = writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds").start()
    batches.query_id.set_result(query.id)
    try:
        _wait(query, stop)
    except StreamingQueryException:
        if batches.error is None and not stop.is_set():
            raise
    finally:
        stop.set()
        with batches.at_work:
            query.stop()
    if batches.error is not None:
        raise batches.error


def checkpoint_of(lake: Lake, places: Sequence[str]) -> str:
    """The folder of the checkpoint of a stream over these paths, in Spark's form."""
    name = hashlib.sha256(json.dumps(sorted(places)).encode()).hexdigest()[:16]
    return f"{lake.root}/_streams/{name}"


def _wait(query: StreamingQuery, stop: threading.Event) -> None:
    while query.isActive and not stop.is_set():
        query.awaitTermination(_LOOK_S)  # type: ignore[arg-type] # its stub wants whole seconds


class _StoppedError(Exception):
    """Ends a micro-batch that begins while the stream stops: the next stream runs it."""


@dataclass
class _MicroBatches:
    """Does the work of micro-batches, in a thread that Spark calls."""

    work: Work
    stop: threading.Event
    query_id: Future[str] = field(default_factory=Future)
    at_work: threading.Lock = field(default_factory=threading.Lock)
    """Held while a micro-batch is at work."""
    error: BaseException | None = None
    """The error with which a micro-batch ended; None while none has failed."""

    def run(self, changed: DataFrame, number: int) -> None:
        transaction = Transaction(self.query_id.result(), number)
        with self.at_work:
            if self.stop.is_set():
                raise _StoppedError
            try:
                self.work(transaction, changed.count())
            except BaseException as error:
                self.error = error
                raise
