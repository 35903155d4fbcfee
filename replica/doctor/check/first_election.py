"""A quorum before its first election: how each node was formatted, and who may lead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from replica.doctor.check.catalogue import startup
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.errors import DataError
from replica.format import meta_properties
from replica.format.compression import Inflation
from replica.format.directory import SnapshotFile
from replica.format.formatted import FormattedDirectory
from replica.metadata.changes.naming import SCRAM_MECHANISMS
from replica.metadata.changes.releases import level_text
from replica.metadata.codec import decode
from replica.metadata.record import MetadataRecord
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import NO_NODE, ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys, majority
from replica.terminal_text import one_line
from replica.words import listed, named


class Formatting(StrEnum):
    """How kafka-storage formatted a node. The values are part of the output of `check --json`."""

    STANDALONE = "standalone"
    """The node was formatted with --standalone: it is the only voter."""
    INITIAL_CONTROLLERS = "initial-controllers"
    """The node was formatted with --initial-controllers, which named the first voters."""
    STATIC = "static"
    """The node was formatted without voters, and has started with controller.quorum.voters."""
    NO_VOTERS = "no-voters"
    """The node was formatted without voters, and none of its files names any: the node will join a
    quorum, or is a voter of a static quorum that never started."""


@dataclass(frozen=True, slots=True)
class FormattedNode:
    """A node whose log holds no record."""

    replica: ReplicaId
    file: str
    """The node's meta.properties, as the user would write its path."""
    shown: tuple[str, ...]
    """The node's log directories; the directory of the metadata log is the first."""
    formatting: Formatting
    voters: VoterKeys = frozenset()
    """The voters that the node's own files name."""
    epoch: int | None = None
    """The epoch in quorum-state; None if there is no quorum-state."""
    leader: int | None = None
    """The id of the node that quorum-state names as leader; None if it names none."""
    records: frozenset[str] | None = None
    """The records that formatting has written for the first leader, such as `metadata.version
    4.1-IV1` or `SCRAM-SHA-256 of admin`; None if they weren't read."""


def formatted_nodes(
    members: Sequence[Examined], formatted: Iterable[FormattedDirectory] = ()
) -> tuple[FormattedNode, ...]:
    """The nodes of directories whose logs hold no record, ordered by cluster and node; empty if any
    log holds a record. formatted: log directories without a metadata log."""
    if any(one.last_batch is not None or _has_snapshot(one) for one in members):
        return ()
    owned = (one for one in members if one.replica is not None)
    nodes = {(one.owner.cluster_id, one.owner.node_id): _node(one) for one in owned}
    for one in formatted:
        key = (one.replica.cluster_id, one.replica.node_id)
        known = nodes.get(key)
        shown = (one.shown,) if known is None else (*known.shown, one.shown)
        base = known or FormattedNode(one.replica, one.meta_properties, (), Formatting.NO_VOTERS)
        nodes[key] = replace(base, shown=shown)
    return tuple(nodes[key] for key in sorted(nodes))


def _has_snapshot(examined: Examined) -> bool:
    return any(found != BOOTSTRAP_SNAPSHOT for found, _ in examined.usable_snapshots)


def _node(examined: Examined) -> FormattedNode:
    state = examined.directory.quorum_state
    newest = examined.newest_voters
    initial = frozenset() if newest is None else newest[0].voters
    static = frozenset(() if state is None else state.current_voters)
    if initial:
        is_alone = {one.node_id for one in initial} == {examined.owner.node_id}
        how = Formatting.STANDALONE if is_alone else Formatting.INITIAL_CONTROLLERS
    else:
        how = Formatting.STATIC if static else Formatting.NO_VOTERS
    return FormattedNode(
        examined.owner,
        examined.shown_file(meta_properties.FILE_NAME),
        (os.path.dirname(examined.shown) or ".",),
        how,
        initial or frozenset(map(ReplicaKey, static)),
        None if state is None else state.leader_epoch,
        None if state is None or state.leader_id == NO_NODE else state.leader_id,
        frozenset(_records(examined)),
    )


def _records(examined: Examined) -> Iterator[str]:
    """The names of the records that formatting wrote for the first leader. The values of the
    records may be secret, and are left out."""
    first = (one for found, one in examined.usable_snapshots if found == BOOTSTRAP_SNAPSHOT)
    bootstrap = examined.directory.bootstrap
    for file in (*first, *(() if bootstrap is None else (bootstrap,))):
        for record in _metadata_in(examined, file):
            yield _described(record)


def _metadata_in(examined: Examined, file: SnapshotFile) -> Iterator[MetadataRecord]:
    content = examined.content_of(file)
    inflation = Inflation(content.size)
    for batch in file.scan.batches:
        if batch.header.is_control or not batch.crc_valid:
            continue
        for record in content.whole_records(batch, inflation):
            try:
                message = decode(record.value or b"")
            except DataError:  # the rule undecodable-record reports it
                continue
            if isinstance(message, MetadataRecord):
                yield message


def _described(record: MetadataRecord) -> str:
    fields: Mapping[str, Any] = record.fields
    if record.type == "FEATURE_LEVEL_RECORD":
        name, level = fields["name"], fields["featureLevel"]
        return one_line(f"{name} {level_text(name, level)}")
    if record.type == "USER_SCRAM_CREDENTIAL_RECORD":
        number = fields["mechanism"]
        mechanism = SCRAM_MECHANISMS.get(number) or f"SCRAM {number}"
        return one_line(f"{mechanism} of {fields['name']}")
    return record.type


@dataclass(frozen=True, slots=True)
class Candidates:
    """The nodes that may lead a cluster that never had a leader."""

    cluster_id: str
    voters: frozenset[int]
    """The ids of all voters that the nodes' files name; empty if no file names any."""
    given: frozenset[int]
    """The ids of the nodes that were given and formatted with this cluster id."""
    elsewhere: frozenset[int] = frozenset()
    """The ids of the nodes that were given and formatted with another cluster id."""

    @property
    def text(self) -> str:
        """One sentence that says which nodes may lead, without its full stop."""
        if not self.voters:
            return (
                "no file here names a voter; nobody may lead unless controller.quorum.voters does"
            )
        shown = named("voter", [str(one) for one in sorted(self.voters)])
        needed = majority(len(self.voters))
        absent = self.voters - self.given
        runs = "once it runs" if needed == len(self.voters) == 1 else f"once {needed} of them run"
        if others := absent & self.elsewhere:
            runs += f" with this cluster id; formatted with another one: {_nodes(others)}"
        rest = f"; not given: {_nodes(absent - others)}" if absent - others else ""
        return f"{shown} may lead {runs}{rest}"


def _nodes(ids: Iterable[int]) -> str:
    return named("node", [str(one) for one in sorted(ids)])


def candidates(nodes: Sequence[FormattedNode]) -> tuple[Candidates, ...]:
    """The candidates of each cluster of these nodes."""
    return tuple(
        Candidates(
            cluster_id,
            frozenset(voter.node_id for one in own for voter in one.voters),
            frozenset(one.replica.node_id for one in own),
            frozenset(one.replica.node_id for one in nodes if one not in own),
        )
        for cluster_id in dict.fromkeys(one.replica.cluster_id for one in nodes)
        for own in [[one for one in nodes if one.replica.cluster_id == cluster_id]]
    )


def judge_first_election(nodes: Sequence[FormattedNode]) -> Iterator[Finding]:
    """Findings about faults that prevent the election of a leader, and about records that the first
    leader may lack. They name files as the user does."""
    for cluster in candidates(nodes):
        own = [one for one in nodes if one.replica.cluster_id == cluster.cluster_id]
        started = [one for one in own if one.epoch is not None]
        is_led = any(one.leader is not None for one in own)
        if started and not cluster.voters and not is_led:
            names = [str(one.replica.node_id) for one in started]
            message = f"{named('node', names)} started without voters"
            yield startup.FORMATTED_WITHOUT_VOTERS.at(started[0].file, message)
        yield from _judge_records(own, cluster.voters)


def _judge_records(nodes: Sequence[FormattedNode], voters: frozenset[int]) -> Iterator[Finding]:
    """Findings about records that only some of the possible first leaders have."""
    leading = [one for one in nodes if one.replica.node_id in voters or not voters]
    known = [one for one in leading if one.records]
    everything = frozenset().union(*(one.records or frozenset() for one in known))
    for one in known:
        lacking = sorted(everything - (one.records or frozenset()))
        if lacking:
            have = [str(other.replica.node_id) for other in known
                    if lacking[0] in (other.records or ())]  # fmt: skip
            message = f"node {one.replica.node_id} lacks {listed(lacking, limit=3)}; " + (
                f"{named('node', have)} {'has' if len(have) == 1 else 'have'} it"
            )
            yield startup.BOOTSTRAP_RECORDS_DIFFER.at(one.file, message)
