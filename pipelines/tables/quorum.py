"""Gold about the quorum itself: who stands where, who votes, and how its log grows."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA, REPLICA_KEYS
from pipelines.tables.contract import Contract, optional, required
from pipelines.tables.silver import VOTERS

_CLUSTER = required("cluster_id string", "id of the cluster")
_HOUR = optional("hour timestamp", "start of the hour; NULL where the time is unknown")
_LOOK = (
    required("capture_group string", "id of the capture group: captures that were made together"),
    required("capture_id string", "id of the capture"),
    required(
        "captured_at timestamp",
        "time at which the directory was looked at; the time of the ingest where that is unknown",
    ),
    optional(
        "round_name string",
        "name of the capture's round, given by ingest --order; NULL without --order",
    ),
    required("is_latest boolean", "true for the cluster's newest capture group"),
)

REPLICA_STATUS = Contract(
    name="gold.replica_status",
    description="Each replica of each capture group: its role, its log's ends, how far it lags.",
    columns=(
        *REPLICA,
        *_LOOK,
        optional(
            "role string",
            "leader, follower, observer, candidate or unattached, as quorum-state and the "
            "replica's own voter set show; NULL if quorum-state can't be read",
        ),
        optional(
            "is_voter boolean",
            "true if the newest voter set that the replica has names it; NULL if unknown",
        ),
        optional(
            "leader_id int", "node id of the leader in quorum-state; NULL where it names none"
        ),
        optional("leader_epoch int", "epoch in quorum-state"),
        optional("voted_id int", "node id for which the node voted in that epoch; NULL for nobody"),
        optional("voted_directory_id string", "directory id for which it voted; NULL if unknown"),
        required(
            "log_start_offset bigint", "first offset of the log; records below it may be deleted"
        ),
        required("log_end_offset bigint", "log end offset, exclusive"),
        optional("last_epoch int", "epoch of the log's last batch; NULL for an empty log"),
        optional("last_append_time timestamp", "time of the newest record in the log"),
        optional(
            "snapshot_end_offset bigint",
            "end offset of the replica's newest whole snapshot, exclusive; the snapshot 0-0 "
            "doesn't count",
        ),
        optional("snapshot_epoch int", "epoch of that snapshot"),
        optional(
            "high_watermark bigint",
            "lower bound of the high watermark, exclusive: all records below are proven "
            "committed; NULL if none is",
        ),
        optional(
            "high_watermark_evidence string",
            "how that is proven. majority: a majority of the voters holds an entry, and "
            "none of them knows a newer epoch. snapshot: a snapshot contains it",
        ),
        optional(
            "evidence_offset bigint",
            "offset of the entry that proves it, or last offset that the snapshot contains",
        ),
        optional("evidence_epoch int", "epoch of that entry"),
        optional(
            "evidence_holders array<int>",
            "node ids of the voters that hold this entry; empty for a snapshot",
        ),
        optional(
            "agreed_end_offset bigint",
            "end offset (exclusive) up to which the log is the same as the agreed branch",
        ),
        optional(
            "own_records bigint",
            "number of the replica's records from there on, which the branch lacks",
        ),
        optional(
            "lag_records bigint",
            "number of offsets at the end of the agreed branch that the replica lacks",
        ),
        optional(
            "lag_ms bigint",
            "time (ms) by which the replica's newest record on the agreed branch is older than the "
            "newest one that a replica of the group has",
        ),
    ),
    keys=("cluster_id", "capture_group", "capture_id"),
)

ELECTIONS = Contract(
    name="gold.elections",
    description="Elections by the hour: leader epochs that began, and epochs without a leader.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("elections bigint", "number of leader epochs that began in the hour"),
        required("leaders array<int>", "node ids of the leaders of these epochs"),
        required(
            "leaderless_epochs bigint",
            "number of epochs without a record in any log: nobody won, or the winner wrote "
            "nothing. They count in the hour of the next leader, or of the first capture "
            "whose quorum-state has a newer epoch",
        ),
        optional(
            "shortest_ms bigint", "length (ms) of the shortest of these epochs that has ended"
        ),
    ),
    keys=("cluster_id", "hour"),
)

VOTES = Contract(
    name="gold.votes",
    description="Every vote that a LEADER_CHANGE record or a quorum-state file names.",
    columns=(
        _CLUSTER,
        required("epoch int", "epoch of the vote"),
        required("voter_id int", "node id of the voter"),
        required("candidate_id int", "node id for which it voted"),
        required(
            "voter_directory_ids array<string>",
            "directory ids of the voter; empty if only a record of a static quorum names "
            "the vote, which has none",
        ),
        required("sources array<string>", "where the vote stands: leader_change, quorum_state"),
        optional(
            "is_elected boolean", "true if the candidate became leader; NULL if no leader is known"
        ),
        required(
            "is_double boolean",
            "true if the voter also voted for another node in this epoch, which Raft forbids",
        ),
    ),
    keys=("cluster_id", "epoch", "voter_id", "candidate_id"),
)

VOTER_BELIEFS = Contract(
    name="gold.voter_beliefs",
    description="The voters as each replica of each capture group names them, by source.",
    columns=(
        *REPLICA,
        *_LOOK,
        required(
            "source string",
            "where the voters are named. configuration: in controller.quorum.voters; "
            "quorum_state; log: in the newest voters record, else LEADER_CHANGE; snapshot: "
            "in the newest whole one; meta_properties: only the voter that the node itself "
            "could be",
        ),
        optional("offset bigint", "offset of the record, or end offset of the snapshot; else NULL"),
        optional("epoch int", "epoch of the record, snapshot or quorum-state"),
        required(f"voters {VOTERS}", "the voters, sorted by id"),
        optional(
            "agrees boolean",
            "true if ids, and directories where both name them, are those in the newest log "
            "of the group; NULL for a set that a newer set in the node's own log replaced, "
            "and for meta_properties of a node that is no voter",
        ),
    ),
    keys=("cluster_id", "capture_group", "capture_id", "source"),
)

LOG_GROWTH = Contract(
    name="gold.log_growth",
    description="Growth of the metadata log by hour and record type, on the agreed branch.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("record_type string", "Kafka's name of the record type, such as NO_OP_RECORD"),
        required("records bigint", "number of records of this type"),
        required(
            "bytes bigint",
            "bytes of these records with their share of the batches' headers; the share "
            "goes by length, and a secret record's unknown length counts as 0",
        ),
    ),
    keys=("cluster_id", "hour", "record_type"),
)

SNAPSHOT_CADENCE = Contract(
    name="gold.snapshot_cadence",
    description="Each snapshot that a replica was seen to hold, and what came since the "
    "snapshot before.",
    columns=(
        *REPLICA,
        required(
            "end_offset bigint",
            "end offset of the snapshot, exclusive: it contains the records below this offset",
        ),
        required(
            "epoch int", "epoch of the last record that the snapshot contains, from the file's name"
        ),
        required("size_bytes bigint", "size of the file in bytes"),
        required("record_count bigint", "number of records, with header and footer"),
        optional(
            "last_contained_log_timestamp timestamp",
            "append time of the last record that the snapshot contains",
        ),
        optional(
            "previous_end_offset bigint",
            "end offset of the replica's snapshot before this one; the snapshot 0-0 doesn't count",
        ),
        optional("records_since bigint", "number of offsets since that snapshot"),
        optional("ms_since bigint", "time (ms) between the last records of the two snapshots"),
        optional(
            "log_bytes_since bigint",
            "bytes of the log since that snapshot; NULL if some of them are deleted",
        ),
        optional(
            "reached string",
            "which of Kafka's default limits was reached: bytes "
            "(metadata.log.max.record.bytes.between.snapshots, 20 MiB), interval "
            "(metadata.log.max.snapshot.interval.ms, 1 h) or neither; NULL if unknown",
        ),
    ),
    keys=(*REPLICA_KEYS, "end_offset", "epoch"),
)

BATCH_SIZES = Contract(
    name="gold.batch_sizes",
    description="Sizes of the agreed branch's batches by the hour, up to the largest.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("batches bigint", "number of batches whose newest record is of this hour"),
        required("records bigint", "number of records in these batches"),
        required("bytes bigint", "bytes of these batches, with their headers"),
        *(
            required(f"{name}_bytes bigint", f"{text}, bytes")
            for name, text in (
                ("p50", "median of the batches' sizes"),
                ("p95", "95th percentile of the batches' sizes"),
                ("p99", "99th percentile of the batches' sizes"),
                ("max", "size of the largest batch (Kafka's limit is 8 MiB)"),
            )
        ),
        required("max_records bigint", "number of records of the batch that has most"),
        required("largest_offset bigint", "base offset of the largest batch"),
    ),
    keys=("cluster_id", "hour"),
)

RETENTION_FORECAST = Contract(
    name="gold.retention_forecast",
    description="When the head of each replica's log will go, by Kafka's default retention.",
    columns=(
        *REPLICA,
        required("capture_id string", "capture_id of the replica's newest capture"),
        required("log_bytes bigint", "bytes of the replica's .log files"),
        required("snapshots bigint", "number of complete snapshots, with 0-0"),
        required("snapshot_bytes bigint", "bytes of these snapshots"),
        optional(
            "log_bytes_per_day bigint",
            "growth of the agreed branch per day, over its newest 7 days; NULL if it has "
            "records of one moment only",
        ),
        optional(
            "measured_ms bigint", "span of record times (ms) over which the growth was measured"
        ),
        optional(
            "snapshot_bytes_per_day bigint",
            "bytes of new snapshots in a day: the newest one's size over the time between the "
            "newest two; NULL without two snapshots",
        ),
        optional(
            "bytes_reached_at timestamp",
            "time at which log and snapshots will exceed metadata.max.retention.bytes (100 "
            "MiB) at that growth; NULL without growth, or if it is over 1000 years away",
        ),
        optional(
            "ms_reached_at timestamp",
            "time from which the oldest snapshot is older than metadata.max.retention.ms (7 days)",
        ),
        optional(
            "head_goes_at timestamp",
            "time at which the head of the log will be deleted: the earlier of the two; "
            "NULL if there are no two snapshots, because Kafka keeps the last one",
        ),
        optional(
            "next_log_start_offset bigint",
            "log start offset from then on: the end of the second oldest snapshot",
        ),
    ),
    keys=REPLICA_KEYS,
)

QUORUM = (
    REPLICA_STATUS,
    ELECTIONS,
    VOTES,
    VOTER_BELIEFS,
    LOG_GROWTH,
    SNAPSHOT_CADENCE,
    BATCH_SIZES,
    RETENTION_FORECAST,
)
