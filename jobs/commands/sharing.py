"""Commands that give what a lake holds to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.commands import feed_options, options, sharing_options
from jobs.commands.combinations import alone, exclusive, needs, unless
from replica.errors import UsageError

if TYPE_CHECKING:
    from jobs.sharing.publish import Destination, Pace


def report(
    paths: sharing_options.PathsOfAReport = None,
    lake: options.LakeOrPaths = None,
    output: options.ReportOutput = "report.html",
    cluster: options.Cluster = None,
    order: options.Order = None,
    json_output: options.Json = False,
) -> int:
    """Write what is known of an incident as one HTML file, and print the verdict.

    For whoever has to understand it, or show it to others: a summary of two pages at most, the
    cluster at any moment by a slider, epochs of each replica, divergences with both branches
    decoded, what was truncated, snapshots, activity, findings with evidence, and the SQL behind
    each figure. The file asks the network for nothing, and holds secrets only where the lake does.

    Of a lake that was built, or of directories: of these a lake is made in a temporary folder
    ($TMPDIR) and deleted afterwards, or in --lake, where it stays. Needs no Java, but for a
    cluster of more than 200,000 records.

    \b
    Examples:
      kraftlake report node1/ node2/ node3/ -o incident.html
      kraftlake report --lake lake --cluster Lr3UIdBxT-GFPYE5uprmrg -o incident.html

    --json: file, cluster_id, level (sound, recovered, attention or broken), sentence, clauses,
    findings, a line per cluster. Exit codes: 0, 1 a lake that is broken, 2 usage (also a lake that
    was not built).
    """
    from jobs.sharing import report as job

    exclusive({"-o -": output == "-", "--json": json_output})
    lake = options.lake_unless(paths, lake)
    if not paths and lake is None:
        raise UsageError("report: name directories, or a lake by --lake or KRAFTLAKE_LAKE")
    needs("PATH", paths, {"--order": order})
    return job.run(
        lake=lake,
        paths=tuple(paths or ()),
        order=options.names_in(order),
        output=output,
        cluster=cluster,
        json_output=json_output,
    )


def export(
    lake: options.Lake,
    output: sharing_options.ExportOutput,
    tables: sharing_options.TablesToExport = None,
    to: sharing_options.ExportForm = None,
    query: sharing_options.ExportedQuery = None,
    question: sharing_options.ExportedQuestion = None,
    overwrite: sharing_options.Overwrite = False,
    json_output: options.Json = False,
) -> int:
    """Write tables of a lake, or the answer to a query, as DuckDB, SQLite, Parquet or CSV.

    For programs that read no Delta tables, and for people who want to take the answers along. The
    DuckDB file has the schemas and names of the lake, SQLite has gold_findings for gold.findings,
    and a folder of Parquet or CSV files has gold/findings.parquet.

    payload, which is a VARIANT in the lake, becomes JSON: of type JSON in DuckDB, text elsewhere.
    Times are UTC. Whatever is redacted in the lake is redacted in what is written. Needs no Java;
    duckdb has an extra of its own, kraftlake[duckdb].

    A .sql file has views by which a plain DuckDB reads the lake where it lies, as it is now.

    PLACE must not be there yet. It takes its name when everything is written: an export that fails
    leaves nothing, and with --overwrite what was there before.

    \b
    Examples:
      kraftlake export --lake lake -o incident.duckdb
      kraftlake export --lake lake -o findings.csv gold.findings
      kraftlake export --lake lake --to parquet -o tables gold.metadata_changes gold.findings
      kraftlake export --lake lake -o leaders.sqlite --question leaders
      kraftlake export --lake lake -o lake.sql

    --json: table, rows, file, a line for each table. Exit codes: 0, 1 when the query or the writing
    fails, 2 usage (also a table that the lake doesn't have).
    """
    from jobs.asking.questions import question as asked
    from jobs.sharing import export as job

    exclusive({"TABLE": tables, "--query": query, "--question": question})
    if question is not None:
        query = asked(question).sql
    return job.run(
        job.Request(
            lake=lake,
            output=output,
            tables=tuple(tables or ()),
            query=query,
            form=to,
            overwrite=overwrite,
            json_output=json_output,
        )
    )


def mcp(
    paths: sharing_options.PathsToServe = None,
    lake: options.LakeOrPaths = None,
    rows: sharing_options.MostRows = 200,
    seconds: sharing_options.MostSeconds = 60.0,
) -> int:
    """Serve a lake or directories to programs that speak the Model Context Protocol.

    An assistant or editor starts this command and asks it on standard input: what happened, who
    led when, what changed, what is wrong, what was so at an offset, and whether a planned change is
    safe; of a lake also any SELECT.

    The tools only read, and only what is named here. Secrets stay redacted: a lake that was made
    with --keep-secrets is refused. An answer has at most N rows and 200,000 bytes, and says where
    it was cut. Needs the extra kraftlake[mcp], and no Java.

    \b
    Examples, for the list of servers of a client:
      "command": "kraftlake", "args": ["mcp", "--lake", "/srv/lake"]
      "command": "kraftlake", "args": ["mcp", "node1/", "node2/", "node3/"]

    Exit codes: 0 when the client is gone, 2 usage.
    """
    from jobs.sharing import mcp as job

    exclusive({"PATH": paths, "--lake": lake})
    lake = options.lake_unless(paths, lake)
    if not paths and lake is None:
        raise UsageError("mcp: name directories, or a lake by --lake or KRAFTLAKE_LAKE")
    return job.run(lake=lake, paths=tuple(paths or ()), rows=rows, seconds=seconds)


def register(
    lake: options.Lake,
    catalog: sharing_options.Catalog = None,
    prefix: sharing_options.Prefix = "",
    client_file: sharing_options.ClientFile = None,
    drop: sharing_options.DropNames = False,
    json_output: options.Json = False,
) -> int:
    """Give a lake's tables and views names in a Hive metastore, for whatever else reads one.

    For Spark SQL, BI tools through the Spark Thrift server and notebooks, which then know
    gold.leader_epoch_history and so on by name. The tables are external: nothing in the lake is
    written, and names stay right after any ingest and build. Views are those of `kraftlake sql`, at
    the end of the log. To run it again is safe; a name that stands for something else is refused.

    A folder as the catalog serves one process at a time, and gets a file spark.conf with all that
    spark-sql and spark-submit need. Without --catalog it is what spark-submit's own settings name.

    \b
    Examples:
      kraftlake register --lake lake --catalog catalog
      kraftlake register --lake s3://bucket/lake --catalog thrift://metastore:9083 --prefix kraft_
      kraftlake register --lake lake --catalog catalog --drop

    --json: action (registered, kept, dropped), kind (table, view), name, location, a line each.
    Exit codes: 0, 1 when the metastore fails, 2 usage (also a name that is taken).
    """
    from jobs.sharing import register as job

    exclusive({"--drop": drop, "--client-file": client_file})
    return job.run(
        lake=lake,
        catalog=catalog,
        prefix=prefix,
        client_file=client_file,
        drop=drop,
        json_output=json_output,
    )


def publish(
    lake: options.OptionalLake = None,
    table: feed_options.Table = "gold.metadata_changes",
    bootstrap: feed_options.Bootstrap = None,
    topic: feed_options.Topic = None,
    progress_topic: feed_options.ProgressTopic = "kraftlake-publish-progress",
    producer_config: feed_options.ProducerConfig = None,
    properties: feed_options.Properties = None,
    to: feed_options.Folder = None,
    webhook: feed_options.WebhookUrl = None,
    webhook_header: feed_options.WebhookHeaders = None,
    webhook_format: feed_options.WebhookFormat = "json",
    webhook_severity: feed_options.WebhookSeverity = "error",
    webhook_key: feed_options.WebhookKey = None,
    progress: feed_options.ProgressPath = None,
    start: feed_options.StartAt = "snapshot",
    restart: feed_options.Restart = False,
    follow: feed_options.Follow = False,
    interval: feed_options.Interval = 5.0,
    schema: feed_options.Schema = False,
    run_id: options.RunId = None,
    json_output: options.Json = False,
) -> int:
    """Publish what changed in a table: to a Kafka topic, to files, or new errors to a webhook.

    The first run publishes all rows that the table holds, or with --from latest none; each later
    run, and --follow, what `kraftlake build` has changed since. Delta keeps changes for 30 days:
    after a longer pause, begin anew with --restart.

    \b
    A message is a line of JSON, described by --schema:
      op               insert, update, delete; read: a row of the first run
      before, after    the row, times in ms; null where there was, is none
      version, ordinal the Delta commit and the place in it; both rise
    --topic: exactly once for consumers with isolation.level=read_committed, also across kill -9:
    progress goes to a compacted topic in the same transactions. Keys are JSON: cluster_id, entity
    and key of a change, so that an entity's changes stay in order. A row that is gone is op
    delete, no tombstone. Missing topics are made with the cluster's defaults. Needs WRITE and
    DESCRIBE on the topics and the transactional id kraftlake-publish.TABLE.TOPIC, READ on the
    progress topic. --to: DIR/VERSION.jsonl for each version with changes, whole or not at all.

    --webhook: each new finding of severity error (--table gold.findings), at least once; a later
    capture that shows it again is nothing new. The Idempotency-Key of a message sent twice is the
    same. No answer, 408, 429 and 5xx are tried again, six times in three minutes, with --follow for
    ever; any other answer but 2xx ends it. All formats but json also tell that one is resolved.
    --json: table, version, is_snapshot, changes, a line for each version.

    \b
    Examples:
      kraftlake publish --lake lake -b localhost:9092 --topic cluster-changes --follow
      kraftlake publish --lake lake --to changes/
      kraftlake publish --lake lake --table gold.findings --webhook @url.txt --progress sent.json \\
        --webhook-format slack

    Exit codes: 0, 1 when the other side refuses, 75 when it doesn't answer or another publish is at
    work on the same (a later run goes on), 2 usage.
    """
    from jobs.sharing import publish as job

    kafka = job.Kafka(topic, bootstrap, progress_topic, producer_config, tuple(properties or ()))
    headers, form = tuple(webhook_header or ()), webhook_format
    hook = job.Hook(webhook, headers, progress, form, webhook_severity, webhook_key)
    pace, where = job.Pace(start, restart, follow, interval), job.Destination(kafka, to, hook)
    _check(where, pace, schema=schema)
    if schema:
        return job.print_schema(table)
    if lake is None:
        raise UsageError("publish: --lake L is missing, and KRAFTLAKE_LAKE is not set")
    told = options.uuid_of(run_id)
    return job.run(lake, table, where, pace, run_id=told, json_output=json_output)


def _check(to: Destination, pace: Pace, *, schema: bool) -> None:
    """Raises UsageError for an option that would have no effect."""
    from jobs.sharing import publish as job

    kafka, hook = to.kafka, to.hook
    targets = {"--topic": kafka.topic, "--to": to.folder, "--webhook": hook.url}
    alone("--schema", schema, {**targets, "--follow": pace.follow, "--restart": pace.restart})
    of_a_topic = {
        **{"--bootstrap": kafka.bootstrap, "-X": kafka.properties},
        "--producer-config": kafka.producer_config,
        "--progress-topic": unless(job.PROGRESS_TOPIC, kafka.progress_topic),
    }
    needs("--topic", kafka.topic, of_a_topic)
    of_a_webhook = {
        **{"--webhook-header": hook.headers, "--progress": hook.progress},
        **{"--webhook-format": unless("json", hook.form), "--webhook-key": hook.key},
        "--webhook-severity": unless("error", hook.least),
    }
    needs("--webhook", hook.url, of_a_webhook)
    needs("--follow", pace.follow, {"--interval": unless(job.INTERVAL_S, pace.interval_s)})
