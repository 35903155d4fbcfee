"""Rules of health about controllers, brokers, their directories, and the features of all nodes."""

from __future__ import annotations

from functools import partial

from replica.check.rule import Family, Rule
from replica.severity import Severity

_WARNING, _INFO = Severity.WARNING, Severity.INFO
_HealthRule = partial(Rule, family=Family.HEALTH)

STATE_NOT_WHOLE = _HealthRule(
    "state-not-whole",
    _WARNING,
    "The log continues past the newest state that could be replayed. Health is judged by that "
    "state; what came after it is unknown.",
    "Reads such a log to its end, if its own release wrote the log; damage stops Kafka too.",
    "Check another node's directory, or use a kraftlake release that reads this log.",
)
CONTROLLER_WITHOUT_VOTE = _HealthRule(
    "controller-without-vote",
    _INFO,
    "A controller is registered that is no voter: an observer, or a ghost whose node is gone.",
    "Asks every registered controller's supported versions before it raises a feature. Up to 4.3 "
    "nothing removes a registration.",
    "If the node runs, nothing. If it is gone, its registration has to go before the next upgrade; "
    "the finding says by which command.",
    ("strimzi/strimzi-kafka-operator#11039", "strimzi/strimzi-kafka-operator#12712", "KIP-1312"),
)
GHOST_BLOCKS_FEATURE = _HealthRule(
    "ghost-blocks-feature",
    _WARNING,
    "Only the registration of a controller that is no voter keeps a feature from being raised.",
    "Refuses the upgrade because that controller supports only older versions, whether the node "
    "runs or not.",
    "Upgrade that controller if it runs. If it is gone, its registration has to go or to be "
    "replaced: the finding says how.",
    ("apache/kafka#22191", "strimzi/strimzi-kafka-operator#11039", "KIP-1312"),
)
VOTER_NOT_REGISTERED = _HealthRule(
    "voter-not-registered",
    _WARNING,
    "A voter has no controller registration in the log.",
    "Refuses to raise any feature while a voter of a static quorum hasn't registered: it may not "
    "support the new version.",
    "Check whether this controller runs, and reaches the leader: it registers when it starts. "
    "Remove a voter whose node is gone.",
    ("strimzi/strimzi-kafka-operator#9429",),
)
VOTER_ENDPOINTS_DIFFER = _HealthRule(
    "voter-endpoints-differ",
    _WARNING,
    "The voter set names another address of a controller than the controller registered.",
    "Uses the voter set's address for elections. The controller tells the leader its new one "
    "when it starts (UpdateRaftVoter), which needs a leader that it can reach.",
    "Give the old name or port back until the quorum has a leader; then restart this controller, "
    "or remove and add it as a voter.",
    ("strimzi/proposals#203", "strimzi/proposals#227"),
)
EVEN_VOTERS = _HealthRule(
    "even-voters",
    _INFO,
    "The number of voters is even.",
    "Needs a majority, which is three of four voters: no more may fail than of three voters.",
    "Add a voter, or remove one, unless a change of the voters is under way.",
    ("strimzi/strimzi-kafka-operator#9429",),
)
FEW_VOTERS = _HealthRule(
    "few-voters",
    _INFO,
    "There are fewer than three voters.",
    "Elects no leader and accepts no changes once a single voter fails.",
    "Add voters until there are three, unless this cluster may stop.",
    ("strimzi/strimzi-kafka-operator#9429",),
)
METADATA_VERSION_BEHIND = _HealthRule(
    "metadata-version-behind",
    _INFO,
    "Every registered node supports a newer metadata.version than the one that is finalized.",
    "Keeps the old version, without what needs the new one.",
    "When no downgrade is planned any more: `kafka-features.sh upgrade --release-version`.",
    ("strimzi/strimzi-kafka-operator#12712",),
)
FEATURE_BLOCKED = _HealthRule(
    "feature-blocked",
    _INFO,
    "Some nodes support a newer version of a feature, and others don't, as in a rolling upgrade.",
    "Refuses to raise the feature until every registered broker and controller supports it.",
    "Upgrade the nodes that the finding names, and start them; unregister those that are gone.",
    ("apache/kafka#23196", "strimzi/strimzi-kafka-operator#11039"),
)
FENCED_BROKER = _HealthRule(
    "replica-on-fenced-broker",
    _WARNING,
    "A broker that holds replicas is fenced, or shutting down.",
    "Takes it out of the in-sync replicas and moves its leaders; a partition without another "
    "in-sync replica has no leader until the broker is back.",
    "Start the broker, or find out why it can't reach the controllers. A broker that has just "
    "registered is unfenced once it has caught up.",
    ("strimzi/strimzi-kafka-operator#12760",),
)
UNREGISTERED_BROKER = _HealthRule(
    "replica-on-unregistered-broker",
    _WARNING,
    "Partitions have replicas on a broker that isn't registered.",
    "Keeps the assignment: these replicas never catch up, and count in the replication factor.",
    "Start the broker again, or move its replicas with kafka-reassign-partitions.sh.",
    ("strimzi/strimzi-kafka-operator#11667", "StephenSorriaux/ansible-kafka-admin#197"),
)
LOST_DIRECTORY = _HealthRule(
    "replica-in-lost-directory",
    _WARNING,
    "A replica lies in a log directory that its broker doesn't have online.",
    "Takes the replica for offline until the directory is back, or the replica is assigned anew.",
    "Repair the disk and restart the broker, or move the replicas away.",
    ("KIP-858",),
)
UNASSIGNED_DIRECTORY = _HealthRule(
    "replica-in-no-directory",
    _INFO,
    "A broker hasn't said yet in which of its log directories a replica lies.",
    "Learns it from the broker soon after a replica is made; a fenced broker tells nothing.",
    "Nothing, unless a broker that runs doesn't tell it for long: then read the broker's log.",
    ("KIP-858",),
)
CORDONED_DIRECTORY = _HealthRule(
    "cordoned-directory",
    _INFO,
    "A broker's log directory is cordoned.",
    "Places no new replicas in it; the replicas in it stay. A broker whose directories are all "
    "cordoned gets no new replicas at all.",
    "Nothing if somebody is emptying the disk; otherwise take the directory out of "
    "cordoned.log.dirs.",
    ("KIP-1066",),
)
