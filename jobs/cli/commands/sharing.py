"""Commands that give what a lake holds to others."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import alone, exclusive, given_options, needs
from jobs.cli.commands.options import each_by, html_file, on_disk
from jobs.cli.commands.parameters import Text, Texts, argument, command, option
from pipelines.object_store import check_local, check_place


@command("cli.sharing.report:run", "Write an incident as one HTML file, the verdict first.")
class ReportOptions:
    """Write an incident as one HTML file, and print the verdict.

    The file has a summary of two pages at most, the state of the cluster at any moment by a slider,
    the epochs of each node, divergences with both branches decoded, truncated records,
    snapshots, activity, findings with evidence, and the SQL behind each figure. It loads nothing
    from the network, and holds secrets only if the lake does.

    The command reads a lake that was built, or directories. For directories it makes a lake: in
    --lake, where it stays, or in a temporary folder ($TMPDIR), which it deletes afterwards. It
    needs Java only for a cluster of more than 200,000 records. Without the extra kraftlake[lake]
    the page of directories is made without a lake: it has the events and the state now in the place
    of the slider, all other sections, and no SQL.

    \b
    Examples:
      kraftlake report node1/ node2/ node3/ -o incident.html
      kraftlake report --lake lake --cluster Lr3UIdBxT-GFPYE5uprmrg -o incident.html

    --json: file, cluster_id, level (as of check; recovered: the incident is over, and nothing
    committed was lost), headline, next_steps, runbook and not_judged (as of check), sentence,
    clauses, findings, refused and refused_next (about writes that were refused and are accepted
    again, and what to look at; empty where none were), a line per cluster.

    Exit codes: 0, 1 the lake is broken, 2 usage (also a lake that was not built).
    """

    paths: Texts = argument(
        "[PATH...]",
        "Directories, files or archives to report on, as for ingest.",
        default=None,
        callback=each_by(check_place),
    )
    lake: options.LakeOrPaths = None
    output: str = option(
        "-o, --output FILE",
        "The HTML file to write, .html; - for standard output.",
        default="report.html",
        callback=html_file("-o"),
    )
    cluster: options.Cluster = None
    order: options.Order = None
    json_output: options.Json = False

    def __post_init__(self) -> None:
        exclusive({"-o -": self.output == "-", "--json": self.json_output})
        needs("PATH", self.paths, given_options(self, "order"))


@command("cli.sharing.export:run", "Write tables or answers as DuckDB, SQLite, Parquet or CSV.")
class ExportOptions:
    """Write tables of a lake, or the answer to a query, as DuckDB, SQLite, Parquet or CSV.

    Use it for programs that don't read Delta tables, and to carry answers elsewhere. The table
    gold.findings has the same name in a DuckDB file, is gold_findings in SQLite, and is
    gold/findings.parquet in a folder of Parquet files (or gold/findings.csv).

    The column payload, a VARIANT in the lake, becomes JSON: of type JSON in DuckDB, text elsewhere.
    Times are UTC. What is redacted in the lake stays redacted. The command needs no Java; DuckDB
    needs the extra kraftlake[duckdb].

    A .sql file gets views with which a plain DuckDB reads the lake in its place, at its present
    version.

    PLACE must not exist yet. It gets its name when everything is written: an export that fails
    leaves no PLACE, or with --overwrite the PLACE that was there before.

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

    lake: options.Lake
    output: str = option(
        "-o, --output PLACE",
        "The file to make; for several tables as Parquet or CSV, the folder to make.",
        callback=on_disk("-o"),
    )
    tables: Texts = argument(
        "[TABLE...]", "Tables such as gold.findings; all of the lake by default.", default=None
    )
    form: Text = option(
        "--to FORM",
        "The form: duckdb, sqlite, parquet, csv or views (for DuckDB); by default as PLACE ends.",
        default=None,
    )
    query: Text = option(
        "--query SQL", "Export the answer to this query, as a table `answer`.", default=None
    )
    question: Text = option(
        "--question NAME", "Export the answer to a question of `sql --questions`.", default=None
    )
    overwrite: bool = option(
        "--overwrite", "Replace the file or folder of an earlier export.", default=False
    )
    json_output: options.Json = False
    memory: options.Memory = None

    def __post_init__(self) -> None:
        exclusive(given_options(self, "tables", "query", "question"))


@command("cli.sharing.mcp:run", "Serve a lake or directories to assistants and editors (MCP).")
class McpOptions:
    """Serve a lake or directories to programs that speak the Model Context Protocol.

    An assistant or editor starts this command and sends its questions on standard input: what
    happened, which node led when, what changed, what is wrong, what the state was at an offset, and
    whether a planned change is safe. A lake also answers any SELECT.

    The server's tools only read, and only the lake or directories named here. Secrets stay
    redacted: a lake that was made with --keep-secrets is refused. An answer has at most --rows rows
    and 200,000 bytes, and says so where it was cut. The command needs the extra kraftlake[mcp], and
    no Java.

    \b
    Examples, for the list of servers of a client:
      "command": "kraftlake", "args": ["mcp", "--lake", "/srv/lake"]
      "command": "kraftlake", "args": ["mcp", "node1/", "node2/", "node3/"]

    Exit codes: 0 when the client has ended, 2 usage.
    """

    paths: Texts = argument(
        "[PATH...]",
        "Directories of nodes, to serve instead of a lake.",
        default=None,
        callback=each_by(check_local),
    )
    lake: options.LakeOrPaths = None
    rows: int = option("--rows N", "Give N rows at most in an answer.", default=200, min=1)
    seconds: float = option("--seconds S", "Stop an answer after S seconds.", default=60.0, min=1)
    memory: options.Memory = None

    def __post_init__(self) -> None:
        exclusive(given_options(self, "paths", "lake"))


@command("cli.sharing.register:run", "Give a lake's tables names in a Hive metastore.")
class RegisterOptions:
    """Give a lake's tables and views names in a Hive metastore, for other programs that read it.

    Spark SQL, notebooks, and BI tools through the Spark Thrift server then know a table such as
    gold.leader_epoch_history by its name. The tables are external: register writes nothing in the
    lake, and the names stay right after each ingest and build. The views are those of
    `kraftlake sql`, at the end of the log. Running the command again is safe; it refuses a name
    that stands for something else.

    A metastore in a folder serves one process at a time. The folder gets a file spark.conf with the
    settings that spark-sql and spark-submit need. Without --catalog, the settings of spark-submit
    decide which metastore it is.

    \b
    Examples:
      kraftlake register --lake lake --catalog catalog
      kraftlake register --lake s3://bucket/lake --catalog thrift://metastore:9083 --prefix kraft_
      kraftlake register --lake lake --catalog catalog --drop

    --json: action (registered, kept, dropped), kind (table, view), name, location, a line each.
    Exit codes: 0, 1 when the metastore fails, 2 usage (also a name that something else has).
    """

    lake: options.Lake
    catalog: Text = option(
        "--catalog FOLDER|URI",
        "The metastore: a folder for an embedded one (Derby), or thrift://HOST:PORT.",
        default=None,
    )
    prefix: str = option(
        "--prefix P", "A prefix for bronze, silver and gold, such as prod_.", default=""
    )
    client_file: Text = option(
        "--client-file FILE",
        "The file of Spark's settings for readers to write; by default spark.conf in FOLDER.",
        default=None,
        callback=on_disk("--client-file"),
    )
    drop: bool = option("--drop", "Drop the lake's names; the data stays.", default=False)
    json_output: options.Json = False

    def __post_init__(self) -> None:
        exclusive(given_options(self, "drop", "client_file"))


@command("publish:run", "Publish a table's changes: Kafka, files, a webhook.")
class PublishOptions:
    """Publish the changes of a table: to a Kafka topic, to files, or new errors to a webhook.

    The first run publishes all rows of the table, or with --from latest none. Each later run, and
    --follow, publishes what `kraftlake build` has changed since. Delta deletes changes after 30
    days: after a longer pause, begin again with --restart.

    \b
    A message is a line of JSON, described by --schema:
      op               insert, update, delete; read for a row of the first run
      before, after    the row before and after the change, times in ms; null where there is none
      version, ordinal the Delta commit and the place in it; both only increase

    --topic sends each change exactly once to consumers with isolation.level=read_committed, also
    after kill -9: one transaction writes the messages and, to a compacted topic, the progress. Keys
    are JSON: cluster_id, entity and key of a change, so an entity's changes stay in order. A
    deleted row is a message with op delete, not a tombstone. publish makes missing topics with the
    cluster's defaults. The principal needs WRITE and DESCRIBE on the topics and on the
    transactional id kraftlake-publish.TABLE.TOPIC, and READ on the progress topic.

    --to writes a whole file DIR/VERSION.jsonl for each version with changes.

    --webhook sends each new finding of severity error (--table gold.findings) at least once. A
    finding that a later capture shows again is not new. A message that is sent twice has the same
    Idempotency-Key. publish sends again after no answer, 408, 429 and 5xx: six times in three
    minutes, or with --follow without end. Any other answer than 2xx ends the run. All formats but
    json also report that a finding is resolved. --json: table, version, is_snapshot, changes, a
    line for each version.

    \b
    Examples:
      kraftlake publish --lake lake -b localhost:9092 --topic cluster-changes --follow
      kraftlake publish --lake lake --to changes/
      kraftlake publish --lake lake --table gold.findings --webhook @url.txt --progress sent.json \\
        --webhook-format slack

    Exit codes: 0, 1 when Kafka or the webhook refuses, 75 when it doesn't answer or another publish
    works on the same target (a later run continues), 2 usage.
    """

    lake: options.OptionalLake = None
    table: str = option(
        "--table T",
        "The table: own.NAME, or any of gold but gold.metadata_history.",
        default="gold.metadata_changes",
    )
    bootstrap: Text = option(
        "-b, --bootstrap HOST:PORT,...", "Brokers of the cluster that has the topic.", default=None
    )
    topic: Text = option("--topic TOPIC", "Publish to a Kafka topic.", default=None)
    progress_topic: str = option(
        "--progress-topic TOPIC",
        "The compacted topic that keeps the progress.",
        default="kraftlake-publish-progress",
    )
    producer_config: Text = option(
        "--producer-config FILE",
        "A file of librdkafka's properties, such as security.protocol.",
        default=None,
    )
    properties: Texts = option(
        "-X NAME=VALUE", "A property of librdkafka. May be repeated.", default=None
    )
    folder: Text = option(
        "--to DIR",
        "Publish to a folder, as files of JSON lines.",
        default=None,
        callback=on_disk("--to"),
    )
    webhook: Text = option(
        "--webhook URL",
        "Send each new row of gold.findings by POST; @FILE reads the URL from a file.",
        default=None,
        is_secret=True,
    )
    webhook_headers: Texts = option(
        "-H, --webhook-header H",
        "A header to send: 'NAME: VALUE', or @FILE. May be repeated.",
        default=None,
        is_secret=True,
    )
    webhook_format: str = option(
        "--webhook-format F",
        "The format of messages: json, slack, pagerduty or alertmanager.",
        default="json",
    )
    webhook_severity: str = option(
        "--webhook-severity S",
        "The least severity that is sent: error or warning.",
        default="error",
    )
    webhook_key: Text = option(
        "--webhook-key KEY",
        "The integration key of PagerDuty's service; @FILE reads it from a file.",
        default=None,
        is_secret=True,
    )
    progress: Text = option(
        "--progress FILE", "With --webhook: the file that keeps the progress.", default=None
    )
    start: str = option(
        "--from WHERE",
        "Where the first run begins: snapshot (all rows of the table) or latest.",
        default="snapshot",
    )
    restart: bool = option(
        "--restart", "Forget the progress, and begin at --from again.", default=False
    )
    follow: bool = option("--follow", "Publish each new version, until interrupted.", default=False)
    interval_s: float = option(
        "--interval S",
        "With --follow: look at the table every S seconds.",
        default=5.0,
        min=0.1,
    )
    schema: bool = option(
        "--schema", "Only print the JSON Schema of the table's messages.", default=False
    )
    run_id: options.RunId = None
    json_output: options.Json = False

    def __post_init__(self) -> None:
        publishing = given_options(self, "topic", "folder", "webhook", "follow", "restart")
        alone("--schema", self.schema, publishing)
        of_a_topic = given_options(
            self, "bootstrap", "properties", "producer_config", "progress_topic"
        )
        needs("--topic", self.topic, of_a_topic)
        of_messages = given_options(self, "webhook_format", "webhook_key", "webhook_severity")
        of_a_webhook = {**given_options(self, "webhook_headers", "progress"), **of_messages}
        needs("--webhook", self.webhook, of_a_webhook)
        needs("--follow", self.follow, given_options(self, "interval_s"))
