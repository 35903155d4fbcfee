"""Rules about the cluster that a replayed log describes.

The first rules are about controllers, brokers, their directories, and the features of all nodes;
the rules from WITHOUT_LEADER on are about partitions and configs. replica.doctor.health judges
them.
"""

from __future__ import annotations

from functools import partial

from replica.doctor.check import rule
from replica.doctor.check.rule import Family

error = partial(rule.error, family=Family.HEALTH)
warning = partial(rule.warning, family=Family.HEALTH)
info = partial(rule.info, family=Family.HEALTH)

STATE_NOT_WHOLE = warning(
    "state-not-whole",
    "The log continues past the newest state that could be replayed. Health is judged by that "
    "state; what came after it is unknown.",
    "Reads such a log to its end, if its own release wrote the log; damage stops Kafka too.",
    "Do what the finding about the place at which the replay stops says. If that place is damaged, "
    "check another node's directory.",
)
STATE_NOT_COMMITTED = warning(
    "state-not-committed",
    "No majority of the voters holds the newest records of this state, so they were not committed "
    "when the directories were copied. Health is judged with them.",
    "Commits such records if their leader reaches a majority again; otherwise it elects another "
    "leader and discards them.",
    "Copy the directories again once the quorum has a leader. What was asked of the quorum last "
    "may not have happened: ask for it again after that.",
    ("KIP-595",),
)
MAJORITY_STOPPED = error(
    "majority-stopped",
    "Voters without which there is no majority stopped at one offset, and another voter wrote "
    "changes that they did not take: either the quorum has no majority and accepts no change, or "
    "these voters were copied before the other one.",
    "Resigns when no majority fetches. The voters that start again elect one of them and discard "
    "what only the last leader wrote.",
    "Keep a copy of each directory, and start the voters that stopped. If these voters run, their "
    "directories were copied before the others: copy all directories again, as close together as "
    "possible.",
    ("KIP-595",),
)
LEADER_GAVE_UP = error(
    "leader-gave-up",
    "The leader of the newest epoch gave up, as a leader does from whom no majority of the voters "
    "fetches, and no directory names a leader since. No change is accepted, and no partition gets "
    "another leader.",
    "Resigns after controller.quorum.fetch.timeout.ms, and elects a leader once a majority of the "
    "voters runs with their own disks.",
    "Start the voters that don't run, each with its own disk (a node formatted anew is no voter), "
    "and begin with those whose logs ended earlier. If you stopped the quorum yourself, nothing is "
    "wrong. Stop no broker before there is a leader.",
    ("KIP-595",),
)
START_NODE = "Start this node, and "
"""The beginning of a next step. It is removed where another next step already says to start the
node."""
VOTER_ON_FENCED_BROKER = warning(
    "voter-on-fenced-broker",
    "A voter's node is a broker too, and this broker is fenced or shutting down: the node is down, "
    "or about to be.",
    "Elects leaders and commits while a majority of the voters is left.",
    f"{START_NODE}stop no voter before it runs.",
    ("strimzi/proposals#91", "strimzi/strimzi-kafka-operator#9146"),
)
CONTROLLER_WITHOUT_VOTE = info(
    "controller-without-vote",
    "A controller is registered that is no voter: an observer, or a ghost whose node is gone.",
    "Asks every registered controller's supported versions before it raises a feature. Up to 4.3 "
    "nothing removes a registration.",
    "If the node runs, nothing. If it is gone, its registration has to go before the next upgrade; "
    "the finding says by which command.",
    ("strimzi/strimzi-kafka-operator#11039", "strimzi/strimzi-kafka-operator#12712", "KIP-1312"),
)
GHOST_BLOCKS_FEATURE = warning(
    "ghost-blocks-feature",
    "Only the registration of a controller that is no voter keeps a feature from being raised.",
    "Refuses the upgrade because that controller supports only older versions, whether the node "
    "runs or not.",
    "Upgrade that controller if it runs. If it is gone, its registration has to go or to be "
    "replaced: the finding says how.",
    ("apache/kafka#22191", "strimzi/strimzi-kafka-operator#11039", "KIP-1312"),
)
VOTER_NOT_REGISTERED = warning(
    "voter-not-registered",
    "A voter has no controller registration in the log.",
    "Refuses to raise any feature while a voter of a static quorum hasn't registered: it may not "
    "support the new version.",
    "Check whether this controller runs and reaches the leader: it registers when it starts. "
    "`kraftlake check --config` with its server.properties says whether it starts and joins. If "
    "its node is gone, the finding says what this quorum allows.",
    ("strimzi/strimzi-kafka-operator#9429",),
)
VOTER_ENDPOINTS_DIFFER = warning(
    "voter-endpoints-differ",
    "The voter set names another address of a controller than the controller registered.",
    "Uses the voter set's address for elections. The controller tells the leader its new one "
    "when it starts (UpdateRaftVoter), which needs a leader that it can reach.",
    "Give the controller its old name or port back until the quorum has a leader; then restart "
    "this controller, or remove and add it as a voter.",
    ("strimzi/proposals#203", "strimzi/proposals#227"),
)
EVEN_VOTERS = info(
    "even-voters",
    "The number of voters is even.",
    "Needs a majority, which is three of four voters: of four voters no more may fail than of "
    "three.",
    "Add a voter, or remove one, unless a change of the voters is under way. A static quorum has "
    "to become dynamic first (`kraftlake plan --to-dynamic`).",
    ("strimzi/strimzi-kafka-operator#9429",),
)
FEW_VOTERS = info(
    "few-voters",
    "There are fewer than three voters.",
    "Elects no leader and accepts no changes once a single voter fails.",
    "Add voters until there are three, unless this cluster may stop. A static quorum has to "
    "become dynamic first (`kraftlake plan --to-dynamic`).",
    ("strimzi/strimzi-kafka-operator#9429",),
)
LEVEL_NOT_SUPPORTED = error(
    "level-not-supported",
    "A node last registered with a release of Kafka that can't read the level of a feature: it was "
    "put back to that release, and ends soon after each start.",
    "Ends a controller that reads a level which its release does not support, and refuses to "
    "register such a broker.",
    "Give the node the release that the finding names, then start it with its own disk. Format "
    "nothing: a node formatted anew is no voter.",
    ("KIP-584",),
)
METADATA_VERSION_BEHIND = info(
    "metadata-version-behind",
    "Every registered node supports a newer metadata.version than the one that is finalized.",
    "Keeps the old version. What needs the new version stays switched off.",
    "Run `kafka-features.sh upgrade --release-version` once no downgrade is planned any more.",
    ("strimzi/strimzi-kafka-operator#12712",),
)
FEATURE_BLOCKED = info(
    "feature-blocked",
    "Some nodes support a newer version of a feature, and others don't, as in a rolling upgrade.",
    "Refuses to raise the feature until every registered broker and controller supports it.",
    "Upgrade the nodes that the finding names, and start them; unregister those that are gone and "
    "hold no replica.",
    ("apache/kafka#23196", "strimzi/strimzi-kafka-operator#11039"),
)
MIGRATION_WAITS = warning(
    "zk-migration-waits",
    "The migration from ZooKeeper has not begun: the controllers wait for the brokers that run "
    "with ZooKeeper to register, and have copied nothing yet.",
    "Refuses all changes of metadata until every broker that runs with ZooKeeper has registered, "
    "and the metadata was copied.",
    "Start the missing brokers with zookeeper.metadata.migration.enable=true; the active "
    "controller's log names them (Still waiting for ZK brokers).",
    ("strimzi/strimzi-kafka-operator#12929", "KIP-866"),
)
MIGRATION_RUNS = warning(
    "zk-migration-runs",
    "The migration from ZooKeeper is under way: the controllers write every change to ZooKeeper "
    "too.",
    "Needs both stores. Kafka 4 doesn't support ZooKeeper, so it can't run this cluster.",
    "Keep ZooKeeper and the controllers running. Restart the brokers in KRaft mode one by one, "
    "then the controllers without the migration, before any node gets a release from 4.0 on.",
    ("strimzi/strimzi-kafka-operator#12929", "KIP-866"),
)
ZK_BROKER_LEFT = warning(
    "zk-broker-left",
    "The migration from ZooKeeper has ended, and brokers are registered that still run with "
    "ZooKeeper.",
    "Writes nothing to ZooKeeper any more, so such a broker gets no changes from it.",
    "Restart these brokers in KRaft mode (process.roles, no zookeeper.connect), or unregister "
    "those that are gone and hold no replica.",
    ("KIP-866",),
)
FENCED_BROKER = warning(
    "replica-on-fenced-broker",
    "A broker that holds replicas is fenced, or shutting down.",
    "Takes it out of the in-sync replicas and moves its leaders; a partition without another "
    "in-sync replica has no leader until the broker is back.",
    "Start the broker (copy its log directories before, if the finding says so), or find out why "
    "it can't reach the controllers. A broker that has just registered is unfenced once it has "
    "caught up.",
    ("strimzi/strimzi-kafka-operator#12760",),
)
COPY_BEFORE_START = (
    "If you need what the broker would delete, copy its log directories before its start"
)
"""What to do about a shortened retention where the quorum has no leader: without a leader the old
value can't be set again."""
RETENTION_SHORTENED = warning(
    "retention-shortened-while-down",
    "The retention of a topic was shortened while a broker with its replicas was down.",
    "Applies the new value when the broker starts: it deletes the records that are older, or more, "
    "than the value allows, and those that were compacted.",
    f"{COPY_BEFORE_START}, or set the old value again until they are copied.",
)
UNREGISTERED_BROKER = warning(
    "replica-on-unregistered-broker",
    "Partitions have replicas on a broker that isn't registered.",
    "Keeps the assignment: these replicas never catch up, and count in the replication factor.",
    "Start the broker again (copy its log directories before, if the finding says so), or move its "
    "replicas with kafka-reassign-partitions.sh.",
    ("strimzi/strimzi-kafka-operator#11667", "StephenSorriaux/ansible-kafka-admin#197"),
)
LOST_DIRECTORY = warning(
    "replica-in-lost-directory",
    "A replica lies in a log directory that its broker doesn't have online.",
    "Treats the replica as offline until the directory is back, or the replica is assigned again.",
    "Repair the disk and restart the broker, or move the replicas away.",
    ("KIP-858",),
)
UNASSIGNED_DIRECTORY = info(
    "replica-in-no-directory",
    "A broker hasn't said yet in which of its log directories a replica lies.",
    "Learns it from the broker soon after a replica is made; a fenced broker doesn't report it.",
    "Nothing, unless a running broker doesn't report it for long: then read the broker's log.",
    ("KIP-858",),
)
CORDONED_DIRECTORY = info(
    "cordoned-directory",
    "A broker's log directory is cordoned.",
    "Places no new replicas in it; the replicas in it stay. A broker whose directories are all "
    "cordoned gets no new replicas at all.",
    "Nothing if somebody is emptying the disk; otherwise take the directory out of "
    "cordoned.log.dirs.",
    ("KIP-1066",),
)
WITHOUT_LEADER = error(
    "partition-without-leader",
    "A partition has no leader, and waits for an in-sync or eligible replica to come back.",
    "Refuses reads and writes. Each time any broker is unfenced, elects such a replica, if its "
    "broker is unfenced and has its log directory online; with eligible leader replicas, a broker "
    "that ended uncleanly counts no more once it registers.",
    "If leader-in-new-directory names it, do that first. Start the brokers named, none with an "
    "empty log directory (copy before, if replica-on-fenced-broker says so), or repair the log "
    "directory and restart its broker. Run no unclean election before.",
    ("apache/kafka#9533", "strimzi/strimzi-kafka-operator#12768", "KIP-966"),
)
NO_ELIGIBLE_LEADER = error(
    "no-eligible-leader",
    "A partition has no leader, no in-sync replica, and no eligible leader replica left.",
    "Elects the last known leader when its broker registers again, whether it lost records or not "
    "(from 4.0 on, with eligible leader replicas); otherwise elects no replica, unless "
    "unclean.leader.election.enable is set.",
    "Copy the replicas. Start all of them, the last known eligible ones first; restart those that "
    "are live already. Only then run an unclean election (kafka-leader-election.sh), which loses "
    "what the new leader lacks.",
    ("apache/kafka#9533", "KIP-966"),
)
BELOW_MIN_ISR = warning(
    "partition-below-min-isr",
    "A partition has fewer in-sync replicas than min.insync.replicas.",
    "Refuses writes with acks=all (NOT_ENOUGH_REPLICAS); from eligible.leader.replicas.version 1 "
    "on it doesn't move the high watermark either.",
    "Bring the missing replicas back; don't lower min.insync.replicas before you know why.",
    ("KIP-966", "apache/kafka#9533"),
)
MIN_ISR_UNKNOWN = info(
    "min-isr-unknown",
    "A topic lacks in-sync replicas, and the log doesn't say what its min.insync.replicas is.",
    "Uses min.insync.replicas of the broker's server.properties, which no log holds.",
    "Give the brokers' file: --broker-config server.properties.",
)
UNCLEAN_LEADER = warning(
    "unclean-leader",
    "A partition's leader was elected without having been in sync, and the partition is still "
    "marked as recovering: any record that the leader lacked is lost.",
    "Serves what the leader has; the other replicas truncate to it. The mark goes with the next "
    "change of the in-sync replicas.",
    "Copy the partition folders of the other replicas before their brokers start: they may hold "
    "what is lost, and truncate to the leader's log. Then compare the partitions with their "
    "producers. `kraftlake timeline` shows the election.",
    ("KIP-704", "apache/kafka#9533"),
)
LEADER_IN_NEW_DIRECTORY = warning(
    "leader-in-new-directory",
    "The only replica that leads a partition, or may lead it, is in another log directory than "
    "before, and the former one is gone, as after an installation on a new disk: it may have begun "
    "without any record.",
    "Lets such a replica lead by its broker's id, in sync or as the last known leader (KIP-966), "
    "whatever its disk holds. The other replicas truncate to it.",
    "Keep the former disk: it may have the only copy of the records. Stop the producers of these "
    "topics until it is decided which copy counts, because new records take the offsets of the "
    "lost ones.",
    ("KIP-858", "KIP-966"),
)
UNCLEAN_ONLY_REPLICA = info(
    "unclean-only-replica",
    "The only replica of a partition was elected again after its broker had ended uncleanly: any "
    "record that the broker hadn't written to its disk is lost: none if the process alone ended, "
    "all if its disk was replaced.",
    "Leaves the mark (leaderRecoveryState 1) on such a partition, whose in-sync replicas never "
    "change.",
    "Nothing, if the broker's process ended and its machine didn't. If its disk was replaced, keep "
    "the old disk: it has the records. `kraftlake timeline` shows the election.",
    ("KIP-704", "KIP-966"),
)
SINGLE_ISR = warning(
    "partition-with-one-in-sync-replica",
    "A partition with several replicas has one in-sync replica only.",
    "Leaves the partition without a leader when that broker fails, unless another replica is "
    "eligible.",
    "Bring the other replicas back before the broker of the one in sync is stopped or changed.",
    ("apache/kafka#9533",),
)
UNDER_REPLICATED = info(
    "under-replicated-partition",
    "A partition has fewer in-sync replicas than replicas.",
    "Adds a replica to the in-sync replicas again when it has caught up with the leader.",
    "Nothing while brokers restart; otherwise look at the brokers that are missing.",
)
ELIGIBLE_REPLICAS = info(
    "eligible-leader-replicas",
    "A partition has eligible leader replicas: they left the in-sync replicas while these were "
    "fewer than min.insync.replicas, and they hold all committed records.",
    "Elects one of them without loss if no in-sync replica is left (from 4.0 on).",
    "Keep the disks of these brokers as they are.",
    ("KIP-966",),
)
REASSIGNMENT_RUNNING = info(
    "reassignment-running",
    "A reassignment of a partition is under way.",
    "Ends the reassignment when all added replicas have caught up with the leader.",
    "Nothing; `kafka-reassign-partitions.sh --list` shows it, too.",
)
REASSIGNMENT_STUCK = warning(
    "reassignment-stuck",
    "A reassignment can't end, because an added replica is on a broker that is fenced or not "
    "registered, or in a lost log directory; or it has been under way for more than a day.",
    "Waits for the added replicas without end, and keeps the old ones until then.",
    "Start that broker, after a copy of its log directories where replica-on-fenced-broker says "
    "so, or repair the directory, or cancel: `kafka-reassign-partitions.sh --cancel`.",
    ("StephenSorriaux/ansible-kafka-admin#197",),
)
NOT_PREFERRED = info(
    "leader-not-preferred",
    "A partition is led by another replica than its first, the preferred one.",
    "Moves the leader back if auto.leader.rebalance.enable is set (the default), after "
    "leader.imbalance.check.interval.seconds.",
    "Nothing; `kafka-leader-election.sh --election-type preferred` moves the leader at once.",
)
ONE_RACK = warning(
    "partition-in-one-rack",
    "All replicas of a partition are in one rack, and the brokers have several racks.",
    "Spreads new topics over the racks, but keeps an assignment that somebody gave.",
    "Move a replica to another rack with kafka-reassign-partitions.sh.",
    ("StephenSorriaux/ansible-kafka-admin#197",),
)
NO_SPARE_REPLICA = info(
    "partition-without-spare-replica",
    "A partition has only as many replicas as min.insync.replicas asks for: it takes no writes "
    "with acks=all while any one of them is away, as in each restart of a broker.",
    "Refuses such writes (NOT_ENOUGH_REPLICAS) until that replica is in sync again. "
    "`kafka-topics.sh --describe --at-min-isr-partitions` shows the partition at all times.",
    "Give it another replica (kafka-reassign-partitions.sh) before one of these brokers is "
    "restarted.",
    ("KIP-351",),
)
REPLICA_COUNTS_DIFFER = warning(
    "replica-counts-differ",
    "Partitions of one topic have different numbers of replicas, as after a reassignment that "
    "named too few brokers, or that was made for a part of the partitions.",
    "Keeps each partition's own replicas. `kafka-topics.sh --describe` shows the number of the "
    "first partition as that of the topic.",
    "Reassign the partitions that have fewer replicas (kafka-reassign-partitions.sh), unless "
    "somebody wanted it so.",
)
ORPHAN_CONFIG = info(
    "config-without-resource",
    "There are configs of a topic or broker that doesn't exist.",
    "Keeps a broker's configs when it is unregistered; from 3.8 on it also keeps those of topics "
    "that were made and removed within one commit. A new topic or broker of that name gets them.",
    "Look at them with kafka-configs.sh; delete those of names that never come back "
    "(--delete-config).",
    ("AutoMQ/automq#3556",),
)
