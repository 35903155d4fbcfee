"""The commands that ask: `sql` a lake, and `state` a lake or directories for a cluster's metadata
at a moment."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import alone, exclusive, given_options, needs
from jobs.cli.commands.parameters import Number, Text, Texts, argument, command, option
from jobs.cli.moments import Moment, asked_moment
from replica.errors import UsageError

DELTA_RS, DUCKDB, SPARK = ENGINES = ("delta-rs", "duckdb", "spark")


@command("cli.asking.sql:ask", "Query the tables with SQL.")
class SqlOptions:
    """Query the lake with SQL. Its tables are named bronze.x, silver.x and gold.x.

    The command opens only the tables that the query names. The first row comes in less than a
    second with delta-rs, in a second with duckdb, in a few seconds with spark.

    The column payload is a VARIANT, which every engine shows as JSON. A query reads its fields with
    payload->>'name' = 'orders' in duckdb, which needs the extra kraftlake[duckdb], and with
    payload:name::string = 'orders' in spark, which needs Java.

    The views gold.topics_at, partition_leaders_at, under_replicated_at, acl_at and config_at show
    the state at the end of the log, or at --at-offset or --at-time as `state` does. --cluster
    leaves out the other clusters. A moment later than the newest capture of a cluster is an error.

    Without a query, on a terminal, the command is a prompt for many queries, with completion, a
    history and a pager ($PAGER, or less); \\? lists its commands.

    Text is an aligned table with times in UTC, nested values and VARIANT as JSON, binary as base64.
    --json prints a row per line, with times as ms since the epoch.

    \b
    Examples:
      kraftlake sql --lake lake --tables
      kraftlake sql --lake lake --question leaders
      kraftlake sql --lake lake "select * from gold.leader_epoch_history order by epoch"
      kraftlake sql --lake lake --at-offset 1526 "select * from gold.under_replicated_at"
      kraftlake sql --lake lake --csv -f incident.sql > incident.csv
      kraftlake sql --lake lake --engine duckdb \\
        "select payload from bronze.log_records where payload->>'name' = 'orders'"
      echo "select count(*) from bronze.log_records" | kraftlake sql --lake lake --json -

    Exit codes: 0, 1 when the query fails (unknown table or column, syntax), 2 usage.
    """

    lake: options.Lake
    query: Text = argument("[QUERY]", "One SELECT statement; - reads it from stdin.", default=None)
    file: Text = option("-f, --file FILE", "Read the query from a file.", default=None)
    engine: str = option(
        "--engine ENGINE", "The SQL engine: delta-rs, duckdb or spark.", default=DELTA_RS
    )
    json_output: options.Json = False
    csv: options.Csv = False
    plain_csv: options.PlainCsv = False
    tables: bool = option("--tables", "List the lake's tables and columns instead.", default=False)
    at_offset: options.AtOffset = None
    at_time: options.AtTime = None
    cluster: options.Cluster = None
    question: Text = option(
        "--question NAME", "Ask a prepared question; --questions lists them.", default=None
    )
    questions: bool = option(
        "--questions", "List the prepared questions; with --json, their SQL too.", default=False
    )
    memory: options.Memory = None

    def __post_init__(self) -> None:
        for name, value in given_options(self, "tables", "questions").items():
            alone(name, value, given_options(self, "cluster", "at_offset", "at_time", "engine"))
        asked_moment(self.at_offset, self.at_time)  # A wrong moment is refused before a prompt.

    @property
    def moment(self) -> Moment:
        """The moment whose state the views show."""
        return asked_moment(self.at_offset, self.at_time)


@command("cli.asking.state:run", "Show a cluster's metadata at an offset or a moment.")
class StateOptions:
    """Show a cluster's metadata at a moment: topics, partitions, configs, brokers, ACLs and so on.

    The command reads a lake, or replays the logs of directories; name those of all nodes that you
    have. It replays the records that the replicas agree on, to the end of the log;
    --committed-only stops at the first record that is not proven committed. --at-offset N replays
    the records below N, without an open transaction. --at-time replays the records up to and
    including that time. A moment later than the log's end or the newest capture is an error. --diff
    A B shows the changes of a lake from A to B, which are offsets or times (ms from 10^12 on).
    Secrets show as *** and a fingerprint.

    With several of --entity, --topic and --name, an entity must match all of them. From
    directories, --sizes and --exposure show the end of the newest log. --exposure begins with the
    verdict on the cluster, the broker whose failure would do most harm, and what to do next. For
    each failure it counts the partitions that would have no leader, and those of them for which
    only an unclean election would help, because no replica that may lead comes back. It also counts
    the partitions that would fall below min.insync.replicas (`?` where no log holds it), and says
    whether the voters keep a majority. The last lines say on what the figures rest. --since reads
    the log, or the lake's history, backward, and adds the record since which a failure has had
    these figures.

    --effective shows the value of each config that is in force for a topic, a broker or a group. It
    is the value of the topic, broker or group itself, that of all brokers, that of --broker-config,
    or Kafka's default. The command also shows what set the value, since when, and which values it
    hides. A topic or group that doesn't set a config has one more row for each broker that sets it
    for itself.

    \b
    Examples:
      kraftlake state --topic orders node1/ node2/ node3/
      kraftlake state --lake lake --at-offset 1526 --entity 'c*' --csv > configs.csv
      kraftlake state --lake lake --diff 1500 2026-11-21T05:00Z
      kraftlake state --exposure node1/ --broker-config server.properties
      kraftlake state --effective --topic orders node1/
      kraftlake explain --runbook config-in-force

    --json: entity, key, value (JSON as text, with Kafka's field names), offset (of the record that
    last changed it; null where that record is older than the log); with --diff: entity, key, name,
    change, old, new. With --sizes: about (entity, topic, record), name, count (of a topic:
    partitions), replicas, size_bytes (of values; null from a lake), per_hour. With --exposure: a
    line with the verdict, as `check` prints it; then kind (nothing, rack, broker, pair, voter),
    gone, leaderless, needs_unclean, below_min_isr (null where it is unknown), known_below_min_isr,
    voters_left, has_majority, since_offset, since (ms; null without --since). With --effective:
    config, value, source, set_as, offset, since (ms), instead_of (a list). Exit codes: 0, 1 the
    directories can't be read, 2 usage (also a moment whose state is unknown).
    """

    paths: options.PathsOfAState = None
    lake: options.LakeOrPaths = None
    cluster: options.Cluster = None
    at_offset: options.AtOffset = None
    at_time: options.AtTime = None
    diff: tuple[str, str] | None = option(
        "--diff A B", "Show the changes from A to B: offsets or times.", default=None
    )
    committed_only: options.CommittedOnly = False
    entities: Texts = option(
        "--entity E",
        "Only entities of this kind, such as broker or 'c*'. May be repeated.",
        default=None,
    )
    names: Texts = option(
        "--name N",
        "Only entities of this name, such as orders-0 or 'topic orders: *'. May be repeated.",
        default=None,
    )
    topic: options.OfTopic = None
    order: options.Order = None
    pass_over: options.PassOver = None
    redact_key: options.RedactKey = None
    sizes: bool = option(
        "--sizes",
        "Count entities by kind; show the largest topics, and the types that fill the log.",
        default=False,
    )
    exposure: bool = option(
        "--exposure",
        "Show what the cluster loses if a rack, broker, pair of brokers or voter fails.",
        default=False,
    )
    effective: bool = option(
        "--effective",
        "With --topic, --broker or --group: show the value of each config that is in force, what "
        "set it, and what it hides.",
        default=False,
    )
    broker: Number = option("--broker N", "With --effective: this broker.", default=None, min=0)
    group: Text = option("--group G", "With --effective: this group.", default=None)
    since: bool = option(
        "--since",
        "With --exposure: also name the record since which each failure would do this harm.",
        default=False,
    )
    broker_config: options.BrokerConfig = None
    limit: Number = option(
        "--limit N",
        "In text, show N rows of each kind at most; 10 with --sizes and --exposure, else all.",
        default=None,
        min=1,
    )
    json_output: options.Json = False
    csv: options.Csv = False
    plain_csv: options.PlainCsv = False

    def __post_init__(self) -> None:
        exclusive(given_options(self, "paths", "lake"))
        of_directories = given_options(self, "order", "redact_key")
        needs("PATH", self.paths, {**of_directories, **given_options(self, "pass_over")})
        exclusive(given_options(self, "sizes", "exposure", "diff"))
        needs("--exposure", self.exposure, given_options(self, "since"))
        needs(
            "--exposure or --effective",
            self.exposure or self.effective,
            given_options(self, "broker_config"),
        )
        self._check_effective()
        of_entities = given_options(self, "entities", "names", "topic", "csv", "plain_csv")
        moment = given_options(self, "at_offset", "at_time")
        for name, value in given_options(self, "sizes", "exposure").items():
            alone(name, value, {**of_entities, **of_directories})
        if self.sizes or self.exposure:
            needs("--lake", not self.paths, {**moment, **given_options(self, "committed_only")})
        alone("--diff", self.diff, of_entities)
        if self.diff is not None and self.paths:
            raise UsageError("--diff goes with --lake")
        if self.diff is not None and any(each is not None for each in moment.values()):
            raise UsageError("--diff names its moments itself: leave --at-offset and --at-time out")

    def _check_effective(self) -> None:
        subjects = given_options(self, "topic", "broker", "group")
        needs("--effective", self.effective, given_options(self, "broker", "group"))
        if not self.effective:
            return
        exclusive(subjects)
        if not any(value is not None for value in subjects.values()):
            raise UsageError("--effective: name one with --topic, --broker or --group")
        for other in ("sizes", "exposure", "diff", "entities", "names"):
            alone("--effective", self.effective, given_options(self, other))
