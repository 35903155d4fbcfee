"""What changed in a cluster, in people's words: versions of entities as typed changes; pure.

catalogue   every type of change as data: its name, its entity, what it means
typed       two versions of an entity -> its changes; of partitions: partitions
telling     ChangeTeller: what a replay writes as changes, with names
naming      an entity's name for people; releases: those of metadata.version
"""

from replica.metadata.changes.catalogue import CHANGES, ChangeType
from replica.metadata.changes.change import Change
from replica.metadata.changes.naming import name_of
from replica.metadata.changes.telling import ChangeTeller, Told, topic_names_around
from replica.metadata.changes.typed import changes_of

__all__ = [
    "CHANGES",
    "Change",
    "ChangeTeller",
    "ChangeType",
    "Told",
    "changes_of",
    "name_of",
    "topic_names_around",
]
