"""What to do before brokers stop, where their stop isn't safe now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from replica.doctor.health.absent import MAY_RUN, absent_brokers, find_out_why
from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.copy_first import copies_first, copy_step, steps_if_lost
from replica.doctor.health.emptied import emptied_brokers, emptied_partitions
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.doctor.health.new_directories import only_holder
from replica.doctor.health.returning import returning, run_on
from replica.doctor.preflight.majority import newest_logs
from replica.metadata.image.partition import Partition
from replica.model.control import KRAFT_VERSION
from replica.model.keys import NO_NODE
from replica.model.voters import majority
from replica.shell_text import line
from replica.words import counted, listed, named, shortened

_SHOWN = 3
_ENOUGH_VOTERS = 3


def before_stop(cluster: Cluster, gone: frozenset[int]) -> Iterator[str]:
    """What to do before these brokers stop at the same time. The steps that end an outage come
    first, because the other steps have no effect before."""
    down_first = (gone & cluster.fenced_brokers) | _awaited(cluster)
    yield from _starts(cluster, gone, down_first)
    lagging = [
        key
        for key, one in sorted(cluster.partitions.items())
        if _lags(cluster, key, one, gone) and not down_first.issuperset(_missing(one, gone))
    ]
    if lagging:
        missing = {broker for key in lagging for broker in cluster.partitions[key].replicas} - gone
        down = sorted((missing & cluster.fenced_brokers) - down_first)
        start = f"{_start(cluster, down)}, and " if down else ""
        told = f"{start}wait until the replicas of {_partitions(cluster, lagging)} are in sync"
        yield f"{told}: --while 10 waits"
    yield from before_restarts(cluster, [gone])


def before_restarts(cluster: Cluster, stops: Iterable[frozenset[int]]) -> Iterator[str]:
    """What to do before these groups of brokers stop, one group after another, where it doesn't
    help to wait until the replicas are in sync."""
    by_broker: dict[int, frozenset[int]] = {one: gone for gone in stops for one in gone}
    short: list[PartitionKey] = []
    unknown: list[PartitionKey] = []
    for key, partition in sorted(cluster.partitions.items()):
        if partition.leader == NO_NODE:
            continue  # a new replica has no leader from which it could fetch
        of_replicas = {by_broker[one] for one in partition.replicas if one in by_broker}
        if any(_is_short(cluster, key, partition, gone) for gone in of_replicas):
            short.append(key)
        elif of_replicas and cluster.min_isr(key, partition) is None:
            unknown.append(key)
    if short:
        need = "needs each replica it has" if len(short) == 1 else "need each replica they have"
        has, refuses = ("it has", "refuses") if len(short) == 1 else ("they have", "refuse")
        one = "one of its brokers" if len(short) == 1 else "one of their brokers"
        yield (
            f"give another replica to {counted(len(short), 'partition')} that {need} "
            f"({_names(cluster, short)}), by kafka-reassign-partitions.sh; else {has} no leader, "
            f"or {refuses} writes with acks=all, while {one} is stopped"
        )
    if unknown:
        yield (
            "name --broker-config server.properties, which gives min.insync.replicas of "
            f"{_partitions(cluster, unknown)}: no log here holds it"
        )


def before_roll(cluster: Cluster, stops: Iterable[frozenset[int]]) -> Iterator[str]:
    """What to do before all nodes restart, one of these groups after the other."""
    yield from _starts(cluster, frozenset(), cluster.fenced_brokers)
    yield from before_restarts(cluster, stops)
    if unreliable := sorted(cluster.unreliable_voters):
        yield f"do what `kraftlake check` says about {_voters(unreliable)}, and ask again"
    if late := sorted(cluster.uncounted_voters - cluster.unreliable_voters):
        yield (
            f"bring {_voters(late)} to the end of the log, by a start if the node is down, and ask "
            "again with new copies"
        )
    count = len(cluster.voters)
    if cluster.voters and count - 1 < majority(count):
        told = f"add voters until there are {_ENOUGH_VOTERS}: while one of {count} restarts, no "
        told += "majority is left"
        if not cluster.level(KRAFT_VERSION):
            told += ". Static voters have to become dynamic before (--to-dynamic)"
        yield told


def before_unregistering(broker: int) -> str:
    """A clause about a broker that is gone for good, and holds replicas or a vote."""
    plan = line("kraftlake", "plan", "--decommission", str(broker))
    return f"`{plan}` says what has to move before it is unregistered"


def _awaited(cluster: Cluster) -> frozenset[int]:
    """The brokers that are down, and whose replicas are missing where partitions have no leader or
    refuse writes with acks=all."""
    missing = (
        eligible_to_lead(partition)
        if partition.leader == NO_NODE
        else _missing(partition)
        if len(partition.isr) < (cluster.min_isr(key, partition) or 0)
        else ()
        for key, partition in cluster.partitions.items()
    )
    return cluster.fenced_brokers.intersection(chain.from_iterable(missing))


def _missing(partition: Partition, gone: frozenset[int] = frozenset()) -> frozenset[int]:
    """The replicas that aren't in sync, except the replicas on the brokers `gone`."""
    return frozenset(partition.replicas).difference(partition.isr, gone)


def _needed(cluster: Cluster, key: PartitionKey, partition: Partition) -> int:
    return max(cluster.min_isr(key, partition) or 1, 1)


def _is_short(
    cluster: Cluster, key: PartitionKey, partition: Partition, gone: frozenset[int]
) -> bool:
    """Whether fewer replicas than min.insync.replicas, or no replica, would be left after the stop,
    even with all replicas in sync."""
    rest = [
        one
        for one in partition.replicas
        if one not in gone and cluster.offline_directory(partition, one) is None
    ]
    return len(rest) < _needed(cluster, key, partition)


def _lags(cluster: Cluster, key: PartitionKey, partition: Partition, gone: frozenset[int]) -> bool:
    """Whether the stop harms a partition because replicas that would stay aren't in sync."""
    stopping = gone & cluster.live_brokers
    if stopping.isdisjoint(partition.isr) or _is_short(cluster, key, partition, gone):
        return False
    left = [one for one in partition.isr if one not in gone and cluster.can_lead(partition, one)]
    return len(left) < _needed(cluster, key, partition)


def _starts(cluster: Cluster, gone: frozenset[int], down: frozenset[int]) -> Iterator[str]:
    """The steps that start the brokers `down`, with the steps about log directories around them. A
    broker that runs without one of its directories restarts last. gone: as for _of_emptied."""
    if (newest := newest_logs(cluster)) is not None:
        yield newest.clause
    yield from _before_any_start(cluster, gone)
    waiting = waiting_for_directory(cluster)
    start, repair = [*_those_down(cluster, down - waiting.keys())], [*_repairs(cluster, waiting)]
    if start and repair and run_on(waiting.keys(), cluster.fenced_brokers):
        its, it = ("directory is", "it") if len(waiting) == 1 else ("directories are", "them")
        yield (
            f"leave {_brokers(waiting)} running, whose log {its} offline, and before any restart "
            f"of {it} {start[0]}"
        )
        start = []
    yield from (*repair, *start)


def _those_down(cluster: Cluster, brokers: Collection[int]) -> Iterator[str]:
    emptied = {one.broker for one in emptied_brokers(cluster)}
    if down := sorted(set(brokers) - emptied):
        they = "it is" if len(down) == 1 else "they are"
        wait = "" if emptied else f", wait until {they} in sync"
        yield f"{_start(cluster, down)}{wait}, and ask again"


def _of_emptied(cluster: Cluster, gone: frozenset[int]) -> Iterator[str]:
    """The steps about brokers that must not run while others start. gone: the brokers whose stop is
    judged."""
    for one in emptied_brokers(cluster):
        if one.broker in gone and one.is_live:
            many = counted(len(one.waiting or one.led), "partition")
            leads = f"leads {many}"
            if one.waiting:
                leads = f"becomes leader of {many} without leader when the next broker comes up"
            yield (
                f"weigh that `kraftlake check` asks for the stop of broker {one.broker}: while it "
                f"runs, it {leads}, and other replicas lose the records that it lacks"
            )
        elif one.is_live:
            yield (
                f"stop broker {one.broker}, start and restart no broker before, and keep its "
                "former disk: `kraftlake check` says why"
            )
        else:
            yield (
                f"do not start broker {one.broker} from its new disk, and keep its former disk: "
                "`kraftlake check` says why"
            )


def _before_any_start(cluster: Cluster, gone: frozenset[int]) -> Iterator[str]:
    """The steps that keep what may be the only copy of records, before brokers are started and
    before new records are written. gone: as for _of_emptied."""
    yield from _of_emptied(cluster, gone)
    kept = emptied_partitions(cluster).keys()
    if began_again := sorted(cluster.led_from_new_directories - kept):
        brokers = {only_holder(cluster.partitions[key]) for key in began_again}
        topics = {cluster.values("topics")[topic_id] for topic_id, _ in began_again}
        disk = "disk" if len(brokers) == 1 else "disks"
        yield (
            f"keep the former {disk} of {_brokers(brokers)}, which may have the only copy of "
            f"{_partitions(cluster, began_again)}, and stop the producers of "
            f"{named('topic', [shortened(one) for one in sorted(topics)], limit=_SHOWN)}: "
            "`kraftlake check` says why"
        )


def _repairs(cluster: Cluster, waiting: Mapping[int, Sequence[PartitionKey]]) -> Iterator[str]:
    """The steps that repair log directories. waiting: see waiting_for_directory."""
    for broker, keys in sorted(waiting.items()):
        again = "restart" if broker in cluster.live_brokers else "start"
        yield (
            f"keep the files of the log directory of broker {broker} that is offline, repair it, "
            f"{again} the broker with it, and ask again: {_partitions(cluster, keys)} "
            f"{'waits' if len(keys) == 1 else 'wait'} for it, and no reassignment helps"
        )


def waiting_for_directory(cluster: Cluster) -> Mapping[int, Sequence[PartitionKey]]:
    """The partitions without a leader that wait for a log directory that is offline, by broker. A
    broker that is down is left out if other partitions wait for its start."""
    waiting: defaultdict[int, list[PartitionKey]] = defaultdict(list)
    others: set[int] = set()
    for key, partition in sorted(cluster.partitions.items()):
        for one in eligible_to_lead(partition) if partition.leader == NO_NODE else ():
            if cluster.offline_directory(partition, one) is not None:
                waiting[one].append(key)
            elif one not in cluster.live_brokers:
                others.add(one)
    return {one: keys for one, keys in waiting.items() if one not in others}


def _brokers(brokers: Collection[int]) -> str:
    return named("broker", [str(one) for one in sorted(brokers)], limit=_SHOWN)


def _start(cluster: Cluster, brokers: Collection[int]) -> str:
    """A text that says to start these brokers, in the order in which they give most partitions a
    leader, and what to copy before."""
    order = [one for one in returning(cluster) if one.broker in brokers and one.partitions]
    rest = [str(one) for one in brokers if one not in {each.broker for each in order}]
    start = f"start {named('node', [*(str(one.broker) for one in order), *rest])}"
    if order and len(brokers) > 1:
        sure = "can lead" if order[0].is_sure else "may be able to lead"
        told = f"it {sure} {counted(order[0].partitions, 'partition')} without a leader"
        then = named("node", [*(str(one.broker) for one in order[1:]), *rest])
        start = f"start node {order[0].broker} first ({told}), then {then}"
    absent = absent_brokers(cluster)
    if may_run := [one for one in brokers if absent.get(one) in MAY_RUN]:
        who = (
            "its process runs" if len(brokers) == 1 else f"the process of {_brokers(may_run)} runs"
        )
        start += f" (if {who}, {find_out_why(may_run)}, and end a process that hangs)"
    copies = [one for one in copies_first(cluster) if one.broker in brokers]
    step = " ".join(filter(None, (copy_step(copies), steps_if_lost(copies))))
    return f"{step[:1].lower()}{step[1:]} Then {start}" if step else start


def _partitions(cluster: Cluster, keys: Collection[PartitionKey]) -> str:
    return f"{counted(len(keys), 'partition')} ({_names(cluster, keys)})"


def _names(cluster: Cluster, keys: Collection[PartitionKey]) -> str:
    return listed([cluster.name_of(key) for key in keys], limit=_SHOWN)


def _voters(voters: Collection[int]) -> str:
    return named("voter", [str(one) for one in voters])
