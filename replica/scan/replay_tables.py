"""The tables of the replay kernel: a slot for each known entity, and the keys of these slots.

A slot is SLOT_COLUMNS numbers in the array `slots`. Its key is a pair of numbers, or bytes in the
array `arena`. The array `index` is a hash table with open addressing: an item is the number of a
slot + 1, or 0 for no slot. A list is a reference: its place in the log, or KEPT, or EMPTY.
replica.scan.kernels.replay_rows is the kernel, and replica.scan.bulk_replay calls it.
"""

from __future__ import annotations

import numpy as np

from replica.message.program import Program
from replica.scan.native import Longs
from replica.scan.tables import KERNEL_PROGRAMS

SLOT_KIND, SLOT_HASH, SLOT_KEY_A, SLOT_KEY_B, SLOT_CHANGED, SLOT_OFFSET, SLOT_LIFE = range(7)
"""Columns of every slot. KIND: TOPIC, NAME, PARTITION, BROKER, or PUT + api key. KEY_A, KEY_B: the
pair of numbers; for a key of bytes, their position and their number in the arena. CHANGED: 1 if the
entity has changed since it was written into the replay's tables. OFFSET: the offset of the record
that last changed the entity. LIFE: a number for a TOPIC, a NAME and a slot that belongs to one of
them, by which removed entities are found."""

_OWN = 7
SLOT_COLUMNS = 24
"""The number of columns of a slot. A slot fills three cache lines."""

TOPIC, NAME, PARTITION, BROKER = range(4)
PUT = 16
"""The kinds of slots, each with its key. TOPIC: the two halves of the topic's id. NAME: the text of
a topic's name. PARTITION: the slot of the topic, and the partition's id. BROKER: the broker's id,
and 0. PUT + api key: a record of this type, of which only the last record with the same key counts;
the key is the bytes of the record's first fields."""

TOPIC_EXISTS, TOPIC_NAME, TOPIC_REMOVED_AT = range(_OWN, _OWN + 3)
"""Columns of a TOPIC. LIFE: the number of times that the topic's partitions were removed; a
partition with another LIFE does not exist. EXISTS: 1 if the topic exists. NAME: the slot of the
topic's name. REMOVED_AT: the offset of the last removal; NOWHERE_YET before the first removal."""

NAME_OWNER, NAME_REMOVED_AT, NAME_CONFIGS_GO = range(_OWN, _OWN + 3)
"""Columns of a NAME. LIFE: the number of times that the configs of the name were removed. OWNER:
the slot of the topic with this name; NOBODY if no topic has this name. REMOVED_AT: the offset of
the last removal of the configs; NOWHERE_YET before the first removal. CONFIGS_GO: 1 if the replay's
tables still hold removed configs."""

BROKER_EXISTS, BROKER_EPOCH = range(_OWN, _OWN + 2)
"""Columns of a BROKER. EXISTS: 1 if the broker is registered. EPOCH: its broker epoch."""

PUT_VALUE, PUT_SIZE, PUT_NAME = range(_OWN, _OWN + 3)
"""Columns of a PUT. VALUE, SIZE: the place of the record's value in the log, and its size in bytes.
NAME: for the config of a topic, the slot of the topic's NAME; NOBODY for any other PUT. LIFE: for
the config of a topic, the LIFE that the NAME had when the record was read."""

(
    PART_REPLICA_COUNT,
    PART_DIRECTORY_COUNT,
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
) = range(_OWN, _OWN + 13)
"""Columns of a PARTITION. The columns from REPLICAS to LAST_KNOWN_ELR are references to lists, in
the order of the fields from FIELD_REPLICAS on. DIRECTORY_COUNT: the number of directories; 0 if no
directory is known."""

PARTITION_COLUMNS = (
    PART_REPLICAS, PART_ISR, PART_REMOVING, PART_ADDING, PART_LEADER, PART_RECOVERY,
    PART_LEADER_EPOCH, PART_EPOCH, PART_DIRECTORIES, PART_ELR, PART_LAST_KNOWN_ELR,
)  # fmt: skip
"""The columns of a PARTITION that hold the fields of replica.metadata.image.partition.Partition, in
their order."""

KEPT = -1
"""The reference to a list that is in the replay's tables."""
EMPTY = -2
"""The reference to an empty list."""
NOBODY = -1
"""The number for no slot."""
NOWHERE_YET = -1
"""The number for no offset yet."""

(
    STATE_SLOTS,
    STATE_ARENA,
    STATE_PUTS,
    STATE_REFUSED,
    STATE_EXPLAINED,
    STATE_STOP,
    STATE_SEED_A,
    STATE_SEED_B,
) = range(8)
STATE_ITEMS = 8
"""The number of items of the array `state`. Each name above is the index of an item; here it stands
without STATE_. SLOTS: the number of slots in use. ARENA: the number of bytes in use in the arena.
PUTS: the number of items of `puts` in use: the changed slots of the PUT kinds, except configs.
REFUSED: the number of records that could not be applied so far. EXPLAINED: 0 if the kernel must
stop at the first record that can't be applied. STOP: a STOP code. SEED_A, SEED_B: random numbers
for the hash, because an attacker may choose the keys."""

STOP_DONE = 0
"""The row was replayed."""
STOP_APPLY = 1
"""The scalar replay must take the row. Before that, the replay needs only the changed PUTs."""
STOP_BARRIER = 2
"""The scalar replay must take the row. Before that, the replay needs all changes, and the row may
change any entity."""
STOP_REFUSED = 3
"""The row can't be applied. The scalar replay finds the reason."""

(
    DO_BARRIER,
    DO_APPLY,
    DO_NOTHING,
    DO_TOPIC,
    DO_REMOVE_TOPIC,
    DO_PARTITION,
    DO_CHANGE,
    DO_CONFIG,
    DO_PUT,
    DO_REGISTER,
    DO_UNREGISTER,
    DO_BROKER,
) = range(12)

_ACTIONS = {
    "NO_OP_RECORD": DO_NOTHING,
    "TOPIC_RECORD": DO_TOPIC,
    "REMOVE_TOPIC_RECORD": DO_REMOVE_TOPIC,
    "PARTITION_RECORD": DO_PARTITION,
    "PARTITION_CHANGE_RECORD": DO_CHANGE,
    "CONFIG_RECORD": DO_CONFIG,
    "PRODUCER_IDS_RECORD": DO_PUT,
    "CLIENT_QUOTA_RECORD": DO_PUT,
    "ACCESS_CONTROL_ENTRY_RECORD": DO_PUT,
    "REGISTER_BROKER_RECORD": DO_REGISTER,
    "UNREGISTER_BROKER_RECORD": DO_UNREGISTER,
    "FENCE_BROKER_RECORD": DO_BROKER,
    "UNFENCE_BROKER_RECORD": DO_BROKER,
    "BROKER_REGISTRATION_CHANGE_RECORD": DO_BROKER,
    "CLEAR_ELR_RECORD": DO_BARRIER,
    "BEGIN_TRANSACTION_RECORD": DO_BARRIER,
    "END_TRANSACTION_RECORD": DO_BARRIER,
    "ABORT_TRANSACTION_RECORD": DO_BARRIER,
}
"""What the kernel does with the record types of this table. The scalar replay takes all other types
(DO_APPLY). The entities of those types and of this table don't affect each other."""

_KEY_FIELDS = {
    "CONFIG_RECORD": ("resourceType", "resourceName", "name"),
    "PRODUCER_IDS_RECORD": (),
    "CLIENT_QUOTA_RECORD": ("entity", "key"),
    "ACCESS_CONTROL_ENTRY_RECORD": ("id",),
    "REGISTER_BROKER_RECORD": ("brokerId",),
}
"""The first fields of each type that is a PUT. These fields are the key of the PUT."""

_FIELDS = (
    ("topicId",), ("name",), ("partitionId",), ("leader",), ("leaderRecoveryState",),
    ("leaderEpoch",), ("partitionEpoch",), ("replicas",), ("isr",), ("removingReplicas",),
    ("addingReplicas",), ("directories",), ("eligibleLeaderReplicas",), ("lastKnownElr",),
    ("resourceName",), ("brokerId", "id"), ("brokerEpoch", "epoch"),
    ("endPoints",),
)  # fmt: skip
(
    FIELD_TOPIC_ID,
    FIELD_NAME,
    FIELD_PARTITION_ID,
    FIELD_LEADER,
    FIELD_RECOVERY,
    FIELD_LEADER_EPOCH,
    FIELD_PARTITION_EPOCH,
    FIELD_REPLICAS,
    FIELD_ISR,
    FIELD_REMOVING,
    FIELD_ADDING,
    FIELD_DIRECTORIES,
    FIELD_ELR,
    FIELD_LAST_KNOWN_ELR,
    FIELD_RESOURCE,
    FIELD_BROKER,
    FIELD_BROKER_EPOCH,
    FIELD_END_POINTS,
    FIELD_KEY_END,
) = range(19)
LAYOUT_ACTION, LAYOUT_KIND = 19, 20
LAYOUT_COLUMNS = 21
NO_STEP = -1


def _layout(program: Program) -> list[int]:
    """The numbers of LAYOUTS for one program: the step of each field, NO_STEP for a field that the
    program lacks; the step behind the key; the action; and the kind of PUT."""
    own = program.steps[: program.width]
    number = {step.name: k for k, step in enumerate(own)}
    line = [next((number[name] for name in names if name in number), NO_STEP) for names in _FIELDS]
    record_type = program.schema.name
    key = _KEY_FIELDS.get(record_type, ())
    assert tuple(step.name for step in own[: len(key)]) == key, f"{record_type} begins otherwise"
    assert not any(step.is_tagged for step in own[: len(key) + (record_type in _KEY_FIELDS)])
    action = _ACTIONS.get(record_type, DO_APPLY)
    return [*line, len(key), action, PUT + program.schema.api_key]


LAYOUTS: Longs = np.array([_layout(program) for program in KERNEL_PROGRAMS], np.int64).ravel()
"""The numbers that _layout gives for each of KERNEL_PROGRAMS, one program after another, with
LAYOUT_COLUMNS numbers for each program."""
assert LAYOUTS.size == LAYOUT_COLUMNS * len(KERNEL_PROGRAMS)
