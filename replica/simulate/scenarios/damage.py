"""Scenarios with damaged files, and with files after a power cut."""

from __future__ import annotations

from replica.simulate.metadata_records import create_topic, no_op, topic_config
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario, Tampering
from replica.simulate.scenarios.tampering import (
    empty_newest_snapshot,
    flip_bit,
    flip_bit_of_newest_snapshot,
    halve_newest_snapshot,
    replace_with,
    shift_last_epoch,
)

_MOST_POWER_CUTS = 100


def _snapshots_everywhere(quorum: ScriptedQuorum) -> None:
    quorum.begin("orders", "payments")
    quorum.snapshot(*quorum.voters)
    quorum.commit(1, create_topic("refunds", quorum.brokers))
    quorum.settle()


def _power_cut(quorum: ScriptedQuorum) -> None:
    """The leader loses power again and again while it appends, until a write is torn."""
    for turn in range(_MOST_POWER_CUTS):
        quorum.elect(1)
        if turn == 0:
            quorum.populate(1, "orders")
        quorum.settle()
        quorum.append(1, create_topic(f"orders-{turn}", quorum.brokers, partitions=8))
        quorum.crash(1)
        if quorum.has_torn_tail(1):
            break
        quorum.start(1)
    quorum.elect(2)
    quorum.commit(2, no_op())
    quorum.settle()


def _two_epochs(quorum: ScriptedQuorum) -> None:
    """Node 1 leads. Then node 1 follows leader 2, and truncates its own last records."""
    quorum.begin("orders")
    quorum.cut([1])
    quorum.append(1, topic_config("orders", "retention.ms", "1000"))
    quorum.run_ms(100)
    quorum.elect(2)
    quorum.heal()
    quorum.commit(2, topic_config("orders", "retention.ms", "2000"))
    quorum.settle()


SCENARIOS = (
    NamedScenario(
        "checkpoint-corruption",
        "A bit of a voter's snapshot has flipped on its disk. The CRC shows that, and the other "
        "voters' snapshots are whole.",
        ("mojaloop/project#4259",),
        _snapshots_everywhere,
        findings=("crc-mismatch",),
        tampering=Tampering(
            3, "a bit of node 3's newest snapshot has flipped", flip_bit_of_newest_snapshot(400)
        ),
    ),
    NamedScenario(
        "empty-checkpoint",
        "After a power cut a snapshot has its name but no bytes, and the node doesn't start.",
        ("mojaloop/project#4259",),
        _snapshots_everywhere,
        findings=("snapshot-empty",),
        tampering=Tampering(3, "node 3's newest snapshot is empty", empty_newest_snapshot),
    ),
    NamedScenario(
        "half-checkpoint",
        "A snapshot ends in its middle. A node that takes it for whole loses the other metadata.",
        ("mojaloop/project#4259",),
        _snapshots_everywhere,
        findings=("torn-segment",),
        tampering=Tampering(3, "node 3's newest snapshot is cut in half", halve_newest_snapshot),
    ),
    NamedScenario(
        "flipped-bit",
        "A bit of a record has flipped in one replica's log. A reader that checks no CRCs replays "
        "the wrong record.",
        ("KAFKA-14104",),
        _snapshots_everywhere,
        findings=("crc-mismatch",),
        tampering=Tampering(
            2, "a bit of node 2's log has flipped", flip_bit("00000000000000000000.log", 1300)
        ),
    ),
    NamedScenario(
        "power-cut",
        "The leader lost power while it wrote. Its log ends inside a batch, which no other node "
        "has, and which the next start drops.",
        ("mojaloop/project#4259",),
        _power_cut,
        findings=("torn-tail",),
    ),
    NamedScenario(
        "broken-epoch-checkpoint",
        "leader-epoch-checkpoint has lost its content in a crash of the system. The batches still "
        "hold the epochs.",
        ("KAFKA-16541", "linkedin/kafka#395"),
        _two_epochs,
        findings=("state-file-broken",),
        tampering=Tampering(
            2,
            "node 2's leader-epoch-checkpoint is empty",
            replace_with("leader-epoch-checkpoint", b""),
        ),
    ),
    NamedScenario(
        "stale-epoch-checkpoint",
        "leader-epoch-checkpoint was not cut when the log was. It names a wrong start of an epoch, "
        "so a follower would truncate its log at the wrong offset.",
        ("KAFKA-10706", "KAFKA-10432"),
        _two_epochs,
        findings=("epoch-checkpoint-mismatch",),
        tampering=Tampering(
            1,
            "in node 1's leader-epoch-checkpoint epoch 2 begins one offset later",
            shift_last_epoch,
        ),
    ),
)
