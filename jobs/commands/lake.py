"""Commands over the lake: ingest, build, sql, state, and demo, which shows them."""

from __future__ import annotations

from jobs.commands import options


def ingest(
    paths: options.Paths,
    lake: options.Lake,
    captured_at: options.CapturedAt = None,
    order: options.Order = None,
    as_replica: options.AsReplica = None,
    keep_secrets: options.KeepSecrets = False,
    json_output: options.Json = False,
) -> int:
    """Bring captures of metadata directories into the lake's bronze tables.

    For keeping what Kafka truncates and deletes. Any number of replicas, clusters and captures;
    what the lake has already is not stored twice, so running it again is safe. Secrets are
    redacted before anything is written.

    \b
    Examples:
      kraftlake ingest --lake lake /var/kafka/metadata
      kraftlake ingest --lake lake --captured-at 2026-11-21T05:00Z nodes/
      kraftlake ingest --lake lake --order live,split,final incident/

    --json: table and rows, a line per table. Exit codes: 0, 1 when a row went to bronze.damage,
    2 usage.
    """
    from jobs import ingest as job

    names = None if order is None else [name for name in order.split(",") if name]
    return int(
        job.run(
            paths,
            lake=lake,
            captured_at=captured_at,
            order=names,
            as_replica=as_replica,
            keep_secrets=keep_secrets,
            json_output=json_output,
        )
    )


def build(lake: options.Lake, json_output: options.Json = False) -> int:
    """Make the silver and gold tables from bronze: epochs, divergence, history, validity.

    For asking with SQL. Running it again gives the same rows; after another ingest it brings the
    tables up to date. Between the layers every table is held to what is expected of it: rows
    with which nothing right can be derived are left out and go to gold.quarantined_rows, and
    tables that contradict their contract end the build. `kraftlake quality` does the same alone.

    \b
    Example:
      kraftlake build --lake lake

    --json: table and rows, a line per table. Exit codes: 0, 1 when a table ends the build, 2 usage.
    """
    from jobs import build as job

    return int(job.run(lake=lake, json_output=json_output))


def quality(lake: options.Lake, json_output: options.Json = False) -> int:
    """Hold every table of the lake to what is expected of it, by Great Expectations.

    `build` does the same between its layers. The results go to gold.quality_results, and to pages
    below LAKE/_quality.

    \b
    Example:
      kraftlake quality --lake lake

    --json: table, version, expectation, meaning, columns, action (warn, quarantine or stop: what
    follows in a build), success, evaluated_rows, unexpected_rows, sample_keys, a line per
    expectation. Exit codes: 0, 1 when an expectation is broken, 2 usage.
    """
    from jobs import quality as job

    return int(job.run(lake=lake, json_output=json_output))


def sql(
    lake: options.Lake,
    query: options.Query = None,
    file: options.QueryFile = None,
    engine: options.Engine = "delta-rs",
    json_output: options.Json = False,
    csv: options.Csv = False,
    tables: options.Tables = False,
) -> int:
    """Ask the lake with SQL: bronze.x, silver.x and gold.x are its tables.

    For whoever investigates. Only the tables that the query names are opened; the first row comes
    in well under a second with delta-rs, in some seconds with spark, whose dialect knows more.

    The column payload is a VARIANT: both engines show it as JSON, spark also looks into it, as in
    where payload:name::string = 'orders'.

    Text shows an aligned table, times in UTC, nested values and VARIANT as JSON, binary as
    base64; --json gives a row per line with times as ms since the epoch.

    \b
    Examples:
      kraftlake sql --lake lake --tables
      kraftlake sql --lake lake "select * from gold.leader_epoch_history order by epoch"
      kraftlake sql --lake lake --csv -f incident.sql > incident.csv
      echo "select count(*) from bronze.log_records" | kraftlake sql --lake lake --json -

    Exit codes: 0, 1 when the query fails (unknown table or column, syntax), 2 usage.
    """
    from jobs import sql as job

    return job.run(
        job.Request(
            lake=lake,
            query=query,
            file=file,
            engine=engine,
            form="json" if json_output else "csv" if csv else "text",
            tables=tables,
        )
    )


def state(
    lake: options.Lake,
    cluster: options.Cluster = None,
    at_offset: options.AtOffset = None,
    at_time: options.AtTime = None,
    committed_only: options.CommittedOnly = False,
    json_output: options.Json = False,
) -> int:
    """Print a cluster's metadata as it was: topics, partitions, configs, brokers, ACLs and so on.

    For the question what the cluster believed when it went wrong. The log is the branch that the
    replicas agree on, to its end; --committed-only stops where nothing proves it committed any
    more. --at-offset N is the state of a snapshot with end offset N: records below N, an open
    transaction left out. --at-time takes records up to and including that time.

    entity, key, value (JSON with Kafka's field names, defaults filled in), and the offset of the
    record that last changed it (NULL: before the snapshot that the lake's log begins with).

    \b
    Examples:
      kraftlake state --lake lake
      kraftlake state --lake lake --at-offset 1526 --json | jq 'select(.entity == "topic")'
      kraftlake state --lake lake --cluster Lr3UIdBxT-GFPYE5uprmrg --at-time 2026-11-21T05:00Z

    Exit codes: 0, 2 usage (also a moment that the lake can't tell about).
    """
    from jobs import state as job
    from jobs.moments import moment_of

    moment = job.Moment(at_offset, moment_of("--at-time", at_time))
    return job.run(
        lake=lake,
        cluster=cluster,
        moment=moment,
        committed_only=committed_only,
        json_output=json_output,
    )


def demo(lake: options.DemoLake = None) -> int:
    """Show the whole way on metadata logs recorded from real Kafka: ingest, build, ask.

    For a first look; needs Java 17 or newer, and no Kafka.

    Exit codes: 0, 1 when an answer is not the expected one, 2 usage.
    """
    from jobs import demo as job

    return int(job.run(lake=lake))
