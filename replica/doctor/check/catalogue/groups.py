"""Rules about several replicas that are checked together."""

from __future__ import annotations

from replica.doctor.check.rule import error, info, warning

LOG_DIVERGENCE = warning(
    "log-divergence",
    "Two logs hold different epochs from some offset on.",
    "Truncates one of the logs once one node fetches from the other. No acknowledged record is "
    "lost, unless a disk lost records that it held: committed-data-at-risk reports this.",
    "`kraftlake diff` shows both branches and what would be lost; keep a copy of the directory "
    "that would lose records.",
    ("redpanda-data/redpanda#11360", "bitnami/charts#29167", "KAFKA-14704"),
)
CONFLICT = error(
    "conflict",
    "Two logs hold different bytes at one offset and epoch, or agree again after they diverged.",
    "Doesn't notice. Raft never produces such logs: a disk was restored or shared, the cluster was "
    "formatted twice, or a file was changed.",
    "Start no node, neither a controller nor a broker, before a history is chosen. First copy the "
    "whole disks of all nodes, the brokers' too: `kraftlake recover --plan` says more.",
    ("KAFKA-10527", "bitnami/charts#29167", "etcd-io/etcd#13766"),
)
COMMITTED_DATA_AT_RISK = error(
    "committed-data-at-risk",
    "Records that are proven to be committed would be truncated, or two different records of one "
    "offset are both proven to be committed.",
    "Truncates them once one node fetches from the other, and doesn't notice the loss.",
    "Start no node, and keep a copy of each directory. `kraftlake recover --plan` says which node "
    "holds the committed records: no other node may lead.",
    ("KAFKA-14077", "KAFKA-12460", "KIP-595"),
)
SNAPSHOT_ID_CONFLICT = error(
    "snapshot-id-conflict",
    "Two replicas' snapshots of one id hold different states. 0-0.checkpoint is left out, as it "
    "holds no state of the log: see initial-voters-differ.",
    "Doesn't notice: a follower gets one snapshot or the other.",
    "Find out which snapshot equals the replay of the log; the other node's state is wrong.",
    ("KAFKA-14203", "cockroachdb/cockroach#35424", "etcd-io/etcd#13766"),
)
SNAPSHOT_ID_ORPHANS = info(
    "snapshot-id-orphans",
    "Two replicas' snapshots of one id differ only in configs that Kafka itself keeps too long or "
    "leaves out (see orphan-topic-configs and configs-left-out).",
    "Writes such snapshots since 3.8: their configs depend on which records a node applies "
    "together, and on its release.",
    "Nothing.",
    ("AutoMQ/automq#3556",),
)
DUPLICATE_IDENTITY = error(
    "duplicate-identity",
    "Two directories claim one node id or one directory id.",
    "Treats two voters of one id as one, which may then vote twice. Of two brokers of one id it "
    "refuses the one that registers while the other runs.",
    "Never start both. Keep the one that the newest voters record names, or in a static quorum the "
    "one with the longer history; give the other node an empty disk, formatted anew with an id of "
    "its own.",
    ("KAFKA-14077", "strimzi/proposals#203"),
)
METADATA_LOG_TWICE = error(
    "metadata-log-twice",
    "One node has a metadata log in two of its log directories: metadata.log.dir was changed, or "
    "several log directories were formatted with one of their own.",
    "Refuses to start: Found unexpected metadata location in data directory.",
    "Stop the node, keep the newer of the two where metadata.log.dir points, and move the other "
    "__cluster_metadata-0 away; keep a copy.",
    ("apache/kafka#22418",),
    keeps_from_starting=True,
)
_OWN_DISK = (
    "Give the node its own disk: stop it, mount the disk on which it ran, and start it. If "
    "cluster-id-mismatch names this disk, set cluster.id in its meta.properties instead. If its "
    "own disk is gone, or the node is new, `kraftlake recover --plan` has the commands."
)
DISK_OF_ANOTHER_CLUSTER = error(
    "disk-of-another-cluster",
    "A cluster lacks the directory of a voter, and a directory given for that node is of another "
    "cluster: the node was formatted with another cluster id, or got another cluster's disk.",
    "Refuses the node's requests (INCONSISTENT_CLUSTER_ID), or refuses to start it: Invalid "
    "cluster.id.",
    _OWN_DISK,
    (
        "strimzi/strimzi-kafka-operator#11516",
        "confluentinc/cp-all-in-one#106",
        "apache/kafka#11209",
    ),
)
VOTER_WITHOUT_OWN_DISK = error(
    "voter-without-own-disk",
    "The directory that was given for a voter is of another cluster, and no directory of its own "
    "cluster was given: see disk-of-another-cluster.",
    "Continues without this voter: no majority may count it.",
    _OWN_DISK,
    ("strimzi/strimzi-kafka-operator#11516",),
)
CLUSTER_IDS_DIFFER = error(
    "cluster-ids-differ",
    "Nodes that name each other as voters were formatted with different cluster ids, and no log "
    "holds a record.",
    "Refuses the nodes' requests to each other (INCONSISTENT_CLUSTER_ID), so that nobody is ever "
    "elected.",
    "Choose one of these cluster ids. For each other node move the directory away, and format an "
    "empty folder with this id (kafka-storage.sh format --cluster-id): no log holds a record, so "
    "nothing is lost.",
    ("confluentinc/cp-all-in-one#106", "apache/kafka#11209"),
)
LOG_DIRECTORIES_DIFFER = error(
    "log-directories-differ",
    "Two log directories of one node name different clusters in their meta.properties.",
    "Refuses to start: the log directories of a node must name one cluster and one node.",
    "Find out which directory was copied or mounted here by mistake, and take it out of log.dirs.",
    ("strimzi/strimzi-kafka-operator#11516",),
    keeps_from_starting=True,
)
FORMATTED_FOR_ANOTHER_CLUSTER = error(
    "formatted-for-another-cluster",
    "A log directory was formatted with another cluster id than that of the other directories, and "
    "its node never started with it.",
    "Lets the node start alone: the others refuse its requests (INCONSISTENT_CLUSTER_ID).",
    "If the node ran before, look for the disk on which it ran. Else move this directory away, and "
    "format an empty folder with the cluster id of the others, once these have a leader.",
    ("confluentinc/cp-all-in-one#106", "apache/kafka#11209"),
)
METADATA_LOG_NOT_GIVEN = info(
    "metadata-log-not-given",
    "A log directory holds partitions and no metadata log: its broker keeps the metadata log in "
    "another of its log directories, which was not given.",
    "Keeps __cluster_metadata-0 in one of a node's log directories only.",
    "Name the directory that has __cluster_metadata-0: metadata.log.dir, else the first of "
    "log.dirs.",
    ("KIP-858",),
)
NEVER_STARTED = info(
    "never-started",
    "A log directory was formatted, and holds no metadata log: its node never started with it.",
    "Makes __cluster_metadata-0 at its first start; since 4.4 formatting makes it already.",
    "Nothing, if the node is new. If it has run before, its disk was lost or replaced.",
    ("strimzi/strimzi-kafka-operator#9426",),
)
CLUSTER_ID_MISMATCH = error(
    "cluster-id-mismatch",
    "Two directories hold the same records but name different clusters.",
    "Refuses requests of a node with another cluster id.",
    "Stop this node, set cluster.id in the meta.properties of each of its log directories to the "
    "id of the other directory, and start it again. If this node's id is that of most nodes, do so "
    "on the other node instead.",
    ("strimzi/strimzi-kafka-operator#10722",),
)
VOTER_SETS_DIFFER = warning(
    "voter-sets-differ",
    "The quorum-state files of two nodes of a static quorum name different voters.",
    "Each counts its own majority, so two leaders are possible.",
    "Correct controller.quorum.voters on every node before any node is restarted.",
    ("strimzi/strimzi-kafka-operator#6862", "bitnami/charts#16011", "KAFKA-17608"),
)
# A 0-0.checkpoint, which kafka-storage format writes, belongs to its node alone: no node fetches
# this snapshot from another. Voters are absent where a node was formatted with
# --no-initial-controllers or belongs to a static quorum. The bootstrap metadata records (Kafka 4.4)
# may differ, because only those of the first active controller are ever used. But all nodes that
# name initial voters must name the same voters.
INITIAL_VOTERS_DIFFER = warning(
    "initial-voters-differ",
    "Two nodes were formatted with different initial voters: their 0-0.checkpoint files name "
    "different sets. No voters in this file, or other bootstrap records, are normal.",
    "Takes these voters until the log has a newer voters record: each node counts its own "
    "majority, so two leaders are possible.",
    "Dump the KRAFT_VOTERS records of a healthy node's log: they name the voters in force. Format "
    "the other node's emptied disk with --no-initial-controllers, and add it as a voter.",
    ("KIP-853",),
)
TWO_LEADERS = error(
    "two-leaders",
    "The quorum-state files of two nodes name different leaders of one epoch.",
    "Never elects two leaders in one epoch while every voter keeps its vote.",
    "Find the voter that voted twice: a restored disk, or a lost quorum-state.",
    ("KAFKA-15489", "KAFKA-14077"),
)

STALE_VOTER = warning(
    "stale-voter",
    "A voter led or voted in an epoch of which its own directory knows nothing, or its process "
    "registered after what its log holds: the directory was restored from an older copy, or copied "
    "before the others.",
    "Counts on a voter's votes and on what it has acknowledged. After a start, such a voter may "
    "vote a second time in an epoch, or help to elect a leader without committed records: the "
    "finding says which.",
    "If the directory was restored, keep the node stopped, and let it join again with an empty "
    "directory (`kraftlake recover --plan` says how). If it was copied before the others, copy all "
    "directories again.",
    ("KIP-595", "KIP-853", "etcd-io/etcd#13766"),
)

LEADER_LACKS_OWN_RECORDS = warning(
    "leader-lacks-own-records",
    "A leader's own log lacks records that others hold and that only it can have written: its disk "
    "was restored from an older copy or lost them, or was copied before the others.",
    "Counts on what a voter has acknowledged: after a start, such a voter helps to elect a leader "
    "without committed records.",
    "If its disk was restored, keep the node stopped, and let it join again with an empty "
    "directory (`kraftlake recover --plan` says how). If it was copied before the others, copy all "
    "directories again.",
    ("KIP-595", "KIP-853"),
)
VOTER_BEHIND = warning(
    "voter-behind",
    "A voter's log ends ten seconds or more before the newest log: the node was stopped or cut "
    "off, its disk was restored, or it was copied earlier.",
    "Appends two records a second to the leader's log, also when nothing happens: a voter whose "
    "log ends so early follows no leader, or its disk is older than what it acknowledged.",
    "If its disk was restored from an older copy, keep the node stopped (`kraftlake recover "
    "--plan` says more). If the node is down, start it; if it runs, see why it can't reach the "
    "leader. If it was copied earlier, copy all directories again.",
    ("KIP-595", "KIP-836"),
)
VOTER_DISK_EMPTY = warning(
    "voter-disk-empty",
    "A voter led or voted in an election, and the only directory that was given for its node holds "
    "no record of the metadata log: the disk was emptied, or it is not that on which the node ran.",
    "Treats the node of a static quorum as the same voter: it votes for any candidate, so that a "
    "leader without committed records is possible.",
    "Keep the node stopped, and look for the disk on which it ran. If that disk is gone, format an "
    "empty folder for the node, but only once the other voters have a leader (`kraftlake recover "
    "--plan` says how).",
    ("KIP-595", "KIP-853", "strimzi/strimzi-kafka-operator#9426"),
)

REPLICA_WENT_BACK = warning(
    "replica-went-back",
    "A voter's disk shows less than it did in an earlier capture: it was restored from an older "
    "copy, or lost what it had written.",
    "Counts on a voter's votes and on what it has acknowledged. After a start, such a voter may "
    "vote a second time in an epoch, or help to elect a leader without committed records: the "
    "finding says which.",
    "Keep the node stopped, and let it join again with an empty directory (`kraftlake recover "
    "--plan` says how). If --order names the captures in a wrong order, correct the order.",
    ("KIP-595", "KIP-853", "etcd-io/etcd#13766"),
)

GROUP_TOO_LARGE = warning(
    "group-too-large",
    "There are more logs of one cluster than check compares pair by pair.",
    "Has a few voters; all other replicas of the metadata log are brokers, which follow them.",
    "Check the voters in a call of their own, with those brokers that are in doubt.",
    ("KIP-595",),
)
