"""The expectations of bronze.

Bronze holds the content of any disk, also of a damaged one. So contradictions between its rows are
seldom more than a warning. Rows from which nothing right can be derived are left out.
"""

from __future__ import annotations

from pipelines.quality.expectation import Action, Beside, Join, at_least, one_of, suite
from pipelines.quality.predicates import epochs_ascend
from pipelines.tables import bronze
from pipelines.tables.keys import BATCH_KEYS, SNAPSHOT_KEYS
from replica.doctor.check.catalogue import RULES
from replica.format.batch import HEADER
from replica.format.damage import DamageKind
from replica.format.snapshot import SnapshotState
from replica.metadata.redact import SECRET_FIELDS
from replica.severity import Severity

WARN, QUARANTINE, STOP = Action

_COUNT = {"records_held": "count(*)"}
_SECRET_TYPES = ", ".join(f"'{name}'" for name in ("CONFIG_RECORD", *SECRET_FIELDS))

_READABLE = (
    WARN.unless(
        "a payload is missing only where the record could not be read",
        "payload IS NOT NULL OR record_version IS NULL OR record_type = 'UNKNOWN_RECORD'",
        ("payload", "record_version"),
    ),
    WARN.unless(
        "a record's bytes are missing only where they may hold a secret",
        "value IS NOT NULL OR record_version IS NULL OR record_type = 'UNKNOWN_RECORD' "
        f"OR record_type IN ({_SECRET_TYPES})",
        ("value", "record_type"),
    ),
)
_SEEN_IN_ORDER = WARN.unless(
    "it was first seen before it was last seen",
    "last_seen IS NULL OR first_seen <= last_seen",
    ("first_seen", "last_seen"),
)
FINDING = (
    one_of("severity", Severity),
    one_of("rule", (rule.id for rule in RULES), action=WARN),
)

CAPTURES = suite(
    bronze.CAPTURES,
    WARN.unless(
        "a log ends at or behind its start",
        "log_start_offset <= log_end_offset",
        ("log_start_offset", "log_end_offset"),
    ),
    at_least("ingest_seq", 1, action=STOP),
    STOP.unless("the capture's state was stored", "states IS NOT NULL", ("capture_id",)),
    joined=Join(bronze.REPLICA_STATE, ("capture_id",), {"states": "count(*)"}),
    least_rows=1,
)

LOG_BATCHES = suite(
    bronze.LOG_BATCHES,
    QUARANTINE.unless(
        "a batch has an epoch and offsets from 0 on, its last one not below its first",
        "leader_epoch >= 0 AND base_offset >= 0 AND last_offset >= base_offset",
        ("leader_epoch", "base_offset", "last_offset"),
    ),
    WARN.unless(
        "a batch has as many records as offsets",
        "record_count = last_offset - base_offset + 1",
        ("record_count", "base_offset", "last_offset"),
    ),
    WARN.unless(
        "bronze.log_records has every record of an undamaged batch and none of another",
        "coalesce(records_held, 0) = CASE WHEN crc_valid THEN record_count ELSE 0 END",
        ("record_count", "crc_valid"),
    ),
    at_least("size_bytes", HEADER.size, action=WARN),
    _SEEN_IN_ORDER,
    WARN.unless(
        "a batch that vanished was truncated or removed, and by a capture after its first",
        "(truncated_at IS NULL OR removed_at IS NULL) "
        "AND coalesce(truncated_at, removed_at) IS DISTINCT FROM first_seen",
        ("truncated_at", "removed_at", "first_seen"),
    ),
    joined=Join(bronze.LOG_RECORDS, BATCH_KEYS, _COUNT),
)

LOG_RECORDS = suite(
    bronze.LOG_RECORDS,
    QUARANTINE.unless(
        "a record lies within its batch, which bronze.log_batches has",
        "`offset` BETWEEN base_offset AND batch_last_offset",
        ("offset", *BATCH_KEYS),
    ),
    WARN.unless(
        "a batch's records follow each other from its base offset on",
        "`offset` = coalesce(previous_offset + 1, base_offset)",
        ("offset", "base_offset"),
    ),
    *_READABLE,
    beside={"previous_offset": Beside("offset", BATCH_KEYS, "offset", is_before=True)},
    joined=Join(bronze.LOG_BATCHES, BATCH_KEYS, {"batch_last_offset": "max(last_offset)"}),
)

SNAPSHOTS = suite(
    bronze.SNAPSHOTS,
    one_of("state", SnapshotState),
    WARN.unless(
        "bronze.snapshot_records has every record of a whole snapshot",
        "coalesce(records_held, 0) = record_count OR NOT is_whole",
        ("record_count", "is_whole"),
    ),
    WARN.unless(
        "a complete snapshot was held by a capture",
        "state <> 'complete' OR cardinality(captures) > 0",
        ("state", "captures"),
    ),
    at_least("end_offset", 0, action=WARN),
    at_least("epoch", 0, action=WARN),
    _SEEN_IN_ORDER,
    joined=Join(bronze.SNAPSHOT_RECORDS, SNAPSHOT_KEYS, _COUNT),
)

SNAPSHOT_RECORDS = suite(
    bronze.SNAPSHOT_RECORDS,
    QUARANTINE.unless(
        "a record is of a snapshot that bronze.snapshots has",
        "snapshots IS NOT NULL",
        (*SNAPSHOT_KEYS,),
    ),
    WARN.unless(
        "a snapshot's records follow each other from index 0 on",
        "`index` = coalesce(previous_index + 1, 0)",
        ("index",),
    ),
    *_READABLE,
    beside={"previous_index": Beside("index", SNAPSHOT_KEYS, "index", is_before=True)},
    joined=Join(bronze.SNAPSHOTS, SNAPSHOT_KEYS, {"snapshots": "count(*)"}),
)

REPLICA_STATE = suite(
    bronze.REPLICA_STATE,
    WARN.unless(
        "epochs and offsets of leader-epoch-checkpoint ascend",
        epochs_ascend,
        ("leader_epochs",),
    ),
    STOP.unless(
        "no more index entries are wrong than there are",
        "index_mismatches BETWEEN 0 AND index_entries",
        ("index_mismatches", "index_entries"),
    ),
)

DAMAGE = suite(
    bronze.DAMAGE,
    one_of("kind", DamageKind, action=WARN),
    at_least("position", 0, action=STOP),
    at_least("length", 0, action=STOP),
)

FINDINGS = suite(bronze.FINDINGS, *FINDING)

BRONZE = (
    CAPTURES, LOG_BATCHES, LOG_RECORDS, SNAPSHOTS, SNAPSHOT_RECORDS, REPLICA_STATE,
    DAMAGE, FINDINGS,
)  # fmt: skip
