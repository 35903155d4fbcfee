"""Commands of the replica engine."""

import typer

from jobs.cli.commands import options
from jobs.cli.commands.combinations import exclusive, given_options, needs
from jobs.cli.commands.options import on_disk
from jobs.cli.commands.parameters import Number, Text, add, argument, command, option
from jobs.cli.output import write_text
from replica.model.keys import METADATA_TOPIC

replica = typer.Typer(name="replica", invoke_without_command=True)


@replica.callback(short_help="Run, describe, record or write to a metadata quorum.")
def _replica(context: typer.Context) -> None:
    """Run a replica of a metadata quorum as a process, and describe, record or append to a quorum.

    A replica's directory is formatted once; then the replica runs.
    """
    if context.invoked_subcommand is None:
        write_text(context.get_help() + "\n")


@command("cli.engine.replica_format:run", "Format a log directory, as kafka-storage format does.")
class FormatOptions:
    """Format a node's log directory: write its ids, and the first voters of its quorum.

    Run this command once for each node, before the node's first start. A quorum of one voter begins
    with --standalone. The voters of a larger quorum all get the same --initial-controllers. Give
    neither to a node that joins a quorum later, or to a node of a static quorum
    (controller.quorum.voters).

    \b
    Examples:
      kraftlake replica format -c node1.properties -t Lr3UIdBxT-GFPYE5uprmrg --standalone
      kraftlake replica format -c node1.properties -t Lr3UIdBxT-GFPYE5uprmrg \\
        --initial-controllers 1@h1:9093:4nHfNbFbTIWzYIQBhTuVDA,2@h2:9093:sZ3XTpIORUSvUTLyzXIrrQ

    --json: directory, cluster_id, node_id, directory_id, voters, formatted. Exit codes: 0, 2 usage
    (also a directory that is formatted already).
    """

    config: options.ServerProperties
    cluster_id: str = option(
        "-t, --cluster-id ID", "The cluster's id: 22 base64 characters, the same on all nodes."
    )
    standalone: bool = option(
        "--standalone", "Begin a quorum whose only voter is this node.", default=False
    )
    initial_controllers: str = option(
        "--initial-controllers ID@HOST:PORT:DIRECTORY,...",
        "The quorum's first voters; give the same list on each of them.",
        default="",
    )
    ignore_formatted: bool = option(
        "--ignore-formatted", "Do nothing to a directory that is formatted already.", default=False
    )
    json_output: options.Json = False


@command("cli.engine.replica_run:run", "Run a voter or an observer.")
class RunOptions:
    """Run a replica that takes part in a quorum over TCP, in Kafka's protocol, until SIGTERM or
    ctrl-C.

    FILE is a server.properties as Kafka's. The replica ignores keys that it doesn't use, and names
    each of them once. The directory must have been formatted. The replica writes events to stderr:
    changes of role and epoch, and what a person should look into. A leader that is stopped resigns
    first, so that another voter takes over.

    \b
    Security, by Kafka's names, each also below listener.name.NAME.:
      listener.security.protocol.map             PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
      ssl.keystore.*, ssl.truststore.*           of type PEM; ssl.key.password, ssl.client.auth,
                                                 ssl.enabled.protocols,
                                                 ssl.endpoint.identification.algorithm
      sasl.enabled.mechanisms                    PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
      sasl.mechanism.controller.protocol         the mechanism of connections to other voters
      plain.sasl.jaas.config                     user_NAME="PASSWORD": who may log in here;
                                                 username, password: this node's own login
      max.connections, max.connections.per.ip, max.connections.per.ip.overrides,
      connections.max.idle.ms, socket.request.max.bytes, queued.max.request.bytes,
      connection.failed.authentication.delay.ms, sasl.server.max.receive.size,
      socket.receive.buffer.bytes, socket.send.buffer.bytes,
      socket.connection.setup.timeout.ms         limits for clients

    \b
    Extra keys:
      kraftlake.topic.name, kraftlake.topic.id   a topic instead of __cluster_metadata: its records
                                                 aren't decoded, and it has no snapshots
      kraftlake.principals.ROLE                  the principals with ROLE voter, observer, reader or
                                                 administrator: names with semicolons, * for all;
                                                 ID@NAME is a voter only as node ID. Where no voter
                                                 is named, only processes of this user on this
                                                 machine that listen on the voters' ports may vote
      kraftlake.insecure.open.listeners          true: where no voter is named, every client may
                                                 vote, also over the network
      kraftlake.scram.credentials.file           the file of SCRAM credentials; `replica scram`
                                                 makes its lines
      kraftlake.queued.max.response.bytes        most memory for responses that wait to be sent
      kraftlake.reader.uncommitted               what a reader gets past the high watermark: error
                                                 (OFFSET_NOT_AVAILABLE) or empty
      kraftlake.fetch.quorum.records.api.key     the API key of FetchQuorumRecords, of KIP-595's
                                                 draft; not served unless set
      metadata.snapshot.min.changed_records.ratio, metadata.snapshot.min.new_records.size,
      metadata.start.offset.lag.time.max.ms      KIP-630's own rules for snapshots and log start
      kraftlake.metrics.listener                 HOST:PORT of /metrics, for Prometheus, and of the
                                                 probes /healthz and /readyz; none unless set

    Exit codes: 0 stopped in order, 1 stopped by an error, or not in time, 2 usage.
    """

    config: options.ServerProperties
    workload: str = option(
        "--workload RATE,BYTES",
        "While leading, append RATE records a second of BYTES each, and print how many were "
        "committed.",
        default="",
    )
    log_format: options.LogFormat = "text"


@command("cli.engine.replica_scram:run", "Make a line of the file of SCRAM credentials.")
class ScramOptions:
    """Print the SCRAM credential of a user, a line of kraftlake.scram.credentials.file.

    The command asks for the password on a terminal; otherwise the password is the first line of
    stdin. The printed line doesn't reveal a password, unless the password is easy to guess. A
    replica reads the file when it starts.

    \b
    Examples:
      kraftlake replica scram --user ann >> scram.jsonl
      kraftlake replica scram --user bob --mechanism SCRAM-SHA-256 < password >> scram.jsonl

    Exit codes: 0, 2 usage.
    """

    user: str = option("--user NAME", "The user's name.")
    mechanism: str = option(
        "--mechanism M", "SCRAM-SHA-256 or SCRAM-SHA-512.", default="SCRAM-SHA-512"
    )
    iterations: int = option(
        "--iterations N",
        "SCRAM's iterations, 4096 to 16384: more make guessing slower.",
        default=8192,
    )


@command("cli.engine.replica_describe:run", "Show the log end and the lag of every replica.")
class DescribeOptions:
    """Show what the leader of a quorum, of kraftlake or of Kafka, says of its replicas, with a
    verdict.

    HOST:PORT may be any controller or broker. Times are those of the leader's clock; a leader
    knows no fetches that came before its epoch.

    \b
    Examples:
      kraftlake replica describe -b localhost:9093
      kraftlake replica describe -b broker1:9092,broker2:9092 --watch 5
      kraftlake replica describe -b c1:9093 --json --command-config admin.properties

    --json: cluster_id, leader_id, epoch, high_watermark, features, replicas (node_id, directory_id,
    role, is_voter, log_end_offset, lag, last_fetch, last_fetch_ms_ago, last_caught_up,
    last_caught_up_ms_ago, listeners), verdicts (severity, text); an object each time it asks. Exit
    codes: 0 all replicas keep up, 1 a replica doesn't, 75 no leader answers, 2 usage, 130 ctrl-C.
    """

    bootstrap: options.Bootstrap
    topic: options.Topic = METADATA_TOPIC
    watch_s: float | None = option("--watch S", "Ask again every S seconds.", default=None, min=0.1)
    caught_up_within_ms: int = option(
        "--caught-up-within MS",
        "A replica keeps up if it was at the leader's log end in the last MS ms.",
        default=2_000,
        min=1,
    )
    timeout_s: float = option(
        "--timeout S", "Look for a leader S seconds at most.", default=10.0, min=0.1
    )
    json_output: options.Json = False
    command_config: options.CommandConfig = None


@command("cli.engine.replica_append:run", "Append records to a kraftlake quorum's log.")
class AppendOptions:
    """Append the lines of FILE or stdin as records, and report them once they are committed.

    The replicas' kraftlake.principals.administrator must name the principal. A metadata log accepts
    only metadata records: give them by --records, with the value in base64. Kafka's controllers
    accept no records from this command.

    With --records each line is an object with key, value, headers ([[name, value], ...]). Each
    value is text, null or {"base64": "..."}, as `kraftlake consume --json` prints it. Lines that
    are read together become one batch.

    A batch that may be in the log already is not sent again. Where nobody can know whether the
    leader wrote a batch (the connection broke before its answer), the command ends and names the
    batch's lines. With --at-least-once it sends them again, and the log may have them twice.

    \b
    Examples:
      echo hello | kraftlake replica append -b localhost:9093 --topic events
      kraftlake replica append -b n1:9093,n2:9093 --topic events --records events.jsonl --json

    --json: offset, epoch, a line for each record. Exit codes: 0 all records are committed, 1 the
    leader refused, time ran out, or nobody can know, 2 usage.
    """

    bootstrap: options.Bootstrap
    source: Text = argument(
        "[FILE]", "A file with a record on each line; stdin by default.", default=None
    )
    topic: options.Topic = METADATA_TOPIC
    as_json: bool = option(
        "--records", "Each line is a JSON object with key, value and headers.", default=False
    )
    raw: bool = option("--raw", "The whole input is the value of one record.", default=False)
    at_least_once: bool = option(
        "--at-least-once",
        "Send records again that the log may have already, and say so each time.",
        default=False,
    )
    timeout_s: float = option(
        "--timeout S", "Wait S seconds at most until a batch is committed.", default=30.0, min=0.1
    )
    json_output: options.Json = False
    command_config: options.CommandConfig = None

    def __post_init__(self) -> None:
        exclusive(given_options(self, "raw", "as_json"))


@command("cli.engine.replica_observe:run", "Record the metadata log of a real quorum.")
class ObserveOptions:
    """Record the metadata log of a running quorum, as an observer, until SIGTERM or ctrl-C.

    The observer fetches from the controllers as a broker does, and never votes. --bootstrap names
    controllers, or brokers, which know where the controllers are. A new recording starts at the
    leader's newest snapshot, or at offset 0 while there is none. DIR has the files of a node's log
    directory: dump, check and ingest read it, also while the observer runs. Records that the quorum
    truncates, and those that a newer snapshot replaces, go to DIR/archive, and are never deleted;
    name that folder to have dump and ingest read it too.
    --metrics serves the leader, lags, elections, snapshot age, growth of the log and health;
    /healthz fails where a restart may help; /readyz fails while DIR lacks what the quorum commits.

    An id that another node uses is refused before anything is fetched: the leader would count the
    observer's fetches as that node's, and might commit records that no majority holds.

    \b
    Rights, where the cluster has an authorizer:
      ClusterAction on the cluster, to fetch; Describe, to see that the id is free:
        kafka-acls --bootstrap-server HOST:PORT --add --allow-principal User:NAME \\
          --cluster --operation ClusterAction --operation Describe
      Without Describe use --anonymous. Brokers tell every client the cluster's id, controllers only
      a principal with Alter on the cluster; otherwise give --cluster-id.

    \b
    Examples:
      kraftlake replica observe -b c1:9093,c2:9093 -o recording
      kraftlake replica observe -b broker1:9092 -o recording --until-caught-up
      kraftlake replica observe -b c1:9093 -o recording --metrics 127.0.0.1:9404
      kraftlake replica observe -b c1:9093 -o recording --command-config client.properties
      kraftlake ingest --lake lake recording recording/archive

    --json: at the end, directory, cluster_id, node_id, log_start_offset, log_end_offset,
    high_watermark. Exit codes: 0 stopped in order or caught up, 1 stopped by an error, or not
    caught up in time, 2 usage.
    """

    bootstrap: options.Bootstrap
    folder: str = option(
        "-o, --output DIR",
        "The folder of the recording: a new one, or one of an earlier run.",
        callback=on_disk("-o"),
    )
    node_id: Number = option(
        "--node-id N",
        "Fetch as node N, an id that no other node has; by default a random number above 10^9, "
        "kept in DIR.",
        default=None,
        min=0,
        max=2**31 - 1,
    )
    is_anonymous: bool = option(
        "--anonymous",
        "Fetch without a node id: leaders don't list this observer. Needs no right Describe.",
        default=False,
    )
    cluster_id: str = option(
        "--cluster-id ID",
        "The cluster's id. Required where no node sends it to this principal.",
        default="",
    )
    listen: str = option(
        "--listen HOST:PORT",
        "Serve the recording at this address, read-only, to any Kafka client.",
        default="",
    )
    metrics: str = option(
        "--metrics HOST:PORT",
        "Watch the quorum, and serve its metrics for Prometheus at this address, with /healthz "
        "and /readyz.",
        default="",
    )
    broker_config: options.BrokerConfig = None
    until_caught_up: bool = option(
        "--until-caught-up",
        "Stop once the recording has reached the first high watermark that a leader named.",
        default=False,
    )
    timeout_s: float = option(
        "--timeout S",
        "With --until-caught-up: fail if that takes longer than S seconds.",
        default=60.0,
        min=0.1,
    )
    log_format: options.LogFormat = "text"
    json_output: options.Json = False
    command_config: options.CommandConfig = None

    def __post_init__(self) -> None:
        needs("--until-caught-up", self.until_caught_up, given_options(self, "timeout_s"))
        needs("--metrics", self.metrics or None, given_options(self, "broker_config"))
        exclusive(given_options(self, "is_anonymous", "node_id"))


for _options in (
    FormatOptions,
    RunOptions,
    ScramOptions,
    DescribeOptions,
    AppendOptions,
    ObserveOptions,
):
    add(replica, _options)
