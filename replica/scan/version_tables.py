"""The tables of the kernel of version_rows: its partitions and its reports.

The kernel uses slots as replica.scan.replay_tables describes them: their first columns, their
index, and the kinds TOPIC, NAME and PARTITION are the same. A list also has a slot, which all equal
lists share. So two lists are equal if their slots are the same.

replica.scan.kernels.version_rows is the kernel, and replica.scan.partition_versions calls it.
"""

from __future__ import annotations

from replica.scan import frames
from replica.scan.replay_tables import PART_LAST_KNOWN_ELR, PUT, TOPIC_EXISTS

INTS, UUIDS = PUT, PUT + 1
"""The kinds of slots for lists of int32 and for lists of uuids. The key of such a slot is the bytes
of the elements."""

_OWN = TOPIC_EXISTS
LIST_TEXT, LIST_TEXT_SIZE, LIST_IS_ZERO = range(_OWN, _OWN + 3)
"""Columns of a list. TEXT, TEXT_SIZE: the position of the list's JSON in the arena, and its size in
bytes. IS_ZERO: 1 if all bytes of the list are 0, so that no directory is known."""

TOPIC_TEXT, TOPIC_NAME_SIZE, TOPIC_FIRST, TOPIC_TIME, TOPIC_EPOCH, TOPIC_ROW = range(
    _OWN + 1, _OWN + 7
)
"""Columns of a TOPIC, besides TOPIC_EXISTS. TEXT: the position in the arena of the 22 characters of
the topic's id, which the topic's name follows. FIRST: the slot of one partition of the topic, from
which PART_NEXT leads to the others; NOBODY if the topic has no partition. TIME, EPOCH, ROW: the
time (ms), leader epoch and row of the record by which the kernel created the topic. A slot of the
kind NAME has the name of a topic that was removed."""
UUID_TEXT_SIZE = 22

PART_FIELDS = 11
"""The number of columns that a PARTITION shares with replay_tables: from PART_LEADER to
PART_LAST_KNOWN_ELR. Here the columns of lists hold slots."""
PART_NEXT, SINCE_TYPE = range(_OWN, _OWN + 2)
SINCE_OFFSET, SINCE_TIME, SINCE_EPOCH = range(PART_LAST_KNOWN_ELR + 1, PART_LAST_KNOWN_ELR + 4)
"""Further columns of a PARTITION. SINCE_OFFSET, SINCE_TIME, SINCE_EPOCH, SINCE_TYPE: the offset
from which on the current version is valid, and the time (ms), leader epoch and type of its record;
SLOT_OFFSET is the offset of this record. NEXT: the slot of another partition of the topic; NOBODY
in the last partition."""

ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE = frames.ROW_PROGRAM, frames.ROW_VALUE, frames.ROW_VALUE_SIZE
ROW_OFFSET, ROW_TIME = frames.ROW_OFFSET, frames.ROW_TIME
ROW_SINCE, ROW_EPOCH, ROW_TYPE = frames.ROW_KEY, frames.ROW_BATCH, frames.ROW_KEY_SIZE
"""Columns of the kernel's rows, which have as many columns as the rows of a chunk. SINCE: the
offset from which on the row's content is valid. EPOCH: the leader epoch. TYPE: the record type that
the new version gets."""

REPORT_VERSIONS, REPORT_CHANGES, REPORT_SILENT, REPORT_TOPIC = range(8, 12)
"""Items of `state` behind the items that replay_tables describes. VERSIONS, CHANGES: the numbers of
versions and changes that were reported so far. SILENT: 1 if the rows are silent, so that nothing is
reported about them. TOPIC: the slot of the topic of the last silent row of a topic."""
VERSION_TEXTS, CHANGE_TEXTS = 3, 4
TEXTS = VERSION_TEXTS + CHANGE_TEXTS
V_KEY, V_NAME, V_VALUE, C_KEY, C_NAME, C_OLD, C_NEW = range(TEXTS)
"""The kinds of reported texts: of versions (V) and of changes (C)."""
TEXT_AT, TEXT_FIRST, TEXT_END = 12, 12 + TEXTS, 12 + 2 * TEXTS
"""The first items of `state` for the kinds of texts. AT: the position in `texts` at which the next
text of a kind is written. FIRST, END: the positions at which the room of a kind begins and ends."""
STATE_ITEMS = 12 + 3 * TEXTS

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
"""Columns of the array `numbers`. ROW: the row that ended the version, or made the change. SINCE,
TIME, EPOCH, OFFSET, TYPE of a version: the offset from which on the version was valid, and the time
(ms), leader epoch, offset and type of the record that made it. TYPE of a change: an index in
CHANGES. END: the end of a text, counted from the beginning of the room of its kind."""
NUMBER_COLUMNS = 15
MAX_REPORTED = 32_768
"""The most versions, and the most changes, that one call reports."""
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
"""The types of changes, by CHANGE_TYPE. A change of type partition_created has no old text."""
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
"""An upper limit for the bytes of a partition's JSON without its lists."""

STOP_FULL, STOP_SLOTS = 4, 5
"""STOP codes besides the STOP codes of replay_tables. FULL: there is no room for the reports of the
row. SLOTS: there is no room for the slots that the row makes, or for their bytes in the arena."""

SLOTS_OF_ROW = 11
ARENA_OF_ROW, ARENA_PER_BYTE, ARENA_PER_REPLICA = 256, 16, 48
"""What a row may need: slots, of which the last is the spare slot, and bytes in the arena. OF_ROW:
the need of each row. PER_BYTE: the further need for each byte of the row's value. PER_REPLICA: the
further need for each former replica of the row's partition."""
