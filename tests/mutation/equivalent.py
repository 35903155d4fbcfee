"""Mutants that behave as the original code does, each with the reason. A key has file, function and
change."""

from __future__ import annotations

EQUIVALENT = {
    "replica/doctor/check/epochs.py _stretches: 1 -> 2": "the counts are only compared with each "
    "other, and all of them double",
    "replica/doctor/check/bulk_replaying.py _take_chunk: 1 -> 2": "the array gets one more row, "
    "which nothing reads",
    "replica/doctor/health/of_directories.py _starts: return {} -> return None": "nobody asks for "
    "the beginnings of reassignments where none runs",
    "replica/raft/dispatch.py _take_answer: False -> True": "no replica sends a request that is "
    "answered so",
    "replica/raft/election.py handle_vote_response: core.blame(Mistake.VOTE_ANSWER, node_id, "
    "VoteResponse) -> pass": "no answer reaches it: each change of role forgets older requests, "
    "and a candidate asks only voters that have not answered",
    "replica/history/ranges.py intersection: left[i].end <= right[j].end -> "
    "left[i].end < right[j].end": "where both ends are the same, either range may go first: the "
    "other one overlaps nothing of the next",
    "replica/doctor/preflight/downgrading.py _way_out: 0 -> 1": "no release reads the levels 0 and "
    "1 of metadata.version differently",
    "replica/doctor/preflight/upgrading.py _supported: 0 -> 1": "a range from 1 to 0 holds as "
    "little as one from 0 to 0",
    "replica/metadata/changes/unread.py unread_level: 1 -> 2": "a level outside of the range is "
    "above its last level if it is above the one before",
    "replica/metadata/image/texts.py entity_of: 0 -> 1": "the offset of the only record is not "
    "returned, and no value has it",
}
