"""The tables of gold about the quorum itself: which offsets each replica has, which voters have
voted, and how the log grows."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA
from pipelines.tables.contract import Contract, columns
from pipelines.tables.keys import REPLICA_KEYS
from pipelines.tables.silver import VOTERS

_LOOK = columns("""
    capture_group string: id of the capture group: captures that were made together
    capture_id string: id of the capture
    captured_at timestamp: time at which the directory was looked at; the time of the ingest where
        that is unknown
    round_name string null: name of the capture's round, given by ingest --order; NULL without
        --order
    is_latest boolean: true for the cluster's newest capture group
""")

REPLICA_STATUS = Contract(
    name="gold.replica_status",
    description="Each replica of each capture group: its role, its log's ends, how far it lags.",
    columns=(
        *REPLICA,
        *_LOOK,
        *columns("""
            role string null: leader, follower, observer, candidate or unattached, as quorum-state
                and the replica's own voter set show; NULL if quorum-state can't be read
            is_voter boolean null: true if the newest voter set that the replica has names it; NULL
                if unknown
            leader_id int null: node id of the leader in quorum-state; NULL where it names none
            leader_epoch int null: epoch in quorum-state
            voted_id int null: node id for which the node voted in that epoch; NULL for nobody
            voted_directory_id string null: directory id for which it voted; NULL if unknown
            log_start_offset bigint: first offset of the log; records below it may be deleted
            log_end_offset bigint: log end offset, exclusive
            last_epoch int null: epoch of the log's last batch; NULL for an empty log
            last_append_time timestamp null: time of the newest record in the log
            snapshot_end_offset bigint null: end offset of the replica's newest whole snapshot,
                exclusive; the snapshot 0-0 doesn't count
            snapshot_epoch int null: epoch of that snapshot
            high_watermark bigint null: lower bound of the high watermark, exclusive: all records
                below are proven committed; NULL if none is
            high_watermark_evidence string null: how that is proven. majority: a majority of the
                voters holds an entry, and none of them but its leader knows a newer epoch.
                snapshot: a snapshot contains it
            evidence_offset bigint null: offset of the entry that proves it, or last offset that the
                snapshot contains
            evidence_epoch int null: epoch of that entry
            evidence_holders array<int> null: node ids of the voters that hold this entry; empty for
                a snapshot
            agreed_end_offset bigint null: end offset (exclusive) up to which the log is the same as
                the agreed branch
            own_records bigint null: number of the replica's records from there on, which the branch
                lacks
            lag_records bigint null: number of offsets at the end of the agreed branch that the
                replica lacks
            lag_ms bigint null: time (ms) by which the replica's newest record on the agreed branch
                is older than the newest one that a replica of the group has
        """),
    ),
    keys=("cluster_id", "capture_group", "capture_id"),
    change_feed=True,
)

ELECTIONS = Contract(
    name="gold.elections",
    description="Elections by the hour: leader epochs that began, and epochs without a leader.",
    columns=columns("""
        cluster_id string: id of the cluster
        hour timestamp null: start of the hour; NULL where the time is unknown
        elections bigint: number of leader epochs that began in the hour
        leaders array<int>: node ids of the leaders of these epochs
        leaderless_epochs bigint: number of epochs without a record in any log: nobody won, or the
            winner wrote nothing. They count in the hour of the next leader, or of the first capture
            whose quorum-state has a newer epoch
        shortest_ms bigint null: length (ms) of the shortest of these epochs that has ended
    """),
    keys=("cluster_id", "hour"),
    change_feed=True,
)

VOTES = Contract(
    name="gold.votes",
    description="Every vote that a LEADER_CHANGE record or a quorum-state file names.",
    columns=columns("""
        cluster_id string: id of the cluster
        epoch int: epoch of the vote
        voter_id int: node id of the voter
        candidate_id int: node id for which it voted
        voter_directory_ids array<string>: directory ids of the voter; empty if only a record of a
            static quorum names the vote, which has none
        sources array<string>: where the vote stands: leader_change, quorum_state
        is_elected boolean null: true if the candidate became leader; NULL if no leader is known
        is_double boolean: true if the voter also voted for another node in this epoch, which Raft
            forbids
    """),
    keys=("cluster_id", "epoch", "voter_id", "candidate_id"),
    change_feed=True,
)

VOTER_BELIEFS = Contract(
    name="gold.voter_beliefs",
    description="The voters as each replica of each capture group names them, by source.",
    columns=(
        *REPLICA,
        *_LOOK,
        *columns(f"""
            source string: where the voters are named. configuration: in controller.quorum.voters;
                quorum_state; log: in the newest voters record, else LEADER_CHANGE; snapshot: in the
                newest whole one; meta_properties: only the voter that the node itself could be
            offset bigint null: offset of the record, or end offset of the snapshot; else NULL
            epoch int null: epoch of the record, snapshot or quorum-state
            voters {VOTERS}: the voters, sorted by id
            agrees boolean null: true if ids, and directories where both name them, are those in the
                newest log of the group; NULL for a set that a newer set in the node's own log
                replaced, and for meta_properties of a node that is no voter
        """),
    ),
    keys=("cluster_id", "capture_group", "capture_id", "source"),
    change_feed=True,
)

LOG_GROWTH = Contract(
    name="gold.log_growth",
    description="Growth of the metadata log by hour and record type, on the agreed branch.",
    columns=columns("""
        cluster_id string: id of the cluster
        hour timestamp null: start of the hour; NULL where the time is unknown
        record_type string: Kafka's name of the record type, such as NO_OP_RECORD
        records bigint: number of records of this type
        bytes bigint: bytes of these records with their share of the batches' headers; the share
            goes by length, and a secret record's unknown length counts as 0
    """),
    keys=("cluster_id", "hour", "record_type"),
    change_feed=True,
)

SNAPSHOT_CADENCE = Contract(
    name="gold.snapshot_cadence",
    description="Each snapshot that a replica was seen to hold, and what came since the "
    "snapshot before.",
    columns=(
        *REPLICA,
        *columns("""
            end_offset bigint: end offset of the snapshot, exclusive: it contains the records below
                this offset
            epoch int: epoch of the last record that the snapshot contains, from the file's name
            size_bytes bigint: size of the file in bytes
            record_count bigint: number of records, with header and footer
            last_contained_log_timestamp timestamp null: append time of the last record that the
                snapshot contains
            previous_end_offset bigint null: end offset of the replica's snapshot before this one;
                the snapshot 0-0 doesn't count
            records_since bigint null: number of offsets since that snapshot
            ms_since bigint null: time (ms) between the last records of the two snapshots
            log_bytes_since bigint null: bytes of the log since that snapshot; NULL if some of them
                are deleted
            reached string null: which of Kafka's default limits was reached: bytes
                (metadata.log.max.record.bytes.between.snapshots, 20 MiB), interval
                (metadata.log.max.snapshot.interval.ms, 1 h) or neither; NULL if unknown
        """),
    ),
    keys=(*REPLICA_KEYS, "end_offset", "epoch"),
    change_feed=True,
)

BATCH_SIZES = Contract(
    name="gold.batch_sizes",
    description="Sizes of the agreed branch's batches by the hour, up to the largest.",
    columns=columns("""
        cluster_id string: id of the cluster
        hour timestamp null: start of the hour; NULL where the time is unknown
        batches bigint: number of batches whose newest record is of this hour
        records bigint: number of records in these batches
        bytes bigint: bytes of these batches, with their headers
        p50_bytes bigint: median of the batches' sizes, bytes
        p95_bytes bigint: 95th percentile of the batches' sizes, bytes
        p99_bytes bigint: 99th percentile of the batches' sizes, bytes
        max_bytes bigint: size of the largest batch (Kafka's limit is 8 MiB), bytes
        max_records bigint: number of records of the batch that has most
        largest_offset bigint: base offset of the largest batch
    """),
    keys=("cluster_id", "hour"),
    change_feed=True,
)

RETENTION_FORECAST = Contract(
    name="gold.retention_forecast",
    description="When the head of each replica's log will go, by Kafka's default retention.",
    columns=(
        *REPLICA,
        *columns("""
            capture_id string: capture_id of the replica's newest capture
            log_bytes bigint: bytes of the replica's .log files
            snapshots bigint: number of complete snapshots, with 0-0
            snapshot_bytes bigint: bytes of these snapshots
            log_bytes_per_day bigint null: growth of the agreed branch per day, over its newest 7
                days; NULL if it has records of one moment only
            measured_ms bigint null: span of record times (ms) over which the growth was measured
            snapshot_bytes_per_day bigint null: bytes of new snapshots in a day: the newest one's
                size over the time between the newest two; NULL without two snapshots
            bytes_reached_at timestamp null: time at which log and snapshots will exceed
                metadata.max.retention.bytes (100 MiB) at that growth; NULL without growth, or if it
                is over 1000 years away
            ms_reached_at timestamp null: time from which the oldest snapshot is older than
                metadata.max.retention.ms (7 days)
            head_goes_at timestamp null: time at which the head of the log will be deleted: the
                earlier of the two; NULL if there are no two snapshots, because Kafka keeps the last
                one
            next_log_start_offset bigint null: log start offset from then on: the end of the second
                oldest snapshot
        """),
    ),
    keys=REPLICA_KEYS,
    change_feed=True,
)

QUORUM = (
    REPLICA_STATUS, ELECTIONS, VOTES, VOTER_BELIEFS, LOG_GROWTH, SNAPSHOT_CADENCE, BATCH_SIZES,
    RETENTION_FORECAST,
)  # fmt: skip
