"""Rules about brokers' log directories: the folders of partitions against the metadata."""

from replica.doctor.check.catalogue.health import error, info, warning

STRAY_PARTITION = warning(
    "stray-partition",
    "A broker's log directory holds partitions that the metadata doesn't assign to this broker.",
    "Renames such a folder to NAME.ID-stray when the broker starts, and serves its records no "
    "more: a partition whose topic was created again begins empty.",
    "Compare before the broker starts: the metadata may be an older backup, or of another cluster. "
    "Keep a copy of the folders if nobody knows why the metadata lacks them.",
    ("KAFKA-14616", "KIP-516"),
)
FOLDER_WITHOUT_TOPIC_ID = warning(
    "partition-without-topic-id",
    "A partition's folder has no partition.metadata that can be read, so that its topic id is not "
    "known.",
    "Treats such a folder as stray when the broker starts, also where it holds records.",
    "Keep a copy of the folder. `kraftlake state --topic NAME` prints the topic's id, which "
    "partition.metadata has in a line `topic_id`.",
    ("KIP-516",),
)
PARTITION_TWICE = error(
    "partition-twice",
    "Two folders of a broker hold the same partition.",
    "Doesn't start: `Duplicate log directories for ... are found`.",
    "Find out which of the two the broker used last: its newest segment is newer, or its directory "
    "is the one that the metadata names. Move the other one away, out of the log directory.",
    ("KIP-113",),
)
FOREIGN_FOLDER = error(
    "foreign-folder",
    "A log directory holds a folder whose name is no partition's.",
    "Doesn't start: `Found directory ... is not in the form of topic-partition`.",
    "Move the folder out of the log directory. A file system's lost+found shows that the log "
    "directory is a mount point: give Kafka a folder below it.",
)
REPLICA_WITHOUT_FOLDER = warning(
    "replica-without-folder",
    "The metadata assigns replicas to a broker, and its log directories have no folder of them.",
    "Makes an empty log when the broker starts, and fetches from the leader. Where the broker is "
    "the only in-sync replica, it leads with the empty log: the records are gone.",
    "Give all log directories of the broker. If a disk is missing, put it back before the broker "
    "starts; for partitions with another in-sync replica an empty disk is enough.",
    ("KIP-858",),
)
REPLICA_ELSEWHERE = info(
    "replica-in-another-directory",
    "A replica lies in another log directory of its broker than the metadata says.",
    "Tells the controllers where the replica is, when the broker starts (KIP-858).",
    "Nothing; the metadata follows.",
)
