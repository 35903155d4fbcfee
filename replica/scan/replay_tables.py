"""What the replay kernel keeps: one table of slots for all known entities, and their keys.

A slot is SLOT_COLUMNS numbers in `slots`. Its key is a pair of numbers, or bytes in `arena`.
`index` is a hash table with open addressing, whose items are slot + 1, or 0 where there is none. A
list is a reference: the place in the log where it stands, or KEPT, or EMPTY.
replica.scan.kernels.replay_rows is the kernel; replica.scan.bulk_replay calls it.
"""

from __future__ import annotations

import numpy as np

from replica.message.program import Program
from replica.scan.native import Longs
from replica.scan.tables import KERNEL_PROGRAMS

# Columns of every slot.
SLOT_KIND, SLOT_HASH, SLOT_KEY_A, SLOT_KEY_B, SLOT_CHANGED, SLOT_OFFSET, SLOT_LIFE = range(7)
"""KEY_A, KEY_B: a pair, or position and size in the arena. CHANGED: 1 where the replay's tables
lack the change. OFFSET: of the record that last changed the entity. LIFE: see TOPIC and NAME."""
_OWN = 7
SLOT_COLUMNS = 24
"""Three cache lines."""

TOPIC, NAME, PARTITION, BROKER = range(4)
PUT = 16
"""The kinds of slots, and their keys. TOPIC: the two halves of the topic's id. PARTITION: the slot
of the topic, and the partition's id. BROKER: its id and 0. NAME: the text of a topic's name. PUT +
api key: records of a type of which only the last one with a key counts; the key is the bytes of the
first fields."""

TOPIC_EXISTS, TOPIC_NAME, TOPIC_REMOVED_AT = range(_OWN, _OWN + 3)
"""Columns of a TOPIC. LIFE: how often its partitions were removed; a partition with another LIFE
does not exist. NAME: the slot of the name. REMOVED_AT: offset of the last removal, NOWHERE_YET
before the first."""

NAME_OWNER, NAME_REMOVED_AT, NAME_CONFIGS_GO = range(_OWN, _OWN + 3)
"""Columns of a NAME. OWNER: the slot of the topic with this name, NOBODY where there is none. LIFE:
how often the configs of the name were removed. CONFIGS_GO: 1 where the replay's tables still hold
the removed configs."""

BROKER_EXISTS, BROKER_EPOCH = range(_OWN, _OWN + 2)

PUT_VALUE, PUT_SIZE, PUT_NAME = range(_OWN, _OWN + 3)
"""Columns of a PUT: where the value of its record stands in the log, and its size. NAME: for the
config of a topic the slot of the NAME, whose LIFE it has; NOBODY for others."""

(
    PART_LEADER,
    PART_RECOVERY,
    PART_LEADER_EPOCH,
    PART_EPOCH,
    PART_REPLICA_COUNT,
    PART_DIRECTORY_COUNT,
    PART_REPLICAS,
    PART_ISR,
    PART_REMOVING,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_ELR,
    PART_LAST_KNOWN_ELR,
) = range(_OWN, _OWN + 13)
"""Columns of a PARTITION. Those from REPLICAS on are references to lists, in the order of the
fields from FIELD_REPLICAS on. DIRECTORY_COUNT: 0 where no directory is known."""

KEPT = -1
"""The list that the replay's tables have."""
EMPTY = -2
NOBODY = -1
NOWHERE_YET = -1

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
"""Items of `state`. SLOTS, ARENA: slots and bytes in use. PUTS: items in use of `puts`, which names
the changed slots of the PUT kinds, except configs. REFUSED: records until now that can't be
applied. EXPLAINED: 0 where the kernel has to stop at the first of them. SEEDS: random numbers for
the hash, because an attacker may choose the keys."""

STOP_DONE = 0
STOP_APPLY = 1
"""The row is for the scalar replay, which needs only the PUTs before it."""
STOP_BARRIER = 2
"""The row is for the scalar replay, which needs everything, and may change everything."""
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
"""What the kernel does with each record type. Every other type is a family of its own, which no
type here reads."""

_KEY_FIELDS = {
    "CONFIG_RECORD": ("resourceType", "resourceName", "name"),
    "PRODUCER_IDS_RECORD": (),
    "CLIENT_QUOTA_RECORD": ("entity", "key"),
    "ACCESS_CONTROL_ENTRY_RECORD": ("id",),
    "REGISTER_BROKER_RECORD": ("brokerId",),
}
"""The first fields of a PUT, which are its key."""

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
_PER_PROGRAM = 21
LAYOUT_ACTION, LAYOUT_KIND = 19, 20
NO_STEP = -1


def _layout(program: Program) -> list[int]:
    """Numbers for one program: the step of each field, NO_STEP where the program lacks it; the
    action; the kind of PUT."""
    own = program.steps[: program.width]
    number = {step.name: k for k, step in enumerate(own)}
    line = [next((number[name] for name in names if name in number), NO_STEP) for names in _FIELDS]
    record_type = program.schema.name
    key = _KEY_FIELDS.get(record_type, ())
    assert tuple(step.name for step in own[: len(key)]) == key, f"{record_type} begins otherwise"
    assert not any(step.is_tagged for step in own[: len(key) + (record_type in _KEY_FIELDS)])
    action = _ACTIONS.get(record_type, DO_APPLY)
    return [*line, len(key), action, PUT + program.schema.api_key]


def _layouts() -> Longs:
    lines = [_layout(program) for program in KERNEL_PROGRAMS]
    assert all(len(line) == _PER_PROGRAM for line in lines)
    return np.array(lines, np.int64).ravel()


LAYOUTS = _layouts()
"""_layout's numbers, LAYOUT_COLUMNS for each of KERNEL_PROGRAMS."""
LAYOUT_COLUMNS = _PER_PROGRAM
