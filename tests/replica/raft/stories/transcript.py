"""The steps of a core as lines that a person can follow.

A step is a line `NODE @TIME ms: INPUT` and below it the role if that changed, then every effect in
the order in which a host carries them out. Values are short: `2a` is node 2 with the directory "a",
`5-1` an offset and its epoch, `[3-4]` a batch by its offsets, both inclusive. Left out are fields
with their defaults, and fields that are the same in every message of a story.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum

from replica.model.batch import Batch
from replica.model.control import LeaderChange
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch, SnapshotFacts
from replica.model.voters import Endpoint, Voter, VoterSet
from replica.raft.config import FOREVER
from replica.raft.effects import Effects, Reply, Send
from replica.raft.inputs import Failed, Propose, Request, Response
from replica.raft.messages import PeerRequest, PeerResponse, ReplicaState
from replica.raft.roles import Leader
from tests.replica.raft.host import voter
from tests.replica.raft.quorum import Letter, node_of
from tests.replica.raft.step import Step

_SAID_BY_ALL = {
    "cluster_id": ("cluster", None),
    "max_bytes": (1024 * 1024, 2**31 - 1),
    "max_wait_ms": (200, 0),
}


def told(node_id: int, before: Step | None, step: Step) -> list[str]:
    """The lines of one step; none where nothing changed and no message was the input."""
    lines = [f"    role {role_text(step)}"] if _has_new_role(before, step) else []
    if before is not None and step.voters != before.voters:
        lines.append(f"    voters {text(step.voters)}")
    known = {} if before is None else before.illegal
    offences = [each for each in step.illegal if step.illegal[each] != known.get(each)]
    lines += [f"    illegal: {offence.mistake}" for offence in offences]
    for field in fields(Effects):
        lines += _effect(field.name, getattr(step.effects, field.name))
        if field.name == "append" and step.effects.append:
            lines.append("    flush")
    if not lines and not isinstance(step.event, Request | Response | Failed):
        return []
    return [f"{node_id} @{step.now}: {_event(step.event)}", *(lines or ["    nothing"])]


def letter_text(letter: Letter) -> str:
    """A message on its way: its sender, its receiver, and its fields."""
    number, way = letter.correlation_id, f"{_node(letter.sender)}->{_node(letter.to)}"
    return f"{way} #{number} {text(letter.message)}"


def role_text(step: Step) -> str:
    """The role, its epoch, and the leader and vote that it has stored."""
    role = step.role
    words = [type(role).__name__, f"epoch={role.epoch}"]
    if role.leader_id != NO_NODE and not isinstance(role, Leader):
        words.append(f"leader={role.leader_id}")
    if role.voted is not None:
        words.append(f"voted={text(role.voted)}")
    if getattr(role, "fetching", None) is not None:
        words.append(f"fetching={text(role.fetching)}")
    return " ".join(words)


def text(value: object) -> str:
    """A value of the core in a few characters."""
    for kind, short in _SHORT.items():
        if isinstance(value, kind):
            return short(value)
    if is_dataclass(value):
        name = type(value).__name__
        words = [name.removesuffix("Request"), *_said(value)]
        return " ".join(words) if isinstance(value, PeerRequest | PeerResponse) else _call(words)
    return str(value)


def _has_new_role(before: Step | None, step: Step) -> bool:
    return before is None or role_text(before) != role_text(step)


def _event(event: object) -> str:
    if isinstance(event, Request):
        return f"{_asker(event.request_id)} asks {text(event.message)}"
    if isinstance(event, Response):
        return f"{_node(event.node_id)} answers #{event.correlation_id} {text(event.message)}"
    if isinstance(event, Propose):
        return f"Propose {text(tuple(proposal.data for proposal in event.batches))}"
    return text(event)


def _effect(name: str, value: object) -> list[str]:
    """The lines of one field of Effects; none where it asks for nothing."""
    if value is None:
        return []
    shown = name.replace("_", "-")
    values = value if isinstance(value, tuple | list) else (value,)
    return [f"    {_EFFECTS.get(name, shown)} {text(each)}" for each in values]


_EFFECTS = {
    "replies": "reply",
    "sends": "send",
    "snapshot_parts": "write",
    "delete_snapshots": "delete-snapshot",
}


def _reply(reply: Reply) -> str:
    read = "" if reply.read is None else f" + {text(reply.read)}"
    return f"{_asker(reply.request_id)}: {text(reply.message)}{read}"


def _send(send: Send) -> str:
    usual = send.endpoints in ((), voter(send.node_id).endpoints)
    place = "" if usual else f" at {text(send.endpoints)}"
    return f"#{send.correlation_id} to {_node(send.node_id)}{place}: {text(send.message)}"


def _said(value: object) -> list[str]:
    """`name=value` for every field that isn't left out."""
    said = []
    for field in fields(value):
        name, found = field.name, getattr(value, field.name)
        if name == "leader_endpoints" and _is_usual(value, found):
            continue
        if found == field.default or found in _SAID_BY_ALL.get(name, ()):
            continue
        said.append(name if found is True else f"{name}={text(found)}")
    return said


def _is_usual(value: object, endpoints: tuple[Endpoint, ...]) -> bool:
    leader_id = value.leader_id
    return endpoints == (() if leader_id == NO_NODE else voter(leader_id).endpoints)


def _call(words: list[str]) -> str:
    return f"{words[0]}({' '.join(words[1:])})" if len(words) > 1 else words[0]


def _asker(request_id: object) -> str:
    if isinstance(request_id, tuple):
        sender, _, number = request_id
        return f"{_node(sender)} #{number}"
    return str(request_id)


def _node(node_id: int) -> str:
    return str(node_id) if node_id >= NO_NODE else f"bootstrap-{node_of(node_id)}"


def _key(key: ReplicaKey) -> str:
    directory = key.directory_id
    known = directory.startswith("directory-") and directory.rstrip("A").rstrip("-")[-1]
    return f"{key.node_id}{'' if directory == ZERO_UUID else known or directory}"


def _voter(entry: Voter) -> str:
    usual = entry.endpoints == voter(entry.key.node_id).endpoints
    versions = (entry.min_kraft_version, entry.max_kraft_version)
    place = "" if usual else f"@{text(entry.endpoints)}"
    return f"{_key(entry.key)}{place}{'' if versions == (0, 1) else f' kraft.version {versions}'}"


def _batch(batch: Batch) -> str:
    first, last = batch.base_offset, batch.last_offset
    offsets = f"[{first}]" if first == last else f"[{first}-{last}]"
    content = text(batch.control) if batch.control else text(batch.data)
    return f"{offsets} epoch={batch.epoch} {content}"


def _bytes(data: bytes) -> str:
    plain = len(data) < 40 and data.isascii() and data.decode().isprintable()
    return f'"{data.decode()}"' if plain else f"<{len(data)} bytes>"


def _leader_change(record: LeaderChange) -> str:
    voters, granting = text(record.voters), text(record.granting_voters)
    return f"LeaderChange(leader={record.leader_id} voters={voters} granting={granting})"


def _replica_state(state: ReplicaState) -> str:
    fetched, caught_up = state.last_fetch, state.last_caught_up
    times = f"last_fetch={fetched} last_caught_up={caught_up}"
    return f"{text(state.replica)}(log_end={state.log_end} {times})"


def _facts(facts: SnapshotFacts) -> str:
    return f"{text(facts.snapshot_id)} ({facts.size} bytes)"


def _leader_and_epoch(leader: LeaderAndEpoch) -> str:
    name = "none" if leader.leader_id == NO_NODE else str(leader.leader_id)
    return f"{name} in epoch {leader.epoch}"


_SHORT = {
    ErrorCode: lambda error: error.name,
    bool: lambda flag: "yes" if flag else "no",
    int: lambda number: "never" if number == FOREVER else str(number),
    bytes: _bytes,
    Enum: lambda member: str(member.value),
    tuple: lambda values: f"[{' '.join(text(value) for value in values)}]",
    frozenset: lambda values: f"{{{' '.join(text(value) for value in sorted(values))}}}",
    ReplicaKey: _key,
    OffsetAndEpoch: lambda pair: f"{pair.offset}-{pair.epoch}",
    Endpoint: lambda endpoint: f"{endpoint.host}:{endpoint.port}",
    Voter: _voter,
    VoterSet: lambda voters: text(tuple(voters)),
    Batch: _batch,
    LeaderChange: _leader_change,
    ReplicaState: _replica_state,
    SnapshotFacts: _facts,
    LeaderAndEpoch: _leader_and_epoch,
    ElectionState: lambda state: " ".join(_said(state)),
    Reply: _reply,
    Send: _send,
}
