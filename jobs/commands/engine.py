"""Commands of the replica engine."""

from __future__ import annotations

from collections.abc import Callable

import typer

from jobs.commands import cluster_options, node_options, options
from jobs.commands.combinations import alone, needs, unless
from jobs.commands.help_pages import CommandPage
from jobs.output import write_text
from replica.errors import UsageError
from replica.model.topic import METADATA_TOPIC

replica = typer.Typer(name="replica", invoke_without_command=True)

_EVENTS = 2000
_CATCH_UP_S = 60.0


def _command(name: str, short_help: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return replica.command(name, cls=CommandPage, short_help=short_help)


@replica.callback(short_help="Run, describe, record or write to a metadata quorum.")
def _replica(context: typer.Context) -> None:
    """Run a replica of a metadata quorum as a process, and describe, record or append to a quorum.

    A replica's directory is formatted once; then the replica runs.
    """
    if context.invoked_subcommand is None:
        write_text(context.get_help() + "\n")


def simulate(
    scenario: node_options.ScenarioName = None,
    output: node_options.ScenarioDirectory = None,
    list_scenarios: node_options.ListScenarios = False,
    seeds: node_options.Seeds = None,
    events: node_options.Events = _EVENTS,
    state: node_options.CampaignFile = None,
    jobs: node_options.Processes = 1,
    guided: node_options.Guided = False,
    forks: node_options.Forks = None,
    json_output: options.Json = False,
) -> int:
    """Write the log directories of a named scenario; or run the replica engine under random faults.

    A scenario repeats an incident that real clusters had. The engine plays it on simulated disks,
    and writes what each node's disk holds at its end to DIR/NODE: the same bytes each time. Without
    arguments the command lists the scenarios. --seeds runs the engine on disks and networks that
    fail, and checks Raft's invariants after every event.

    \b
    Examples:
      kraftlake simulate split-brain -o split
      kraftlake check split
      kraftlake simulate --seeds 0:200 --events 2000
      kraftlake simulate --seeds 0:20000 --state campaign.jsonl --jobs 2 --guided

    --json: scenario, story, issues, tampering, findings, and once written directory, cluster_id,
    captured_at, nodes; with --seeds: seed, events, result (ok or the broken invariant), and forks
    where there are some. Exit codes: 0, 1 a broken invariant, 2 usage.
    """
    if seeds is not None:
        if scenario is not None or output is not None or list_scenarios:
            raise UsageError("--seeds goes with no scenario, -o or --list")
        from jobs.engine import simulate as campaign

        asked = campaign.SimulateOptions(
            seeds, events, state, jobs, json_output, guided, forks or ""
        )
        return campaign.campaign(asked)
    of_a_campaign = {"--state": state, "--jobs": unless(1, jobs)}
    of_a_campaign |= {"--guided": guided, "--forks": forks}
    needs("--seeds", seeds, {**of_a_campaign, "--events": unless(_EVENTS, events)})
    alone("--list", list_scenarios, {"SCENARIO": scenario, "-o": output})
    from jobs.engine import scenarios

    if list_scenarios or (scenario is None and output is None):
        return scenarios.list_scenarios(json_output=json_output)
    if scenario is None:
        raise UsageError(f"-o {output}: the scenario is missing; --list shows them")
    if output is None:
        raise UsageError(f"{scenario}: -o DIR is missing, a new folder for its nodes")
    return scenarios.run(scenario, output, json_output=json_output)


@_command("format", "Name a directory, as kafka-storage format does.")
def format_(
    config: node_options.ServerProperties,
    cluster_id: node_options.ClusterId,
    standalone: node_options.Standalone = False,
    initial_controllers: node_options.InitialControllers = "",
    ignore_formatted: node_options.IgnoreFormatted = False,
    json_output: options.Json = False,
) -> int:
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
    from jobs.engine import replica_format as job

    return job.run(
        config,
        cluster_id,
        standalone=standalone,
        initial_controllers=initial_controllers,
        ignore_formatted=ignore_formatted,
        json_output=json_output,
    )


@_command("run", "Run a voter or an observer.")
def run(
    config: node_options.ServerProperties,
    workload: node_options.WorkloadSpec = "",
    log_format: node_options.LogFormat = "text",
) -> int:
    """Run a replica that takes part in a quorum over TCP, in Kafka's protocol, until SIGTERM or
    ctrl-C.

    FILE is a server.properties as Kafka's; the replica names keys that it doesn't use once, and
    ignores them. The directory must have been formatted. The replica writes events to stderr:
    changes of role and epoch, and what a person should look into. A leader that is stopped
    resigns first, so that another voter takes over.

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
      socket.connection.setup.timeout.ms         limits for clients: docs/reference/security.md

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
    from jobs.engine import replica_run as job

    return job.run(config, workload, log_format)


@_command("scram", "Make a line of the file of SCRAM credentials.")
def scram(
    user: node_options.ScramUser,
    mechanism: node_options.ScramMechanism = "SCRAM-SHA-512",
    iterations: node_options.ScramIterations = 8192,
) -> int:
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
    from jobs.engine import replica_scram as job

    return job.run(user, mechanism, iterations)


@_command("describe", "Show how far every replica of a quorum is.")
def describe(
    bootstrap: node_options.Bootstrap,
    topic: node_options.Topic = METADATA_TOPIC,
    watch: node_options.Watch = None,
    caught_up_within: node_options.CaughtUpWithin = 2_000,
    timeout: node_options.LeaderTimeout = 10.0,
    json_output: options.Json = False,
    command_config: node_options.CommandConfig = None,
) -> int:
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
    codes: 0 all replicas keep up, 1 one doesn't, 75 no leader answers, 2 usage, 130 ctrl-C.
    """
    from jobs.engine import replica_describe as job

    return job.run(
        job.DescribeOptions(
            bootstrap=bootstrap,
            topic=topic,
            timeout_s=timeout,
            watch_s=watch,
            caught_up_within_ms=caught_up_within,
            json_output=json_output,
            command_config=command_config,
        )
    )


@_command("append", "Append records to a kraftlake quorum's log.")
def append(
    bootstrap: node_options.Bootstrap,
    source: node_options.RecordSource = None,
    topic: node_options.Topic = METADATA_TOPIC,
    records: node_options.JsonRecords = False,
    raw: node_options.RawRecord = False,
    at_least_once: node_options.AtLeastOnce = False,
    timeout: node_options.AppendTimeout = 30.0,
    json_output: options.Json = False,
    command_config: node_options.CommandConfig = None,
) -> int:
    """Append the lines of FILE or stdin as records, and report them once they are committed.

    The replicas' kraftlake.principals.administrator must name the principal. A metadata log accepts
    only metadata records: give them by --records, with the value in base64. Kafka's controllers
    accept no records from this command.

    --records: objects with key, value, headers ([[name, value], ...]); each value is text, null or
    {"base64": "..."}, as `kraftlake consume --json` prints them. Lines that are read together
    become one batch.

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
    from jobs.engine import replica_append as job

    return job.run(
        job.AppendOptions(
            bootstrap=bootstrap,
            source=source,
            topic=topic,
            as_json=records,
            raw=raw,
            at_least_once=at_least_once,
            timeout_s=timeout,
            json_output=json_output,
            command_config=command_config,
        )
    )


@_command("observe", "Record the metadata log of a real quorum.")
def observe(
    bootstrap: node_options.Bootstrap,
    output: node_options.RecordingDirectory,
    node_id: node_options.ObserverId = None,
    anonymous: node_options.Anonymous = False,
    cluster_id: node_options.KnownClusterId = "",
    listen: node_options.ListenAt = "",
    metrics: node_options.MetricsAt = "",
    broker_config: cluster_options.BrokerConfig = None,
    until_caught_up: node_options.UntilCaughtUp = False,
    timeout: node_options.CatchUpTimeout = _CATCH_UP_S,
    log_format: node_options.LogFormat = "text",
    json_output: options.Json = False,
    command_config: node_options.CommandConfig = None,
) -> int:
    """Record the metadata log of a running quorum, as an observer, until SIGTERM or ctrl-C.

    The observer fetches from the controllers as a broker does, and never votes. --bootstrap names
    controllers, or brokers, which know where the controllers are. A new recording starts at the
    leader's newest snapshot, or at offset 0 while there is none. DIR has the files of a node's log
    directory: dump, check and ingest read it, also while the observer runs. Records that the quorum
    truncates, and those that a newer snapshot replaces, go to DIR/archive, and are never deleted;
    name that folder to have dump and ingest read it too.
    --metrics serves the leader, lags, elections, snapshot age, growth of the log and health;
    /healthz fails where a restart may help, /readyz while the quorum's commits don't show in DIR.

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
    from jobs.engine import replica_observe as job

    needs("--until-caught-up", until_caught_up, {"--timeout": unless(_CATCH_UP_S, timeout)})
    needs("--metrics", unless("", metrics), {"--broker-config": broker_config})
    return job.run(
        job.ObserveOptions(
            bootstrap,
            output,
            node_id,
            anonymous,
            cluster_id,
            listen,
            metrics,
            broker_config=broker_config,
            until_caught_up=until_caught_up,
            timeout_s=timeout,
            log_format=log_format,
            json_output=json_output,
            command_config=command_config,
        )
    )
