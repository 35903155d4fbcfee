"""Compares meta.properties, partition.metadata and quorum-state with each other and with the
log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replica.doctor.check.catalogue import files
from replica.doctor.check.epochs import EpochRun
from replica.doctor.check.examined import Examined, LeaderChangeBatch
from replica.doctor.check.rule import Finding, Rule
from replica.format.directory import MetadataDirectory
from replica.format.file_names import METADATA_FOLDER, FileKind
from replica.format.quorum_state import QuorumState
from replica.model.keys import METADATA_TOPIC_ID, NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import VotersAt

MANY_EPOCHS = 5
"""If the epoch in quorum-state is at least this much above the log's epoch, elections keep failing.
A single election may take a few epochs, because it may have several candidates."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the log and its snapshots say about epochs and voters."""

    last_epoch: int | None
    """The epoch of the last batch; None for an empty log."""
    changes: tuple[LeaderChangeBatch, ...]
    """The LeaderChange records of the log."""
    voters: frozenset[int]
    """Every node id that a record of the log or of a snapshot names as a voter."""
    newest: VotersAt | None
    """The voters record in force at the log's end; None if no record names voters."""


def known_of(
    examined: Examined, runs: Sequence[EpochRun], changes: tuple[LeaderChangeBatch, ...]
) -> Known:
    """Gathers the facts about the log and its snapshots."""
    named = (voters.voters for voters, _ in examined.voters_records)
    by_records = {key.node_id for voters in named for key in voters}
    by_leaders = {voter.voter_id for change in changes for voter in change.message.voters}
    return Known(
        runs[-1].epoch if runs else None,
        changes,
        frozenset(by_records | by_leaders),
        None if examined.newest_voters is None else examined.newest_voters[0],
    )


def judge_state_files(examined: Examined, known: Known) -> Iterator[Finding]:
    """The findings about the identity that meta.properties and partition.metadata name, and about
    quorum-state."""
    directory = examined.directory
    if examined.is_directory:
        yield from _judge_meta(examined)
        yield from _judge_topic_id(examined)
    if directory.quorum_state is not None:
        yield from _judge_quorum_state(examined, directory.quorum_state, known)
    elif (
        known.last_epoch is not None
        and examined.is_complete
        and examined.lacks(FileKind.QUORUM_STATE)
    ):
        message = f"the log is in epoch {known.last_epoch}"
        yield _without_quorum_state(examined, known).at("", message, epoch=known.last_epoch)
    yield from _judge_own_voter(examined, known)


def _without_quorum_state(examined: Examined, known: Known) -> Rule:
    is_observer = (
        bool(known.voters)
        and examined.replica is not None
        and examined.replica.node_id not in known.voters
    )
    return files.OBSERVER_WITHOUT_QUORUM_STATE if is_observer else files.QUORUM_STATE_MISSING


def _judge_meta(examined: Examined) -> Iterator[Finding]:
    meta = examined.directory.meta
    if examined.is_complete and examined.lacks(FileKind.META_PROPERTIES):
        yield files.META_PROPERTIES_MISSING.at("", "no meta.properties")
    elif meta is not None and meta.replica is None:
        absent = "cluster.id" if meta.cluster_id is None else "node.id"
        path = examined.path_of(FileKind.META_PROPERTIES)
        yield files.META_PROPERTIES_BROKEN.at(path, f"no {absent}")


def _judge_topic_id(examined: Examined) -> Iterator[Finding]:
    path = examined.path_of(FileKind.PARTITION_METADATA)
    found = examined.directory.topic_id
    if path.startswith(f"{METADATA_FOLDER}/") and found not in (None, METADATA_TOPIC_ID):
        yield files.TOPIC_ID.at(path, f"topic id {found}")


def _judge_quorum_state(examined: Examined, state: QuorumState, known: Known) -> Iterator[Finding]:
    path = examined.path_of(FileKind.QUORUM_STATE)
    last, epoch = known.last_epoch, state.leader_epoch
    if last is not None and epoch != last:
        rule = files.QUORUM_STATE_AHEAD if epoch > last else files.QUORUM_STATE_BEHIND
        if epoch - last >= MANY_EPOCHS and state.leader_id == NO_NODE:
            rule = files.ELECTIONS_WITHOUT_WINNER
        message = f"epoch {epoch}, the log's last batch has epoch {last}"
        yield rule.at(path, message, epoch=epoch)
    yield from _judge_leader(path, state, known)
    yield from _judge_votes(path, state, known)
    yield from _judge_draft_fields(examined.directory, path, state)


def _judge_leader(path: str, state: QuorumState, known: Known) -> Iterator[Finding]:
    for change in known.changes:
        led_by = change.message.leader_id
        if change.epoch == state.leader_epoch and state.leader_id not in (NO_NODE, led_by):
            yield files.QUORUM_STATE_LEADER.at(
                path,
                f"leader {state.leader_id} of epoch {change.epoch}; by the log it is {led_by}",
                offset=change.offset,
                epoch=change.epoch,
            )
    if state.current_voters and known.changes:
        newest = known.changes[-1]
        told = sorted(voter.voter_id for voter in newest.message.voters)
        if sorted(state.current_voters) != told:
            yield files.QUORUM_STATE_VOTERS.at(
                path,
                f"voters {sorted(state.current_voters)}; by the log {told}",
                offset=newest.offset,
                epoch=newest.epoch,
            )


def _judge_votes(path: str, state: QuorumState, known: Known) -> Iterator[Finding]:
    voters = known.voters | set(state.current_voters)
    # if quorum-state has a newer epoch, the log that was read may lack the record that made a node
    # a voter
    if not voters or known.last_epoch is None or state.leader_epoch > known.last_epoch:
        return
    # behind a snapshot the voters at the epoch's beginning are unknown: its leader may have been
    # removed since
    if not state.current_voters and state.leader_epoch not in {c.epoch for c in known.changes}:
        return
    for what, node in (("leader", state.leader_id), ("vote for node", state.voted_id)):
        if node != NO_NODE and node not in voters:
            message = f"{what} {node}; the voters known here are {sorted(voters)}"
            yield files.QUORUM_STATE_VOTE.at(path, message, epoch=state.leader_epoch)


def _judge_draft_fields(
    directory: MetadataDirectory, path: str, state: QuorumState
) -> Iterator[Finding]:
    """Findings about the fields clusterId and appliedOffset, which only version 0 of quorum-state
    has. Kafka writes an empty text and 0 into them."""
    fields = dict(state.fields)
    applied = fields.get("appliedOffset")
    end = directory.log_end_offset
    if isinstance(applied, int) and applied > end:
        message = f"appliedOffset {applied}, the log end offset is {end}"
        yield files.QUORUM_STATE_APPLIED_OFFSET.at(path, message, offset=applied)
    cluster = fields.get("clusterId")
    own = None if directory.meta is None else directory.meta.cluster_id
    if cluster and own is not None and cluster != own:
        message = f"clusterId {cluster}; meta.properties has {own}"
        yield files.QUORUM_STATE_CLUSTER.at(path, message)


def _judge_own_voter(examined: Examined, known: Known) -> Iterator[Finding]:
    replica, newest = examined.replica, known.newest
    if replica is None or newest is None or replica.directory_id == ZERO_UUID:
        return
    accepted = (ReplicaKey(replica.node_id), replica.key)
    mine = [key for key in newest.voters if key.node_id == replica.node_id]
    if mine and not any(key in accepted for key in mine):
        names = ", ".join(sorted(key.directory_id for key in mine))
        yield files.VOTER_DIRECTORY_ID.at(
            examined.path_of(FileKind.META_PROPERTIES),
            f"directory.id {replica.directory_id}; voter {replica.node_id} is {names}",
            offset=max(newest.offset, 0),
            epoch=newest.epoch,
        )
