"""Scenarios about the records of the active controller, and its open transactions."""

from __future__ import annotations

from replica.metadata.image.settings import MIGRATION, PRE_MIGRATION
from replica.simulate.metadata_records import (
    begin,
    bootstrap,
    controllers,
    create_topic,
    end,
    migration_state,
    register_broker,
    remove_topic,
    topic_config,
    unfence_broker,
)
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario


def _open_transaction(quorum: ScriptedQuorum) -> None:
    """The leader crashes between BEGIN and END. The next leader has not aborted the transaction
    yet."""
    quorum.elect(1)
    quorum.populate(1, "orders")
    quorum.commit(1, (begin("Create topics"),), create_topic("invoices", quorum.brokers))
    quorum.settle()
    quorum.crash(1)
    quorum.elect(3)
    quorum.run_ms(500)


def _stale_broker_epoch(quorum: ScriptedQuorum) -> None:
    """Broker 4 registers again. Then a record with the former broker epoch of broker 4 is
    written."""
    quorum.elect(1)
    quorum.populate(1, "orders")
    former = quorum.log_end(1)
    quorum.commit(1, register_broker(4, former), unfence_broker(4, former))
    quorum.commit(1, register_broker(4, quorum.log_end(1)))
    quorum.commit(1, unfence_broker(4, former))
    quorum.settle()


def _recreated_topic(quorum: ScriptedQuorum) -> None:
    """A topic is removed, and created again with the same name and another id."""
    quorum.elect(1)
    quorum.populate(1, "orders", "payments")
    quorum.commit(1, topic_config("orders", "cleanup.policy", "compact"))
    quorum.settle()
    quorum.snapshot(1)
    quorum.commit(1, remove_topic("orders"))
    quorum.commit(1, create_topic("orders", quorum.brokers, incarnation=1))
    quorum.settle()
    quorum.snapshot(*quorum.voters)


def _zk_migration(quorum: ScriptedQuorum) -> None:
    """Two brokers of ZooKeeper register, the controller copies the metadata, and the first broker
    is restarted in KRaft mode."""
    quorum.elect(1)
    quorum.commit(1, bootstrap(), controllers(quorum.voters), migration_state(PRE_MIGRATION))
    for broker_id in quorum.brokers:
        epoch = quorum.log_end(1)
        quorum.commit(1, register_broker(broker_id, epoch, is_of_zookeeper=True))
        quorum.commit(1, unfence_broker(broker_id, epoch))
    copied = (begin("ZK Migration"),), create_topic("orders", quorum.brokers), (end(),)
    quorum.commit(1, *copied, migration_state(MIGRATION))
    first, epoch = quorum.brokers[0], quorum.log_end(1)
    quorum.commit(1, register_broker(first, epoch))
    quorum.commit(1, unfence_broker(first, epoch))
    quorum.settle()


SCENARIOS = (
    NamedScenario(
        "open-transaction",
        "The leader crashes in the midst of a metadata transaction that nobody has aborted yet.",
        ("KIP-868",),
        _open_transaction,
        findings=("open-transaction",),
    ),
    NamedScenario(
        "stale-broker-epoch",
        "The log holds a broker's change under the epoch of its former registration: every replay "
        "stops there, so no controller stays up.",
        ("bitnami/containers#80381",),
        _stale_broker_epoch,
        findings=("unappliable-record",),
    ),
    NamedScenario(
        "recreated-topic",
        "A topic is removed and made again under its name: the metadata is right, and a broker "
        "that was away still has the former incarnation's partitions.",
        ("KAFKA-14616", "linkedin/kafka#584"),
        _recreated_topic,
    ),
    NamedScenario(
        "zk-migration",
        "A cluster migrates from ZooKeeper: its metadata was copied, both stores are written, and "
        "one of two brokers is still a broker of ZooKeeper.",
        ("KIP-866", "strimzi/strimzi-kafka-operator#12929"),
        _zk_migration,
    ),
)
