"""Gold about the quorum itself: who stands where, who votes, and how its log grows."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA, REPLICA_KEYS
from pipelines.tables.contract import Contract, optional, required
from pipelines.tables.silver import VOTERS

_CLUSTER = required("cluster_id string", "the cluster")
_HOUR = optional("hour timestamp", "start of the hour; NULL where the time isn't known")
_LOOK = (
    required("capture_group string", "the captures looked at together"),
    required("capture_id string", "the capture"),
    required(
        "captured_at timestamp",
        "when the directory was looked at; where nothing told that, when it was ingested",
    ),
    optional("round_name string", "the capture's name in ingest --order; NULL without --order"),
    required("is_latest boolean", "the cluster's newest capture group"),
)

REPLICA_STATUS = Contract(
    name="gold.replica_status",
    description="Each replica of each capture group: its role, its log's ends, how far it lags.",
    columns=(
        *REPLICA,
        *_LOOK,
        optional(
            "role string",
            "leader, follower, observer, candidate or unattached, by quorum-state and its own "
            "voters; NULL without a quorum-state to read",
        ),
        optional("is_voter boolean", "whether its own newest voters name it; NULL: unknown"),
        optional("leader_id int", "its leader by quorum-state, NULL where it knows none"),
        optional("leader_epoch int", "its epoch by quorum-state"),
        optional("voted_id int", "whom it voted for in that epoch, NULL: nobody"),
        optional("voted_directory_id string", "directory of that vote, NULL: not told"),
        required("log_start_offset bigint", "offsets below it may be gone"),
        required("log_end_offset bigint", "LEO, exclusive"),
        optional("last_epoch int", "epoch of its last batch; NULL for an empty log"),
        optional("last_append_time timestamp", "newest record time of its log"),
        optional("snapshot_end_offset bigint", "its newest whole snapshot, 0-0 apart; exclusive"),
        optional("snapshot_epoch int", "epoch of that snapshot"),
        optional(
            "high_watermark bigint",
            "a lower bound, exclusive: all below is proven committed; NULL where nothing is",
        ),
        optional(
            "high_watermark_evidence string",
            "majority: voters hold an entry of an epoch beyond which none of them knows any; "
            "snapshot: one contains it",
        ),
        optional(
            "evidence_offset bigint", "the entry that proves it, or the snapshot's last offset"
        ),
        optional("evidence_epoch int", "epoch of that entry"),
        optional("evidence_holders array<int>", "node ids of who holds it; empty for a snapshot"),
        optional("agreed_end_offset bigint", "end of what it shares with the agreed branch"),
        optional("own_records bigint", "records from there on, which the branch has not"),
        optional("lag_records bigint", "offsets of the agreed branch that it lacks at the end"),
        optional("lag_ms bigint", "the same between the times of the last shared records, ms"),
    ),
    keys=("cluster_id", "capture_group", "capture_id"),
)

ELECTIONS = Contract(
    name="gold.elections",
    description="Elections an hour: leader epochs that began, and epochs without any leader.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("elections bigint", "leader epochs that began"),
        required("leaders array<int>", "node ids of their leaders"),
        required(
            "leaderless_epochs bigint",
            "epochs that no log knows: nobody won, or who won wrote nothing; in the hour of the "
            "next leader, or of the first capture whose quorum-state is past them",
        ),
        optional("shortest_ms bigint", "the shortest of the epochs that have ended, ms"),
    ),
    keys=("cluster_id", "hour"),
)

VOTES = Contract(
    name="gold.votes",
    description="Every vote that a LEADER_CHANGE record or a quorum-state tells of.",
    columns=(
        _CLUSTER,
        required("epoch int", "the epoch voted in"),
        required("voter_id int", "node id of who voted"),
        required("candidate_id int", "node id of whom it voted for"),
        required(
            "voter_directory_ids array<string>",
            "directories of the voter; empty where only a static quorum's record tells",
        ),
        required("sources array<string>", "leader_change, quorum_state"),
        optional("is_elected boolean", "whether the candidate led; NULL where no leader is known"),
        required(
            "is_double boolean",
            "the voter voted for another one in this epoch too, which Raft forbids",
        ),
    ),
    keys=("cluster_id", "epoch", "voter_id", "candidate_id"),
)

VOTER_BELIEFS = Contract(
    name="gold.voter_beliefs",
    description="Whom each replica of each capture group takes for the voters, source by source.",
    columns=(
        *REPLICA,
        *_LOOK,
        required(
            "source string",
            "configuration: controller.quorum.voters; quorum_state; log: its newest voters "
            "record, else LEADER_CHANGE; snapshot: its newest whole one; meta_properties: which "
            "voter it could be itself",
        ),
        optional("offset bigint", "the record's offset; a snapshot's end offset; else NULL"),
        optional("epoch int", "epoch of the record, snapshot or quorum-state"),
        required(f"voters {VOTERS}", "the voters by id"),
        optional(
            "agrees boolean",
            "same ids, and directories where both name them, as the newest log of the group has; "
            "NULL for an older set that its own newer one replaced, and for meta_properties of who "
            "is no voter",
        ),
    ),
    keys=("cluster_id", "capture_group", "capture_id", "source"),
)

LOG_GROWTH = Contract(
    name="gold.log_growth",
    description="The agreed branch an hour and record type: what the metadata log grows by.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("record_type string", "Kafka's name, such as NO_OP_RECORD"),
        required("records bigint", "records of the type"),
        required(
            "bytes bigint",
            "their part of their batches, headers included: by length, a secret record's "
            "unknown length counted as 0",
        ),
    ),
    keys=("cluster_id", "hour", "record_type"),
)

SNAPSHOT_CADENCE = Contract(
    name="gold.snapshot_cadence",
    description="Each snapshot that a replica was seen to hold, and what came since the last one.",
    columns=(
        *REPLICA,
        required("end_offset bigint", "exclusive end of what it contains"),
        required("epoch int", "epoch of the last contained record, by its name"),
        required("size_bytes bigint", "the file's size"),
        required("record_count bigint", "records, delimiters included"),
        optional("last_contained_log_timestamp timestamp", "append time of its last record"),
        optional("previous_end_offset bigint", "of the replica's snapshot before, 0-0 apart"),
        optional("records_since bigint", "offsets since that one"),
        optional("ms_since bigint", "append time since that one, ms"),
        optional("log_bytes_since bigint", "bytes of the log since; NULL where some are gone"),
        optional(
            "reached string",
            "which of Kafka's defaults that is: bytes "
            "(metadata.log.max.record.bytes.between.snapshots, 20 MiB), interval "
            "(metadata.log.max.snapshot.interval.ms, 1 h) or neither; NULL where not known",
        ),
    ),
    keys=(*REPLICA_KEYS, "end_offset", "epoch"),
)

BATCH_SIZES = Contract(
    name="gold.batch_sizes",
    description="The batches of the agreed branch an hour: their sizes, to the tail.",
    columns=(
        _CLUSTER,
        _HOUR,
        required("batches bigint", "batches by their newest record"),
        required("records bigint", "records in them"),
        required("bytes bigint", "bytes in them, headers included"),
        *(
            required(f"{name}_bytes bigint", f"{text}, bytes")
            for name, text in (
                ("p50", "median of a batch"),
                ("p95", "95th percentile"),
                ("p99", "99th percentile"),
                ("max", "the largest; Kafka's limit is 8 MiB"),
            )
        ),
        required("max_records bigint", "records of the batch with the most"),
        required("largest_offset bigint", "base offset of the largest batch"),
    ),
    keys=("cluster_id", "hour"),
)

RETENTION_FORECAST = Contract(
    name="gold.retention_forecast",
    description="When each replica's log head goes, by Kafka's default retention.",
    columns=(
        *REPLICA,
        required("capture_id string", "its newest capture"),
        required("log_bytes bigint", "bytes of its .log files"),
        required("snapshots bigint", "complete snapshots, 0-0 included"),
        required("snapshot_bytes bigint", "bytes of them"),
        optional(
            "log_bytes_per_day bigint",
            "growth of the agreed branch over its newest 7 days; NULL without a span of time",
        ),
        optional("measured_ms bigint", "the span of record times that growth was measured over"),
        optional(
            "snapshot_bytes_per_day bigint",
            "the newest snapshot's size by the time since the one before; NULL without one",
        ),
        optional(
            "bytes_reached_at timestamp",
            "when log and snapshots exceed metadata.max.retention.bytes (100 MiB) at that growth; "
            "NULL without growth, or beyond 1000 years",
        ),
        optional(
            "ms_reached_at timestamp",
            "when the oldest snapshot is older than metadata.max.retention.ms (7 days)",
        ),
        optional(
            "head_goes_at timestamp",
            "the earlier one; NULL while there are no two snapshots: Kafka keeps the last one",
        ),
        optional("next_log_start_offset bigint", "the second oldest snapshot's end, from then on"),
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
