"""A cluster by its newest replayed state, which every rule of health judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from replica.doctor.check.rule import Finding, Rule, Subject
from replica.doctor.health.min_isrs import MinIsrs
from replica.doctor.quorum.conditions import NoLeader, uncounted_text
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import UNCOUNTED
from replica.doctor.quorum.log_ends import OwnEnd
from replica.metadata.image.image import Image
from replica.metadata.image.partition import Partition, offline_directory
from replica.metadata.image.settings import (
    METADATA_VERSION,
    MIGRATION,
    NO_MIGRATION,
    PRE_MIGRATION,
)
from replica.model.control import KRAFT_VERSION
from replica.model.voters import Voter, is_blocking
from replica.words import named, number

JUDGED = (
    "topic", "partition", "config", "broker", "controller", "feature",
    "voters", "kraft_version", "zk_migration_state",
)  # fmt: skip
"""The kinds of entities that the rules and exposures read."""
STOPPED_MS = 250
"""The time (ms) after which a running voter has its leader's records. Usually it takes a few ms."""
SHOWN_LIST = 5

LOST_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAg"
"""DirectoryId.LOST: the replica's directory is offline, and its id is unknown."""

PartitionKey: TypeAlias = tuple[str, int]


class Lag(NamedTuple):
    """How far a node's log is behind the newest log. end: the end (exclusive) of the part of the
    newest log that the node has. ms: the time (ms) from the last record of this part to the newest
    record, as lag_ms gives it."""

    end: int
    ms: int


class Beginning(NamedTuple):
    """The record with which a condition began."""

    offset: int
    at: int | None
    """The time of the record, in ms since 1970 (UTC); None if its batch has no time."""


class Shortened(NamedTuple):
    """A config that was changed while a broker was down: by its new value the broker deletes more
    of the topic than by the value that it had when the broker went down."""

    broker: int
    topic: str
    config: str
    was: str
    now: str
    offset: int
    """The offset of the record that changed the config."""


@dataclass(frozen=True)
class Cluster:
    """The newest state of one cluster. `unproven_from` is None if all records are proven to be
    committed; `uncommitted_from` is None if no record is known to be uncommitted."""

    image: Image
    cluster_id: str | None = None
    file: str = ""
    """The directory whose log gave the state."""
    end_offset: int = 0
    """The end (exclusive) of the state."""
    is_whole: bool = True
    """False if the log has further records behind `end_offset`."""
    refused_at: int | None = None
    """The offset of the first record before the end that can't be applied; None if all were
    applied."""
    voters: frozenset[int] = frozenset()
    """The ids of the voters in force; empty if unknown."""
    broker_defaults: Mapping[str, str] = field(default_factory=dict)
    """The configs of a broker's server.properties; empty if unknown."""
    starts: Mapping[PartitionKey, Beginning] = field(default_factory=dict)
    """The beginnings of running reassignments, as far as the log shows them."""
    shortened: tuple[Shortened, ...] = ()
    """The retention configs that were shortened while brokers were down (see
    shortened_while_down)."""
    vanished: frozenset[int] = frozenset()
    """The brokers that a record fenced though they had asked for no shutdown; empty if the log
    wasn't searched for them."""
    idle_when_fenced: frozenset[int] = frozenset()
    """The brokers of `vanished` that led no partition when they were fenced."""
    led_from_new_directories: frozenset[PartitionKey] = frozenset()
    """The partitions whose only replica that leads or may lead is in a new log directory, because
    its broker has lost the former directory. The replica may have begun without records. Empty if
    the log wasn't searched for such partitions."""
    now: int | None = None
    """The time of the log's last batch, in ms since 1970 (UTC); None without a log."""
    quorum: KnownQuorum | None = None
    """What the cluster's directories prove about its quorum and its log. None if the state comes
    from a running quorum, or from the history in a lake, without the directories of that moment."""
    unproven_from: int | None = None
    """The offset of the first record of the state, no-ops aside, that isn't proven to be
    committed."""
    uncommitted_from: int | None = None
    """The offset of the first unproven record that no majority of the voters holds: this record was
    not committed when the directories were read."""
    uncommitted_at: int | None = None
    """The time of the record at uncommitted_from, in ms since 1970 (UTC); None without this record,
    or if its batch has no time."""
    lags: Mapping[int, Lag] = field(default_factory=dict)
    """The lag of each node whose log was given and is far behind the newest log, by node id. A lag
    that may come from copying running nodes one after another is left out."""
    own_ends: Mapping[int, OwnEnd] = field(default_factory=dict)
    """The last record in each node's own copy of the log, by node id, for the nodes whose logs were
    given."""
    unstartable: Mapping[int, str] = field(default_factory=dict)
    """For each node that refuses to start with its directories: the rule and the finding; empty if
    `check` has not run."""
    cut_copy: str = ""
    """The name of the directory that gave the state, if it is an incomplete copy; else ""."""
    passed_over: str = ""
    """The records that the replay passes over, such as `2 records of types 501 and 516`."""
    given_directories: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """The ids of the given log directories, by node id; empty if unknown."""
    by_verdict: NoLeader | None = None
    """Why the quorum has no leader, or may have none, according to the verdict. None if the verdict
    shows no such reason, or has not been made yet."""

    def values(self, table: str) -> Mapping[Any, Any]:
        """The entities of one of the image's tables."""
        return self.image.tables[table].values

    def offsets(self, table: str) -> Mapping[Any, int]:
        """The offset of the record that last changed each entity, by the entity's table."""
        return self.image.tables[table].offsets

    @property
    def partitions(self) -> Mapping[PartitionKey, Partition]:
        """The partitions by topic id and partition id."""
        return self.values("partitions")

    @property
    def metadata_version(self) -> int | None:
        """The finalized level of metadata.version; None if no record names a level."""
        level: int | None = self.values("features").get(METADATA_VERSION)
        return level

    def level(self, feature: str) -> int:
        """The finalized level of a feature or of kraft.version; 0 if none is finalized."""
        table, key = ("kraft_version", "") if feature == KRAFT_VERSION else ("features", feature)
        return int(self.values(table).get(key, 0))

    @property
    def zk_migration(self) -> int:
        """The state of the migration from ZooKeeper, one of Kafka's ZkMigrationState; NO_MIGRATION
        if no record names one."""
        return int(self.values("zk_migration").get("", NO_MIGRATION))

    @cached_property
    def replicas_by_broker(self) -> Mapping[int, int]:
        """The number of partition replicas that the metadata assigns to each broker, registered or
        not."""
        return Counter(one for held in self.partitions.values() for one in held.replicas)

    @property
    def zk_brokers(self) -> tuple[int, ...]:
        """The registered brokers that still run with ZooKeeper (KIP-866)."""
        brokers = self.values("brokers")
        return tuple(sorted(one for one in brokers if brokers[one].get("isMigratingZkBroker")))

    @property
    def is_migrating(self) -> bool:
        """Whether the migration from ZooKeeper has begun and not ended (Kafka:
        ZkMigrationState.inProgress)."""
        return self.zk_migration in (PRE_MIGRATION, MIGRATION)

    @cached_property
    def voter_set(self) -> tuple[Voter, ...]:
        """The voters with their endpoints; empty in a static quorum."""
        found: tuple[Voter, ...] = self.values("voters").get("", ())
        return found

    @cached_property
    def live_brokers(self) -> frozenset[int]:
        """The brokers that may lead: they are registered, not fenced, not shutting down, and not
        down by the verdict."""
        brokers = self.values("brokers").items()
        return frozenset(one for one, fields in brokers if is_live(fields)) - self.down_unfenced

    @cached_property
    def online_directories(self) -> Mapping[int, frozenset[str]]:
        """The log directories that each registered broker has online. Brokers before Kafka 3.7,
        which name no directories, are left out."""
        return {
            broker_id: frozenset(fields["logDirs"])
            for broker_id, fields in self.values("brokers").items()
            if fields["logDirs"]
        }

    def offline_directory(self, partition: Partition, broker_id: int) -> str | None:
        """The id of the broker's log directory that has the partition's replica, if that directory
        isn't online: LOST_DIRECTORY if the id is unknown. None if the directory is online, if the
        broker hasn't named it yet, or if the broker holds no replica."""
        return offline_directory(partition, broker_id, self.online_directories.get(broker_id))

    def can_lead(self, partition: Partition, broker_id: int) -> bool:
        """Whether the broker is live, and has the directory of its replica online (Kafka:
        isAcceptableLeader)."""
        is_live = broker_id in self.live_brokers
        return is_live and self.offline_directory(partition, broker_id) is None

    @cached_property
    def down_unfenced(self) -> frozenset[int]:
        """The nodes that are down by the verdict, though no record fences their brokers: the quorum
        has no leader that could write such a record. These nodes are the nodes that the verdict
        names, and the voters that stopped before the newest log ends. Empty before the verdict was
        made, and if it isn't sure that there is no leader."""
        if self.by_verdict is None or not self.by_verdict.is_sure:
            return frozenset()
        stopped = self.voters & (frozenset(self.lags) | self.stopped_together)
        return self.by_verdict.down | (stopped - self.unreliable_voters)

    @cached_property
    def fenced_brokers(self) -> frozenset[int]:
        """The registered brokers that aren't live: they are fenced, shutting down, or down by the
        verdict."""
        return frozenset(self.values("brokers")) - self.live_brokers

    @property
    def voters_down(self) -> frozenset[int]:
        """The voters whose node is down or shutting down: the verdict says so, or the node is also
        a broker (process.roles=broker,controller) that is fenced or shutting down. The log doesn't
        show whether a node that is only a controller is down."""
        return self.voters & (self.fenced_brokers | self.down_unfenced)

    @cached_property
    def unreliable_voters(self) -> frozenset[int]:
        """The voters that must not be counted for a majority, because of the disk that was given
        for their node."""
        doubted = () if self.quorum is None else self.quorum.in_doubt(*UNCOUNTED)
        by_disks = frozenset(voter.key.node_id for voter in doubted)
        return by_disks | (self.voters & self.unstartable.keys())

    @cached_property
    def late_nodes(self) -> frozenset[int]:
        """The nodes whose logs are known to be behind, without the voters of stopped_together."""
        return frozenset(self.lags) - self.stopped_together

    @cached_property
    def uncounted_voters(self) -> frozenset[int]:
        """The voters that must not be counted for a majority because of their own directories: the
        disk can't be relied on, the voters stopped together, or the log is behind."""
        late = self.voters & self.late_nodes
        return self.unreliable_voters | self.stopped_together | late

    @property
    def voters_up(self) -> frozenset[int]:
        """The voters that may be counted for a majority: nothing shows that they are down, have
        stopped, are behind, or lack a disk that can be relied on. No log proves that they run.
        Outputs call them the voters that are left."""
        return self.voters - self.voters_down - self.uncounted_voters

    @cached_property
    def no_leader(self) -> NoLeader | None:
        """Why the quorum has no leader, or may have none; None if nothing shows that it lacks a
        leader. While there is no leader, no partition gets another leader, and no change is
        accepted."""
        if self.quorum is not None and self.quorum.is_leaderless:
            found = NoLeader("had no leader when the directories were copied", is_sure=True)
            return found._replace(first=(self.by_verdict or found).first)
        unreliable, count = self.voters & self.unreliable_voters, len(self.voters)
        if self.by_verdict is not None or not (unreliable and is_blocking(len(unreliable), count)):
            return self.by_verdict
        why = uncounted_text(unreliable) + ", and it is the only voter" * (count == 1)
        which = named("voter", [str(one) for one in sorted(unreliable)])
        first = f"do what `kraftlake check` says about {which}"
        return NoLeader(f"has perhaps no leader ({why})", is_sure=False, first=first)

    @property
    def is_led(self) -> bool:
        """False only if it is sure that the quorum has no leader."""
        return self.no_leader is None or not self.no_leader.is_sure

    @cached_property
    def is_combined(self) -> bool:
        """Whether nodes are voters and brokers, so that failures of brokers can take the quorum's
        majority."""
        return not self.voters.isdisjoint(self.values("brokers"))

    @property
    def stopped_together(self) -> frozenset[int]:
        """The voters that seem to have stopped at one moment: their logs all end at the same
        offset, the newest log has later changes, the other voters are no majority, and nothing
        shows that these voters ran later. An idle leader appends two records a second, so equal
        ends mean equal times.

        Empty if there are no such voters. Also empty if the newest log continues for less than
        STOPPED_MS, because its last records may have been on their way to the voters.
        """
        quorum, since, now = self.quorum, self.uncommitted_at, self.now
        if quorum is None or since is None or now is None or now - since < STOPPED_MS:
            return frozenset()
        end = quorum.possible_end
        ended = [
            one.key.node_id for one in quorum.voters if one.held_end == end and not one.lived_on
        ]
        return frozenset(ended) if is_blocking(len(ended), len(quorum.voters)) else frozenset()

    def holders_of(self, offset: int) -> str:
        """The voters that hold a record of the newest log, as text: `1 of 5 voters (3)`."""
        voters = () if self.quorum is None else self.quorum.voters
        held = [one.key.node_id for one in voters if one.holds(offset)]
        who = f" ({', '.join(map(str, held))})" if held else ""
        return f"{number(len(held))} of {len(voters)} voters{who}"

    def about(self, rule: Rule, message: str, subjects: Collection[Subject]) -> Iterator[Finding]:
        """The rule's finding about these subjects; no finding without subjects."""
        if subjects:
            yield Finding(rule, self.file, message, subjects=tuple(subjects))

    def about_partitions(
        self, rule: Rule, messages: Mapping[PartitionKey, str]
    ) -> Iterator[Finding]:
        """The rule's finding about these partitions, in the order of their names; no finding
        without partitions. messages: what the finding says about each partition."""
        offsets = self.offsets("partitions")
        named = sorted((self.name_of(key), key) for key in messages)
        subjects = [Subject(name, messages[key], offsets[key]) for name, key in named]
        yield from self.about(
            rule, f"{len(messages)} of {len(self.partitions)} partitions", subjects
        )

    def name_of(self, key: PartitionKey) -> str:
        """The partition's name, such as orders-3."""
        return f"{self.values('topics')[key[0]]}-{key[1]}"

    def min_isr(self, key: PartitionKey, partition: Partition) -> int | None:
        """The partition's min.insync.replicas; None if unknown, as in MinIsrs.of."""
        return self.min_isrs.of(self.values("topics")[key[0]], partition)

    @cached_property
    def min_isrs(self) -> MinIsrs:
        """min.insync.replicas of topics and brokers."""
        return MinIsrs.in_configs(self.values("configs"), self.broker_defaults)


def is_live(registration: Mapping[str, Any]) -> bool:
    """Whether a broker with these fields is neither fenced nor shutting down."""
    return not registration["fenced"] and not registration["inControlledShutdown"]


def listed(ids: Iterable[int]) -> str:
    """The ids as a text such as [1, 2, 3]."""
    return f"[{', '.join(map(str, ids))}]"


def and_more(names: Collection[str]) -> str:
    """The first SHOWN_LIST names, and the number of further names, as text."""
    shown = list(names)[:SHOWN_LIST]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
