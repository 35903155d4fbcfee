"""What a node's metadata log says about its quorum before the node starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import files, snapshots
from replica.doctor.check.examined import Examined
from replica.doctor.check.group import JudgedDirectory
from replica.doctor.check.readable import unread_by
from replica.doctor.check.rule import Finding
from replica.doctor.startup.obstacle import NodeLog
from replica.format.quorum_state import FILE_NAME as _QUORUM_STATE
from replica.metadata.changes.readers import Reader
from replica.metadata.changes.unread import UnreadPlace
from replica.model.voters import VoterSet, voter_set

_HOLES = (snapshots.LOG_START_WITHOUT_SNAPSHOT, snapshots.SNAPSHOT_LOG_HOLE)


def node_log(member: JudgedDirectory, reader: Reader) -> NodeLog:
    """What the log says about the quorum, as a node of the reader's release reads it."""
    examined = member.examined
    last, directory = examined.last_batch, examined.directory
    epoch = -1 if last is None else last.header.leader_epoch
    return NodeLog(
        _static_voters(examined),
        _dynamic_voters(examined),
        (epoch, directory.log_end_offset),
        tuple(_unread(member, reader)),
        tuple(_broken(member)),
    )


def _unread(member: JudgedDirectory, reader: Reader) -> Iterator[UnreadPlace]:
    if member.partition.is_metadata:
        for one in unread_by(reader, member.examined):
            if one.stops:
                yield replace(one, file=member.examined.shown_file(one.file))


def _broken(member: JudgedDirectory) -> Iterator[Finding]:
    """The findings about files with which Kafka doesn't start, under the names that the user
    gave."""
    for one in member.findings:
        is_state = one.rule is files.STATE_FILE_BROKEN and one.file.endswith(_QUORUM_STATE)
        if is_state or one.rule in _HOLES:
            yield one.in_file(member.examined.shown_file(one.file))


def _static_voters(examined: Examined) -> frozenset[int]:
    changes, state = examined.leader_changes, examined.directory.quorum_state
    if changes:
        return frozenset(voter.voter_id for voter in changes[-1].message.voters)
    return frozenset(() if state is None else state.current_voters)


def _dynamic_voters(examined: Examined) -> VoterSet | None:
    if examined.newest_voters is None:
        return None
    _, record = examined.newest_voters
    return voter_set({voter.key.node_id: voter for voter in record.voters}.values())
