"""Rules about snapshots: their bytes, their place in the log, their content (KIP-630)."""

from __future__ import annotations

from replica.doctor.check.rule import error, info, warning

_REMOVE = (
    "Stop the node. If an older valid snapshot and the log behind it are there, move this file "
    "away and keep it; otherwise let the node fetch a snapshot from the leader."
)

SNAPSHOT_EMPTY = error(
    "snapshot-empty",
    "A snapshot that counts as complete has 0 bytes.",
    "Can't load the snapshot, but may send it to a follower.",
    _REMOVE,
    ("mojaloop/project#4259", "KAFKA-13098"),
)
SNAPSHOT_HEADER = error(
    "snapshot-header",
    "A snapshot doesn't begin with a SNAPSHOT_HEADER record.",
    "Treats the snapshot as incomplete or damaged when it loads it.",
    _REMOVE,
    ("openimsdk/open-im-server#2903",),
)
SNAPSHOT_FOOTER = error(
    "snapshot-footer",
    "A snapshot doesn't end with a SNAPSHOT_FOOTER record: it was cut off.",
    "Loads the records that are there and misses the others, or fails.",
    _REMOVE,
    ("openimsdk/open-im-server#2903", "mojaloop/project#4259"),
)
SNAPSHOT_EPOCH = error(
    "snapshot-epoch",
    "Batches of a snapshot carry another leader epoch than the file's name.",
    "Uses the epoch in the name, though the file was renamed or got a wrong id.",
    _REMOVE,
    ("KAFKA-14618",),
)
SNAPSHOT_TIMESTAMP = warning(
    "snapshot-timestamp",
    "LastContainedLogTimestamp in the header is neither the append time of the log's record at end "
    "offset - 1 nor, as a leader may write it, of a later batch of the same epoch.",
    "Deletes old snapshots by this time, so it may keep or drop this one wrongly.",
    "Check whether the file was renamed: its id may name another end offset.",
    ("KAFKA-14618",),
)
SNAPSHOT_LOG_EPOCH = error(
    "snapshot-log-epoch",
    "The log's record at end offset - 1 has another epoch than the snapshot's name.",
    "Tells followers that load this snapshot that their logs diverge; or these followers keep "
    "another branch.",
    "Compare with the other voters (`kraftlake check` over all of them): either the log or the "
    "snapshot belongs to a branch that was truncated elsewhere.",
    ("KAFKA-14618", "KAFKA-17713"),
)
SNAPSHOT_INSIDE_BATCH = error(
    "snapshot-inside-batch",
    "A snapshot ends inside a batch of the log.",
    "Breaks replication: a follower that loads the snapshot fetches from inside a batch.",
    _REMOVE,
    ("KAFKA-17713", "KAFKA-14618"),
)
SNAPSHOT_INSIDE_TRANSACTION = error(
    "snapshot-inside-transaction",
    "A snapshot ends between BEGIN and END of a metadata transaction.",
    "Applies only the rest of the transaction, without its beginning, on a node that loads the "
    "snapshot.",
    _REMOVE,
    ("KAFKA-17713",),
)
SNAPSHOT_BEYOND_LOG = error(
    "snapshot-beyond-log",
    "A snapshot ends above the log's end, in an epoch that is older than the log's last one.",
    "Never makes such a snapshot by Raft's rules: its records were not committed, or the log lost "
    "its end.",
    "Compare with the other voters before this node is started.",
    ("KAFKA-12460", "KAFKA-14240"),
)
SNAPSHOT_NEWER_THAN_LOG = info(
    "snapshot-newer-than-log",
    "A snapshot is newer than the log, as it is after a node has fetched it and before the node "
    "truncates its log.",
    "Truncates the whole log at the next start, and continues from the snapshot.",
    "Nothing. The next start deletes records that only the old log holds; `kraftlake ingest` keeps "
    "them.",
)
LOG_START_WITHOUT_SNAPSHOT = error(
    "log-start-without-snapshot",
    "The log starts above 0 and there is no usable snapshot: the state before it is lost here.",
    "Refuses to start: inconsistent snapshot state.",
    "Restore the newest snapshot from another voter's directory or a backup.",
    ("KAFKA-14240", "KAFKA-14238"),
    keeps_from_starting=True,
)
SNAPSHOT_LOG_HOLE = error(
    "snapshot-log-hole",
    "Offsets are missing between the end of the newest usable snapshot and the start of the log.",
    "Refuses to start: inconsistent snapshot state.",
    "Look for the missing segment or a newer snapshot on other voters; don't restart this node.",
    ("KAFKA-14238", "KAFKA-14240"),
    keeps_from_starting=True,
)
SNAPSHOT_CONTENT = error(
    "snapshot-content",
    "The state in a snapshot isn't the state that a replay of the log gives at its end offset.",
    "Doesn't notice: nodes that load the snapshot have another state than those that replay the "
    "log.",
    "Compare the snapshots of all nodes. Keep this snapshot and the log: the log is right.",
    ("KAFKA-14203", "KAFKA-14275", "KAFKA-19497", "KAFKA-16892"),
)
SNAPSHOT_UNVERIFIED = info(
    "snapshot-unverified",
    "A snapshot's content wasn't compared with a replay: no replay was asked for, or no log here "
    "reaches its end offset from 0 or from an older snapshot.",
    "Doesn't compare snapshots with the log either.",
    "Check all nodes' directories together: another one may hold the log.",
)
SNAPSHOT_NOT_KNOWN = warning(
    "snapshot-not-known",
    "A snapshot's content can't be judged: the snapshot, or the log below its end, holds records "
    "that this release doesn't know.",
    "Reads the snapshot on a node of the writer's release.",
    "Use a release of kraftlake that is as new as the cluster. No release reads records that "
    "another product wrote (vendor-record-type).",
)
ORPHAN_TOPIC_CONFIGS = info(
    "orphan-topic-configs",
    "A snapshot holds configs of topics that don't exist: the topics were configured and removed "
    "within one commit (Kafka 3.8 and newer keep such configs). The log is right.",
    "Keeps them in every later snapshot; a new topic of such a name may inherit them.",
    "Nothing; deleting the configs by hand removes them.",
    ("AutoMQ/automq#3556",),
)
CONFIGS_LEFT_OUT = info(
    "configs-left-out",
    "A snapshot lacks configs that the log holds. Kafka 4.2 and newer don't know their names, such "
    "as message.format.version, and leave them out of the state. The log is right.",
    "Ignores such configs; its snapshots, and nodes that load them, don't have them.",
    "Nothing; deleting the configs by hand removes them from the log's state too.",
)
