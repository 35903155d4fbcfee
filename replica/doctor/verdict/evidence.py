"""Defines the evidence for a verdict on a cluster. Directories and lakes give equal evidence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from replica.doctor.check.catalogue import groups
from replica.doctor.check.rule import Finding
from replica.doctor.health.absent import Absence
from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.copy_first import CopyFirst
from replica.doctor.health.emptied import Emptied
from replica.doctor.health.leaderless import leaderless_partitions, leaderless_since
from replica.doctor.health.refusing import refusing_partitions, refusing_since
from replica.doctor.health.returning import Returning
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.health.set_aside import SetAside
from replica.doctor.health.signs_of_life import SignsBackwards
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import KnownVoter
from replica.doctor.verdict.verdict import (
    NO_LEADER_YET,
    NO_RECORD_HERE,
    NO_VOTERS_NAMED,
    Gap,
    KnownState,
    MissingVoters,
)
from replica.history.commitment import Losses
from replica.words import listed, ms_text

NO_LOG = Gap(
    "a cluster's state and logs",
    "nothing here has a metadata log that can be read",
    "If nodes of the cluster have started, name their directories. Else start its voters: "
    "`kraftlake check --config` with the server.properties of each node says which start and join.",
)
"""The gap if no log was given, for example if all directories were only formatted."""
_NO_METADATA_LOG = Gap(
    "a cluster's state and logs",
    "what was given holds partitions of a broker with several log directories, and no metadata log",
    groups.METADATA_LOG_NOT_GIVEN.next_step,
)


def no_log(found: Iterable[Finding]) -> Gap:
    """The gap if no log was given. found: the findings about what was given."""
    rules = {one.rule.id for one in found}
    return _NO_METADATA_LOG if rules == {groups.METADATA_LOG_NOT_GIVEN.id} else NO_LOG


NEVER_LED = Gap(
    "the cluster's state",
    NO_LEADER_YET,
    "`kraftlake check --config` with the server.properties of each node says which nodes start and "
    "join. If all do, look in the controllers' logs for addresses at which no voter answers.",
)
NEVER_WRITTEN = Gap(
    "the cluster's state",
    NO_RECORD_HERE,
    "If no other log holds a record either, no voter was ever elected: `kraftlake check --config` "
    "says which nodes start and join.",
)
NO_VOTERS_KNOWN = Gap(
    "the cluster's state",
    NO_VOTERS_NAMED,
    "If a controller's directory is not among these, add it. Else no voter was ever elected: "
    "`kraftlake check --config` with the server.properties of each node says which nodes start and "
    "join.",
)
PASSED_OVER = "--pass-over says that they change no state of Kafka's"
"""Why records that a replay passes over aren't judged."""
MAX_STEPS = 200_000
"""The maximum number of offsets that are read backwards to find since when partitions have no
leader."""


def voters_of(quorum: KnownQuorum | None) -> tuple[KnownVoter, ...]:
    """The value of ClusterEvidence.known_voters."""
    return () if quorum is None or quorum.is_conflicting else quorum.voters


def unled_of(quorum: KnownQuorum | None) -> tuple[str, ...]:
    """The value of ClusterEvidence.unled."""
    return () if quorum is None else tuple(map(str, quorum.unled))


def never_written(absent: Collection[int] | None) -> Gap:
    """The gap of a cluster whose logs hold no record. absent: the voters whose nodes have no given
    directory; None if no file names the voters."""
    if absent is None:
        return NO_VOTERS_KNOWN
    return NEVER_WRITTEN if absent else NEVER_LED


class PlacedFinding(NamedTuple):
    """A finding about files, and where it is: a node such as `node 2`, else a path."""

    where: str
    finding: Finding


class StoppedBefore(NamedTuple):
    """A broker that had stopped some time before it was fenced."""

    broker: int
    at_ms: int | None
    """The time of the last sign of life, in ms since 1970 (UTC); None where none is known."""
    is_own_end: bool = False
    """Whether the last sign of life is the last record in the broker's own copy of the log."""


class Since(NamedTuple):
    """Since when the subjects of a fact have been in one state: for example since when partitions
    have had no leader."""

    first_ms: int
    """The time at which the first subject reached this state, in ms since 1970 (UTC)."""
    last_ms: int
    """The time at which the last subject reached this state, in ms since 1970 (UTC)."""
    is_exact: bool = True
    """False where the state may have begun earlier than first_ms."""
    stopped: tuple[StoppedBefore, ...] = ()
    """The brokers that had stopped some time before they were fenced, if this state began with
    their fencing."""
    at_first: int = 1
    """The number of subjects that reached the state in the same second as the first one."""
    created_ms: int | None = None
    """The time at which the first subject was created, in ms since 1970 (UTC); None if a subject
    may be older than the changes that were read."""


def leaderless(cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]) -> Since | None:
    """Since when partitions have no leader; None if every partition has a leader, or if no time is
    known. steps: gives the changes that led to the state, newest first; it is called only if
    needed."""
    keys = leaderless_partitions(cluster)
    if not keys:
        return None
    created: dict[PartitionKey, int | None] = {}
    signs, remaining = SignsBackwards(cluster), _noting_created(steps(), keys, created)
    began = leaderless_since(keys, _taken_back(remaining, signs))
    times = [one.at for one in began.values() if one.at is not None]
    if not times:
        return None
    while not signs.is_complete and (step := next(remaining, None)) is not None:
        signs.take_back(step)
    stopped = (
        StoppedBefore(broker, None if one.seen is None else one.seen.at, one.is_own_end)
        for broker, one in sorted(signs.found.items())
        if one.fenced.at in times and not one.is_after_a_step_back
    )
    first = min(times)
    born = [at for at in created.values() if at is not None]
    return Since(
        first,
        max(times),
        is_exact=len(times) == len(keys),
        stopped=(*stopped,),
        at_first=sum(ms_text(at) == ms_text(first) for at in times),
        created_ms=min(born) if len(born) == len(keys) else None,
    )


def refusing(cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]) -> Since | None:
    """Since when partitions that have a leader refuse writes with acks=all; None if none does, or
    if no time is known. steps: as for leaderless."""
    keys = refusing_partitions(cluster)
    if not keys:
        return None
    began = refusing_since(cluster, keys, steps())
    times = [one.at for one in began.values() if one.at is not None]
    if not times:
        return None
    at_first = sum(ms_text(at) == ms_text(min(times)) for at in times)
    return Since(min(times), max(times), is_exact=len(times) == len(keys), at_first=at_first)


def _noting_created(
    steps: Iterable[VisibleChange],
    keys: Collection[PartitionKey],
    created: dict[PartitionKey, int | None],
) -> Iterator[VisibleChange]:
    """The steps, unchanged. For each step that creates one of these partitions, the step's time is
    noted in `created`."""
    for step in steps:
        for table, key, before in step.before:
            if table == "partitions" and before is None and key in keys:
                created[key] = step.at
        yield step


def _taken_back(steps: Iterator[VisibleChange], signs: SignsBackwards) -> Iterator[VisibleChange]:
    for step in steps:
        signs.take_back(step)
        yield step


@dataclass(frozen=True, slots=True)
class ToLose:
    """Records that logs hold now, and lose once their nodes follow the other nodes."""

    nodes: tuple[str, ...]
    """The nodes that lose the records, such as `2`."""
    first: int
    """The offset of the first lost record; where the logs diverge, if `records` is None."""
    records: int | None
    """The number of lost records; None if it is unknown which log wins an election."""
    lost: Losses | None
    """The number of lost records by their commitment; None if `records` is None."""
    meaning: str = ""
    """What the lost records would have changed, such as `5 topics with 15 partitions were never
    created`; "" where that isn't known."""
    if_stopped: bool = False
    """Whether some of the lost records count as never committed only if no node ran while the
    directories were copied."""
    if_led_by: tuple[str, ...] = ()
    """The records are lost only if one of these nodes leads. Each of these nodes itself loses
    records to other logs. Empty if the records are lost to a log that loses nothing."""


def losses_of(sides: Iterable[tuple[ToLose, Iterable[int]]]) -> tuple[ToLose, ...]:
    """The losses of all logs. Logs that lose the same records share one loss. The losses to a log
    that loses nothing itself come first.

    sides: for each loss of one log a pair: the loss, which names the log's node, and the ids of the
    nodes whose logs cause the loss.
    """
    to: dict[ToLose, set[int]] = {}
    for loss, others in sides:
        to.setdefault(loss, set()).update(others)
    losers = {int(node) for loss in to for node in loss.nodes}
    alike: dict[ToLose, set[int]] = {}
    for loss, others in to.items():
        leaders = tuple(map(str, sorted(others))) if others <= losers else ()
        key = replace(loss, nodes=(), if_led_by=leaders)
        alike.setdefault(key, set()).update(map(int, loss.nodes))
    found = (replace(one, nodes=tuple(map(str, sorted(nodes)))) for one, nodes in alike.items())
    return tuple(sorted(found, key=lambda one: bool(one.if_led_by)))


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """What is known of one cluster."""

    cluster_id: str | None = None
    """The cluster id; None if no file names it."""
    nodes: int = 0
    """The number of nodes whose directories were given."""
    findings: tuple[PlacedFinding, ...] = ()
    """The findings about files and logs."""
    to_lose: tuple[ToLose, ...] = ()
    """The losses that replace the findings of log-divergence."""
    health: tuple[Finding, ...] | None = None
    """The findings about the cluster's state; None if no state was judged."""
    partitions: int = 0
    """The number of partitions in the state."""
    leaderless: Since | None = None
    """Since when partitions have no leader; None where none lacks one, or no time is known."""
    refusing: Since | None = None
    """Since when partitions with a leader refuse writes; None where none does, or no time is
    known."""
    returning: tuple[Returning, ...] = ()
    """The brokers that hold replicas and aren't live, in the order in which to start them: see the
    function `returning`."""
    leaderless_in_restart: Mapping[int, int] = field(default_factory=dict)
    """For each live broker that has lost a log directory, the number of further partitions without
    leader while it restarts: see the function `leaderless_in_restart`."""
    still_refusing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The partitions that refuse writes even after the start of all brokers: see the function
    `still_refusing`."""
    copy_first: tuple[CopyFirst, ...] = ()
    """The brokers whose log directories have to be copied before their start: see copies_first."""
    emptied: tuple[Emptied, ...] = ()
    """The brokers that must not run while other brokers start: see emptied_brokers."""
    absent: Mapping[int, Absence] = field(default_factory=dict)
    """Why each broker that isn't live is absent: see absent_brokers."""
    voters: tuple[str, ...] = ()
    """The nodes that are voters, such as `2`; empty where that isn't known."""
    known_voters: tuple[KnownVoter, ...] = ()
    """The voters, and what is known of their disks; empty where the logs are two histories, or no
    voter is known."""
    unled: tuple[str, ...] = ()
    """The nodes in an epoch without a known leader, such as `2`: see KnownQuorum.unled."""
    unreliable: tuple[str, ...] = ()
    """The voters whose disks were given and can't be relied on."""
    replaced: tuple[str, ...] = ()
    """The voters for whose nodes disks with other directory ids were given."""
    state: KnownState | None = None
    """The newest known state; None if no state is known."""
    missing: MissingVoters | None = None
    """The voters without a given directory; None if there are none, or if no voter is known."""
    gaps: tuple[Gap, ...] = ()
    """What else could not be judged, besides `missing`."""
    set_aside: tuple[SetAside, ...] = ()
    """The folders beside the metadata logs that end with -delete or -stray; empty unless logs
    conflict."""
    put_back: str = ""
    """A sentence that says which nodes' disks were put back to older copies; "" where nothing shows
    it."""
    releases: str = ""
    """A sentence about the releases of Kafka that can start; "" without a reason for it: see
    releases_text."""

    @property
    def has_two_histories(self) -> bool:
        """Whether logs conflict, so that the state is that of one of two histories."""
        return any(one.finding.rule is groups.CONFLICT for one in self.findings)

    @property
    def reliable(self) -> tuple[str, ...]:
        """The voters whose disks are neither unreliable nor replaced."""
        return tuple(one for one in self.voters if one not in (*self.unreliable, *self.replaced))

    def with_unread(self, unread: Iterable[Finding]) -> ClusterEvidence:
        """The evidence together with findings about unreadable files. The place of each finding is
        its file, or the node that it names."""
        placed = (PlacedFinding(finding.where, finding) for finding in unread)
        return replace(self, findings=(*self.findings, *placed))


def well_text(evidence: ClusterEvidence) -> str:
    """The headline where nothing is wrong."""
    parts = []
    if evidence.nodes:
        nodes = "1 node are" if evidence.nodes == 1 else f"all {evidence.nodes} nodes given are"
        parts.append(f"the files of {nodes} in order")
    if evidence.nodes > 1:
        parts.append("their logs agree")
    if evidence.partitions:
        parts.append(f"all {evidence.partitions} partitions have a leader")
    return f"No fault found: {listed(parts)}." if parts else "No fault found."
