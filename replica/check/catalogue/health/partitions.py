"""Rules of health about partitions (leaders, in-sync replicas, placement) and about configs."""

from __future__ import annotations

from functools import partial

from replica.check.rule import Family, Rule
from replica.severity import Severity

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_HealthRule = partial(Rule, family=Family.HEALTH)

WITHOUT_LEADER = _HealthRule(
    "partition-without-leader",
    _ERROR,
    "A partition has no leader, and waits for an in-sync or eligible replica to come back.",
    "Refuses reads and writes of the partition. Elects one of these replicas, without loss, once "
    "its broker is unfenced.",
    "Start the brokers that hold the replicas named, before any unclean election.",
    ("apache/kafka#9533", "strimzi/strimzi-kafka-operator#12768"),
)
NO_ELIGIBLE_LEADER = _HealthRule(
    "no-eligible-leader",
    _ERROR,
    "A partition has no leader, no in-sync replica, and no eligible leader replica left.",
    "Elects the last known leader when it is back, whether it lost records or not (from 4.0 on, "
    "with eligible leader replicas); otherwise elects no replica, unless "
    "unclean.leader.election.enable is set.",
    "Start all replicas, the last known eligible ones first. Only then run an unclean election "
    "(kafka-leader-election.sh); records that the new leader doesn't have are lost.",
    ("apache/kafka#9533", "KIP-966"),
)
BELOW_MIN_ISR = _HealthRule(
    "partition-below-min-isr",
    _WARNING,
    "A partition has fewer in-sync replicas than min.insync.replicas.",
    "Refuses writes with acks=all (NOT_ENOUGH_REPLICAS); from eligible.leader.replicas.version 1 "
    "on it doesn't move the high watermark either.",
    "Bring the missing replicas back; don't lower min.insync.replicas before you know why.",
    ("KIP-966", "apache/kafka#9533"),
)
MIN_ISR_UNKNOWN = _HealthRule(
    "min-isr-unknown",
    _INFO,
    "A topic lacks in-sync replicas, and the log doesn't say what its min.insync.replicas is.",
    "Uses min.insync.replicas of the broker's server.properties, which no log holds.",
    "Give the brokers' file: --broker-config server.properties.",
)
SINGLE_ISR = _HealthRule(
    "partition-with-one-in-sync-replica",
    _WARNING,
    "A partition with several replicas has one in-sync replica only.",
    "Leaves the partition without a leader when that broker fails, unless another replica is "
    "eligible.",
    "Bring the other replicas back before anything is done to this broker.",
    ("apache/kafka#9533",),
)
UNDER_REPLICATED = _HealthRule(
    "under-replicated-partition",
    _INFO,
    "A partition has fewer in-sync replicas than replicas.",
    "Adds a replica to the in-sync replicas again when it has caught up with the leader.",
    "Nothing while brokers restart; otherwise look at the brokers that are missing.",
)
ELIGIBLE_REPLICAS = _HealthRule(
    "eligible-leader-replicas",
    _INFO,
    "A partition has eligible leader replicas: they left the in-sync replicas while these were "
    "fewer than min.insync.replicas, and they hold all committed records.",
    "Elects one of them without loss if no in-sync replica is left (from 4.0 on).",
    "Keep the disks of these brokers as they are.",
    ("KIP-966",),
)
REASSIGNMENT_RUNNING = _HealthRule(
    "reassignment-running",
    _INFO,
    "A reassignment of a partition is under way.",
    "Ends the reassignment when all added replicas have caught up with the leader.",
    "Nothing; `kafka-reassign-partitions.sh --list` shows it, too.",
)
REASSIGNMENT_STUCK = _HealthRule(
    "reassignment-stuck",
    _WARNING,
    "A reassignment can't end, because an added replica is on a broker that is fenced or not "
    "registered; or it has been under way for more than a day.",
    "Waits for the added replicas without end, and keeps the old ones until then.",
    "Start that broker, or cancel: `kafka-reassign-partitions.sh --cancel`.",
    ("StephenSorriaux/ansible-kafka-admin#197",),
)
NOT_PREFERRED = _HealthRule(
    "leader-not-preferred",
    _INFO,
    "A partition is led by another replica than its first, the preferred one.",
    "Moves the leader back if auto.leader.rebalance.enable is set (the default), after "
    "leader.imbalance.check.interval.seconds.",
    "Nothing; `kafka-leader-election.sh --election-type preferred` moves the leader at once.",
)
ONE_RACK = _HealthRule(
    "partition-in-one-rack",
    _WARNING,
    "All replicas of a partition are in one rack, and the brokers have several racks.",
    "Spreads new topics over the racks, but keeps an assignment that somebody gave.",
    "Move a replica to another rack with kafka-reassign-partitions.sh.",
    ("StephenSorriaux/ansible-kafka-admin#197",),
)
ORPHAN_CONFIG = _HealthRule(
    "config-without-resource",
    _INFO,
    "There are configs of a topic or broker that doesn't exist.",
    "Keeps a broker's configs when it is unregistered; from 3.8 on it also keeps those of topics "
    "that were made and removed within one commit. A new topic or broker of that name gets them.",
    "Look at them with kafka-configs.sh; delete those of names that never come back "
    "(--delete-config).",
    ("AutoMQ/automq#3556",),
)
