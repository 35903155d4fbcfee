"""Bronze: what the directories held, batch by batch and record by record."""

from __future__ import annotations

from pipelines.tables.contract import Contract, optional, required
from pipelines.tables.keys import FINDING_KEYS

REPLICA = (
    required("cluster_id string", "cluster.id of meta.properties"),
    required("node_id int", "node.id of meta.properties"),
    required(
        "directory_id string",
        "directory.id of meta.properties; AAAAAAAAAAAAAAAAAAAAAA where there is none",
    ),
)
REPLICA_KEYS = tuple(column.name for column in REPLICA)

BATCH_KEY = (
    *REPLICA,
    required("base_offset bigint", "offset of the batch's first record"),
    required("leader_epoch int", "partition leader epoch of the batch"),
    required(
        "crc bigint",
        "the CRC-32C stored in the batch, unsigned; of a batch that may hold a secret 32 bits that "
        "are told by it and the lake's key",
    ),
)
BATCH_KEYS = tuple(column.name for column in BATCH_KEY)

_RECORD = (
    optional("timestamp timestamp", "the record's time, NULL where Kafka has none"),
    required("is_control boolean", "whether the Raft layer wrote it"),
    required("record_type string", "Kafka's name, such as TOPIC_RECORD"),
    optional("record_version int", "the record's schema version, NULL where unreadable"),
    optional("payload variant", "the record in kafka-dump-log's JSON shape, secrets redacted"),
    optional("value binary", "the record's bytes; NULL where they hold a secret"),
)

_SPANS = "array<struct<from:timestamp,to:timestamp>>"
_PLACES = "array<struct<position:bigint,base_offset:bigint,size_bytes:bigint>>"

CAPTURES = Contract(
    name="bronze.captures",
    description="One row for each replica of each capture group: a look at its directory.",
    columns=(
        required("capture_id string", "hash of replica and sealed file hashes"),
        required("capture_group string", "the captures of a cluster that were looked at together"),
        *REPLICA,
        required(
            "captured_at timestamp",
            "when the directory was looked at; where nothing told that, when it was ingested",
        ),
        required(
            "ingest_seq bigint",
            "order of ingestion, from 1; the same for all clusters that were looked at together",
        ),
        optional(
            "round_name string",
            "the name of ingest --order that the capture belongs to; NULL without --order",
        ),
        required(
            "has_own_time boolean",
            "whether capture.json or --captured-at told captured_at; false: it is the time of the "
            "ingest",
        ),
        required("source string", "the directory as it was named to ingest"),
        required("log_start_offset bigint", "offsets below it may be gone"),
        required("log_end_offset bigint", "LEO, exclusive"),
        optional("first_offset bigint", "first offset in .log files, NULL in an empty log"),
        required(
            "uncovered array<struct<start:bigint,end:bigint>>",
            "offset ranges that damage may hide, end exclusive and NULL where open: a batch "
            "missing there has not been seen to vanish",
        ),
        required(
            "files array<struct<path:string,size_bytes:bigint,sha256:string,known:struct<"
            "sound_bytes:bigint,next_offset:bigint,record_count:bigint,chunk_hash:string,"
            f"headers_hash:string,landmarks:{_PLACES},places:{_PLACES}>>>",
            "every file, by its path below the node's log directory; sha256: as content_sha256 of "
            "bronze.snapshots; known: what the next ingest need not read again, NULL where it "
            "reads the whole file",
        ),
    ),
    keys=("capture_group", "capture_id"),
)

LOG_BATCHES = Contract(
    name="bronze.log_batches",
    description="Every record batch that a replica was ever seen to hold.",
    columns=(
        *BATCH_KEY,
        required("last_offset bigint", "offset of the last record, inclusive"),
        required("is_control boolean", "a batch of the Raft layer"),
        required("record_count int", "records by the batch's header"),
        required("size_bytes bigint", "the whole batch, header included"),
        required("position bigint", "its first byte in `file`"),
        required("crc_valid boolean", "whether any capture held it undamaged"),
        optional("base_timestamp timestamp", "time that record deltas count from"),
        optional("max_timestamp timestamp", "largest time of its records"),
        required("file string", "the file it was first seen in"),
        required("first_seen timestamp", "captured_at of the first capture"),
        optional(
            "last_seen timestamp",
            "captured_at of the last capture; NULL while the replica's newest capture holds it",
        ),
        optional(
            "truncated_at timestamp",
            "captured_at of the first later capture that covers its offset without it",
        ),
        optional(
            "removed_at timestamp", "the same where the offset lies below that capture's log start"
        ),
        required(
            f"in_log {_SPANS}",
            "spans of captured_at, both ends inclusive, over which every capture held it "
            "undamaged in a .log file (not .log.deleted); the last one's `to` is NULL while the "
            "replica's newest capture holds it so",
        ),
        required(f"undamaged {_SPANS}", "the same in a .log or .log.deleted file"),
        required(f"seen {_SPANS}", "the same in any of them, undamaged or not"),
    ),
    keys=BATCH_KEYS,
)

LOG_RECORDS = Contract(
    name="bronze.log_records",
    description="Every record of every undamaged batch.",
    columns=(
        *BATCH_KEY,
        required("offset bigint", "the record's offset"),
        *_RECORD,
    ),
    keys=(*BATCH_KEYS, "offset"),
)

SNAPSHOT_KEY = (
    *REPLICA,
    required("end_offset bigint", "exclusive end of what it contains"),
    required("epoch int", "epoch of the last contained record, by its name"),
    required(
        "content_sha256 string",
        "hash of the file's bytes, sealed by the lake's key unless the lake keeps secrets",
    ),
)
SNAPSHOT_KEYS = tuple(column.name for column in SNAPSHOT_KEY)

SNAPSHOTS = Contract(
    name="bronze.snapshots",
    description="Every snapshot file that a replica was ever seen to hold.",
    columns=(
        *SNAPSHOT_KEY,
        required("file string", "the file it was last seen as"),
        required("size_bytes bigint", "the file's size"),
        required("state string", "complete, part or deleted, when last seen"),
        required(
            "is_whole boolean",
            "undamaged, header first, footer last, one epoch; whatever its state",
        ),
        optional(
            "last_contained_log_timestamp timestamp",
            "append time of the last record contained, by the header",
        ),
        required("record_count bigint", "records, delimiters included"),
        required("first_seen timestamp", "captured_at of the first capture"),
        required("last_seen timestamp", "captured_at of the last capture"),
        required("captures array<string>", "capture_id of each capture that held it complete"),
    ),
    keys=SNAPSHOT_KEYS,
)

SNAPSHOT_RECORDS = Contract(
    name="bronze.snapshot_records",
    description="Every record of every snapshot.",
    columns=(
        *SNAPSHOT_KEY,
        required("index bigint", "the record's place in the snapshot, from 0"),
        *_RECORD,
    ),
    keys=(*SNAPSHOT_KEYS, "index"),
)

REPLICA_STATE = Contract(
    name="bronze.replica_state",
    description="The small files of a directory: quorum-state, checkpoint, indexes and so on.",
    columns=(
        required("capture_id string", "the capture"),
        *REPLICA,
        optional("quorum_version int", "data_version of quorum-state, NULL without the file"),
        optional("leader_id int", "leader by quorum-state, -1 unknown"),
        optional("leader_epoch int", "epoch by quorum-state"),
        optional("voted_id int", "whom it voted for in that epoch, -1 nobody"),
        optional("voted_directory_id string", "directory of that vote"),
        optional("current_voters array<int>", "voters by quorum-state version 0"),
        optional(
            "configured_voters array<struct<voter_id:int,host:string,port:int>>",
            "controller.quorum.voters by a quorum.properties beside meta.properties, NULL without",
        ),
        optional(
            "leader_epochs array<struct<epoch:int,start_offset:bigint>>",
            "leader-epoch-checkpoint, NULL without the file",
        ),
        optional("meta_version int", "version of meta.properties"),
        optional("meta_properties map<string,string>", "meta.properties, key to value"),
        optional("topic_id string", "topic id by partition.metadata"),
        required("index_entries bigint", "entries of all .index files"),
        required(
            "index_mismatches bigint", "of them, those that point at no batch with their offset"
        ),
    ),
    keys=("capture_id",),
)

DAMAGE = Contract(
    name="bronze.damage",
    description="Every place that could not be read, with its bytes.",
    columns=(
        optional("capture_id string", "the capture; NULL where no replica is known"),
        required("file string", "the file as it was named to ingest"),
        required("position bigint", "first damaged byte of the file"),
        required("length bigint", "damaged bytes; 0 for an absence"),
        required("kind string", "see replica.format.damage"),
        required("detail string", "one line for a person"),
        optional(
            "raw binary", "the bytes, at most 64 KiB; a fingerprint where they may hold a secret"
        ),
    ),
    keys=("capture_id", "file", "position", "kind"),
)

FINDING = (
    required("rule string", "its id; `kraftlake explain` says what it means"),
    required("severity string", "info, warning or error"),
    required("file string", "the file, or directory, as it was named to ingest"),
    optional("position bigint", "byte of the batch, line or entry; NULL where there is none"),
    optional("offset bigint", "offset in the log, NULL where the finding has none"),
    optional("epoch int", "leader epoch there"),
    required("message string", "one line, what was found"),
)

FINDINGS = Contract(
    name="bronze.findings",
    description="What the rules of `kraftlake check` say of a directory without replaying its log.",
    columns=(
        required("capture_id string", "the capture"),
        *REPLICA,
        *FINDING,
        optional(
            "snapshot_end_offset bigint",
            "end offset of the complete snapshot that the finding is about, NULL for others",
        ),
        optional("snapshot_epoch int", "epoch of that snapshot, by its name"),
    ),
    keys=FINDING_KEYS,
)

BRONZE = (
    CAPTURES,
    LOG_BATCHES,
    LOG_RECORDS,
    SNAPSHOTS,
    SNAPSHOT_RECORDS,
    REPLICA_STATE,
    DAMAGE,
    FINDINGS,
)

DERIVED_FROM = tuple(one for one in BRONZE if one is not DAMAGE)
"""The tables that silver and gold are made from."""


LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release of kraftlake that wrote the lake.",
    columns=(
        required("at timestamp", "when it was noted"),
        required("action string", "created, or written (by another release than before)"),
        required("schema_version int", "of the tables from then on"),
        required("release string", "of kraftlake, as `kraftlake --version`"),
    ),
    keys=("at",),
)
