"""The job that follows the directories of running nodes: a stream that ingests whatever changes.

spark-submit starts it, and `kraftlake ingest --engine spark --follow SECONDS` does the same:

    spark-submit jobs/follow.py --lake /data/lake --follow 10 --build /mnt/nodes
    spark-submit jobs/follow.py --lake /data/lake --available-now --build /mnt/nodes

The stream reads kraft_captures, which tells that a log has changed. Each micro-batch is one ingest
of all paths, because the lake compares what was captured together; with --build it then brings the
other tables up to date. The checkpoint lies in the lake, so the next start continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from replica.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(spark: SparkSession | None, arguments: IngestOptions) -> int:
    """Follows the paths until SIGTERM or Ctrl-C, or with --available-now once, and prints the
    number of rows that each bronze table got.

    spark: the session in which the stream runs; None as for `jobs.ingest.main`. The exit code is
    that of `jobs.ingest.main`. Raises KraftlakeError, and UsageError where the options follow
    nothing.
    """
    if not arguments.is_stream:
        raise UsageError("follow: name --follow SECONDS, or --available-now to look once")
    return ingest.main(spark, arguments)


if __name__ == "__main__":
    from jobs.cli.main import run_submitted

    run_submitted("ingest", main)
