"""Gold: the tables that answer questions about a cluster."""

from __future__ import annotations

from pipelines.tables.bronze import FINDING, REPLICA
from pipelines.tables.contract import Contract, columns
from pipelines.tables.keys import FINDING_KEYS, REPLICA_KEYS
from pipelines.tables.quorum import QUORUM
from pipelines.tables.silver import LEADER_VOTERS
from replica.doctor.verdict.verdict import LEVELS_OF_NEWEST
from replica.words import listed

LEADER_EPOCH_HISTORY = Contract(
    name="gold.leader_epoch_history",
    description="Who led when: one row for each leader epoch of a cluster.",
    columns=columns(f"""
        cluster_id string: id of the cluster
        epoch int: leader epoch
        leader_id int null: node id of the leader in its LEADER_CHANGE record, else in quorum-state
            files; NULL where neither names it
        start_offset bigint null: offset of the epoch's first record
        end_offset bigint null: end offset of the epoch, exclusive: the start of the agreed branch's
            next epoch; NULL for the newest epoch
        started_at timestamp null: time of the epoch's LEADER_CHANGE record
        ended_at timestamp null: time of the next epoch's LEADER_CHANGE record
        voters {LEADER_VOTERS} null: voters of the epoch
        granting_voters {LEADER_VOTERS} null: voters that elected the leader
        commitment string: commitment of the epoch's first record: proven, unproven or superseded
    """),
    keys=("cluster_id", "epoch"),
    change_feed=True,
)

DIVERGENCE_POINTS = Contract(
    name="gold.divergence_points",
    description="Each pair of replicas in a capture group: whether their logs diverge, and where.",
    columns=columns("""
        cluster_id string: id of the cluster
        capture_group string: id of the capture group that was compared
        node_a int: node id of the first replica
        directory_a string: its directory id
        node_b int: node id of the second replica
        directory_b string: its directory id
        capture_a string: capture_id of the first replica
        capture_b string: capture_id of the second replica
        is_latest boolean: true for the cluster's newest capture group
        round_name string null: name of the group's round, given by ingest --order; NULL without
            --order
        relation string: how the two logs relate: identical, prefix, diverged, conflict or disjoint
        divergence_offset bigint null: first offset at which the epochs or the batches' bytes differ
        epoch_a int null: epoch of the first replica's batch at that offset
        epoch_b int null: epoch of the second replica's batch at that offset
        truncating_node int null: node id of the replica that would lose an election between the
            two, and then truncate its log
        truncation_offset bigint null: offset to which the fetch protocol truncates that replica's
            log
        fetch_rounds int null: number of fetches until the logs agree, by the released protocol
        draft_fetch_rounds int null: number of fetches until the logs agree, by FetchQuorumRecords
            of KIP-595's draft
        records_lost bigint null: number of records that the truncating replica would lose
        committed_lost bigint null: number of these records that are proven to be committed
        unproven_lost bigint null: number of these records that are neither proven nor superseded
        superseded_lost bigint null: number of these records at whose offset another record is
            proven
    """),
    keys=("cluster_id", "capture_group", "node_a", "directory_a", "node_b", "directory_b"),
    change_feed=True,
)

TRUNCATIONS = Contract(
    name="gold.truncations",
    description="Records that a replica's log lost between two captures, other than by retention.",
    columns=(
        *REPLICA,
        *columns("""
            from_offset bigint: offset of the first record that vanished
            to_offset bigint: end of the offsets that vanished, exclusive
            epochs array<int>: leader epochs of the records that vanished
            records bigint: number of records that vanished
            committed_lost bigint: number of these records that are proven to be committed
            unproven_lost bigint: number of these records that are neither proven nor superseded
            superseded_lost bigint: number of these records at whose offset another record is proven
            last_seen timestamp null: captured_at of the last capture that held these records
            seen_at timestamp: captured_at of the capture that shows that they are gone
            seen_in_round string null: name of that capture's round, given by ingest --order; NULL
                without --order
        """),
    ),
    keys=(*REPLICA_KEYS, "seen_at", "last_seen", "from_offset"),
    change_feed=True,
)

_BROKEN = "array<struct<rule:string,file:string,position:bigint,offset:bigint,message:string>>"

SNAPSHOT_VALIDITY = Contract(
    name="gold.snapshot_validity",
    description="Each complete snapshot of each capture: whether it is sound and equals the log.",
    columns=(
        *REPLICA,
        *columns(f"""
            end_offset bigint: end offset of the snapshot, exclusive: it contains the records below
                this offset
            epoch int: epoch of the last record that the snapshot contains, from the file's name
            capture_id string: id of the capture
            verdict string: valid; invalid; or unverifiable: no fault was found, but no replay
                reaches the snapshot's end
            broken_rules {_BROKEN}: the findings that make it invalid, with their evidence
            notes {_BROKEN}: findings of severity info
        """),
    ),
    keys=("capture_id", "end_offset", "epoch"),
    change_feed=True,
)

FINDINGS = Contract(
    name="gold.findings",
    description="What `kraftlake check` finds in each capture, with a replay of the agreed "
    "branch; and what it finds about each cluster's health in its newest state, in "
    "rows of the capture that holds this state.",
    columns=(
        *FINDING[:2],
        *REPLICA,
        *FINDING[2:],
        *columns("""
            capture_id string: id of the capture
            family string: family of the rule: files or health
            subjects string null: the first 100 partitions, nodes and so on for which a rule of
                health holds, or the voters whose nodes have a disk of another cluster: a JSON
                array of objects with name, what and offset; NULL for other rules about files
        """),
    ),
    keys=FINDING_KEYS,
    change_feed=True,
)

_ENTITY = columns("""
    cluster_id string: id of the cluster
    entity string: kind of the entity: topic, partition, config and so on
    key string: key of the entity, such as topicId:partitionId
""")

METADATA_HISTORY = Contract(
    name="gold.metadata_history",
    description="Every version of every metadata entity on the agreed branch.",
    columns=(
        *_ENTITY,
        *columns("""
            name string: key of the entity for people, such as a topic's name
            value string: the entity as a JSON object; secrets are redacted
            valid_from_offset bigint: offset of the record that made the version, or of the end of
                its transaction. The state at end offset N holds this version if valid_from_offset <
                N <= valid_to_offset
            valid_to_offset bigint null: valid_from_offset of the next version, or the offset of the
                removal; the end of the known state, if the log then has a hole or a record that
                this release doesn't know; NULL while the version is valid
            valid_from timestamp null: time of the record at valid_from_offset
            valid_to timestamp null: time of the record at valid_to_offset; NULL while the version
                is valid, or where the known state ends
            leader_epoch int: epoch of the record at valid_from_offset
            record_offset bigint null: offset of the last record that wrote this version, which may
                repeat the same value; NULL if only a snapshot has the version
            record_type string null: Kafka's name of the record type, such as TOPIC_RECORD
        """),
    ),
    keys=("cluster_id", "entity", "key", "valid_from_offset"),
)

METADATA_CHANGES = Contract(
    name="gold.metadata_changes",
    description="What changed: one row for each typed change of an entity, with the old and the "
    "new value.",
    columns=(
        *_ENTITY,
        *columns("""
            name string: key of the entity for people, such as a topic's name
            change string: type of the change, such as topic_created or leader_changed
            old string null: the value before the change, as JSON; NULL where there was none
            new string null: the value after the change, as JSON; NULL where there is none
            offset bigint: the record's offset
            at timestamp null: time at which the change took effect: that of the record, or of the
                end of its transaction
            leader_epoch int: epoch of the record that made the change
            record_type string: Kafka's name of the record type, such as TOPIC_RECORD
            commitment string: proven or unproven; or superseded: the record is on a branch that
                lost, so the change never took effect
        """),
    ),
    keys=("cluster_id", "offset", "leader_epoch", "entity", "key", "change"),
    change_feed=True,
)

STATE_RANGES = Contract(
    name="gold.state_ranges",
    description="The end offsets at which the state of a cluster is known. "
    "gold.metadata_history has no versions for other offsets.",
    columns=columns("""
        cluster_id string: id of the cluster
        from_offset bigint: first end offset at which the state is known: 0, or the end of the
            snapshot with which the replay began
        to_offset bigint: last end offset at which the state is known: the log's end, the start of a
            hole in the log, or the offset of a record that this release of kraftlake doesn't know
    """),
    keys=("cluster_id", "from_offset"),
    change_feed=True,
)

FAILURE_EXPOSURE = Contract(
    name="gold.failure_exposure",
    description="The harm that the failure of a rack, a broker, two brokers or a voter would do "
    "to the newest known state of a cluster, as `kraftlake state --exposure` shows "
    "it without --broker-config.",
    columns=columns("""
        cluster_id string: id of the cluster
        kind string: what fails: nothing (the row shows the present state), rack, broker, pair (two
            brokers, of up to 500 live ones) or voter
        gone string: name of the rack that fails, or node ids with commas between; empty if nothing
            fails
        leaderless bigint: number of partitions that would have no leader, because no replica that
            is left may lead, or because the quorum has no leader that could choose another one
        needs_unclean bigint: number of these partitions that only an unclean election helps: they
            still have a replica, it is not in sync, and no other replica may come back that was in
            sync or is eligible
        below_min_isr bigint: number of partitions that would have a leader, but fewer in-sync
            replicas than min.insync.replicas, as far as the log names that config
        voters_left int null: number of voters that would be left: without those whose node is a
            broker that is fenced now, that stopped together before the log's end, that is behind,
            or whose disk can't be relied on. That the others run is in no log. NULL if the voters
            are unknown
        has_majority boolean null: true if the voters that are left are a majority; NULL if the
            voters are unknown
        since_offset bigint null: offset of the record since which the row has these numbers; NULL
            if no harm would be done, or if the lake doesn't know the time before
        since timestamp null: time of this record
        end_offset bigint: end offset of the judged state, exclusive
        min_isr_unknown bigint: number of the cluster's partitions whose min.insync.replicas the log
            doesn't name
    """),
    keys=("cluster_id", "kind", "gone"),
    change_feed=True,
)

_FACTS = (
    "array<struct<level:string,severity:string,text:string,next_step:string,rules:array<string>>>"
)
_VOTERS = (
    "array<struct<node_id:int,directory_id:string,doubt:string,known_epoch:int,"
    "attested_epoch:int,held_end:bigint>>"
)
VERDICTS = Contract(
    name="gold.verdicts",
    description="The verdict of `kraftlake check` on each cluster, by the files of its newest "
    "capture group and by its newest state; and what these files prove about its quorum.",
    columns=columns(f"""
        cluster_id string: id of the cluster
        level string: {listed(LEVELS_OF_NEWEST, last="or")}, the worst first
        headline string: the worst fact, or what stands in place of facts
        facts {_FACTS}: what is wrong, the worst first, with what to do and the rules of check that
            found it
        next_steps array<string>: what to do, the first thing first
        not_judged array<struct<what:string,why:string,next_step:string>>: what could not be judged
        notes bigint: number of findings that need no action
        end_offset bigint null: end offset of the judged state, exclusive; NULL if none is known
        at timestamp null: time of this state's last record; NULL if no record has a time
        source string: where this state is from, such as node 1; empty if none is known
        capture_group string: id of the newest capture group, whose files were judged
        captured_at timestamp: time of its newest capture
        voters {_VOTERS}: voters in force, each with the doubt about its disk (not-given,
            of-another-cluster, no-log, unreadable, stale, no-quorum-state,
            unreadable-quorum-state or old-quorum-state; NULL if none), the newest epoch that its
            files know, the newest in which other files show it as leader or voter, and the end
            (exclusive) of what it holds of the newest log
        conflicts array<struct<node_a:int,node_b:int,offset:bigint>>: pairs of nodes whose logs Raft
            never leaves, with the first offset of the conflict
        contested array<struct<start:bigint,end:bigint>>: ranges (end exclusive) at which two
            different records are proven to be committed
        proven_end bigint: records of the newest log below this offset are proven to be committed
        possible_end bigint: records of the newest log from this offset on are on no majority
    """),
    keys=("cluster_id",),
    change_feed=True,
)

GOLD = (
    LEADER_EPOCH_HISTORY, DIVERGENCE_POINTS, TRUNCATIONS, SNAPSHOT_VALIDITY, FINDINGS,
    METADATA_HISTORY, METADATA_CHANGES, STATE_RANGES, FAILURE_EXPOSURE,
    VERDICTS, *QUORUM,
)  # fmt: skip

_JUDGED_TABLE = columns("""
    run_id string: id of the build, or of the run of `kraftlake quality`
    at timestamp: time of the run
    table_name string: name of the table, such as bronze.log_records
    table_version bigint: version of the table that was judged
""")

QUALITY_RESULTS = Contract(
    name="gold.quality_results",
    description="Each expectation of each table in each run: whether the table meets it.",
    columns=(
        *_JUDGED_TABLE,
        *columns("""
            expectation string: type of the expectation, as Great Expectations names it
            meaning string: what is expected, in a sentence
            columns array<string>: columns that the expectation is about
            action string: what happens if a row doesn't meet it: warn, quarantine or stop
            success boolean: true if every row meets the expectation
            evaluated_rows bigint: number of rows of the table
            unexpected_rows bigint: number of rows that don't meet it
            sample_keys array<string>: keys of some of these rows, each as a JSON object
        """),
    ),
    keys=("run_id", "table_name", "meaning"),
)

QUARANTINED_ROWS = Contract(
    name="gold.quarantined_rows",
    description="The rows that the newest build left out, and why.",
    columns=(
        *_JUDGED_TABLE,
        *columns("""
            reason string: expectation that the row doesn't meet
            row_key string: keys of the row as a JSON object
            content string: the whole row as a JSON object, with binary values in base64 and without
                columns that are NULL
        """),
    ),
    keys=("table_name", "row_key", "reason"),
)

QUALITY = (QUALITY_RESULTS, QUARANTINED_ROWS)
"""Tables with what a run has found about other tables. They are not in GOLD, because they differ
from run to run."""
