"""Commands that fill a lake and keep it."""

from __future__ import annotations

from jobs.commands import options
from jobs.commands.combinations import Given, alone, exclusive


def ingest(
    paths: options.PathsOrUris,
    lake: options.Lake,
    captured_at: options.CapturedAt = None,
    order: options.Order = None,
    as_replica: options.AsReplica = None,
    keep_secrets: options.KeepSecrets = False,
    show_config: options.ShowConfig = None,
    verify: options.Verify = False,
    follow: options.Follow = None,
    available_now: options.AvailableNow = False,
    accept_damage: options.AcceptDamage = False,
    dry_run: options.DryRun = False,
    build: options.ThenBuild = False,
    run_id: options.RunId = None,
    json_output: options.Json = False,
) -> int:
    """Bring captures of metadata directories into the lake's bronze tables.

    For keeping what Kafka truncates and deletes. Any number of replicas, clusters and captures;
    what the lake has already is not stored twice, so running it again is safe. Secrets are
    redacted before anything is written. Partitions of other topics than __cluster_metadata are left
    out, and refused where there is nothing else.

    A new lake needs an empty or new folder: a folder that holds other things is refused.

    Of a directory that the lake knows only new bytes are read: a file is taken for the known one if
    the batches at some known places have the known offset, epoch and CRC. --verify reads all bytes.

    --dry-run tells which replicas, files, bytes and offsets are new; records aren't decoded.

    --follow runs the same whenever a log has changed, and goes on where it was stopped or killed.

    \b
    Examples:
      kraftlake ingest --lake lake /var/kafka/metadata
      kraftlake ingest --lake lake --build incident.tar.gz
      kraftlake ingest --lake lake --dry-run incident.tar.gz
      kraftlake ingest --lake lake --follow 10 /var/kafka/metadata
      kraftlake ingest --lake lake --captured-at 2026-11-21T05:00Z nodes/
      kraftlake ingest --lake lake --order live,split,final incident/

    --json: table and rows, a line per table; with --dry-run a line per capture. Exit codes: 0, 1
    when a row went to bronze.damage (--dry-run: when a place is damaged), 2 usage, 75 another
    writer was faster: run it again.
    """
    from jobs.lake import ingest as job

    streams: Given = {"--follow": follow, "--available-now": available_now}
    exclusive(streams)
    alone("--dry-run", dry_run, {**streams, "--build": build, "--run-id": run_id})
    names = () if order is None else tuple(name for name in order.split(",") if name)
    return int(
        job.run(
            paths,
            lake=lake,
            reading=job.Reading(captured_at, names, as_replica, verify),
            secrets=job.Secrets(keep_secrets, tuple(show_config or ())),
            manner=job.Manner(
                stream=job.Stream(follow) if follow is not None or available_now else None,
                accept_damage=accept_damage,
                then_build=build,
                dry_run=dry_run,
                run_id=options.uuid_of(run_id),
                json_output=json_output,
            ),
        )
    )


def build(
    lake: options.Lake,
    follow: options.FollowBronze = None,
    run_id: options.RunId = None,
    json_output: options.Json = False,
) -> int:
    """Make the silver and gold tables from bronze: epochs, divergence, history, validity.

    For asking with SQL. Running it again gives the same rows; after another ingest it brings the
    tables up to date. Between the layers every table is held to what is expected of it: rows
    with which nothing right can be derived are left out and go to gold.quarantined_rows, and
    tables that contradict their contract end the build. `kraftlake quality` does the same alone.

    --follow builds whenever an ingest has changed the lake, until it is stopped; where another
    writer is at work, it tries again at the next look.

    \b
    Examples:
      kraftlake build --lake lake
      kraftlake build --lake lake --follow 60

    --json: table and rows, a line per table. Exit codes: 0, 1 when a table ends the build, 2 usage,
    75 another writer was faster: run it again.
    """
    from jobs.lake import build as job

    alone("--follow", follow is not None, {"--run-id": run_id})
    run_id = options.uuid_of(run_id)
    return int(job.run(lake=lake, run_id=run_id, follow_s=follow, json_output=json_output))


def quality(
    lake: options.Lake, run_id: options.RunId = None, json_output: options.Json = False
) -> int:
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
    from jobs.lake import quality as job

    return int(job.run(lake=lake, run_id=options.uuid_of(run_id), json_output=json_output))


def contents(
    lake: options.Lake,
    json_output: options.Json = False,
) -> int:
    """Show what a lake holds: clusters, replicas, rounds, captures, the tables with their sizes,
    and which releases of kraftlake wrote it.

    For knowing what can be asked. For each cluster and replica it shows the log start and log end
    by the newest captures; the offsets that some capture holds undamaged; and the gaps, which are
    offsets between the lowest log start and the highest log end that no capture holds. Ends are
    exclusive. A round is the captures that were taken together. A round without a time (from
    capture.json or --captured-at) is called by its name in `ingest --order` and by its newest
    record.

    \b
    Examples:
      kraftlake lake --lake lake

    --json: kind (cluster, replica, round, capture, table, version) and its fields, sizes in bytes,
    captured_at of a round null where nothing told it. Exit codes: 0, 1 when a table can't be read,
    2 usage.
    """
    from jobs.lake import contents as job

    return job.run(lake=lake, json_output=json_output)


def maintain(
    lake: options.Lake,
    retain_days: options.RetainDays = 0,
    dry_run: options.DryRun = False,
    run_id: options.RunId = None,
    json_output: options.Json = False,
) -> int:
    """Compact the lake's tables, and delete files that no kept version needs.

    For a lake that grows for months, about once a day. Small files become large ones (OPTIMIZE);
    data files that no version of the last 7 days needs are deleted (VACUUM), of the two tables
    with a change data feed those of the last 30 days; so are entries of Delta's log after 30 days.
    A table's own properties may ask for longer, --retain-days for files of all.

    What the tables hold stays as it is. Earlier versions can be read, and `publish` can go on, for
    those days.

    \b
    Examples:
      kraftlake maintain --lake lake --dry-run
      kraftlake maintain --lake lake --retain-days 90

    --json: table, retention_days, files, files_after, deleted_files, deleted_log_entries, a line
    per table; null is what --dry-run can't tell. Exit codes: 0, 2 usage,
    75 another writer was faster: run it again.
    """
    from jobs.lake import maintain as job

    return job.run(
        lake=lake,
        retain_days=retain_days,
        dry_run=dry_run,
        run_id=options.uuid_of(run_id),
        json_output=json_output,
    )


def forget(
    lake: options.Lake,
    capture: options.ForgottenCaptures = None,
    cluster: options.ForgottenClusters = None,
    yes: options.Yes = False,
    vacuum: options.Vacuum = False,
    json_output: options.Json = False,
) -> int:
    """Take captures out of a lake, as if they had never been ingested.

    For what came in by mistake. Shows which captures would go; --yes takes them out of the bronze
    tables: what no other capture holds goes with them, and the rest gets the times at which the
    remaining captures saw it. `kraftlake build` then brings the other tables up to date. After an
    interruption run the same command again.

    What was taken out stays on disk as earlier versions of the tables. Where it must not, because
    it holds secrets, use --vacuum: it builds, and then deletes every file of an earlier version, so
    that nobody can go back to one. --vacuum may also be used alone, later. The tables' transaction
    logs keep the first 32 characters of least and largest texts for 30 days more. Backups, and what
    was published, are yours to see to.

    \b
    Examples:
      kraftlake lake --lake lake
      kraftlake forget --lake lake --capture 3aeede71f9c6f14c3454e28b02e36bbe
      kraftlake forget --lake lake --cluster Lr3UIdBxT-GFPYE5uprmrg --yes --vacuum

    --json: the captures, or with --yes table and rows removed, a line each. Exit codes: 0, 2 usage.
    """
    from jobs.lake import forget as job

    return job.run(
        lake=lake,
        captures=capture or (),
        clusters=cluster or (),
        confirmed=yes,
        vacuum=vacuum,
        json_output=json_output,
    )


def demo(lake: options.DemoLake = None) -> int:
    """Show the whole way on metadata logs recorded from real Kafka: ingest, build, ask.

    For a first look; needs Java 17 or newer, and no Kafka. The logs come with kraftlake; lake and,
    outside a checkout, logs are left in .demo.

    Exit codes: 0, 1 when an answer is not the expected one, 2 usage.
    """
    from jobs.lake import demo as job

    return int(job.run(lake=lake))
