"""A snapshot of the tests' state machine as JSON, which doesn't change when a class is moved."""

from __future__ import annotations

import json
from dataclasses import astuple

from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import SnapshotFacts
from replica.model.voters import Endpoint, Voter, voter_set


def snapshot_text(facts, applied):
    """The bytes of a snapshot, at least 136, so that they can be fetched in slices.

    applied: the state machine, (offset, data) pairs.
    """
    place = facts.snapshot_id
    voters = None if facts.voters is None else [astuple(each) for each in facts.voters]
    content = [(offset, data.decode("latin-1")) for offset, data in applied]
    said = (place.offset, place.epoch, facts.timestamp, voters, facts.kraft_version, content)
    return json.dumps(said).ljust(136).encode()


def read_snapshot(data):
    """The (facts, applied) of a snapshot's bytes. Raises any exception on other bytes."""
    offset, epoch, timestamp, said, kraft_version, content = json.loads(data)
    known = None if said is None else voter_set(map(_read_voter, said))
    place = OffsetAndEpoch(offset, epoch)
    facts = SnapshotFacts(place, len(data), timestamp, known, kraft_version)
    return facts, [(at, text.encode("latin-1")) for at, text in content]


def _read_voter(said):
    key, endpoints, *supported = said
    return Voter(ReplicaKey(*key), tuple(Endpoint(*each) for each in endpoints), *supported)
