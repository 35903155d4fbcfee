"""Rules by which a lake's tables and report about a simulated cluster agree with what the simulator
knows (see tests.contradictions.against_truth)."""

from __future__ import annotations

from collections.abc import Iterator

from tests.contradictions.against_truth import TruthRule
from tests.contradictions.answers import Answers
from tests.contradictions.statements import Statement, held, right, unknown, wrong
from tests.contradictions.truth import Truth


def no_table_says_that_committed_records_were_lost(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """The report, which is made of the tables, doesn't say so either. A disk that went back has
    lost such records."""
    if answers.in_lake is None:
        return
    back = answers.given.went_back
    for table in ("gold.truncations", "gold.divergence_points"):
        for row in answers.rows(table):
            if row["committed_lost"] is None:
                continue
            is_back = back is not None and back in (row.get("node_id"), row.get("truncating_node"))
            what = f"{table}: {row['committed_lost']} committed records lost: {row}"
            yield held(table, is_true=not row["committed_lost"] or is_back, what=what)
    for loss in answers.in_lake.report.evidence.losses:
        is_back = {one.node_id for one in loss.replicas} == {back}
        what = f"report: {loss.committed} committed records lost from {loss.first}"
        yield held("report", is_true=not loss.committed or is_back, what=what)


def nobody_is_said_to_have_voted_twice(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """The simulator would have ended the run at a second vote."""
    for row in answers.rows("gold.votes"):
        what = f"node {row['voter_id']} voted twice in epoch {row['epoch']}"
        yield held("gold.votes", is_true=not row["is_double"], what=what)


def changes_that_never_took_effect_were_not_committed(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """A change that was not committed isn't proven either."""
    committed = {
        (offset, one.epoch)
        for one in truth.committed.values()
        for offset in range(one.base, one.last + 1)
    }
    for row in answers.rows("gold.metadata_changes"):
        place = (row["offset"], row["leader_epoch"])
        untrue = {"superseded": place in committed, "proven": place not in committed}
        if row["commitment"] not in untrue:
            yield unknown("gold.metadata_changes")
        elif untrue[row["commitment"]]:
            what = f"{row['change']} of {row['name']} at {place} is {row['commitment']}"
            yield wrong("gold.metadata_changes", what)
        else:
            yield right("gold.metadata_changes")


def high_watermarks_are_not_above_what_was_committed(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """The high watermark in the tables is a lower bound: its records are committed when all faults
    have ended."""
    end = max((one.last + 1 for one in truth.committed.values()), default=0)
    for row in answers.rows("gold.replica_status"):
        high = row["high_watermark"]
        if high is None:
            yield unknown("gold.replica_status")
            continue
        what = f"node {row['node_id']} has {high}, committed is {end}"
        yield held("gold.replica_status", is_true=high <= end, what=what)


TABLES_AGAINST_TRUTH: tuple[TruthRule, ...] = (
    no_table_says_that_committed_records_were_lost,
    nobody_is_said_to_have_voted_twice,
    changes_that_never_took_effect_were_not_committed,
    high_watermarks_are_not_above_what_was_committed,
)
