"""Rules about the files beside the log: identity, votes, epoch starts, indexes, leftovers."""

from __future__ import annotations

from replica.doctor.check.rule import error, info, warning

META_PROPERTIES_MISSING = warning(
    "meta-properties-missing",
    "There is no meta.properties above the metadata directory, so nobody knows whose log this is.",
    "Refuses to start on a log directory that isn't formatted.",
    "Examine the node's log directory as a whole; if the file is missing there too, restore it.",
)
META_PROPERTIES_BROKEN = error(
    "meta-properties-broken",
    "meta.properties can't be read, or doesn't name a cluster and a node.",
    "Refuses to start.",
    "Restore it from a copy; node.id and cluster.id are in the configuration and on other nodes.",
    ("KAFKA-19489", "strimzi/strimzi-kafka-operator#10722"),
)
QUORUM_STATE_MISSING = warning(
    "quorum-state-missing",
    "There is a log but no quorum-state: the node doesn't know any more in which epoch it voted "
    "for whom.",
    "Starts with the log's epoch and may vote a second time in an epoch, so two leaders are "
    "possible.",
    "Restore the file only from a copy that was made after the node's last vote: an older copy "
    "lacks that vote. Otherwise take the node out of the voters and add it again.",
    ("KAFKA-14077",),
)
OBSERVER_WITHOUT_QUORUM_STATE = info(
    "observer-without-quorum-state",
    "There is a log but no quorum-state, and by this log the node is no voter: it has no vote that "
    "it could forget.",
    "Starts with the log's epoch, and looks for the leader.",
    "Nothing. If this is a copy, see whether it lacks other files too.",
)
EPOCH_CHECKPOINT_MISSING = error(
    "epoch-checkpoint-missing",
    "There are batches but no leader-epoch-checkpoint.",
    "Starts with an empty epoch cache: the node may answer a fetch with a wrong divergence, and "
    "may truncate its log.",
    "Stop the node, and write the file by `kraftlake dump --batches`: a line 0, a line "
    "with the number of epochs, and for each epoch a line with the epoch and its first offset.",
    ("KAFKA-16541", "linkedin/kafka#395", "linkedin/kafka#401"),
)
STATE_FILE_BROKEN = error(
    "state-file-broken",
    "quorum-state, leader-epoch-checkpoint or partition.metadata doesn't decode or has 0 bytes. A "
    "leader-epoch-checkpoint of 0 bytes is right only beside an empty log.",
    "Refuses to start, or treats the log directory as failed; it reads an empty epoch checkpoint "
    "as that of a log without epochs.",
    "Restore a voter's quorum-state only from a copy that was made after its last vote; otherwise "
    "take the node out of the voters and add it again. The leader-epoch-checkpoint can be rebuilt "
    "from the batches.",
    ("KAFKA-16541", "KAFKA-15412"),
)
PRODUCER_SNAPSHOT_BROKEN = warning(
    "producer-snapshot-broken",
    "A producer snapshot (.snapshot) doesn't decode. A metadata log has no producers.",
    "Deletes it and scans the log instead.",
    "Nothing; but such a file shows that the disk or a copy was cut off.",
)
TOPIC_ID = error(
    "topic-id",
    "partition.metadata names another topic than __cluster_metadata.",
    "Refuses to load the log: inconsistent topic id.",
    "Find out what was copied here; the id of the metadata topic is AAAAAAAAAAAAAAAAAAAAAQ.",
    ("KAFKA-14616",),
)
EPOCH_CHECKPOINT_ORDER = error(
    "epoch-checkpoint-order",
    "The entries of leader-epoch-checkpoint don't rise in both epoch and start offset.",
    "Drops entries when it loads the file, and then gives wrong ends of epochs.",
    "Stop the node, keep the file, and write it anew by `kraftlake dump --batches`: a line 0, a "
    "line with the number of epochs, and for each epoch a line with the epoch and its first "
    "offset.",
    ("KAFKA-10706", "KAFKA-10432"),
)
EPOCH_CHECKPOINT_MISMATCH = error(
    "epoch-checkpoint-mismatch",
    "leader-epoch-checkpoint and the batches have different starts of leader epochs.",
    "Uses the file as it is, so followers truncate their logs at wrong offsets.",
    "Stop the node, keep the file, and write it anew by `kraftlake dump --batches`: a line 0, a "
    "line with the number of epochs, and for each epoch a line with the epoch and its first "
    "offset.",
    ("KAFKA-16541", "KAFKA-10432", "linkedin/kafka#401"),
)
EPOCH_CHECKPOINT_AHEAD = info(
    "epoch-checkpoint-ahead",
    "leader-epoch-checkpoint knows an epoch that starts at or above the log's end.",
    "Writes the entry before the batch; a node that starts drops entries above the log's end.",
    "Nothing. In a copy of a running node this is normal.",
)
EPOCH_CHECKPOINT_BEHIND = info(
    "epoch-checkpoint-behind",
    "leader-epoch-checkpoint lacks the newest epochs of the log, and has all others right: power "
    "was lost before the file was on the disk.",
    "Adds the epochs above the newest one of the file when it starts, because it then reads the "
    "whole metadata log.",
    "Nothing.",
)
QUORUM_STATE_AHEAD = info(
    "quorum-state-ahead",
    "quorum-state is in a newer epoch than the log: an election is under way, or just was.",
    "Writes nothing in an epoch before its leader's first record arrives.",
    "Nothing.",
)
ELECTIONS_WITHOUT_WINNER = warning(
    "elections-without-winner",
    "quorum-state is many epochs above the log, on this node or on another one: nodes stood for "
    "election again and again, and nobody won.",
    "Stands for election in one new epoch after the other, and commits nothing.",
    "Find out why no candidate gets a majority of the votes: voters that are down, addresses that "
    "don't answer, certificates, or cluster ids that differ.",
    ("KIP-595", "KIP-996"),
)
QUORUM_STATE_BEHIND = warning(
    "quorum-state-behind",
    "quorum-state is in an older epoch than the log's last batch: it was restored or is stale.",
    "Logs a warning, and uses the log's epoch. A voter doesn't know its vote in that epoch any "
    "more.",
    "Make sure that the log and quorum-state were copied together; don't restore one without the "
    "other.",
    ("KAFKA-15412", "KAFKA-14077"),
)
QUORUM_STATE_LEADER = error(
    "quorum-state-leader",
    "quorum-state and the LeaderChange record of the same epoch name different leaders.",
    "Has one leader in an epoch; a node that follows another one fails at the first message.",
    "Compare with the other voters: one of the two files was copied from another node, or at "
    "another time.",
    ("KAFKA-15489",),
)
QUORUM_STATE_VOTERS = warning(
    "quorum-state-voters",
    "quorum-state and the log's newest LeaderChange record name different voters.",
    "Refuses to start in a static quorum whose configured voters aren't those of quorum-state.",
    "Compare controller.quorum.voters of all nodes with the voters in their quorum-state files.",
    ("strimzi/strimzi-kafka-operator#6862", "bitnami/charts#16011"),
)
QUORUM_STATE_VOTE = warning(
    "quorum-state-vote",
    "quorum-state has a vote for a node, or names a leader, that isn't among the voters.",
    "Follows that node nevertheless, though these voters can't have elected it.",
    "See whether a voter was removed or replaced lately: `kraftlake dump --type KRAFT_VOTERS`.",
    ("KAFKA-19850", "KAFKA-14077"),
)
QUORUM_STATE_APPLIED_OFFSET = warning(
    "quorum-state-applied-offset",
    "quorum-state's appliedOffset lies beyond the log's end. Kafka always writes 0.",
    "Ignores the field.",
    "Find out what wrote the file.",
    ("KAFKA-15412",),
)
QUORUM_STATE_CLUSTER = warning(
    "quorum-state-cluster",
    "quorum-state names another cluster than meta.properties.",
    "Ignores the field; the two files are of different clusters.",
    "Find out which of the two was copied here.",
    ("strimzi/strimzi-kafka-operator#10722",),
)
VOTER_DIRECTORY_ID = warning(
    "voter-directory-id",
    "The newest voters record has this node with another directory id than meta.properties.",
    "Treats the node as an observer while it has this disk, and rejects its votes.",
    "If the disk was replaced, and no other directory of this node has the voter's id: remove the "
    "old voter and add the new one (kafka-metadata-quorum).",
    ("KAFKA-14077", "KIP-853"),
)
UNREADABLE_BY_RELEASE = warning(
    "unreadable-by-release",
    "The Kafka release that --readable-by names doesn't start with this directory: it can't read a "
    "level, a record or a file.",
    "Ends: `Tried to apply FeatureLevelRecord`, or an error that names the record.",
    "Start no node of that release here. `kraftlake plan --downgrade R` says whether Kafka lowers "
    "the level, and `kraftlake plan --downgrade-binaries R` what the nodes have to read besides.",
    ("KAFKA-15537", "strimzi/strimzi-kafka-operator#10735"),
)
PARTLY_READ_BY_RELEASE = info(
    "partly-read-by-release",
    "The Kafka release that --readable-by names starts with this directory, but doesn't read all "
    "of it: it leaves out fields, or can't read what is behind the newest snapshot.",
    "Leaves out fields that it doesn't know, and reads nothing behind the newest snapshot.",
    "Start no node of that release with an empty disk before the leader's log begins at a newer "
    "snapshot.",
)
INDEX_BROKEN = warning(
    "index-broken",
    "An offset or time index doesn't decode: it ends inside an entry, or its entries don't "
    "increase.",
    "Rebuilds the index at the next start.",
    "Let Kafka rebuild it, or move it away while the node is stopped.",
)
INDEX_MISMATCH = warning(
    "index-mismatch",
    "An index entry points at no batch of its segment, or at one with other offsets or times.",
    "Doesn't compare index and segment; a fetch may start reading at a wrong byte.",
    "Move the index away while the node is stopped: Kafka rebuilds it.",
)
INDEX_WITHOUT_SEGMENT = info(
    "index-without-segment",
    "There is an index, but not its segment.",
    "Deletes an index without its segment at the next start.",
    "Nothing by itself; if offsets are missing too, the segment's file was lost.",
)
LEFTOVER = info(
    "leftover",
    "The file is marked .deleted, or is a .part snapshot that is or was being written: Kafka "
    "won't keep it.",
    "Deletes such files soon after, or at the next start.",
    "Nothing. `kraftlake ingest` keeps their records.",
    ("mojaloop/project#4259",),
)
CHANGED_WHILE_READ = info(
    "changed-while-read",
    "The node is running: each time the directory was read, a file was gone when it was opened, or "
    "the log was truncated meanwhile. Contradictions between its files are then not judged.",
    "Deletes segments and snapshots behind a newer snapshot; truncates a follower's log.",
    "Nothing; run the check again for the newer state.",
)
UNREADABLE = warning(
    "unreadable",
    "A file or directory could not be read.",
    "Can't read it either, if the disk is the cause.",
    "If permission was denied, run as Kafka's user. Otherwise check the disk, and copy the "
    "directory again.",
)
NOT_KAFKA = warning(
    "not-kafka",
    "The file or folder has nothing of a metadata directory: no segment, no snapshot.",
    "Doesn't know such a file.",
    "Name a metadata directory, or a file in one. An empty disk shows nothing of what its node "
    "held.",
)
NO_METADATA_LOG = info(
    "no-metadata-log",
    "This is a partition of another topic than __cluster_metadata. Only its producers know what "
    "its records mean.",
    "Replicates such a partition by the same rules (kafka.tools.TestRaftServer); so does "
    "`kraftlake replica`, with kraftlake.topic.name.",
    "Nothing. Batches, epochs, votes and the places of snapshots were checked.",
)
ORDINARY_TOPIC = warning(
    "ordinary-topic",
    "This is a partition of an ordinary topic, as brokers keep them: no quorum-state, no KRaft "
    "record.",
    "Lets a controller choose the partition's leader: KRaft's rules don't hold for it.",
    "Name a node's __cluster_metadata-0, or the log directory above it. kafka-dump-log prints this "
    "partition's records, and so does `kraftlake dump`.",
)
BUNDLE = warning(
    "bundle",
    "The archive is cut off, or has a member that would be unpacked outside its folder or is above "
    "a limit.",
    "Doesn't read archives.",
    "Make the archive again. The files that could be unpacked were checked; that others are absent "
    "says nothing about the node.",
)
