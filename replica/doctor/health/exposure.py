"""Computes the harm of the failure of a broker, of two brokers, of a rack or of a voter.

Partitions with equal replicas are counted together, and only the failures of their own brokers are
computed for them, not of every pair of brokers. The harm of two brokers is the sum of their single
harms, with a correction for the partitions that both hold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.emptied import emptied_partitions
from replica.doctor.health.live_replicas import Alike, LiveReplicas
from replica.doctor.health.placement import racks_of
from replica.model.keys import NO_NODE
from replica.model.voters import majority

KINDS = NOTHING, RACK, BROKER, PAIR, VOTER = "nothing", "rack", "broker", "pair", "voter"
"""The values of Failure.kind, which are part of the output of `state --exposure --json`."""
MOST_PAIRS = 4_000_000
"""The most pairs of brokers whose failures are computed: the pairs of 2,800 brokers. A log of 1 MB
can register 10,000 brokers, which make 50 million pairs."""


class Harm(NamedTuple):
    """The numbers of harmed partitions."""

    leaderless: int = 0
    """The number of partitions that have no leader, or no replica that may lead."""
    needs_unclean: int = 0
    """The number of leaderless partitions that only an unclean election could give a leader: a live
    replica is out of sync, and no replica that is down could lead without an unclean election once
    it is back."""
    below_min_isr: int = 0
    """The number of partitions with a leader and with fewer in-sync replicas than
    min.insync.replicas, if known."""


# While harms are added up, each is one number: its three counts are digits to this base, which no
# count reaches. A fourth digit is the number of partitions that may be below min.insync.replicas.
# The sum of two such numbers has the sums of their digits, and takes a tenth of the time.
_BASE = 1 << 40
_LEADERLESS, _NEEDS_UNCLEAN, _BELOW_MIN_ISR = 1, _BASE, _BASE**2
_MAY_BE_BELOW = _BASE**3


def _counts_in(total: int) -> Harm:
    """The harm whose counts are the digits of `total` to the base _BASE."""
    rest, leaderless = divmod(total % _MAY_BE_BELOW, _BASE)
    below_min_isr, needs_unclean = divmod(rest, _BASE)
    return Harm(leaderless, needs_unclean, below_min_isr)


class Failure(NamedTuple):
    """Nodes that fail together."""

    kind: str
    """One of KINDS."""
    gone: tuple[str, ...] = ()
    """The failed nodes: brokers by id, a rack by name, or a voter by id."""


class Exposure(NamedTuple):
    """The harm of a failure."""

    failure: Failure
    harm: Harm
    voters_left: int | None = None
    """The number of voters that are left (see Cluster.voters_up); None if the voters are
    unknown."""
    has_majority: bool | None = None
    """Whether the voters that are left may elect a leader; None if the voters are unknown."""
    may_be_below: int = 0
    """The number of further partitions that may be below min.insync.replicas, because it is
    unknown."""


NOW = Failure(NOTHING)


class HarmTally:
    """The current harm over all partitions, and the additional harm of each failure.

    with_pairs: whether failures of two brokers are counted.
    touched: the failures whose total has changed since the caller last cleared the set.
    """

    def __init__(self, *, with_pairs: bool) -> None:
        self.with_pairs = with_pairs
        self._totals: defaultdict[Failure, int] = defaultdict(int)
        self._unled: defaultdict[Failure, int] = defaultdict(int)
        """The numbers of _totals for the case that the failures take the quorum's majority."""
        self.touched: set[Failure] = set()

    def add(self, kind: LiveReplicas, count: int, rack_of: Mapping[int, str]) -> None:
        """Add partitions of this kind, or remove them if `count` is negative. rack_of: the racks of
        live brokers."""
        both = [(kind, self._totals)]
        if kind.leader is not None:
            both.append((kind.unled, self._unled))
        for one, totals in both:
            for failure, share in _shares(one, rack_of, with_pairs=self.with_pairs):
                if share:
                    totals[failure] += share * count
                    self.touched.add(failure)

    def total(self, *failures: Failure, is_unled: bool = False) -> int:
        """The current harm, together with the additional harm of these failures, as a number that
        _counts_in decodes. is_unled: whether the failures take the quorum's majority, so that
        nobody elects another leader for a partition."""
        return self._total(failures, is_unled=is_unled) % _MAY_BE_BELOW

    def may_be_below(self, *failures: Failure, is_unled: bool = False) -> int:
        """The number of partitions that may be below min.insync.replicas after these failures.
        is_unled: as for `total`."""
        return self._total(failures, is_unled=is_unled) // _MAY_BE_BELOW

    def _total(self, failures: Iterable[Failure], *, is_unled: bool) -> int:
        totals = self._unled if is_unled else self._totals
        return totals[NOW] + sum(totals[one] for one in failures)


@dataclass
class Standing:
    """The exposures of a cluster at one time."""

    tally: HarmTally
    live: frozenset[int]
    """The live brokers."""
    rack_of: Mapping[int, str]
    """The racks of the live brokers that have one."""
    voters: frozenset[int]
    """The ids of the voters: see Cluster.voters."""
    fenced: frozenset[int]
    """The ids of the fenced brokers, and of the nodes that are down though no record says so: see
    Cluster.fenced_brokers and Cluster.down_unfenced."""
    uncounted: frozenset[int]
    """The ids of the voters that must not be counted, as their directories show: see
    Cluster.uncounted_voters."""
    may_lose_leader: bool = False
    """Whether the quorum has a leader, and failures of brokers can take its majority."""

    @staticmethod
    def of(cluster: Cluster, *, with_pairs: bool | None = None) -> Standing:
        """The exposures of a cluster. with_pairs: as in HarmTally; None counts pairs unless
        has_too_many_pairs holds."""
        live = cluster.live_brokers
        racks = {one: rack for one, rack in racks_of(cluster).items() if one in live}
        if with_pairs is None:
            with_pairs = not has_too_many_pairs(cluster)
        standing = Standing(
            HarmTally(with_pairs=with_pairs),
            live,
            racks,
            cluster.voters,
            cluster.fenced_brokers | cluster.down_unfenced,
            cluster.uncounted_voters,
            cluster.is_led and cluster.is_combined,
        )
        kinds: Counter[LiveReplicas] = Counter()
        for alike, count in alike_partitions(cluster).items():
            kinds[alike.kind(live)] += count
        for kind, count in kinds.items():
            standing.tally.add(kind, count, racks)
        return standing

    def failures(self) -> Iterator[Failure]:
        """NOW, in which nothing fails, and all failures that can happen: each rack if there are
        several, each broker, each pair of brokers if the tally counts pairs, and each voter. Racks
        are in the order of their names, the others in that of their ids."""
        yield NOW
        racks = sorted(set(self.rack_of.values()))
        if len(racks) > 1:
            yield from (Failure(RACK, (rack,)) for rack in racks)
        live = sorted(self.live)
        yield from (Failure(BROKER, (str(one),)) for one in live)
        if self.tally.with_pairs:
            yield from (Failure(PAIR, (str(a), str(b))) for a, b in combinations(live, 2))
        yield from (Failure(VOTER, (str(one),)) for one in sorted(self.voters_up))

    @property
    def voters_up(self) -> frozenset[int]:
        """The voters that run, as far as is known: see Cluster.voters_up."""
        return self.voters - self.fenced - self.uncounted

    def exposure(self, failure: Failure) -> Exposure | None:
        """The exposure to a failure; None if it can't happen now, for example because the broker is
        fenced."""
        kind, gone = failure
        if kind == RACK:
            racks = set(self.rack_of.values())
            if len(racks) < 2 or gone[0] not in racks:
                return None
            nodes = [one for one, rack in self.rack_of.items() if rack == gone[0]]
            return self._exposure(failure, [failure], nodes)
        nodes = [int(one) for one in gone]
        if kind == VOTER:
            if nodes[0] not in self.voters_up:
                return None
        elif not self.live.issuperset(nodes):
            return None
        alone = [Failure(BROKER, (str(one),)) for one in nodes if one in self.live]
        pair = [failure] if kind == PAIR else []
        return self._exposure(failure, [*alone, *pair], nodes)

    def _exposure(
        self, failure: Failure, added: Iterable[Failure], nodes: Iterable[int]
    ) -> Exposure:
        up, needed = self.voters_up, majority(len(self.voters))
        left = len(up - frozenset(nodes))
        is_unled = self.may_lose_leader and len(up) >= needed > left
        parts = tuple(added)
        harm = _counts_in(self.tally.total(*parts, is_unled=is_unled))
        may_be_below = self.tally.may_be_below(*parts, is_unled=is_unled)
        if not self.voters:
            return Exposure(failure, harm, may_be_below=may_be_below)
        return Exposure(failure, harm, left, left >= needed, may_be_below)


def exposures(cluster: Cluster) -> Iterator[Exposure]:
    """First the current harm, without a failure; then the exposures to the failures of
    Standing.failures.

    Only live brokers fail. A node that is voter and broker fails as both. Pairs are left out if
    has_too_many_pairs holds.
    """
    standing = Standing.of(cluster)
    for failure in standing.failures():
        exposure = standing.exposure(failure)
        assert exposure is not None, "what can fail has an exposure"
        yield exposure


def alike_partitions(cluster: Cluster) -> Counter[Alike]:
    """The number of partitions with equal facts, for each Alike."""
    emptied = emptied_partitions(cluster)
    return Counter(
        Alike.of(
            partition,
            cluster.min_isr(key, partition),
            cluster.online_directories,
            is_led=cluster.is_led,
            is_combined=cluster.is_combined,
            emptied=emptied.get(key, NO_NODE),
        )
        for key, partition in cluster.partitions.items()
    )


def has_too_many_pairs(cluster: Cluster) -> bool:
    """Whether the live brokers, or the replicas of all assignments, make more pairs than
    MOST_PAIRS."""
    assignments = {partition.replicas for partition in cluster.partitions.values()}
    of_replicas = sum(_pairs(len(replicas)) for replicas in assignments)
    return max(_pairs(len(cluster.live_brokers)), of_replicas) > MOST_PAIRS


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def min_isr_unknown(cluster: Cluster) -> int:
    """The number of partitions whose min.insync.replicas is unknown."""
    return sum(
        cluster.min_isr(key, partition) is None for key, partition in cluster.partitions.items()
    )


def _harm(left: LiveReplicas) -> int:
    """The harm, as a number, to a partition with these live replicas."""
    if left.may_be_led:
        if left.may_be_below_min_isr:
            return _MAY_BE_BELOW
        return _BELOW_MIN_ISR if left.is_below_min_isr else 0
    return _LEADERLESS + _NEEDS_UNCLEAN if left.unclean else _LEADERLESS


def _harm_without(kind: LiveReplicas, gone: Iterable[int]) -> int:
    return _harm(kind.without(frozenset(gone)))


def _shares(
    kind: LiveReplicas, rack_of: Mapping[int, str], *, with_pairs: bool
) -> Iterator[tuple[Failure, int]]:
    """The current harm to one partition of this kind, the additional harm of each rack and of each
    single broker, and the harm of two brokers beyond the sum of their single harms. Harms are
    numbers that _counts_in decodes."""
    now = _harm(kind)
    yield NOW, now
    alone = {one: _harm_without(kind, (one,)) - now for one in kind.replicas}
    racks: dict[str, list[int]] = {}
    for one, more in alone.items():
        yield Failure(BROKER, (str(one),)), more
        if one in rack_of:
            racks.setdefault(rack_of[one], []).append(one)
    for rack, brokers in racks.items():
        yield Failure(RACK, (rack,)), _harm_without(kind, brokers) - now
    for a, b in combinations(sorted(kind.replicas), 2) if with_pairs else ():
        yield (
            Failure(PAIR, (str(a), str(b))),
            _harm_without(kind, (a, b)) - now - alone[a] - alone[b],
        )
