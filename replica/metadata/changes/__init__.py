"""What changed in a cluster: the versions of its entities as typed changes. All functions are pure.

catalogue   every type of change as data: its name, its entity, what it means
typed       two versions of an entity -> its changes; partitions: those of a partition
telling     ChangeTeller: the writes of a replay -> changes with the names of their entities
naming      the name of an entity for people
releases    the names of metadata.version's levels
"""

from replica.metadata.changes.catalogue import CHANGES, ChangeType
from replica.metadata.changes.change import Change
from replica.metadata.changes.naming import name_of
from replica.metadata.changes.telling import ChangeTeller, NamedChange, topic_names_around
from replica.metadata.changes.typed import changes_of

__all__ = [
    "CHANGES",
    "Change",
    "ChangeTeller",
    "ChangeType",
    "NamedChange",
    "changes_of",
    "name_of",
    "topic_names_around",
]
