"""Commands over logs on disk: dump, diff, check, recover, capture, redact, explain."""

from __future__ import annotations

from jobs.commands import capture_options, cluster_options, combinations, options, rehearsal_options
from replica.errors import UsageError


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
    show_config: options.ShowConfig = None,
    redact_key: options.RedactKey = None,
) -> int:
    """Print the records of segments, snapshots or whole directories, offline.

    For everybody who asks what a node's metadata log really holds. Of a directory the .log segments
    are printed in offset order, then the complete snapshots. A file that is named is printed
    whatever it is, also a .deleted or .part one. Small files (quorum-state,
    leader-epoch-checkpoint, meta.properties, partition.metadata, indexes, producer snapshots) give
    one object each. An offset range leaves out a directory's snapshots: their offsets count their
    own records.

    Text: offset, epoch, time (UTC), type, version, Kafka's JSON, under a line per file. --json:
    file, offset, epoch, timestamp (ms), type, version, data; with --batches file, position,
    base_offset, last_offset, epoch, is_control, count, size, crc (null where the batch may hold a
    secret, which could be guessed by it), crc_valid. Secrets show as *** and a fingerprint. Records
    of a partition that is no metadata log (kraftlake.topic.name, a broker's topics) are printed as
    they are: file, offset, epoch, timestamp, key, value, headers, with {"base64": ...} for bytes
    that are no text. What can't be decoded is named on stderr, with file, byte and reason, and the
    rest is printed. A batch whose CRC is wrong is named, and its records are not shown.

    \b
    Examples:
      kraftlake dump /var/kafka/metadata
      kraftlake dump --type topic --type 'partition*' --from-offset 1500 node2/
      kraftlake dump --json --logs-only node2/ | jq 'select(.type == "LEADER_CHANGE")'
      kraftlake dump --batches 00000000000000000000.log
      kraftlake dump node2/__cluster_metadata-0/quorum-state

    Exit codes: 0, 1 when something could not be decoded, 2 usage.
    """
    from jobs.directories import dump as job
    from jobs.directories.selection import select

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
        show_configs=tuple(show_config or ()),
    )
    return job.run(paths, selection, wanted)


def diff(
    a: options.ReplicaA,
    b: options.ReplicaB,
    json_output: options.Json = False,
    keep_secrets: options.KeepSecrets = False,
    show_config: options.ShowConfig = None,
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
    from jobs.directories import diff as job

    return job.run(
        a,
        b,
        json_output=json_output,
        keep_secrets=keep_secrets,
        show_configs=tuple(show_config or ()),
    )


def check(
    paths: options.Paths,
    json_output: options.Json = False,
    severity: options.LeastSeverity = "info",
    fail_on: options.FailOn = None,
    order: options.Order = None,
    no_replay: options.NoReplay = False,
    family: cluster_options.Family = None,
    broker_config: cluster_options.BrokerConfig = None,
    limit: cluster_options.SubjectLimit = 5,
) -> int:
    """Check whether directories are sound, and whether the cluster that they describe is well.

    For the moment before a restart or after a crash. Every batch and record is read, snapshots are
    compared with the replay of the log, and directories that are given together are compared with
    each other: name all nodes of a cluster. The directory of a running node gives no false alarm.
    Where something is damaged, the rest is judged all the same. `kraftlake explain RULE` says more
    about a finding. Of a partition without a metadata log everything is judged except its records,
    whose meaning is not known here.

    Several captures of one replica need a capture.json each, or --order.

    Health is judged on the newest state that the logs of a cluster add up to: controllers, voters,
    features, brokers, partitions. Its notes are only counted; --family health or all prints them.
    The health of a file on its own is judged with --family health only.

    Text: a verdict per directory with its cluster, node and role, the findings by severity with
    file, byte and offset, what they mean and what to do next. sound: nothing above a note, and each
    snapshot equals the replay of the log. no fault found: a file alone, or a snapshot that no log
    here could be compared with. voter: by the newest voters record, in a static quorum by the
    newest LeaderChange record or quorum-state; else observer, which is a broker or a controller
    that doesn't vote.

    --json: rule, family (files, health), severity (info, which text calls a note, warning, error),
    file, position (byte), offset, epoch, message; of health also cluster_id, end_offset (of the
    state) and subjects (name, what, offset: all for which the rule holds). The last line is the
    summary, an object with the one field summary: checked, errors, warnings, notes (all that
    decide about the exit code, shown or not), exit_code; directories with directory, cluster_id,
    node_id, directory_id, role (voter, observer), partition, verdict (sound, no-fault-found,
    warning, error), errors, warnings, notes, log_start_offset, log_end_offset, epoch, snapshots
    (how many are valid, invalid, unverifiable); and health with cluster_id, directory, end_offset,
    is_whole (the state is known to the log's end), verdict (healthy, warning, error, null where no
    state is known), errors, warnings, notes.

    \b
    Examples:
      kraftlake check /var/kafka/metadata
      kraftlake check --severity warning --json cluster.tar.gz | jq 'select(.rule) | .rule'
      kraftlake check --json --fail-on error node1/ node2/ node3/ | tail -1 | jq .summary
      kraftlake check --order live,split,final incident/
      kraftlake check --family health --broker-config server.properties node1/

    Exit codes: 0 nothing of the severity --fail-on or worse, 1 findings, 2 usage. Where
    --family health or all is given, findings of health count, and an unknown state gives 1.
    """
    from jobs.directories import check as job
    from jobs.directories.broker_defaults import defaults_in
    from jobs.directories.check_health import families_of

    wanted = job.Options(
        json_output=json_output,
        severity=severity,
        fail_on=fail_on,
        order=options.names_in(order),
        replay=not no_replay,
        families=families_of(family, replay=not no_replay),
        broker_defaults=defaults_in(broker_config),
        limit=limit,
    )
    return job.run(paths, wanted)


def recover(
    paths: options.Paths,
    plan: options.PlanOnly = False,
    rehearse: rehearsal_options.RehearsePlan = False,
    seeds: rehearsal_options.PlanSeeds = None,
    json_output: options.Json = False,
) -> int:
    """Say which of the replicas that are left a quorum should go on with, and what that costs.

    For the moment after disks were lost. Stop all controllers and name every directory that is
    left, of voters and observers. They are ranked as Raft does: the newest last epoch first, then
    the log's end; a longer log of an older epoch may hold what was undone. Only voters stand for
    election: with a majority of them the best of theirs comes first, without one the newest of all,
    which is given to stand-ins for the lost voters. For each other replica the plan counts the
    records that the first one lacks, by what the directories prove, and says what becomes of the
    replica. The steps are commands to paste, of Kafka 3.7 and newer and of kraftlake. Nothing is
    ever changed.

    \b
    The answer for each cluster:
      safe      a majority of the voters is left, so the first one holds all that was committed;
                as long as no disk among them was wiped or put back from a backup
      unproven  no majority is left: what only the others held is lost with them
      refused   committed records would be lost, or the histories can't both be right

    --json: rank, directory, cluster_id, node_id, directory_id, is_voter, last_epoch,
    log_end_offset, relation, at_risk ([first, end) pairs), committed_lost, unproven_lost,
    superseded_lost, answer, has_majority, missing, reasons, partition, wins_election,
    truncates_to (the log's end once it follows the first one), on_no_voter ([first, end) pairs:
    what the first one, an observer's, holds and no voter here).

    --rehearse plays the steps in the simulator first, on copies, as `kraftlake rehearse` does, and
    holds the plan to what comes out: who leads, what each node truncates and loses. --json then has
    rehearsed: runs, answer, reasons, leads (in how many runs), as_predicted (likewise).

    \b
    Examples:
      kraftlake recover --plan node2/ node3/
      kraftlake recover --plan --json left/ | jq -r 'select(.rank == 1) | .directory'
      kraftlake recover --plan --rehearse node2/ node3/

    Exit codes: 0 safe (with --rehearse in all runs, too), 1 unproven, refused or not as safe when
    rehearsed, 2 usage.
    """
    if not plan:
        raise UsageError("recover: --plan is missing; kraftlake plans, and changes no directory")
    combinations.needs("--rehearse", rehearse, {"--seeds": seeds})
    from jobs.directories import recover as job
    from jobs.seeds import MAX_REHEARSED, seeds_in

    runs = seeds_in(seeds or "0:20", most=MAX_REHEARSED) if rehearse else None
    return job.run(paths, seeds=runs, json_output=json_output)


def capture(
    paths: options.NodePaths,
    output: options.CaptureOutput,
    redacted: options.Redacted = False,
    redact_key: options.RedactKey = None,
    names: options.HashedNames = False,
    show_config: options.ShowConfig = None,
    json_output: options.Json = False,
) -> int:
    """Copy the metadata directories of running nodes, with their hashes, to a folder or a URI.

    For keeping what a node holds before it restarts, and for bringing it to where the lake is.
    Nothing is locked or changed. A directory that changes while it is read is read again, three
    times at most. capture.json is written last; it names the time and the hash of every file, so
    that ingest notices what a copy lost on its way.

    After an interruption the same command goes on: files that have arrived and not changed since
    are not sent again. ingest leaves a capture out until it is finished.

    --redacted makes copies without secrets, as `kraftlake redact` does.

    --json: folder, source, files, size_bytes, sent_bytes, moved, damages, a line per directory.

    \b
    Examples:
      kraftlake capture /var/kafka/metadata -o /backup/captures/$(date +%FT%H%M)
      kraftlake capture node1/ node2/ -o s3://bucket/captures/incident-7
      kraftlake capture --redacted /var/kafka/metadata -o for-the-vendor

    Exit codes: 0, 1 when something was damaged (it is captured as it is) or never held still,
    2 usage.
    """
    combinations.needs(
        "--redacted",
        redacted,
        {"--redact-key": redact_key, "--names": names, "--show-config": show_config},
    )
    from jobs.directories import capture as job

    redactor = None
    if redacted:
        redactor = job.record_redactor(redact_key, show_config or (), hashes_names=names)
    return job.run(paths, output=output, redactor=redactor, json_output=json_output)


def prune(
    folder: capture_options.CapturesFolder,
    older_than: capture_options.OlderThan,
    dry_run: capture_options.PruneDryRun = False,
    json_output: options.Json = False,
) -> int:
    """Take captures away that are older than they need be, by the time in their capture.json.

    For a folder into which `kraftlake capture` writes again and again, each time into a folder of
    its own. Only files that a capture.json names are deleted; other files, folders without one,
    and links are left alone. What a lake has of a capture stays in the lake. Run it after an
    ingest that went well, so that nothing goes that no lake has. Object stores delete by age
    themselves.

    --json: folder, captured_at, files, size_bytes, removed, a line per capture.

    \b
    Examples:
      kraftlake prune /backup/captures --older-than 7d --dry-run
      kraftlake ingest --lake lake --build /backup/captures && \\
        kraftlake prune /backup/captures --older-than 24h

    Exit codes: 0, 2 usage.
    """
    from jobs.directories import prune as job

    return job.run(folder, older_than, dry_run=dry_run, json_output=json_output)


def redact(
    paths: options.NodePaths,
    output: options.CaptureOutput,
    redact_key: options.RedactKey = None,
    names: options.HashedNames = False,
    show_config: options.ShowConfig = None,
    json_output: options.Json = False,
) -> int:
    """Copy metadata directories without their secrets, for a vendor or an issue.

    The copy has the same offsets, epochs, batches and times, valid CRCs, and the findings of check
    and diff. Kafka's own tools read it. Instead of each secret (SCRAM credentials, ids of
    delegation tokens, values of secret and of unknown configs) it has a fingerprint, which is equal
    where the secret is equal; so a change still shows. The sizes of such batches change, and with
    them the positions in .index files. Damaged bytes are overwritten, and the places stay damaged.
    Records that this release doesn't know keep their type and version.

    --names puts hashes in the place of the names of topics, users, groups, client ids and
    transactional ids. Hosts, racks, IP addresses and node ids stay in either case.

    --json: folder, source, files, size_bytes, sent_bytes, moved, damages, a line per directory.

    \b
    Examples:
      kraftlake redact captures/2026-11-21T0500 -o for-the-vendor
      kraftlake redact --names --redact-key ticket.key node1/ node2/ node3/ -o ticket-4711

    Exit codes: 0, 1 when something was damaged, 2 usage.
    """
    from jobs.directories import capture as job

    redactor = job.record_redactor(redact_key, show_config or (), hashes_names=names)
    return job.run_redact(paths, output=output, redactor=redactor, json_output=json_output)


def explain(rule: options.RuleId = None, json_output: options.Json = False) -> int:
    """Say what a rule of `kraftlake check` means, what Kafka does then, and what to do.

    Without a rule: the list of all.

    --json: rule, family (files, health), severity, meaning, kafka, next_step, issues (incidents
    that it would have caught).

    \b
    Examples:
      kraftlake explain snapshot-log-hole
      kraftlake explain --json | jq 'select(.severity == "error") | .rule'

    Exit codes: 0, 2 usage (no such rule).
    """
    from jobs.directories import explain as job

    return job.run(rule, json_output=json_output)
