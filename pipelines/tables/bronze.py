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
    required("leader_epoch int", "leader epoch of the batch"),
    required(
        "crc bigint",
        "the CRC-32C that the batch stores, unsigned; for a batch that may hold a "
        "secret, 32 bits computed from the CRC with the lake's key",
    ),
)
BATCH_KEYS = tuple(column.name for column in BATCH_KEY)

_RECORD = (
    optional("timestamp timestamp", "the record's time; NULL where Kafka has none"),
    required("is_control boolean", "true if the Raft layer wrote the record"),
    required("record_type string", "Kafka's name of the record type, such as TOPIC_RECORD"),
    optional(
        "record_version int", "the record's schema version; NULL for a record that can't be read"
    ),
    optional(
        "payload variant",
        "the record with the fields of kafka-dump-log's JSON; secrets are redacted",
    ),
    optional("value binary", "the record's bytes; NULL where they hold a secret"),
)

_SPANS = "array<struct<from:timestamp,to:timestamp>>"
_PLACES = "array<struct<position:bigint,base_offset:bigint,size_bytes:bigint>>"

CAPTURES = Contract(
    name="bronze.captures",
    description="The captures: one row for each look at the directory of a replica.",
    columns=(
        required(
            "capture_id string",
            "id of the capture: a hash of the replica and the sealed hashes of its files",
        ),
        required(
            "capture_group string",
            "id of the capture group: the captures of a cluster that were made together",
        ),
        *REPLICA,
        required(
            "captured_at timestamp",
            "time at which the directory was looked at; the time of the ingest where that "
            "is unknown",
        ),
        required(
            "ingest_seq bigint",
            "place in the order of ingestion, from 1; the same number for all clusters that "
            "were looked at together",
        ),
        optional(
            "round_name string",
            "name of the capture's round, given by ingest --order; NULL without --order",
        ),
        required(
            "has_own_time boolean",
            "true if captured_at comes from capture.json or --captured-at; false if it is "
            "the time of the ingest",
        ),
        required("source string", "name of the directory as it was given to ingest"),
        required(
            "log_start_offset bigint", "first offset of the log; records below it may be deleted"
        ),
        required("log_end_offset bigint", "log end offset, exclusive"),
        optional("first_offset bigint", "first offset in the .log files; NULL for an empty log"),
        required(
            "uncovered array<struct<start:bigint,end:bigint>>",
            "ranges of offsets that can't be read because of damage (end exclusive; NULL "
            "for an open end): a batch that is missing there doesn't count as vanished",
        ),
        required(
            "files array<struct<path:string,size_bytes:bigint,sha256:string,known:struct<"
            "sound_bytes:bigint,next_offset:bigint,record_count:bigint,chunk_hash:string,"
            f"headers_hash:string,landmarks:{_PLACES},places:{_PLACES}>>>",
            "every file, by its path below the node's log directory. sha256: a hash like "
            "content_sha256 of bronze.snapshots. known: the part that the next ingest need "
            "not read again; NULL if it reads the whole file",
        ),
    ),
    keys=("capture_group", "capture_id"),
)

LOG_BATCHES = Contract(
    name="bronze.log_batches",
    description="Every record batch that a replica was ever seen to hold.",
    columns=(
        *BATCH_KEY,
        required("last_offset bigint", "offset of the batch's last record, inclusive"),
        required("is_control boolean", "true for a batch of the Raft layer"),
        required("record_count int", "number of records that the batch's header names"),
        required("size_bytes bigint", "size of the whole batch in bytes, with its header"),
        required("position bigint", "position of the batch's first byte in `file`"),
        required("crc_valid boolean", "true if any capture held the batch undamaged"),
        optional(
            "base_timestamp timestamp",
            "time from which the times of the batch's records are counted",
        ),
        optional("max_timestamp timestamp", "largest time of the batch's records"),
        required("file string", "file in which the batch was first seen"),
        required("first_seen timestamp", "captured_at of the first capture that held it"),
        optional(
            "last_seen timestamp",
            "captured_at of the last capture that held it; NULL while the replica's newest "
            "capture holds it",
        ),
        optional(
            "truncated_at timestamp",
            "captured_at of the first later capture whose log covers the batch's offset "
            "without the batch",
        ),
        optional(
            "removed_at timestamp",
            "captured_at of the first later capture whose log starts above the batch's offset",
        ),
        required(
            f"in_log {_SPANS}",
            "spans of captured_at, both ends inclusive, in which every capture held the "
            "batch undamaged in a .log file (not .log.deleted); `to` of the last span is "
            "NULL while the replica's newest capture holds the batch so",
        ),
        required(
            f"undamaged {_SPANS}",
            "such spans for the batch undamaged in a .log or .log.deleted file",
        ),
        required(
            f"seen {_SPANS}",
            "such spans for the batch in a .log or .log.deleted file, undamaged or damaged",
        ),
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
    required(
        "end_offset bigint",
        "end offset of the snapshot, exclusive: it contains the records below this offset",
    ),
    required(
        "epoch int", "epoch of the last record that the snapshot contains, from the file's name"
    ),
    required(
        "content_sha256 string",
        "hash of the file's bytes; it is sealed by the lake's key unless the lake keeps secrets",
    ),
)
SNAPSHOT_KEYS = tuple(column.name for column in SNAPSHOT_KEY)

SNAPSHOTS = Contract(
    name="bronze.snapshots",
    description="Every snapshot file that a replica was ever seen to hold.",
    columns=(
        *SNAPSHOT_KEY,
        required("file string", "name under which the file was last seen"),
        required("size_bytes bigint", "size of the file in bytes"),
        required(
            "state string", "complete, part or deleted: the state in which the file was last seen"
        ),
        required(
            "is_whole boolean",
            "true if the file is undamaged, begins with a header, ends with a footer and "
            "has one epoch, in whatever state it is",
        ),
        optional(
            "last_contained_log_timestamp timestamp",
            "append time of the last record that the snapshot contains, from its header",
        ),
        required("record_count bigint", "number of records, with header and footer"),
        required("first_seen timestamp", "captured_at of the first capture that held it"),
        required("last_seen timestamp", "captured_at of the last capture that held it"),
        required(
            "captures array<string>", "capture_id of each capture that held the complete snapshot"
        ),
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
        required("capture_id string", "id of the capture"),
        *REPLICA,
        optional("quorum_version int", "data_version of quorum-state; NULL without the file"),
        optional("leader_id int", "node id of the leader in quorum-state; -1 if unknown"),
        optional("leader_epoch int", "epoch in quorum-state"),
        optional("voted_id int", "node id for which the node voted in that epoch; -1 for nobody"),
        optional("voted_directory_id string", "directory id for which it voted"),
        optional("current_voters array<int>", "node ids of the voters in quorum-state version 0"),
        optional(
            "configured_voters array<struct<voter_id:int,host:string,port:int>>",
            "controller.quorum.voters in the file quorum.properties beside meta.properties; "
            "NULL without that file",
        ),
        optional(
            "leader_epochs array<struct<epoch:int,start_offset:bigint>>",
            "content of leader-epoch-checkpoint; NULL without the file",
        ),
        optional("meta_version int", "version of meta.properties"),
        optional("meta_properties map<string,string>", "keys and values of meta.properties"),
        optional("topic_id string", "topic id in partition.metadata"),
        required("index_entries bigint", "number of entries of all .index files"),
        required(
            "index_mismatches bigint",
            "number of these entries that point at no batch with their offset",
        ),
    ),
    keys=("capture_id",),
)

DAMAGE = Contract(
    name="bronze.damage",
    description="Every place that could not be read, with its bytes.",
    columns=(
        optional("capture_id string", "id of the capture; NULL where no replica is known"),
        required("file string", "name of the file as it was given to ingest"),
        required("position bigint", "position of the first damaged byte in the file"),
        required("length bigint", "number of damaged bytes; 0 where something is missing"),
        required("kind string", "kind of damage, a word of replica.format.damage"),
        required("detail string", "what is damaged, in one line for people"),
        optional(
            "raw binary",
            "the damaged bytes, at most 64 KiB; a fingerprint if they may hold a secret",
        ),
    ),
    keys=("capture_id", "file", "position", "kind"),
)

FINDING = (
    required("rule string", "id of the rule; `kraftlake explain` says what it means"),
    required("severity string", "info, warning or error"),
    required("file string", "name of the file or directory as it was given to ingest"),
    optional(
        "position bigint",
        "position of the first byte of the batch, line or entry; NULL where there is none",
    ),
    optional("offset bigint", "offset in the log; NULL where the finding has none"),
    optional("epoch int", "leader epoch at that offset"),
    required("message string", "what was found, in one line"),
)

FINDINGS = Contract(
    name="bronze.findings",
    description="What the rules of `kraftlake check` say of a directory without replaying its log.",
    columns=(
        required("capture_id string", "id of the capture"),
        *REPLICA,
        *FINDING,
        optional(
            "snapshot_end_offset bigint",
            "end offset of the complete snapshot that the finding is about; NULL for other "
            "findings",
        ),
        optional("snapshot_epoch int", "epoch of that snapshot, from the file's name"),
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
        required("at timestamp", "time at which the row was written"),
        required("action string", "created; or written, by another release than the one before"),
        required("schema_version int", "schema version of the tables from then on"),
        required("release string", "release of kraftlake, as `kraftlake --version` prints it"),
    ),
    keys=("at",),
)
