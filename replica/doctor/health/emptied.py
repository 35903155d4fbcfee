"""Finds emptied brokers: they hold partitions in a new log directory, because the former one is
gone, and other replicas of these partitions may have more records.

Kafka elects leaders for all partitions without leader whenever any broker is unfenced
(ReplicationControlManager.handleBrokerUnfenced), and when it elects preferred leaders, every five
minutes by default. So an emptied broker may become leader when any other broker starts, and the
replicas on the other brokers truncate to its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.live_replicas import that_truncate
from replica.doctor.health.new_directories import only_holder
from replica.metadata.image.partition import topic_of
from replica.model.keys import NO_NODE
from replica.words import counted, listed, named, sentence, shortened

_SHOWN, _TOPICS = 5, 3


class Emptied(NamedTuple):
    """A broker that must not run while the brokers with the other replicas start."""

    broker: int
    is_live: bool
    waiting: tuple[str, ...]
    """The partitions without leader that this broker leads after the next election."""
    led: tuple[str, ...]
    """The partitions that this broker leads."""
    others: tuple[int, ...]
    """The brokers with the other replicas of `partitions`."""
    down: tuple[int, ...]
    """The brokers among `others` that aren't live."""
    whole: tuple[str, ...]
    """The names among `partitions` whose min.insync.replicas is the number of their replicas: each
    replica got each record that Kafka acknowledged to a producer with acks=all."""
    refusing: int = 0
    """The number of partitions that refuse writes with acks=all only while this broker is
    stopped."""
    may_refuse: int = 0
    """The number of further partitions that may refuse writes with acks=all only while this broker
    is stopped: their min.insync.replicas is unknown."""

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions of `waiting` and `led`, sorted."""
        return tuple(sorted((*self.waiting, *self.led)))


def emptied_partitions(cluster: Cluster) -> dict[PartitionKey, int]:
    """The partitions that an emptied broker leads, or leads after the next election, each with the
    id of this broker. Each has another replica that would truncate its log to this broker's log."""
    found = {}
    for key in cluster.led_from_new_directories:
        partition = cluster.partitions[key]
        holder, others = only_holder(partition), that_truncate(partition)
        is_led = partition.leader != NO_NODE
        if is_led:  # a live replica has truncated its log already
            others = others - cluster.live_brokers
        if holder != NO_NODE and others and not (is_led and partition.leader_recovery_state):
            found[key] = holder
    return found


def emptied_brokers(cluster: Cluster) -> tuple[Emptied, ...]:
    """The brokers of emptied_partitions, by id."""
    keys = defaultdict[int, list[PartitionKey]](list)
    for key, holder in emptied_partitions(cluster).items():
        keys[holder].append(key)
    return tuple(_emptied(cluster, holder, keys[holder]) for holder in sorted(keys))


def _emptied(cluster: Cluster, holder: int, keys: Sequence[PartitionKey]) -> Emptied:
    by_name = {cluster.name_of(key): (key, cluster.partitions[key]) for key in keys}
    others = frozenset().union(*(that_truncate(one) for _, one in by_name.values()))
    waiting = (name for name, (_, one) in by_name.items() if one.leader == NO_NODE)
    led = (name for name, (_, one) in by_name.items() if one.leader != NO_NODE)
    whole = (
        name
        for name, (key, one) in by_name.items()
        if (cluster.min_isr(key, one) or 0) >= len(one.replicas)
    )
    return Emptied(
        holder,
        holder in cluster.live_brokers,
        (*sorted(waiting),),
        (*sorted(led),),
        (*sorted(others),),
        (*sorted(others - cluster.live_brokers),),
        (*sorted(whole),),
        *_refusing(cluster, holder),
    )


def _refusing(cluster: Cluster, holder: int) -> tuple[int, int]:
    """The values of Emptied.refusing and Emptied.may_refuse."""
    refusing = unknown = 0
    for key, partition in cluster.partitions.items():
        left = len(partition.isr) - 1
        if holder in cluster.live_brokers and left and holder in partition.isr:
            least = cluster.min_isr(key, partition)
            refusing += least is not None and left < least <= left + 1
            unknown += least is None
    return refusing, unknown


def to_stop(found: Iterable[Emptied]) -> str:
    """The brokers that stop before any other broker starts, such as `broker 13`; "" if no broker
    has to stop."""
    live = [str(one.broker) for one in found if one.is_live]
    return named("broker", live, limit=_SHOWN) if live else ""


def why_stopped(one: Emptied) -> str:
    """Sentences that say what not to do with an emptied broker, and why."""
    broker = f"broker {one.broker}"
    those = _those(one.partitions)
    down = named("broker", [str(each) for each in one.down], limit=_SHOWN)
    others = named("broker", [str(each) for each in one.others], limit=_SHOWN)
    theirs = "deletes its" if len(one.others) == 1 else "delete their"
    if not one.is_live:
        return (
            f"Do not start {broker} from its new disk: it would lead {those}, and {others} "
            f"{theirs} records of them."
        )
    if not one.waiting:
        return (
            f"Do not start {down} while {broker} runs: {broker} leads {those}, and {others} "
            f"{theirs} records of them."
        )
    start = (
        f"Do not start {down}, and restart no broker," if down else "Start and restart no broker"
    )
    return (
        f"{start} while {broker} runs: the next broker that comes up makes {broker} leader of "
        f"{those}, and {others} {theirs} records of them. Kafka may do so by itself at any time, "
        "when it elects preferred leaders (auto.leader.rebalance.enable)."
    )


def what_stops(one: Emptied) -> str:
    """A sentence that says to stop a live broker, and what that harms."""
    harms = []
    if one.led:
        harms.append(f"{counted(len(one.led), 'partition')} {_have(len(one.led))} no leader")
    if one.refusing:
        refuse = "refuses" if one.refusing == 1 else "refuse"
        harms.append(
            f"{counted(one.refusing, 'partition')} {refuse} writes with acks=all until other "
            "replicas are in sync"
        )
    if one.may_refuse:
        more = "more " * bool(one.refusing)
        harms.append(f"{counted(one.may_refuse, f'{more}partition')} may refuse them")
    told = f"Stop broker {one.broker} before anything else"
    return f"{told}: meanwhile {listed(harms)}." if harms else f"{told}."


def what_remains(found: Iterable[Emptied]) -> Iterator[str]:
    """A sentence for each emptied broker, about the choice that is left once the other brokers run
    without it: wait for its former disk, or elect uncleanly."""
    for one in found:
        others = named("broker", [str(each) for each in one.others], limit=_SHOWN)
        keep = "keeps its" if len(one.others) == 1 else "keep their"
        told = (
            f"{sentence(_those(one.partitions)).removesuffix('.')} then still "
            f"{_have(len(one.partitions))} no leader, and {others} {keep} records. Wait for the "
            f"former disk of broker {one.broker}, or elect {others} by an unclean election, which "
            "loses the records that only this disk has"
        )
        if one.whole:
            told += (
                f"; of {_topics(one.whole)} it loses none that was acknowledged with acks=all, if "
                "min.insync.replicas was never lower"
            )
        yield f"{told}. Do not start broker {one.broker} from its new disk before."


def _those(names: Sequence[str]) -> str:
    """A text such as `5 partitions (topics carts and ledger)`."""
    if len(names) <= _TOPICS:
        return f"{named('partition', [shortened(one) for one in names])}"
    return f"{counted(len(names), 'partition')} ({_topics(names)})"


def _topics(names: Sequence[str]) -> str:
    topics = sorted({topic_of(one) for one in names})
    return named("topic", [shortened(one) for one in topics], limit=_TOPICS)


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
