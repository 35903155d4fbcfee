"""Commands of the replica engine."""

from __future__ import annotations

import typer

from jobs.commands import cluster_options, node_options, options
from jobs.commands.combinations import alone, needs, unless
from jobs.output import write_text
from replica.errors import UsageError
from replica.model.topic import METADATA_TOPIC

replica = typer.Typer(name="replica", invoke_without_command=True)

_EVENTS = 2000
_CATCH_UP_S = 60.0


@replica.callback(short_help="A replica of a metadata quorum, as a process.")
def _replica(context: typer.Context) -> None:
    """A replica of a metadata quorum, as a process: format its directory, then run it."""
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

    SCENARIO retells what has happened to real clusters: the engine plays it on simulated disks, and
    what they hold at the telling moment goes to DIR/NODE, the same bytes each time. Without
    arguments the scenarios are listed. --seeds checks Raft's promises on disks and networks that
    fail.

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

        asked = campaign.Options(seeds, events, state, jobs, json_output, guided, forks or "")
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
    return scenarios.run(scenarios.Options(scenario, output, json_output))


@replica.command("format", short_help="Name a directory, as kafka-storage format does.")
def format_(
    config: node_options.ServerProperties,
    cluster_id: node_options.ClusterId,
    standalone: node_options.Standalone = False,
    initial_controllers: node_options.InitialControllers = "",
    ignore_formatted: node_options.IgnoreFormatted = False,
    json_output: options.Json = False,
) -> int:
    """Make a node's log directory: its name, and the voters its quorum begins with.

    Once for each node, before its first start. The first voters get --standalone, or all of them
    the same --initial-controllers; a node that joins a quorum later, or one of a static quorum
    (controller.quorum.voters), gets neither.

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
        job.Options(
            config, cluster_id, standalone, initial_controllers, ignore_formatted, json_output
        )
    )


@replica.command("run", short_help="Run a voter or an observer.")
def run(
    config: node_options.ServerProperties,
    workload: node_options.WorkloadSpec = "",
    log_format: node_options.LogFormat = "text",
) -> int:
    """Take part in a quorum over TCP, in Kafka's protocol, until SIGTERM or ctrl-C.

    The file is Kafka's server.properties; keys without meaning here are named once and ignored. The
    directory must have been formatted. What happens is told on stderr: roles, epochs, and what a
    person should look into. A leader that is stopped hands over first.

    \b
    Security, by Kafka's names, each also below listener.name.NAME.:
      listener.security.protocol.map             PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
      ssl.keystore.*, ssl.truststore.*           of type PEM; ssl.key.password, ssl.client.auth,
                                                 ssl.enabled.protocols,
                                                 ssl.endpoint.identification.algorithm
      sasl.enabled.mechanisms                    PLAIN, SCRAM-SHA-256, SCRAM-SHA-512
      sasl.mechanism.controller.protocol         by which this node connects to other voters
      plain.sasl.jaas.config                     user_NAME="PASSWORD" who may log in;
                                                 username, password: as whom this node does
      max.connections, max.connections.per.ip, max.connections.per.ip.overrides,
      connections.max.idle.ms, socket.request.max.bytes, queued.max.request.bytes,
      connection.failed.authentication.delay.ms, sasl.server.max.receive.size,
      socket.receive.buffer.bytes, socket.send.buffer.bytes,
      socket.connection.setup.timeout.ms         what clients may do: docs/reference/security.md

    \b
    Extra keys:
      kraftlake.topic.name, kraftlake.topic.id   another topic than __cluster_metadata: opaque
                                                 records, never snapshotted or trimmed
      kraftlake.principals.ROLE                  who is voter, observer, reader, administrator:
                                                 names with semicolons, * for all; a voter's as
                                                 ID@NAME, if it is of one node alone. Where no voter
                                                 is named, voters are processes of this user that
                                                 listen where the voters do, on this machine
      kraftlake.insecure.open.listeners          true: every client may vote where no voter
                                                 is named, also on the network
      kraftlake.scram.credentials.file           who may log in by SCRAM; `replica scram` makes its
                                                 lines
      kraftlake.queued.max.response.bytes        memory for answers on their way to clients
      kraftlake.reader.uncommitted               error (OFFSET_NOT_AVAILABLE) or empty
      kraftlake.fetch.quorum.records.api.key     serve the draft's FetchQuorumRecords by this key
      metadata.snapshot.min.changed_records.ratio, metadata.snapshot.min.new_records.size,
      metadata.start.offset.lag.time.max.ms      KIP-630's own rules for snapshots and log start
      kraftlake.metrics.listener                 HOST:PORT for Prometheus to scrape, and for probes
                                                 of /healthz and /readyz; none unless set

    Exit codes: 0 stopped in order, 1 stopped by an error or too late, 2 usage.
    """
    from jobs.engine import replica_run as job

    return job.run(job.Options(config, workload, log_format))


@replica.command("scram", short_help="Make a line of the file of SCRAM credentials.")
def scram(
    user: node_options.ScramUser,
    mechanism: node_options.ScramMechanism = "SCRAM-SHA-512",
    iterations: node_options.ScramIterations = 8192,
) -> int:
    """Print what a replica keeps of a user's password, for kraftlake.scram.credentials.file.

    The password is asked for on a terminal, else it is the first line of stdin; it can't be
    worked out from the printed line, unless it is easy to guess. A replica reads the file when it
    starts.

    \b
    Examples:
      kraftlake replica scram --user ann >> scram.jsonl
      kraftlake replica scram --user bob --mechanism SCRAM-SHA-256 < password >> scram.jsonl

    Exit codes: 0, 2 usage.
    """
    from jobs.engine import replica_scram as job

    return job.run(job.Options(user, mechanism, iterations))


@replica.command("describe", short_help="How far every replica of a quorum is.")
def describe(
    bootstrap: node_options.Bootstrap,
    topic: node_options.Topic = METADATA_TOPIC,
    watch: node_options.Watch = None,
    caught_up_within: node_options.CaughtUpWithin = 2_000,
    timeout: node_options.LeaderTimeout = 10.0,
    json_output: options.Json = False,
    command_config: node_options.CommandConfig = None,
) -> int:
    """Show what the leader of a quorum knows of it, kraftlake's or Kafka's own, and what it means.

    Any controller or broker can be asked. Times are counted on the leader's clock; a leader knows
    nothing of what happened before its epoch.

    \b
    Examples:
      kraftlake replica describe -b localhost:9093
      kraftlake replica describe -b broker1:9092,broker2:9092 --watch 5
      kraftlake replica describe -b c1:9093 --json --command-config admin.properties

    --json: cluster_id, leader_id, epoch, high_watermark, features, replicas (node_id, directory_id,
    role, is_voter, log_end_offset, lag, last_fetch, last_fetch_ms_ago, last_caught_up,
    last_caught_up_ms_ago, listeners), verdicts (severity, text); an object for each look. Exit
    codes: 0 all replicas keep up, 1 one doesn't, 75 no leader answers, 2 usage, 130 ctrl-C.
    """
    from jobs.engine import replica_describe as job

    return job.run(
        job.Options(
            bootstrap=bootstrap,
            topic=topic,
            timeout_s=timeout,
            watch_s=watch,
            caught_up_within_ms=caught_up_within,
            json_output=json_output,
            command_config=command_config,
        )
    )


@replica.command("append", short_help="Append records to a kraftlake quorum's log.")
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
    """Append the lines of FILE or stdin, as an administrator; told once they are committed.

    The principal must be in kraftlake.principals.administrator of the replicas. A metadata log
    takes records of its own types alone, as --records with the value in base64; Kafka's controllers
    take none.

    --records: objects with key, value, headers ([[name, value], ...]); each value is text, null or
    {"base64": "..."}, as `kraftlake consume --json` prints them. What is read at once is one batch.

    Batches are never sent again once they may be in the log: where that can't be known (a leader
    that is lost at the wrong moment), the command ends and names the lines; with --at-least-once
    it goes on, and they may be there twice.

    \b
    Examples:
      echo hello | kraftlake replica append -b localhost:9093 --topic events
      kraftlake replica append -b n1:9093,n2:9093 --topic events --records events.jsonl --json

    --json: offset, epoch, a line for each record. Exit codes: 0 all are committed, 1 refused, not
    in time, or nobody knows, 2 usage.
    """
    from jobs.engine import replica_append as job

    return job.run(
        job.Options(
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


@replica.command("observe", short_help="Record the metadata log of a real quorum.")
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

    It fetches from the controllers as a broker does, and never votes; --bootstrap may name
    controllers, or brokers, which tell where the controllers are. A new recording starts at the
    leader's newest snapshot, at offset 0 while there is none. DIR is a node's log directory, byte
    for byte: dump, check and ingest read it, also meanwhile. Nothing in it is ever deleted. What
    the quorum takes back (a truncation), and what a newer snapshot replaces, goes to DIR/archive,
    which dump and ingest read where it is named.
    --metrics tells leader, lags, elections, snapshot age, growth of the log and rules of health.
    /healthz fails where a restart may help, /readyz where the log doesn't show what is committed.

    An id that another node uses is refused before anything is fetched: a leader would count the
    fetches for that node, and take for committed what no majority holds.

    \b
    Rights, where the cluster has an authorizer:
      ClusterAction on the cluster, to fetch; Describe, to see that the id is free:
        kafka-acls --bootstrap-server HOST:PORT --add --allow-principal User:NAME \\
          --cluster --operation ClusterAction --operation Describe
      without Describe: --anonymous. Controllers tell the cluster's id to who may Alter it, brokers
      to everybody; else give --cluster-id.

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
        job.Options(
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
