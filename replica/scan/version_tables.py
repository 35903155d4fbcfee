"""What the kernel of version_rows keeps and tells: partitions with all their values, as numbers.

It uses the slots of replica.scan.replay_tables: the same first columns of a slot, the same index,
and the kinds TOPIC and PARTITION. Each list of a partition has a slot of its own, one for each
content, so that two lists are equal where their slots are the same.

See replica.scan.kernels.version_rows, which is the kernel, and replica.scan.partition_versions.
"""

from __future__ import annotations

from replica.scan import frames
from replica.scan.replay_tables import PUT, SLOT_KIND

INTS, UUIDS = PUT, PUT + 1
"""Kinds of slots: lists of int32 and of uuids. The key of such a slot is the bytes of the
elements."""

_OWN = SLOT_KIND + 7
LIST_TEXT, LIST_TEXT_SIZE, LIST_IS_ZERO = range(_OWN, _OWN + 3)
"""TEXT: where the list's JSON stands in the arena. IS_ZERO: 1 where all bytes are 0, so that no
directory is known."""

(
    TOPIC_EXISTS,
    TOPIC_TEXT,
    TOPIC_NAME_SIZE,
    TOPIC_FIRST,
    TOPIC_TIME,
    TOPIC_EPOCH,
    TOPIC_ROW,
) = range(_OWN, _OWN + 7)
"""TEXT: where the 22 characters of the id stand in the arena; the name follows them. FIRST: the
slot of one of its partitions, which leads to the others; NOBODY where it has none. TIME, EPOCH,
ROW: of the record by which the kernel created it. A slot of kind NAME is the name of a removed
topic."""
UUID_TEXT_SIZE = 22

(
    PART_LEADER,
    PART_RECOVERY,
    PART_LEADER_EPOCH,
    PART_EPOCH,
    PART_REPLICAS,
    PART_ISR,
    PART_REMOVING,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_ELR,
    PART_LAST_KNOWN_ELR,
    SINCE_OFFSET,
    SINCE_TIME,
    SINCE_EPOCH,
    SINCE_TYPE,
    PART_NEXT,
) = range(_OWN, _OWN + 16)
"""From REPLICAS to LAST_KNOWN_ELR: slots of lists, in the order of the fields from
replay_tables.FIELD_REPLICAS on. SINCE_...: of the version that is valid now; the offset of its
record is SLOT_OFFSET. NEXT: another partition of the topic, NOBODY behind the last one."""
PART_FIELDS = 11
"""The columns from LEADER to LAST_KNOWN_ELR."""

ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE = frames.ROW_PROGRAM, frames.ROW_VALUE, frames.ROW_VALUE_SIZE
ROW_OFFSET, ROW_TIME = frames.ROW_OFFSET, frames.ROW_TIME
ROW_SINCE, ROW_EPOCH, ROW_TYPE = frames.ROW_KEY, frames.ROW_BATCH, frames.ROW_KEY_SIZE
"""Columns of the rows, which are as wide as those of a chunk. SINCE: the offset from which on the
row's content is valid. EPOCH: the leader's. TYPE: the record type that the version gets."""

TOLD_VERSIONS, TOLD_CHANGES, TOLD_SILENT, TOLD_TOPIC, TOLD_EXPLAINED, TOLD_REFUSED = range(8, 14)
"""Items of `state` behind those of replay_tables. VERSIONS, CHANGES: how many were told so far.
SILENT: 1 where nothing is to be told of the rows. TOPIC: the slot of the topic of the last silent
row about a topic. EXPLAINED: 1 where rows that can't be applied are only counted, in REFUSED; else
the kernel stops at one."""
TEXTS = 7
V_KEY, V_NAME, V_VALUE, C_KEY, C_NAME, C_OLD, C_NEW = range(TEXTS)
"""The kinds of texts that are told, of versions and of changes."""
TEXT_AT, TEXT_FIRST, TEXT_END = 14, 14 + TEXTS, 14 + 2 * TEXTS
"""For each kind of text: where in `texts` the next one is written, where the room of the kind
begins, and where that ends."""
STATE_ITEMS = 14 + 3 * TEXTS

(
    VERSION_ROW,
    VERSION_SINCE,
    VERSION_TIME,
    VERSION_EPOCH,
    VERSION_OFFSET,
    VERSION_TYPE,
    VERSION_KEY_END,
    VERSION_NAME_END,
    VERSION_VALUE_END,
    CHANGE_ROW,
    CHANGE_TYPE,
    CHANGE_KEY_END,
    CHANGE_NAME_END,
    CHANGE_OLD_END,
    CHANGE_NEW_END,
) = range(15)
"""Columns of `told`. ROW: the row that ended the version, or made the change. END: the end of the
text, counted from the beginning of the room of its kind."""
TOLD_COLUMNS = 15
MOST_TOLD = 32_768
"""The most versions, and the most changes, that one call tells."""
MOST_CHANGES = 8
"""The most changes of one record."""

CHANGES = (
    "partition_created",
    "leader_changed",
    "leader_epoch_changed",
    "replicas_changed",
    "isr_changed",
    "elr_changed",
    "last_known_elr_changed",
    "directories_changed",
    "leader_recovery_state_changed",
    "reassignment_started",
    "reassignment_changed",
    "reassignment_completed",
    "reassignment_cancelled",
    "partition_epoch_changed",
)
"""Columns of changes by CHANGE_TYPE. A partition_created has no old text."""
(
    CREATED,
    LEADER,
    LEADER_EPOCH,
    REPLICAS,
    ISR,
    ELR,
    LAST_KNOWN_ELR,
    DIRECTORIES,
    RECOVERY,
    STARTED,
    CHANGED,
    COMPLETED,
    CANCELLED,
    EPOCH,
) = range(14)

ROOM_OF_NUMBERS = 512
"""More bytes than a partition's JSON has without its lists."""

STOP_FULL, STOP_SLOTS = 4, 5
"""FULL: no room for what the row tells. SLOTS: no room for the slots, or the bytes in the arena,
that the row makes. See replay_tables for the other codes."""

SLOTS_OF_ROW = 10
ARENA_OF_ROW, ARENA_PER_BYTE, ARENA_PER_REPLICA = 256, 16, 48
"""What a row may need: slots; bytes in the arena, more for each byte of its value, and for each
replica that its partition had before."""
