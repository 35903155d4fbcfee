"""Makes the replay kernel's tables as numpy arrays from a state, lets these arrays grow, and reads
them."""

from __future__ import annotations

import os
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from replica.message.primitives import uuid_bytes, uuid_text
from replica.metadata.image.state import State
from replica.model.keys import ZERO_UUID
from replica.scan import replay_tables as t
from replica.scan.compiled import index_slots
from replica.scan.native import Bytes, Longs
from replica.scan.tables import SLACK

Number = TypeVar("Number", bound=np.generic)
Table = npt.NDArray[np.int64]
"""An array with a row of SLOT_COLUMNS numbers for each slot."""

_PER_ROW = 2
"""The most slots and keys that one row can need: for a topic and its name, or for a config and its
topic's name."""


class SlotArrays:
    """The arrays in which a kernel keeps its slots: slots, index, arena and state, which
    replay_tables describes. Larger arrays replace these arrays when they must grow."""

    def __init__(self, slots: Longs, arena: Bytes, state_items: int) -> None:
        """slots, arena: the first arrays. At first `state` counts none of the items of both arrays
        as used."""
        self.slots = slots
        self.arena = arena
        self.state: Longs = np.zeros(state_items, np.int64)
        self.state[[t.STATE_SEED_A, t.STATE_SEED_B]] = np.frombuffer(os.urandom(16), np.int64)

    def table(self) -> Table:
        """The slots in use. The table is a view: a change of the table changes the slots."""
        count = int(self.state[t.STATE_SLOTS])
        return self.slots[: count * t.SLOT_COLUMNS].reshape(count, t.SLOT_COLUMNS)

    def make_index(self, *, with_hashes: bool) -> None:
        """Make the index of the slots in use. with_hashes: whether the slots have their hashes
        already; if not, the hashes are computed."""
        items = 2 * max(512, self.slots.size // t.SLOT_COLUMNS)
        self.index: Longs = np.zeros(1 << (items - 1).bit_length(), np.int64)
        index_slots(self.slots, self.index, self.arena, self.state, int(with_hashes))


class ReplaySlots(SlotArrays):
    """The arrays that the kernel of the replay takes. puts: the slots that STATE_PUTS counts."""

    def __init__(self, known: State) -> None:
        """Makes slots for everything in `known`. None of these slots counts as changed."""
        table, arena = _slots_of(known)
        super().__init__(table.reshape(-1), arena, t.STATE_ITEMS)
        self.state[t.STATE_SLOTS] = len(table)
        self.state[t.STATE_ARENA] = arena.size
        self.puts: Longs = np.zeros(len(table), np.int64)
        self.make_index(with_hashes=False)

    def reserve(self, rows: int, size: int) -> None:
        """Make room for all slots and keys that `rows` rows can need. size: the bytes of the values
        of these rows."""
        slots = int(self.state[t.STATE_SLOTS]) + _PER_ROW * rows
        if slots * t.SLOT_COLUMNS > self.slots.size:
            capacity = 1 << (slots - 1).bit_length()
            self.slots = grown(self.slots, capacity * t.SLOT_COLUMNS)
            self.puts = grown(self.puts, capacity)
            self.make_index(with_hashes=True)
        room = int(self.state[t.STATE_ARENA]) + _PER_ROW * size + SLACK
        if room > self.arena.size:
            self.arena = grown(self.arena, 2 * room)

    def texts(self, slots: Table) -> list[str]:
        """The keys of slots of the kind NAME, which are texts."""
        places = slots[:, [t.SLOT_KEY_A, t.SLOT_KEY_B]].tolist()
        return [self.arena[at : at + size].tobytes().decode() for at, size in places]


def topic_ids(slots: Table) -> list[str]:
    """The keys of slots of the kind TOPIC, which are topic ids."""
    raw = slots[:, [t.SLOT_KEY_A, t.SLOT_KEY_B]].astype(">i8").tobytes()
    return [uuid_text(raw[at : at + 16]) for at in range(0, len(raw), 16)]


def grown(array: npt.NDArray[Number], size: int) -> npt.NDArray[Number]:
    """A larger array, which begins with the items of `array`."""
    larger: npt.NDArray[Number] = np.empty(size, array.dtype)
    larger[: array.size] = array
    return larger


def _new(kind: int, count: int) -> Table:
    """New slots of the kind `kind`, with the same values in the other columns as the kernel's new
    slots."""
    table = np.full((count, t.SLOT_COLUMNS), -1, np.int64)
    table[:, t.SLOT_KIND] = kind
    table[:, [t.SLOT_CHANGED, t.SLOT_LIFE]] = 0
    return table


def _slots_of(known: State) -> tuple[Table, Bytes]:
    """Slots for topics, their names, partitions and brokers; and the bytes of the names."""
    number = {topic_id: k for k, topic_id in enumerate(known.topics.values)}
    names = {name: len(number) + k for k, name in enumerate(set(known.topics.values.values()))}
    raw = [name.encode() for name in names]
    parts = (
        _topics(known, names),
        _names(known, names, raw, number),
        _partitions(known, number),
        _brokers(known),
    )
    return np.concatenate(parts), np.frombuffer(bytearray(b"".join(raw)), np.uint8)


def _topics(known: State, names: dict[str, int]) -> Table:
    table = _new(t.TOPIC, len(known.topics.values))
    ids = b"".join(uuid_bytes(topic_id) for topic_id in known.topics.values)
    table[:, [t.SLOT_KEY_A, t.SLOT_KEY_B]] = np.frombuffer(ids, ">i8").reshape(-1, 2)
    table[:, t.TOPIC_EXISTS] = 1
    table[:, t.TOPIC_NAME] = [names[name] for name in known.topics.values.values()]
    return table


def _names(known: State, names: dict[str, int], raw: list[bytes], number: dict[str, int]) -> Table:
    table = _new(t.NAME, len(names))
    sizes = np.array([len(name) for name in raw], np.int64)
    table[:, t.SLOT_KEY_A] = np.cumsum(sizes) - sizes
    table[:, t.SLOT_KEY_B] = sizes
    owners = (known.topic_ids.get(name) for name in names)
    table[:, t.NAME_OWNER] = [t.NOBODY if one is None else number[one] for one in owners]
    return table


def _partitions(known: State, number: dict[str, int]) -> Table:
    """Slots for partitions. Every list stays in the replay's tables, so its reference is KEPT."""
    table = _new(t.PARTITION, len(known.partitions.values))
    values = known.partitions.values.values()
    table[:, t.SLOT_KEY_A] = [number[topic_id] for topic_id, _ in known.partitions.values]
    table[:, t.SLOT_KEY_B] = [partition_id for _, partition_id in known.partitions.values]
    table[:, t.PART_LEADER] = [one.leader for one in values]
    table[:, t.PART_RECOVERY] = [one.leader_recovery_state for one in values]
    table[:, t.PART_LEADER_EPOCH] = [one.leader_epoch for one in values]
    table[:, t.PART_EPOCH] = [one.partition_epoch for one in values]
    table[:, t.PART_REPLICA_COUNT] = [len(one.replicas) for one in values]
    directories = [one.directories for one in values]
    table[:, t.PART_DIRECTORY_COUNT] = [
        0 if found.count(ZERO_UUID) == len(found) else len(found) for found in directories
    ]
    return table


def _brokers(known: State) -> Table:
    table = _new(t.BROKER, len(known.brokers.values))
    table[:, t.SLOT_KEY_A] = list(known.brokers.values)
    table[:, t.SLOT_KEY_B] = 0
    table[:, t.BROKER_EXISTS] = 1
    table[:, t.BROKER_EPOCH] = [one["brokerEpoch"] for one in known.brokers.values.values()]
    return table
