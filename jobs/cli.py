"""The `kraftlake` command: options and help; each command's work is in the module of its name.

Those modules are imported when their command runs, so `kraftlake --help` and `kraftlake dump`
load neither pyspark nor pyarrow nor deltalake. `main` is the one place that turns errors into
lines and exit codes.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from jobs import cli_options as options
from jobs.outcome import run
from jobs.output import use_utf8, write_line

app = typer.Typer(
    name="kraftlake",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        write_line(f"kraftlake {version('kraftlake')}")
    except PackageNotFoundError:
        write_line("kraftlake (not installed: run from a checkout)")
    raise typer.Exit


@app.callback()
def _kraftlake(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The flight recorder and lakehouse of Kafka's metadata log (KRaft).

    Look at one directory with dump, compare two with diff, have a cluster's checked; bring any
    number of them, from any number of nodes and moments, into Delta tables with ingest and build,
    and ask with sql. Nothing that is examined is ever changed or locked, so a running node's
    directory is fine.

    \b
    First steps:
      kraftlake demo                           the whole way, on recorded logs
      kraftlake dump /var/kafka/metadata       what the log says
      kraftlake check node1/ node2/ node3/     is anything wrong?
      kraftlake diff node1/ node2/             do these two agree?
      kraftlake ingest --lake lake captures/   keep it, and
      kraftlake build --lake lake              make the answers
      kraftlake sql --lake lake --tables       which tables there are

    Exit codes: 0 fine, 1 see the command, 2 usage, 130 interrupted, 141 the reader of our
    output went away. KRAFTLAKE_DEBUG=1 shows tracebacks.
    """


@app.command(short_help="Print the records of segments, snapshots or directories.")
def dump(
    paths: options.Paths,
    json_output: options.Json = False,
    batches: options.Batches = False,
    logs_only: options.LogsOnly = False,
    snapshots_only: options.SnapshotsOnly = False,
    all_files: options.AllFiles = False,
    from_offset: options.FromOffset = None,
    to_offset: options.ToOffset = None,
    epoch: options.Epoch = None,
    types: options.Types = None,
    from_time: options.FromTime = None,
    to_time: options.ToTime = None,
    keep_secrets: options.KeepSecrets = False,
    redact_key: options.RedactKey = None,
) -> int:
    """Print the records of segments, snapshots or whole directories, offline.

    For whoever asks what a node's metadata log really holds. A directory gives its .log segments
    in offset order, then its complete snapshots; a file that is named gives itself, also a
    .deleted or .part one. Small files (quorum-state, leader-epoch-checkpoint, meta.properties,
    partition.metadata, indexes, producer snapshots) give one object each. An offset range leaves
    out a directory's snapshots: their offsets count their own records.

    Text: offset, epoch, time (UTC), type, version, Kafka's JSON, under a line per file. --json:
    file, offset, epoch, timestamp (ms), type, version, data; with --batches file, position,
    base_offset, last_offset, epoch, is_control, count, size, crc, crc_valid. Secrets show as ***
    and a fingerprint. What can't be decoded is named on stderr, with file, byte and reason, and
    the rest is printed; a batch whose CRC is wrong is named, its records are not shown as truth.

    \b
    Examples:
      kraftlake dump /var/kafka/metadata
      kraftlake dump --type topic --type 'partition*' --from-offset 1500 node2/
      kraftlake dump --json --logs-only node2/ | jq 'select(.type == "LEADER_CHANGE")'
      kraftlake dump --batches 00000000000000000000.log
      kraftlake dump node2/__cluster_metadata-0/quorum-state

    Exit codes: 0, 1 when something could not be decoded, 2 usage.
    """
    from jobs import dump as job
    from jobs.selection import select

    selection = select(
        offsets=(from_offset, to_offset), epoch=epoch, types=types or [], times=(from_time, to_time)
    )
    wanted = job.Options(
        json_output=json_output,
        batches=batches,
        logs=not snapshots_only,
        snapshots=not logs_only,
        all_files=all_files,
        keep_secrets=keep_secrets,
        redact_key=redact_key,
    )
    return job.run(paths, selection, wanted)


@app.command(short_help="Compare two directories: where they part, what is lost.")
def diff(
    a: options.ReplicaA,
    b: options.ReplicaB,
    json_output: options.Json = False,
    keep_secrets: options.KeepSecrets = False,
) -> int:
    """Compare two replicas' directories: where their logs part, who truncates, what is lost.

    For the moment before a restart, when two nodes of a cluster may not hold the same history.
    A and B are metadata directories, or folders above exactly one; two copies of one replica are
    fine. Batches with a wrong CRC are left out and named. The records lost are counted as
    committed, superseded (another record is proven there) or unproven, as far as these two
    replicas can prove it.

    --json: cluster_id, node_a, directory_a, node_b, directory_b, relation (identical, prefix,
    diverged, conflict, disjoint), divergence_offset, epoch_a, epoch_b, truncating_node,
    truncation_offset, fetch_rounds, draft_fetch_rounds, records_lost, committed_lost,
    unproven_lost, superseded_lost.

    \b
    Examples:
      kraftlake diff node2/ node3/
      kraftlake diff --json live/2 split/2 | jq .relation

    Exit codes: 0 identical or one is merely behind, 1 diverged, conflict, disjoint, or a file
    could not be decoded, 2 usage (also directories of two clusters).
    """
    from jobs import diff as job

    return job.run(a, b, json_output=json_output, keep_secrets=keep_secrets)


@app.command(short_help="Check directories: what is wrong where, what to do.")
def check(
    paths: options.Paths,
    json_output: options.Json = False,
    severity: options.LeastSeverity = "info",
    order: options.Order = None,
    no_replay: options.NoReplay = False,
) -> int:
    """Check whether directories are sound: each file, against each other, and node against node.

    For the moment before a restart or after a crash. Every batch and record is read, snapshots
    are compared with the replay of the log, and directories that are given together are compared
    with each other: name all nodes of a cluster. A running node's directory gives no false alarm;
    damage leaves the rest judged. `kraftlake explain RULE` says more about a finding.

    Captures of one replica from several moments are told apart by capture.json, or by --order.

    Text: a verdict per directory, the findings by severity with file, byte and offset, what they
    mean and what to do next. --json: rule, severity (info, warning, error), file, position (byte),
    offset, epoch, message.

    \b
    Examples:
      kraftlake check /var/kafka/metadata
      kraftlake check node1/ node2/ node3/
      kraftlake check --severity warning --json cluster.tar.gz | jq .rule
      kraftlake check --order live,split,final incident/

    Exit codes: 0 nothing above info, 1 findings, 2 usage.
    """
    from jobs import check as job

    names = tuple(name for name in (order or "").split(",") if name)
    wanted = job.Options(
        json_output=json_output, severity=severity, order=names, replay=not no_replay
    )
    return job.run(paths, wanted)


@app.command(short_help="Say what a finding of check means.")
def explain(rule: options.RuleId = None, json_output: options.Json = False) -> int:
    """Say what a rule of `kraftlake check` means, what Kafka does then, and what to do.

    Without a rule: the list of all.

    --json: rule, severity, meaning, kafka, next_step, issues (incidents that it would have caught).

    \b
    Examples:
      kraftlake explain snapshot-log-hole
      kraftlake explain --json | jq 'select(.severity == "error") | .rule'

    Exit codes: 0, 2 usage (no such rule).
    """
    from jobs import explain as job

    return job.run(rule, json_output=json_output)


@app.command(short_help="Bring metadata directories into bronze tables.")
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


@app.command(short_help="Make the silver and gold tables from bronze.")
def build(lake: options.Lake, json_output: options.Json = False) -> int:
    """Make the silver and gold tables from bronze: epochs, divergence, history, validity.

    For asking with SQL. Running it again gives the same rows; after another ingest it brings the
    tables up to date.

    \b
    Example:
      kraftlake build --lake lake

    --json: table and rows, a line per table. Exit codes: 0, 2 usage.
    """
    from jobs import build as job

    return int(job.run(lake=lake, json_output=json_output))


@app.command(short_help="Ask the tables with SQL.")
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


@app.command(short_help="What the metadata was at an offset or a moment.")
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


@app.command(short_help="Run simulated quorums under faults.")
def simulate(
    seeds: options.Seeds, events: options.Events = 2000, json_output: options.Json = False
) -> int:
    """Run the replica engine on simulated disks and networks that fail, checking Raft's promises.

    \b
    Example:
      kraftlake simulate --seeds 0:200 --events 2000

    --json: seed, events, result (ok or the broken invariant). Exit codes: 0, 1 broken, 2 usage.
    """
    from jobs import simulate as job

    return job.campaign(job.Options(seeds, events, json_output))


@app.command(short_help="Show the whole way on recorded logs.")
def demo(lake: options.DemoLake = None) -> int:
    """Show the whole way on metadata logs recorded from real Kafka: ingest, build, ask.

    For a first look; needs Java 17 or newer, and no Kafka.

    Exit codes: 0, 1 when an answer is not the expected one, 2 usage.
    """
    from jobs import demo as job

    return int(job.run(lake=lake))


def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script."""
    use_utf8()
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))


if __name__ == "__main__":
    main()
