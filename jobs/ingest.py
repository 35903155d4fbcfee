"""`kraftlake ingest`: metadata directories, captures and bundles into a lake's bronze tables.

Also a Spark application with the same options:

    spark-submit jobs/ingest.py --lake /data/lake /var/lib/kafka-1 /var/lib/kafka-2
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from jobs.moments import moment_of
from jobs.output import complain, write_counts
from pipelines.capture.looks import Looks, Options, look_at, parse_replica
from pipelines.capture.remote import is_uri
from pipelines.capture.spool import Spool
from replica.errors import UsageError
from replica.format.damage import Damage


def run(
    paths: Sequence[str],
    *,
    lake: str,
    captured_at: str | None = None,
    order: Sequence[str] | None = None,
    as_replica: str | None = None,
    keep_secrets: bool = False,
    json_output: bool = False,
) -> int:
    """Ingest the paths; 0 where all was read, 1 where a row of bronze.damage was written.

    captured_at: ISO-8601 or ms; order: folder names, oldest capture first; as_replica:
    CLUSTER:NODE[:DIRECTORY] of what does not say so itself. Raises KraftlakeError.
    """
    from pipelines.lineage.job_events import job_events

    if is_uri(lake):
        raise UsageError(f"--lake {lake}: ingest needs a lake on a local or mounted file system")
    options = Options(
        captured_at=moment_of("--captured-at", captured_at),
        order=tuple(order or ()),
        replica=None if as_replica is None else parse_replica(as_replica),
    )
    with Spool.below(lake) as spool:
        looks = look_at(paths, options, spool)
        for damage in _all_damages(looks):
            complain(str(damage))
        with job_events("ingest", lake, complain, paths=paths):
            counts = _write(looks, lake, keep_secrets)
    write_counts(counts, json_output=json_output)
    return 1 if counts["bronze.damage"] else 0


def _all_damages(looks: Looks) -> list[Damage]:
    of_replicas = [
        damage.in_file(look.shown_file(damage.file))
        for groups in looks.rounds
        for group in groups
        for look in group.looks
        for damage in look.directory.damages
    ]
    return [*looks.damages, *of_replicas]


def _write(looks: Looks, lake: str, keep_secrets: bool) -> dict[str, int]:
    """Rows added or changed, by table. Spark starts here, after the paths have proved readable."""
    from pipelines.bronze.ingest import Ingest
    from pipelines.delta import Lake
    from pipelines.redaction import lake_key_file
    from pipelines.session import spark_session
    from pipelines.tables.bronze import BRONZE

    key_file = lake_key_file(lake)
    complain("ingest: starting Spark")
    spark = spark_session("kraftlake ingest", lake=lake)
    ingest = Ingest(spark, Lake(lake), None if keep_secrets else key_file)
    ingest.create_tables()
    counts = {contract.name: 0 for contract in BRONZE}
    now = datetime.now(UTC)
    for number, groups in enumerate(looks.rounds, start=1):
        progress = _progress(number, len(looks.rounds))
        for table, rows in ingest.run_round(groups, now, progress).items():
            counts[table] += rows
    for table, rows in ingest.add_damage(looks.damages).items():
        counts[table] += rows
    return counts


def _progress(number: int, of: int) -> Callable[[str], None]:
    head = "ingest" if of == 1 else f"ingest: round {number} of {of}"
    return lambda text: complain(f"{head}: {text}")


if __name__ == "__main__":
    from jobs.cli import main

    main(["ingest", *sys.argv[1:]])
