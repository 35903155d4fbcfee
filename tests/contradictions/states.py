"""Rules about the state that a log adds up to: check, restore and the lake have the same state."""

from __future__ import annotations

import json
from collections.abc import Iterator

from replica.message.schema import REDACTED
from replica.metadata.image.image import Image
from tests.contradictions.answers import Answers, Rule


def the_state_in_the_lake_is_that_of_the_directories(answers: Answers) -> Iterator[str]:
    """Users query the tables where the directories are gone. The tables have no secrets."""
    if answers.in_lake is None or not answers.state or not answers.is_one_history:
        return
    held = {
        (row["entity"], row["key"]): row["value"]
        for row in answers.rows("gold.metadata_history")
        if row["valid_to_offset"] is None
    }
    for key in held.keys() ^ answers.state.keys():
        place = "the lake" if key in held else "the directories"
        yield f"{key} is in {place} alone"
    for key in held.keys() & answers.state.keys():
        is_secret = REDACTED in held[key]
        if not is_secret and json.loads(held[key]) != json.loads(answers.state[key]):
            yield f"{key} is {answers.state[key]} by the directories, {held[key]} in the lake"


def restore_takes_the_log_that_recover_goes_on_with(answers: Answers) -> Iterator[str]:
    """A new cluster must be the same as the old cluster would have become."""
    if answers.restored is None:
        return
    winner = answers.plan.winner
    end = max([winner.end_offset, *(one.offset for one in winner.snapshots)])
    if answers.restored.end_offset != end:
        yield (
            f"restore takes the state at offset {answers.restored.end_offset} of "
            f"{answers.restored.shown}, recover the log of node {winner.key.node_id} to {end}"
        )


def recover_knows_of_what_no_majority_can_have_held(answers: Answers) -> Iterator[str]:
    """plan and restore say that these records were not committed."""
    plan, end = answers.plan, answers.plan.quorum.possible_end
    if plan.quorum.newest != plan.winner.key:
        return
    below = sum(min(one.end, end) - one.start for one in plan.on_no_voter if one.start < end)
    if plan.on_no_voter_counts.unproven > below:
        yield (
            f"{plan.on_no_voter_counts.unproven} of the records at {plan.on_no_voter} are unknown, "
            f"and those from {end} on are on no majority"
        )


def restore_takes_the_state_that_check_judges(answers: Answers) -> Iterator[str]:
    """A new cluster gets the state that check calls healthy."""
    cluster, restored = answers.cluster, answers.restored
    if cluster is None or restored is None or not answers.is_one_history:
        return
    if restored.end_offset == cluster.end_offset:
        mine, theirs = _values(restored.image), _values(cluster.image)
        unlike = sorted(name for name in mine if mine[name] != theirs.get(name))
        if unlike:
            yield f"the states at offset {cluster.end_offset} differ in {unlike}"


def each_answer_has_the_same_time_by_which_a_voter_is_behind(answers: Answers) -> Iterator[str]:
    """check, plan and recover name one figure for one lag: two figures look like two faults."""
    checked, cluster = answers.checked, answers.cluster
    if checked is None or cluster is None or cluster.quorum is None or not answers.is_one_history:
        return
    found = {
        member.examined.owner.key: one.ms
        for member, one in zip(checked.members, checked.behind, strict=True)
        if one is not None and member.examined.replica is not None
    }
    for voter in (*cluster.quorum.voters, *answers.plan.quorum.voters):
        if voter.doubt is not None or voter.behind_ms is None:
            continue
        of_voter = {ms for key, ms in found.items() if voter.key.matches(key)}
        lag = cluster.lags.get(voter.key.node_id)
        told = {voter.behind_ms, *of_voter, *([] if lag is None else [lag.ms])}
        if len(told) > 1:
            yield f"voter {voter.key.node_id} is behind by {sorted(map(str, told))} ms"


STATES: tuple[Rule, ...] = (
    the_state_in_the_lake_is_that_of_the_directories,
    restore_takes_the_log_that_recover_goes_on_with,
    recover_knows_of_what_no_majority_can_have_held,
    restore_takes_the_state_that_check_judges,
    each_answer_has_the_same_time_by_which_a_voter_is_behind,
)


def _values(image: Image) -> dict[str, dict[object, object]]:
    return {name: dict(table.values) for name, table in image.tables.items()}
