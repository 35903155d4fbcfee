"""Bronze: what the directories held, batch by batch and record by record."""

from __future__ import annotations

from pipelines.tables.contract import Contract, columns
from pipelines.tables.keys import BATCH_KEYS, FINDING_KEYS, SNAPSHOT_KEYS

REPLICA = columns("""
    cluster_id string: cluster.id of meta.properties
    node_id int: node.id of meta.properties
    directory_id string: directory.id of meta.properties; AAAAAAAAAAAAAAAAAAAAAA where there is none
""")

BATCH_KEY = (
    *REPLICA,
    *columns("""
        base_offset bigint: offset of the batch's first record
        leader_epoch int: leader epoch of the batch
        crc bigint: the CRC-32C that the batch stores, unsigned; for a batch that may hold a secret,
            32 bits computed from the CRC with the lake's key
    """),
)

_RECORD = columns("""
    timestamp timestamp null: the record's time; NULL where Kafka has none
    is_control boolean: true if the Raft layer wrote the record
    record_type string: Kafka's name of the record type, such as TOPIC_RECORD
    record_version int null: the record's schema version; NULL for a record that can't be read
    payload variant null: the record with the fields of kafka-dump-log's JSON; secrets are redacted
    value binary null: the record's bytes; NULL where they hold a secret
""")

_SPANS = "array<struct<from:timestamp,to:timestamp>>"
_PLACES = "array<struct<position:bigint,base_offset:bigint,size_bytes:bigint>>"
_FILES = (
    "array<struct<path:string,size_bytes:bigint,sha256:string,known:struct<"
    "sound_bytes:bigint,next_offset:bigint,record_count:bigint,chunk_hash:string,"
    f"headers_hash:string,landmarks:{_PLACES},places:{_PLACES}>>>"
)

CAPTURES = Contract(
    name="bronze.captures",
    description="The captures: one row for each look at the directory of a replica. A log "
    "directory without a metadata log is one too: it has the finding never-started or "
    "metadata-log-not-given in bronze.findings, and no table is derived from it but gold.findings "
    "and gold.verdicts.",
    columns=(
        *columns("""
            capture_id string: id of the capture: a hash of the replica and the sealed hashes of its
                files
            capture_group string: id of the capture group: the captures of a cluster that were made
                together
        """),
        *REPLICA,
        *columns(f"""
            captured_at timestamp: time at which the directory was looked at; the time of the ingest
                where that is unknown
            ingest_seq bigint: place in the order of ingestion, from 1; the same number for all
                clusters that were looked at together
            round_name string null: name of the capture's round, given by ingest --order; NULL
                without --order
            has_own_time boolean: true if captured_at comes from capture.json or --captured-at;
                false if it is the time of the ingest
            is_fragment boolean: true if only a part of the replica's log was looked at: single
                files, or what a recorder kept when the quorum truncated it
            source string: name of the directory as it was given to ingest
            log_start_offset bigint: first offset of the log; records below it may be deleted
            log_end_offset bigint: log end offset, exclusive
            first_offset bigint null: first offset in the .log files; NULL for an empty log
            uncovered array<struct<start:bigint,end:bigint>>: ranges of offsets that can't be read
                because of damage, or that a fragment leaves out (end exclusive; NULL for an open
                end): a batch that is missing there doesn't count as vanished
            files {_FILES}: every file, by its path below the node's log directory. sha256: a hash
                like content_sha256 of bronze.snapshots. known: the part that the next ingest need
                not read again; NULL if it reads the whole file
        """),
    ),
    keys=("capture_group", "capture_id"),
)

LOG_BATCHES = Contract(
    name="bronze.log_batches",
    description="Every record batch that a replica was ever seen to hold.",
    columns=(
        *BATCH_KEY,
        *columns(f"""
            last_offset bigint: offset of the batch's last record, inclusive
            is_control boolean: true for a batch of the Raft layer
            record_count int: number of records that the batch's header names
            size_bytes bigint: size of the whole batch in bytes, with its header
            position bigint: position of the batch's first byte in `file`
            crc_valid boolean: true if any capture held the batch undamaged
            base_timestamp timestamp null: time from which the times of the batch's records are
                counted
            max_timestamp timestamp null: largest time of the batch's records
            file string: file in which the batch was first seen
            first_seen timestamp: captured_at of the first capture that held it
            last_seen timestamp null: captured_at of the last capture that held it; NULL while the
                replica's newest capture holds it
            truncated_at timestamp null: captured_at of the first later capture whose log covers the
                batch's offset without the batch
            removed_at timestamp null: captured_at of the first later capture whose log starts above
                the batch's offset
            in_log {_SPANS}: spans of captured_at, both ends inclusive, in which every capture held
                the batch undamaged in a .log file (not .log.deleted); `to` of the last span is NULL
                while the replica's newest capture holds the batch so
            undamaged {_SPANS}: such spans for the batch undamaged in a .log or .log.deleted file
            seen {_SPANS}: such spans for the batch in a .log or .log.deleted file, undamaged or
                damaged
        """),
    ),
    keys=BATCH_KEYS,
)

LOG_RECORDS = Contract(
    name="bronze.log_records",
    description="Every record of every undamaged batch.",
    columns=(
        *BATCH_KEY,
        *columns("offset bigint: the record's offset"),
        *_RECORD,
    ),
    keys=(*BATCH_KEYS, "offset"),
)

SNAPSHOT_KEY = (
    *REPLICA,
    *columns("""
        end_offset bigint: end offset of the snapshot, exclusive: it contains the records below this
            offset
        epoch int: epoch of the last record that the snapshot contains, from the file's name
        content_sha256 string: hash of the file's bytes; it is sealed by the lake's key unless the
            lake keeps secrets
    """),
)

SNAPSHOTS = Contract(
    name="bronze.snapshots",
    description="Every snapshot file that a replica was ever seen to hold.",
    columns=(
        *SNAPSHOT_KEY,
        *columns("""
            file string: name under which the file was last seen
            size_bytes bigint: size of the file in bytes
            state string: complete, part or deleted: the state in which the file was last seen
            is_whole boolean: true if the file is undamaged, begins with a header, ends with a
                footer and has one epoch, in whatever state it is
            last_contained_log_timestamp timestamp null: append time of the last record that the
                snapshot contains, from its header
            record_count bigint: number of records, with header and footer
            first_seen timestamp: captured_at of the first capture that held it
            last_seen timestamp: captured_at of the last capture that held it
            captures array<string>: capture_id of each capture that held the complete snapshot
        """),
    ),
    keys=SNAPSHOT_KEYS,
)

SNAPSHOT_RECORDS = Contract(
    name="bronze.snapshot_records",
    description="Every record of every snapshot.",
    columns=(
        *SNAPSHOT_KEY,
        *columns("index bigint: the record's place in the snapshot, from 0"),
        *_RECORD,
    ),
    keys=(*SNAPSHOT_KEYS, "index"),
)

REPLICA_STATE = Contract(
    name="bronze.replica_state",
    description="The small files of a directory: quorum-state, checkpoint, indexes and so on.",
    columns=(
        *columns("capture_id string: id of the capture"),
        *REPLICA,
        *columns("""
            quorum_version int null: data_version of quorum-state; NULL without the file
            leader_id int null: node id of the leader in quorum-state; -1 if unknown
            leader_epoch int null: epoch in quorum-state
            voted_id int null: node id for which the node voted in that epoch; -1 for nobody
            voted_directory_id string null: directory id for which it voted
            current_voters array<int> null: node ids of the voters in quorum-state version 0
            configured_voters array<struct<voter_id:int,host:string,port:int>> null:
                controller.quorum.voters in the file quorum.properties beside meta.properties; NULL
                without that file
            leader_epochs array<struct<epoch:int,start_offset:bigint>> null: content of
                leader-epoch-checkpoint; NULL without the file
            meta_version int null: version of meta.properties
            meta_properties map<string,string> null: keys and values of meta.properties
            topic_id string null: topic id in partition.metadata
            index_entries bigint: number of entries of all .index files
            index_mismatches bigint: number of these entries that point at no batch with their
                offset
        """),
    ),
    keys=("capture_id",),
)

DAMAGE = Contract(
    name="bronze.damage",
    description="Every place that could not be read, with its bytes.",
    columns=columns("""
        capture_id string null: id of the capture; NULL where no replica is known
        file string: name of the file as it was given to ingest
        position bigint: position of the first damaged byte in the file
        length bigint: number of damaged bytes; 0 where something is missing
        kind string: kind of damage, a word of replica.format.damage
        detail string: what is damaged, in one line for people
        raw binary null: the damaged bytes, at most 64 KiB; a fingerprint if they may hold a secret
    """),
    keys=("capture_id", "file", "position", "kind"),
)

FINDING = columns("""
    rule string: id of the rule; `kraftlake explain` says what it means
    severity string: info, warning or error
    file string: name of the file or directory as it was given to ingest
    position bigint null: position of the first byte of the batch, line or entry; NULL where there
        is none
    offset bigint null: offset in the log; NULL where the finding has none
    epoch int null: leader epoch at that offset
    message string: what was found, in one line
""")

FINDINGS = Contract(
    name="bronze.findings",
    description="What the rules of `kraftlake check` say of a directory without replaying its log.",
    columns=(
        *columns("capture_id string: id of the capture"),
        *REPLICA,
        *FINDING,
        *columns("""
            snapshot_end_offset bigint null: end offset of the complete snapshot that the finding is
                about; NULL for other findings
            snapshot_epoch int null: epoch of that snapshot, from the file's name
        """),
    ),
    keys=FINDING_KEYS,
)

BRONZE = (
    CAPTURES, LOG_BATCHES, LOG_RECORDS, SNAPSHOTS, SNAPSHOT_RECORDS, REPLICA_STATE, DAMAGE,
    FINDINGS,
)  # fmt: skip

DERIVED_FROM = tuple(one for one in BRONZE if one is not DAMAGE)
"""The tables that silver and gold are made from."""

LAKE_VERSIONS = Contract(
    name="bronze.lake_versions",
    description="Each release of kraftlake that wrote the lake.",
    columns=columns("""
        at timestamp: time at which the row was written
        action string: created; or written, by another release than the one before
        schema_version int: schema version of the tables from then on
        release string: release of kraftlake, as `kraftlake --version` prints it
    """),
    keys=("at",),
)
