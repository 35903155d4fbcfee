"""What the directories of one cluster prove about its quorum
(see replica.doctor.quorum.known_quorum)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from replica.doctor.check.examined import (
    Examined,
    by_cluster,
    leaders_of,
)
from replica.doctor.check.history_log import outline_log, replica_log
from replica.doctor.check.partition import partition_of
from replica.doctor.check.registered import registered_later
from replica.doctor.quorum.attested import by_election, by_quorum_state, newest_epochs
from replica.doctor.quorum.known_quorum import KnownQuorum, QuorumFiles, known_quorum
from replica.doctor.quorum.lacks_own import lacks_own
from replica.doctor.quorum.log_ends import LogEnd
from replica.doctor.quorum.recovery import RecoveryPlan, plan_compared
from replica.doctor.quorum.went_back import ComparedRound, WentBack, each_once, went_back
from replica.format.file_names import FileKind
from replica.history.commitment import Commitment, GroupComparison, classify_compared, compare_group
from replica.history.log import ReplicaLog
from replica.model.keys import NO_NODE, ReplicaKey

MAX_COMPARED = 400
"""The most logs of a cluster that are compared pair by pair. A cluster has fewer than ten voters;
all other logs belong to brokers."""


@dataclass(frozen=True)
class ComparedLogs:
    """The directories of one cluster with their logs, compared in pairs. `group` and `commitment`
    are about the logs of at most MAX_COMPARED directories."""

    members: tuple[tuple[Examined, ReplicaLog], ...]
    """The directories, each with its log. If two directories name the same replica, the second log
    has another key."""
    group: GroupComparison
    commitment: Commitment
    left_out: tuple[Examined, ...] = ()
    """The directories whose logs are not compared."""
    went_back: tuple[WentBack, ...] = ()
    """The evidence about each replica whose disk went back to an older state since an earlier
    round."""

    @property
    def round(self) -> ComparedRound:
        return ComparedRound(self.group, self.commitment)

    @cached_property
    def settled(self) -> Commitment:
        """The commitment by which every command counts the lost records of a log. It comes from the
        recovery plan for these directories. It decides some records that `commitment` leaves
        unproven, and is right only if no node ran while the directories were copied."""
        return self.commitment if self._plan is None else self._plan.commitment

    @cached_property
    def outvoted(self) -> frozenset[ReplicaKey]:
        """The replicas that can't become leader, by the recovery plan for these directories."""
        return frozenset() if self._plan is None else self._plan.outvoted

    @cached_property
    def _plan(self) -> RecoveryPlan | None:
        if not self.group.logs:
            return None
        return plan_compared(self.round, self.files)

    @cached_property
    def files(self) -> QuorumFiles:
        """The content of the directories' other files. The newest log may be read again to find
        them."""
        return quorum_files(self.members, self.went_back)


EarlierRounds = Mapping[str, tuple[ComparedRound, ...]]
"""Earlier rounds of captures of replicas, by cluster id, the oldest first."""


def with_round(earlier: EarlierRounds, compared: Iterable[ComparedLogs]) -> EarlierRounds:
    """The earlier rounds, and the round of `compared` as the newest. An earlier round is left out
    if the newest round has all of its replicas, and no disk of them went back to an older state
    since."""
    rounds = dict(earlier)
    for logs in compared:
        cluster_id, now = logs.members[0][0].owner.cluster_id, logs.round
        keys = {log.key for log in now.group.logs}
        kept = tuple(
            one
            for one in rounds.get(cluster_id, ())
            if any(log.key not in keys for log in one.group.logs) or any(went_back(one, now))
        )
        rounds[cluster_id] = (*kept, now)
    return rounds


def went_back_since(
    earlier: EarlierRounds, cluster_id: str, now: ComparedRound
) -> tuple[WentBack, ...]:
    """The replicas whose disk went back since an earlier round of the cluster, each once."""
    rounds = earlier.get(cluster_id, ())
    return tuple(each_once(one for then in rounds for one in went_back(then, now)).values())


def earlier_rounds(rounds: Iterable[Sequence[Examined]]) -> EarlierRounds:
    """The compared logs of rounds of directories, by cluster id. rounds: the oldest first.
    Directories of other partitions, and directories whose replica is unknown, are left out."""
    earlier: EarlierRounds = {}
    for group in rounds:
        members = [one for one in group if partition_of(one).is_metadata]
        compared = [compared_logs(cluster, earlier) for cluster in by_cluster(members)]
        earlier = with_round(earlier, compared)
    return earlier


def each_round(
    rounds: Iterable[Sequence[Examined]],
) -> Iterator[tuple[EarlierRounds, ComparedLogs]]:
    """For each round of one cluster's directories, the oldest first: the rounds before it, and its
    compared logs. Directories whose replica is unknown are left out."""
    earlier: EarlierRounds = {}
    for members in _with_replicas(rounds):
        compared = compared_logs(members, earlier)
        yield earlier, compared
        earlier = with_round(earlier, [compared])


def _with_replicas(rounds: Iterable[Sequence[Examined]]) -> Iterator[list[Examined]]:
    """The directories of each round whose replica is known, without rounds that have none."""
    for group in rounds:
        members = [one for one in group if one.replica is not None]
        if members:
            yield members


def compared_logs(
    members: Sequence[Examined], earlier: EarlierRounds | None = None
) -> ComparedLogs:
    """Compare the logs of one cluster's directories, whose replicas are known, with each other and
    with their earlier rounds."""
    is_alone = len(members) == 1 and earlier is None
    read = outline_log if is_alone else replica_log
    logs = _distinct([read(one, one.shown) for one in members])
    pairs = tuple(zip(members, logs, strict=True))
    holding = [log for log in logs if log.batches]
    empty = [log for log in logs if not log.batches]
    # an empty log counts only by its id, if voters are named without directories
    group = compare_group(holding[:MAX_COMPARED] + empty[:MAX_COMPARED])
    beyond = {log.key for log in holding[MAX_COMPARED:]}
    left_out = tuple(one for one, log in pairs if log.key in beyond)
    compared = ComparedLogs(pairs, group, classify_compared(group), left_out)
    if earlier is None or members[0].replica is None:
        return compared
    return replace(
        compared, went_back=went_back_since(earlier, members[0].owner.cluster_id, compared.round)
    )


def known_quorum_of(compared: ComparedLogs) -> KnownQuorum:
    """What the directories prove about their quorum."""
    return known_quorum(compared.group, compared.commitment, compared.files)


def quorum_files(
    members: Sequence[tuple[Examined, ReplicaLog]], went_back: Iterable[WentBack] = ()
) -> QuorumFiles:
    """The facts about a quorum from one cluster's directories, other than the comparison of their
    logs: from quorum-state and the configuration, and from the LeaderChange and registration
    records. went_back: the facts from earlier rounds."""
    ends = list(_log_ends(members))
    return QuorumFiles(
        frozenset(log.key for one, log in members if one.hides_entries),
        newest_epochs(shown for one, _ in members for shown in _attested(one)),
        next((one.stated_voters for one, _ in members if one.stated_voters), frozenset()),
        {one.key: one for one in went_back},
        frozenset(log.key for one, log in members if _hides_votes(one)),
        lacks_own(ends),
        _time_at({log.key: one for one, log in members}),
        {log.key: one.shown for one, log in members if one.breaks_off},
        registered_later(members, ends),
    )


def _time_at(of: Mapping[ReplicaKey, Examined]) -> Callable[[ReplicaKey, int], int | None]:
    """The function QuorumFiles.time_at for directories. of: the directory of each replica."""
    return lambda key, offset: of[key].time_at(offset) if key in of else None


def _log_ends(members: Iterable[tuple[Examined, ReplicaLog]]) -> Iterator[LogEnd]:
    for one, log in members:
        if one.last_batch is not None:
            own, last = one.leader_changes, one.last_batch.header
            leads = bool(own) and own[-1].epoch == last.leader_epoch
            names_it = leads and own[-1].message.leader_id == log.key.node_id
            is_leader = names_it and not one.breaks_off  # its log may continue
            is_last = not one.breaks_off and last.next_offset == log.end_offset
            place = last.leader_epoch, last.next_offset
            yield LogEnd(log.key, *place, last.max_timestamp, is_leader, is_last)


def _hides_votes(examined: Examined) -> bool:
    """Whether the directory has a quorum-state that can't be read."""
    is_whole = examined.is_directory and examined.directory.quorum_state is None
    return is_whole and not examined.lacks(FileKind.QUORUM_STATE)


def _attested(examined: Examined) -> Iterator[tuple[ReplicaKey, int]]:
    """(replica, epoch) for each leader and each voter of an election that a directory records."""
    for change in examined.leader_changes:
        message = change.message
        voters, granting = leaders_of(message.voters), leaders_of(message.granting_voters)
        yield from by_election(change.epoch, message.leader_id, voters, granting)
    state = examined.directory.quorum_state
    if state is not None:
        voted = ReplicaKey(state.voted_id, state.voted_directory_id)
        yield from by_quorum_state(
            state.leader_epoch,
            None if state.voted_id == NO_NODE else voted,
            None if state.leader_id == NO_NODE else state.leader_id,
            is_static=state.version == 0,
        )


def _distinct(logs: Sequence[ReplicaLog]) -> list[ReplicaLog]:
    """The logs with different keys, even if two directories name the same replica, which the rule
    duplicate-identity reports."""
    seen: set[ReplicaKey] = set()
    found = []
    for number, log in enumerate(logs):
        if log.key in seen:
            key = ReplicaKey(log.key.node_id, f"{log.key.directory_id} ({number})")
            log = replace(log, key=key)
        seen.add(log.key)
        found.append(log)
    return found
