"""Commands that ask a lake: sql and state."""

from __future__ import annotations

from jobs.commands import cluster_options, options
from jobs.commands.combinations import alone, exclusive, needs, unless
from replica.errors import UsageError


def sql(
    lake: options.Lake,
    query: options.Query = None,
    file: options.QueryFile = None,
    engine: options.Engine = "delta-rs",
    json_output: options.Json = False,
    csv: options.Csv = False,
    plain_csv: options.PlainCsv = False,
    tables: options.Tables = False,
    at_offset: options.AtOffset = None,
    at_time: options.AtTime = None,
    cluster: options.Cluster = None,
    question: options.AskedQuestion = None,
    questions: options.Questions = False,
) -> int:
    """Ask the lake with SQL: bronze.x, silver.x and gold.x are its tables.

    For whoever investigates. Only the tables that the query names are opened; the first row comes
    in well under a second with delta-rs, in some seconds with spark, whose dialect knows more.

    The column payload is a VARIANT: both engines show it as JSON, spark also looks into it, as in
    where payload:name::string = 'orders'.

    gold.topics_at, partition_leaders_at, under_replicated_at, acl_at and config_at are views of the
    state at the end of the log, or of what `state` shows at --at-offset or --at-time; --cluster
    leaves out the other clusters. A moment behind what the captures of a cluster tell is an error.

    Text shows an aligned table, times in UTC, nested values and VARIANT as JSON, binary as
    base64; --json gives a row per line with times as ms since the epoch.

    \b
    Examples:
      kraftlake sql --lake lake --tables
      kraftlake sql --lake lake --question leaders
      kraftlake sql --lake lake "select * from gold.leader_epoch_history order by epoch"
      kraftlake sql --lake lake --at-offset 1526 "select * from gold.under_replicated_at"
      kraftlake sql --lake lake --csv -f incident.sql > incident.csv
      echo "select count(*) from bronze.log_records" | kraftlake sql --lake lake --json -

    Exit codes: 0, 1 when the query fails (unknown table or column, syntax), 2 usage.
    """
    from jobs.asking import sql as job
    from jobs.asking.answer import CSV, PLAIN_CSV
    from jobs.moments import Moment, moment_of

    exclusive({"--json": json_output, "--csv": csv, "--plain-csv": plain_csv})
    form = "json" if json_output else CSV if csv else PLAIN_CSV if plain_csv else "text"
    of_a_query = {
        **{"--engine": unless(job.DELTA_RS, engine), "--cluster": cluster},
        **{"--at-offset": at_offset, "--at-time": at_time},
    }
    alone("--tables", tables, of_a_query)
    alone("--questions", questions, of_a_query)
    return job.run(
        job.Request(
            lake=lake,
            query=query,
            file=file,
            engine=engine,
            form=form,
            tables=tables,
            moment=Moment(at_offset, moment_of("--at-time", at_time)),
            cluster=cluster,
            question=question,
            questions=questions,
        )
    )


def state(
    paths: cluster_options.PathsOfAState = None,
    lake: options.OptionalLake = None,
    cluster: options.Cluster = None,
    at_offset: options.AtOffset = None,
    at_time: options.AtTime = None,
    diff: options.Diff = None,
    committed_only: options.CommittedOnly = False,
    sizes: cluster_options.Sizes = False,
    exposure: cluster_options.Exposures = False,
    since: cluster_options.Since = False,
    broker_config: cluster_options.BrokerConfig = None,
    limit: cluster_options.ShownRows = 10,
    json_output: options.Json = False,
) -> int:
    """Print a cluster's metadata as it was: topics, partitions, configs, brokers, ACLs and so on.

    For the question what the cluster believed when it went wrong, and what changed until then. The
    log is the branch that the replicas agree on, to its end; --committed-only stops where nothing
    proves it committed any more. --at-offset N is the state of a snapshot with end offset N:
    records below N, an open transaction left out. --at-time takes records up to and including
    that time. --diff A B tells what is different at B from what was at A, offsets or times (a
    number from 10^12 on is ms). What lies behind the log's end or the newest capture is an error.

    entity, key, value (JSON with Kafka's field names, defaults filled in), and the offset of the
    record that last changed it (NULL: before the snapshot that the lake's log begins with). With
    --diff: change, name, old and new (JSON).

    --sizes and --exposure also read directories, at the end of the newest log among them.
    --exposure: how many partitions would have no leader, need an unclean election (only a replica
    that isn't in sync is left), or be led below min.insync.replicas; and the voters' majority. With
    --since also the record since which the figures of a failure that does harm are what they are:
    the log, or the lake's history, is read backward for it.

    \b
    Examples:
      kraftlake state --lake lake --at-offset 1526 --json | jq 'select(.entity == "topic")'
      kraftlake state --lake lake --diff 1500 2026-11-21T05:00Z
      kraftlake state --exposure node1/ --broker-config server.properties

    --json: entity, key, value, offset; with --diff: entity, key, name, change, old, new. With
    --sizes: about (entity, topic, record), name, count (of a topic: partitions), replicas,
    size_bytes (of values; null from a lake), per_hour. With --exposure: kind (nothing, rack,
    broker, pair, voter), gone, leaderless, needs_unclean, below_min_isr, voters_left, has_majority,
    since_offset, since (ms; both null without --since).
    Exit codes: 0, 2 usage (also a moment that the lake can't tell about).
    """
    from jobs.asking import state_of_cluster as of_cluster
    from jobs.directories.broker_defaults import defaults_in
    from jobs.moments import Moment, either_of, moment_of

    exclusive({"PATH": paths, "--lake": lake})
    exclusive({"--sizes": sizes, "--exposure": exposure, "--diff": diff})
    needs("--exposure", exposure, {"--broker-config": broker_config, "--since": since})
    moment = Moment(at_offset, moment_of("--at-time", at_time))
    if sizes or exposure:
        of_a_lake = {"--at-offset": at_offset, "--at-time": at_time}
        of_a_lake |= {"--committed-only": committed_only}
        needs("--lake", lake, of_a_lake)
        asked = of_cluster.Asked(tuple(paths or ()), lake, cluster, moment, committed_only)
        wanted = of_cluster.Wanted(content=sizes, past=since)
        source = of_cluster.source_of(asked, defaults_in(broker_config), wanted)
        show = of_cluster.show_sizes if sizes else of_cluster.show_exposure
        return show(source, limit=limit, json_output=json_output)
    if lake is None:
        raise UsageError("--lake is missing; directories are read with --sizes or --exposure")
    from jobs.asking import state as job

    about = {"committed_only": committed_only, "json_output": json_output}
    if diff is None:
        return job.run(lake=lake, cluster=cluster, moment=moment, **about)
    if moment != Moment():
        raise UsageError("--diff names its moments itself: leave --at-offset and --at-time out")
    a, b = (either_of("--diff", text) for text in diff)
    return job.run_diff(lake=lake, cluster=cluster, moments=(a, b), **about)
