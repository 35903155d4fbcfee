"""Rules about segments: bytes, batches, offsets, epochs, records."""

from __future__ import annotations

from replica.check.rule import Rule
from replica.severity import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_TRUNCATE = (
    "If a majority of the other voters is sound, move this directory away, keep it, and let the "
    "node fetch from the leader; `kraftlake diff` shows what the others hold."
)

CRC_MISMATCH = Rule(
    "crc-mismatch",
    _ERROR,
    "The bytes of a batch are not those that were written: its CRC-32C doesn't match.",
    "Refuses the batch where it checks: a follower stops fetching, a start ends with "
    "CorruptRecordException or cuts the log off here.",
    _TRUNCATE,
    ("KAFKA-14104",),
)
FRAMING = Rule(
    "framing",
    _ERROR,
    "These bytes are not the start of a batch: a length, or what it points at, was overwritten.",
    "Reads to this byte and no further: at a start it cuts the log off here.",
    _TRUNCATE,
    ("KAFKA-14104", "mojaloop/project#4259"),
)
ZERO_HOLE = Rule(
    "zero-hole",
    _ERROR,
    "A run of zero bytes where batches should be, as a power cut leaves in a sparse file.",
    "Reads to this byte and no further: at a start it cuts the log off here.",
    _TRUNCATE,
    ("mojaloop/project#4259", "openimsdk/open-im-server#2903"),
)
UNSUPPORTED_MAGIC = Rule(
    "unsupported-magic",
    _ERROR,
    "A whole batch has another magic than 2. KRaft never wrote one.",
    "Stops with an unsupported magic, or takes the batch for corrupt.",
    "Find out what wrote to this directory; then as for crc-mismatch.",
)
TORN_TAIL = Rule(
    "torn-tail",
    _INFO,
    "The last segment ends inside a batch: the node was writing, or was killed while it wrote.",
    "Cuts the unfinished batch off at the next start; it was never acknowledged.",
    "Nothing. In a copy of a running node this is normal.",
)
TORN_SEGMENT = Rule(
    "torn-segment",
    _ERROR,
    "A closed segment, or a snapshot that counts as complete, ends inside a batch.",
    "In a log, loses all records behind the torn batch; can't load such a snapshot.",
    _TRUNCATE,
    ("mojaloop/project#4259",),
)
OFFSET_GAP = Rule(
    "offset-gap",
    _ERROR,
    "Offsets are missing between two batches or two segments.",
    "Doesn't notice the gap at a start, and replays to a state without the missing records.",
    "Look for the missing segment in backups. If there is none, do as for crc-mismatch.",
    ("KAFKA-14238",),
)
OFFSET_GOES_BACK = Rule(
    "offset-goes-back",
    _ERROR,
    "A batch or segment starts below the end of the one before it, or at an offset that its "
    "neighbours contradict.",
    "Never appends out of order: such a log was edited, restored or written twice.",
    _TRUNCATE,
    ("KAFKA-18723",),
)
SEGMENT_NAME = Rule(
    "segment-name",
    _ERROR,
    "A segment's first batch isn't at the offset in the file's name.",
    "Finds segments by name, so reads at some offsets give other records or none.",
    "Restore the name if the file was renamed; otherwise do as for crc-mismatch.",
)
EPOCH_GOES_BACK = Rule(
    "epoch-goes-back",
    _ERROR,
    "A leader epoch is lower than the one before it. In a log, epochs only increase.",
    "Lookups by epoch answer wrongly, so this replica and its followers truncate at wrong offsets.",
    _TRUNCATE,
    ("KAFKA-10527", "KAFKA-10706", "KAFKA-18723"),
)
EPOCH_MISMATCH = Rule(
    "epoch-mismatch",
    _ERROR,
    "A batch carries another leader epoch than the LeaderChange record before it began. The epoch "
    "isn't covered by the CRC, so a flipped bit goes unnoticed elsewhere.",
    "Believes the batch: wrong divergence answers, a wrong last epoch in elections.",
    _TRUNCATE,
    ("KAFKA-18723", "KAFKA-14104"),
)
BATCH_TOO_LARGE = Rule(
    "batch-too-large",
    _WARNING,
    "A batch above 8 MiB, the most that Kafka's Raft client writes (KafkaRaftClient."
    "MAX_BATCH_SIZE_BYTES; internal.metadata.max.batch.size.in.bytes).",
    "A leader that can't append such a batch steps down, and the next one tries the same.",
    "See which records are in it (`kraftlake dump`) and what made so many of them at once.",
    ("KAFKA-14204", "AutoMQ/automq#2057"),
)
EPOCH_CHURN = Rule(
    "epoch-churn",
    _INFO,
    "Many leader epochs in a short time: elections follow one another, or fail.",
    "Goes on, but nothing is committed while there is no leader.",
    "Compare with the controllers' pauses, network and quorum-state files; look for a batch above "
    "the size limit.",
    ("KAFKA-14204", "bitnami/charts#20403", "strimzi/strimzi-kafka-operator#11613"),
)
UNDECODABLE_RECORD = Rule(
    "undecodable-record",
    _ERROR,
    "A record doesn't decode, and the CRC of its batch is right: it was written like this.",
    "Fails on it: a broker or controller stops, or skips the batch with a metadata error.",
    "Note the offset and the writer's release; `kraftlake dump` shows the records around it.",
    ("KAFKA-13098",),
)
UNKNOWN_RECORD_TYPE = Rule(
    "unknown-record-type",
    _WARNING,
    "A record of a type that this release doesn't know: the replay stops there, and nothing is "
    "known of the state behind it.",
    "Stops at types that its own version doesn't know either.",
    "A newer Kafka writes more types: use a kraftlake that is as new as the cluster. If the "
    "cluster is not newer, find out what wrote the record.",
    ("KAFKA-15412",),
)
UNKNOWN_RECORD_VERSION = Rule(
    "unknown-record-version",
    _WARNING,
    "A record of a known type in a version that this release doesn't know: the replay stops there, "
    "and nothing is known of the state behind it.",
    "Reads the record where the node is as new as the writer.",
    "Use a kraftlake that is as new as the cluster; this one judges the files, not the state.",
)
UNAPPLIABLE_RECORD = Rule(
    "unappliable-record",
    _ERROR,
    "A record can't be applied to the state before it: the entity that it changes doesn't exist, "
    "or has another broker epoch.",
    "Reports a metadata error and goes on without it, or stops; a broker may restart in a loop.",
    "Read the record and the earlier ones named here with `kraftlake dump --from-offset`.",
    ("bitnami/containers#80381", "bitnami/charts#29167", "KAFKA-19497"),
)
OPEN_TRANSACTION = Rule(
    "open-transaction",
    _INFO,
    "The log ends inside a metadata transaction: BEGIN without END or ABORT.",
    "Doesn't apply the transaction's records until it ends; a new leader aborts it.",
    "Nothing, unless the transaction stays open: then no newer record is applied.",
    ("KAFKA-17713",),
)

NOT_KNOWN = frozenset({UNKNOWN_RECORD_TYPE.id, UNKNOWN_RECORD_VERSION.id})
"""The ids of the rules about records that this release doesn't know yet. Their findings don't make
a log or a snapshot invalid."""
