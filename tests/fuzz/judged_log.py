"""What the log of an attacked quorum may have: its leader's load, the records that clients
appended, and only those control records that voters themselves cause."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from replica.format.batch import HEADER
from replica.format.record import records_of
from replica.format.segment import scan
from replica.model.control import KRaftVersion, KRaftVoters, LeaderChange
from replica.model.voters import VoterSet
from replica.storage.batches import control_records


@dataclass(frozen=True)
class JudgedLog:
    """A judged log. foreign: base offset -> record bytes of each batch that isn't of the leader's
    own load. The load's records have one value, and are most of all records. voter_updates: how
    often a voter's entry in the voter set was replaced by the voter's own description."""

    foreign: dict[int, bytes]
    voter_updates: int


def judged(log: bytes, voters: VoterSet) -> JudgedLog:
    """The judgement of a log. voters: as each voter describes itself.

    Raises AssertionError for a batch that isn't sound (its CRC, place, epoch, records or producer),
    and for control records except the begin of the one epoch and updates.
    """
    result = scan(log, expected_offset=0)
    assert not result.damages, f"a damaged log: {result.damages[:3]}"
    following = 0
    control: dict[int, bytes] = {}
    found: dict[int, tuple[set[bytes | None], bytes]] = {}
    for batch in result.batches:
        header = batch.header
        assert header.base_offset == following, f"a hole before {header.base_offset}"
        assert header.leader_epoch == result.batches[0].header.leader_epoch
        assert header.producer_id == -1
        following = header.next_offset
        data = log[batch.position : batch.position + header.size_bytes]
        if header.is_control:
            control[header.base_offset] = data
            continue
        values = [record.value for record in records_of(header, data)]
        assert len(values) == header.last_offset_delta + 1
        found[header.base_offset] = set(values), data[HEADER.size :]
    often = Counter(value for values, _ in found.values() for value in values).most_common(1)
    load = {value for value, _ in often}
    foreign = {offset: data for offset, (values, data) in found.items() if values != load}
    return JudgedLog(foreign, _voter_updates(control, voters))


def _voter_updates(control: dict[int, bytes], voters: VoterSet) -> int:
    """The number of control batches after the batch that begins the epoch."""
    begin = control_records(control.pop(0))
    match begin:
        case (LeaderChange(), KRaftVersion(1), KRaftVoters(known)):
            assert known.keys == voters.keys, f"voters at offset 0: {known}"
        case _:
            raise AssertionError(f"control records at offset 0: {begin}")
    for offset, data in control.items():
        records = control_records(data)
        allowed = [(KRaftVoters(known.with_voter(each)),) for each in voters if each not in known]
        assert records in allowed, f"control records at offset {offset}: {records}"
        (update,) = records
        assert isinstance(update, KRaftVoters)
        known = update.voters
    return len(control)
