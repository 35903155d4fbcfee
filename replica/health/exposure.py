"""What the failure of a broker, of two, of a rack or of a voter would take away.

Of each partition only the replicas that fail matter, so that a few sets for each kind of partition
are looked at, and never every partition with every pair of brokers: what two brokers take away
together is what each takes away alone, and a correction for the partitions that both hold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from replica.health.cluster import Cluster
from replica.health.live_replicas import LiveReplicas, live_replicas
from replica.health.placement import racks_of

NOTHING, BROKER, RACK, PAIR, VOTER = "nothing", "broker", "rack", "pair", "voter"
"""Exposure.kind: the values are part of the output of `state --exposure --json`."""
MOST_PAIRS = 4_000_000
"""Those of 2,800 brokers; a log of 1 MB can register 10,000, of which 50 million pairs are made."""


class Harm(NamedTuple):
    """Numbers of partitions. leaderless: without any replica that may lead. needs_unclean: of
    these, the ones of which a replica is left, one that isn't in sync. below_min_isr: led, with
    fewer in-sync replicas than min.insync.replicas, as far as this is known."""

    leaderless: int = 0
    needs_unclean: int = 0
    below_min_isr: int = 0


# While harms are added up, each is one number: its three counts are digits to this base, which no
# count reaches. To add such numbers is to add the counts, at a tenth of the time.
_BASE = 1 << 40
_LEADERLESS, _NEEDS_UNCLEAN, _BELOW_MIN_ISR = 1, _BASE, _BASE**2


def _counts_in(total: int) -> Harm:
    """The harm behind the number."""
    rest, leaderless = divmod(total, _BASE)
    below_min_isr, needs_unclean = divmod(rest, _BASE)
    return Harm(leaderless, needs_unclean, below_min_isr)


@dataclass(frozen=True, slots=True)
class Exposure:
    """What is so once `gone` has failed: brokers by id, a rack by name, a voter by id.

    voters_left: None where nobody knows the voters; has_majority: whether those may elect.
    """

    kind: str
    gone: tuple[str, ...]
    harm: Harm
    voters_left: int | None
    has_majority: bool | None


def exposures(cluster: Cluster) -> Iterator[Exposure]:
    """First what is so now, with nothing gone; then each rack, broker, pair of brokers and voter,
    those of a kind in the order of their names.

    Only brokers that are live now are let fail. A voter that is a broker too fails with it. Pairs
    are left out where has_too_many_pairs says so.
    """
    kinds = _kinds(cluster)
    now = sum(_harm(kind) * count for kind, count in kinds.items())
    yield _exposure(cluster, NOTHING, (), now, ())
    racks = _live_racks(cluster)
    by_rack = _deltas(kinds, racks)
    for rack, brokers in sorted(racks.items()):
        yield _exposure(cluster, RACK, (rack,), now + by_rack[rack], brokers)
    live = sorted(cluster.live_brokers)
    alone = _deltas(kinds, {str(one): frozenset((one,)) for one in live})
    for one in live:
        yield _exposure(cluster, BROKER, (str(one),), now + alone[str(one)], (one,))
    pairs = () if has_too_many_pairs(cluster) else combinations(live, 2)
    together = _corrections(kinds) if pairs else {}
    for pair in pairs:
        gone = str(pair[0]), str(pair[1])
        harm = now + alone[gone[0]] + alone[gone[1]] + together[pair]
        yield _exposure(cluster, PAIR, gone, harm, pair)
    for voter in sorted(cluster.voters):
        harm = now + alone[str(voter)] if voter in cluster.live_brokers else now
        yield _exposure(cluster, VOTER, (str(voter),), harm, (voter,))


def has_too_many_pairs(cluster: Cluster) -> bool:
    """Whether the live brokers, or the replicas of all assignments, make more than MOST_PAIRS."""
    assignments = {partition.replicas for partition in cluster.partitions.values()}
    of_replicas = sum(_pairs(len(replicas)) for replicas in assignments)
    return max(_pairs(len(cluster.live_brokers)), of_replicas) > MOST_PAIRS


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def min_isr_unknown(cluster: Cluster) -> int:
    """How many partitions there are whose min.insync.replicas isn't known."""
    return sum(
        cluster.min_isr(key, partition) is None for key, partition in cluster.partitions.items()
    )


def _kinds(cluster: Cluster) -> Counter[LiveReplicas]:
    """How many partitions a failure harms alike. Those of one assignment, and of one
    min.insync.replicas, are counted first."""
    alike = Counter(
        (partition.isr, partition.elr, partition.replicas, cluster.min_isr(key, partition))
        for key, partition in cluster.partitions.items()
    )
    kinds: Counter[LiveReplicas] = Counter()
    for assigned, count in alike.items():
        kinds[live_replicas(cluster.live_brokers, *assigned)] += count
    return kinds


def _harm(left: LiveReplicas) -> int:
    """To one partition of which this is left, as a number."""
    if left.may_be_led:
        return _BELOW_MIN_ISR if left.is_below_min_isr else 0
    return _LEADERLESS + _NEEDS_UNCLEAN if left.unclean else _LEADERLESS


def _deltas(
    kinds: Mapping[LiveReplicas, int], failing: Mapping[str, frozenset[int]]
) -> defaultdict[str, int]:
    """How much more harm there is when these brokers fail, by name; each broker has one name."""
    name_of = {broker_id: name for name, brokers in failing.items() for broker_id in brokers}
    deltas: defaultdict[str, int] = defaultdict(int)
    for kind, count in kinds.items():
        before = _harm(kind)
        for name in {name_of[one] for one in kind.replicas if one in name_of}:
            deltas[name] += (_harm(kind.without(failing[name])) - before) * count
    return deltas


def _corrections(kinds: Mapping[LiveReplicas, int]) -> defaultdict[tuple[int, int], int]:
    """What is to be added for two brokers that hold replicas of the same partition."""
    corrections: defaultdict[tuple[int, int], int] = defaultdict(int)
    for kind, count in kinds.items():
        before = _harm(kind)
        alone = {one: _harm(kind.without(frozenset((one,)))) for one in kind.replicas}
        for pair in combinations(sorted(kind.replicas), 2):
            both = _harm(kind.without(frozenset(pair)))
            corrections[pair] += (both + before - alone[pair[0]] - alone[pair[1]]) * count
    return corrections


def _live_racks(cluster: Cluster) -> dict[str, frozenset[int]]:
    """The live brokers of each rack, where there is more than one rack."""
    racks: dict[str, set[int]] = {}
    for broker_id, rack in racks_of(cluster).items():
        if broker_id in cluster.live_brokers:
            racks.setdefault(rack, set()).add(broker_id)
    return {rack: frozenset(brokers) for rack, brokers in racks.items()} if len(racks) > 1 else {}


def _exposure(
    cluster: Cluster, kind: str, gone: tuple[str, ...], total: int, nodes: Iterable[int]
) -> Exposure:
    harm = _counts_in(total)
    if not cluster.voters:
        return Exposure(kind, gone, harm, None, None)
    left = len(cluster.voters - frozenset(nodes))
    return Exposure(kind, gone, harm, left, left > len(cluster.voters) // 2)
