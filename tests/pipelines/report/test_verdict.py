"""The verdict's sentence and level, case by case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.report.divergences import ForkBranch, Parting, Replica
from pipelines.report.losses import LostRecordCount, When
from pipelines.report.meaning import Effect, LostChange
from pipelines.report.report_facts import ReportFacts, RuleCount
from pipelines.report.rounds import Rounds
from pipelines.report.verdict import verdict
from pipelines.report.words import Names
from replica.doctor.verdict.verdict import Fact, Gap, Level, MissingVoters, Verdict, decide
from replica.metadata.records import NEWEST_KAFKA
from replica.model.keys import ReplicaKey
from replica.severity import Severity

ONE, TWO, THREE = (Replica(node, f"directory-{node}") for node in (1, 2, 3))
HEALTHY = ReportFacts(
    names=Names([ONE, TWO, THREE]),
    members=3,
    end_offset=100,
    relations={"identical": 3},
    losses=(),
    partings=(),
    snapshots={"valid": 2},
    rules=(),
    damage=0,
    kinds=(),
    unbuilt=0,
)
WRITTEN_MS = 1_767_225_605_250
SPLIT, FINAL = (datetime(2026, 1, day, tzinfo=UTC) for day in (2, 3))
TOPICS = Effect(
    (WRITTEN_MS, WRITTEN_MS + 2000),
    (LostChange("topic_created", 5), LostChange("partition_created", 15, with_topic=True)),
)
NAMED = Rounds(
    {
        **{"cluster_id": "c", "capture_group": name, "captured_at": at, "round_name": name},
        **{"captures": 3, "has_own_time": False, "newest_record_ms": WRITTEN_MS},
    }
    for name, at in (("split", SPLIT), ("final", FINAL))
)
GHOSTS = LostRecordCount((TWO, THREE), When.GONE, 10, 22, 0, 0, 22, (7,))
CONFLICT = Parting(
    "conflict",
    9,
    "group",
    datetime(2026, 1, 1, tzinfo=UTC),
    True,
    (ForkBranch(4, (ONE,), 11), ForkBranch(4, (TWO, THREE), 12)),
    (),
)


def judged(*facts: Fact, gaps: Iterable[Gap] = ()) -> Verdict:
    """The verdict of check with these facts and gaps."""
    return decide("c", facts, gaps, well="No fault found.")


CASES = {
    "a log of a newer Kafka": (
        replace(
            HEALTHY,
            rules=(RuleCount("unknown-record-version", "warning", 3, 3),),
            known_to=28,
        ),
        Level.ATTENTION,
        "The metadata state from offset 28 on is not known to this release, which reads up to "
        f"Kafka {NEWEST_KAFKA}: the log holds newer records. 3 warnings in the newest captures "
        "(unknown-record-version).",
    ),
    "healthy": (
        HEALTHY,
        Level.HEALTHY,
        "In the newest captures the metadata logs of all 3 nodes are the same up to offset 99. "
        "All 2 snapshots are valid; no capture shows a node whose metadata log lost records.",
    ),
    "one is behind": (
        replace(HEALTHY, relations={"prefix": 2, "identical": 1}, snapshots={"valid": 1}),
        Level.HEALTHY,
        "In the newest captures the metadata logs of all 3 nodes agree as far as each has come "
        "(to offset 99). The only snapshot is valid; no capture shows a node whose metadata log "
        "lost records.",
    ),
    "diverged and healed": (
        replace(HEALTHY, losses=(GHOSTS,)),
        Level.RECOVERED,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7) that were never committed "
        "and have discarded them since. No committed record of the metadata log was lost; all 2 "
        "snapshots are valid; in the newest captures the metadata logs of all 3 nodes are the "
        "same up to offset 99.",
    ),
    "diverged and healed, with times and meaning": (
        replace(
            HEALTHY,
            losses=(replace(GHOSTS, effect=TOPICS, between=(SPLIT, FINAL)),),
            rounds=NAMED,
            end_written_ms=WRITTEN_MS + 40_000,
        ),
        Level.RECOVERED,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7, written 2026-01-01 00:00:05 "
        "to 00:00:07 UTC) that were never committed and have discarded them between the "
        "captures of split and the captures of final: 5 topics with 15 partitions were never "
        "created. No committed record of the metadata log was lost; all 2 snapshots are valid; "
        "in the newest captures the metadata logs of all 3 nodes are the same up to offset 99, "
        "written 2026-01-01 00:00:45 UTC.",
    ),
    "truncated between captures with times": (
        replace(HEALTHY, losses=(replace(GHOSTS, between=(SPLIT, FINAL)),)),
        Level.RECOVERED,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7) that were never committed "
        "and have discarded them between 2026-01-02 00:00:00 UTC and 2026-01-03 00:00:00 UTC. "
        "No committed record of the metadata log was lost; all 2 snapshots are valid; in the "
        "newest captures the metadata logs of all 3 nodes are the same up to offset 99.",
    ),
    "still diverged, with times and meaning": (
        replace(
            HEALTHY,
            losses=(replace(GHOSTS, replicas=(TWO,), when=When.PENDING, effect=TOPICS),),
            relations={"diverged": 2, "identical": 1},
        ),
        Level.ATTENTION,
        "Node 2 holds 22 records (from offset 10 on, epoch 7, written 2026-01-01 00:00:05 to "
        "00:00:07 UTC) that were never committed and will discard them: 5 topics with 15 "
        "partitions were never created. No committed record of the metadata log would be lost; "
        "all 2 snapshots are valid; in the newest captures the metadata logs of the nodes don't "
        "agree.",
    ),
    "committed loss, with times and meaning": (
        replace(HEALTHY, losses=(replace(GHOSTS, committed=3, superseded=19, effect=TOPICS),)),
        Level.AT_RISK,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7, written 2026-01-01 00:00:05 "
        "to 00:00:07 UTC), 3 of them proven committed, which tell of 5 topics with 15 "
        "partitions created, and have discarded them since.",
    ),
    "records that change nothing": (
        replace(HEALTHY, losses=(replace(GHOSTS, effect=Effect((WRITTEN_MS, WRITTEN_MS))),)),
        Level.RECOVERED,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7, written 2026-01-01 00:00:05 "
        "UTC) that were never committed and have discarded them since. No committed record of "
        "the metadata log was lost; all 2 snapshots are valid; in the newest captures the "
        "metadata logs of all 3 nodes are the same up to offset 99.",
    ),
    "conflict at a known time": (
        replace(
            HEALTHY,
            partings=(replace(CONFLICT, since_ms=WRITTEN_MS),),
            relations={"conflict": 2, "identical": 1},
        ),
        Level.AT_RISK,
        "From offset 9 on (written 2026-01-01 00:00:05 UTC) node 1 and nodes 2 and 3 hold "
        "different records under one epoch (4), which no run of Raft leaves. In the newest "
        "captures the metadata logs of the nodes don't agree.",
    ),
    "still diverged": (
        replace(
            HEALTHY,
            losses=(replace(GHOSTS, replicas=(TWO,), when=When.PENDING),),
            relations={"diverged": 2, "identical": 1},
        ),
        Level.ATTENTION,
        "Node 2 holds 22 records (from offset 10 on, epoch 7) that were never committed and "
        "will discard them. No committed record of the metadata log would be lost; all 2 "
        "snapshots are valid; in the newest captures the metadata logs of the nodes don't "
        "agree.",
    ),
    "lost and unproven": (
        replace(HEALTHY, losses=(replace(GHOSTS, unproven=5, superseded=17),)),
        Level.ATTENTION,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7) and have discarded them "
        "since. Nothing here proves whether 5 of them were committed.",
    ),
    "committed loss": (
        replace(HEALTHY, losses=(replace(GHOSTS, committed=3, superseded=19),)),
        Level.AT_RISK,
        "Nodes 2 and 3 held 22 records (offsets 10 to 31, epoch 7), 3 of them proven committed, "
        "and have discarded them since.",
    ),
    "nobody knows what became of it": (
        replace(HEALTHY, losses=(replace(GHOSTS, when=When.UNSEEN),), snapshots={}),
        Level.ATTENTION,
        "Nodes 2 and 3 held 22 records (from offset 10 on, epoch 7) that were never committed, "
        "and no capture shows what became of them. No committed record of the metadata log was "
        "lost; there are no snapshots; in the newest captures the metadata logs of all 3 nodes "
        "are the same up to offset 99.",
    ),
    "conflict": (
        replace(HEALTHY, partings=(CONFLICT,), relations={"conflict": 2, "identical": 1}),
        Level.AT_RISK,
        "From offset 9 on node 1 and nodes 2 and 3 hold different records under one epoch (4), "
        "which no run of Raft leaves. In the newest captures the metadata logs of the nodes "
        "don't agree.",
    ),
    "invalid and unverifiable snapshots": (
        replace(
            HEALTHY,
            snapshots={"valid": 1, "invalid": 1, "unverifiable": 2},
            rules=(RuleCount("snapshot-footer", "error", 2, 1),),
        ),
        Level.ATTENTION,
        "1 of 4 snapshots is invalid. 2 of 4 snapshots can't be verified; 1 error in the newest "
        "captures (snapshot-footer).",
    ),
    "unverifiable snapshots": (
        replace(HEALTHY, snapshots={"unverifiable": 1}),
        Level.INCOMPLETE,
        "1 of 1 snapshot can't be verified. In the newest captures the metadata logs of all 3 "
        "nodes are the same up to offset 99; no capture shows a node whose metadata log lost "
        "records.",
    ),
    "a torn tail": (
        replace(
            HEALTHY, damage=1, kinds=("torn-tail",), rules=(RuleCount("torn-tail", "info", 1, 1),)
        ),
        Level.HEALTHY,
        "In the newest captures the metadata logs of all 3 nodes are the same up to offset 99. "
        "All 2 snapshots are valid; 1 place could not be read (torn-tail); no capture shows a "
        "node whose metadata log lost records.",
    ),
    "damage": (
        replace(
            HEALTHY,
            damage=4,
            kinds=("crc-mismatch", "framing"),
            rules=(RuleCount("crc-mismatch", "error", 3, 3), RuleCount("framing", "error", 1, 1)),
        ),
        Level.ATTENTION,
        "4 errors in the newest captures (crc-mismatch and framing). 4 places could not be read "
        "(crc-mismatch and framing).",
    ),
    "errors and warnings of the past": (
        replace(
            HEALTHY,
            rules=(RuleCount("crc-mismatch", "error", 2, 0), RuleCount("stale", "warning", 1, 0)),
        ),
        Level.ATTENTION,
        "2 errors in earlier captures only (crc-mismatch). In the newest captures the metadata "
        "logs of all 3 nodes are the same up to offset 99; all 2 snapshots are valid; 1 warning "
        "in earlier captures only (stale); no capture shows a node whose metadata log lost "
        "records.",
    ),
    "a warning now": (
        replace(HEALTHY, rules=(RuleCount("broken-index", "warning", 4, 2),)),
        Level.ATTENTION,
        "2 warnings in the newest captures (broken-index).",
    ),
    "no offset in common": (
        replace(HEALTHY, relations={"disjoint": 1, "prefix": 2}),
        Level.ATTENTION,
        "In the newest captures the metadata logs of 1 pair of nodes have no offset in common. "
        "All 2 snapshots are valid; no capture shows a node whose metadata log lost records.",
    ),
    "a single replica": (
        replace(HEALTHY, relations={}, members=1),
        Level.HEALTHY,
        "In the newest captures there is one node, and nothing to compare its metadata log "
        "with. All 2 snapshots are valid; no capture shows a node whose metadata log lost "
        "records.",
    ),
    "captures after the last build": (
        replace(HEALTHY, unbuilt=2),
        Level.ATTENTION,
        "2 captures are not in the tables yet: run `kraftlake build`. In the newest captures "
        "the metadata logs of all 3 nodes are the same up to offset 99; all 2 snapshots are "
        "valid; no capture shows a node whose metadata log lost records.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_says_what_the_tables_prove(case: str) -> None:
    facts, level, sentence = CASES[case]
    answer = verdict(facts)
    assert (answer.level, answer.sentence) == (level, sentence)


def test_losses_beyond_the_third_are_counted_and_the_worst_of_them_counts() -> None:
    many = tuple(replace(GHOSTS, first=10 * place) for place in range(4))
    answer = verdict(replace(HEALTHY, losses=(*many, replace(GHOSTS, unproven=1, superseded=21))))
    assert "2 more cases of records lost" in answer.sentence
    assert answer.level is Level.ATTENTION


counts = st.integers(0, 3)


@given(
    committed=counts,
    unproven=counts,
    superseded=counts,
    when=st.sampled_from(When),
    snapshots=st.dictionaries(st.sampled_from(["valid", "invalid", "unverifiable"]), counts),
    relation=st.sampled_from(["identical", "prefix", "disjoint", "diverged", "conflict"]),
    now=counts,
)
def test_nothing_bad_is_ever_called_healthy(
    committed: int,
    unproven: int,
    superseded: int,
    when: When,
    snapshots: dict[str, int],
    relation: str,
    now: int,
) -> None:
    records = committed + unproven + superseded
    loss = LostRecordCount((TWO,), when, 10, records, committed, unproven, superseded, (1,))
    facts = replace(
        HEALTHY,
        losses=(loss,) if records else (),
        snapshots=snapshots,
        relations={relation: 1},
        rules=(RuleCount("any", "error", 3, now),),
    )
    answer = verdict(facts)
    at_risk = committed > 0
    calm = records and not committed and not unproven and not now
    assert (answer.level is Level.AT_RISK) == at_risk
    if snapshots.get("invalid") or now:
        assert answer.level in (Level.AT_RISK, Level.ATTENTION)
    assert answer.level is not Level.HEALTHY, "there are errors, if only in earlier captures"
    assert ("o committed record" in answer.sentence) == bool(calm)
    assert not answer.sentence[0].islower()
    assert answer.sentence.endswith(".")


DOWN = Fact(
    Level.OUTAGE, Severity.ERROR, "614 of 690 partitions have no leader.", "Start broker 11."
)
WORN = Fact(Level.ATTENTION, Severity.WARNING, "Broker 12: its disk is cordoned.")


def test_a_report_without_all_voters_is_not_called_healthy() -> None:
    missing = frozenset(ReplicaKey(node, "directory") for node in (1, 3))
    gaps = tuple(MissingVoters(missing, 3, frozenset({2})).gaps(is_mixed=False))
    told = verdict(replace(HEALTHY, members=1, relations={}, judged=judged(gaps=gaps)))
    assert told.level is Level.INCOMPLETE
    assert told.headline.endswith("Not judged: 2 of 3 voters (nodes 1 and 3).")


def test_what_check_says_leads_in_its_words_whatever_the_logs_say() -> None:
    found = judged(DOWN, WORN)
    answer = verdict(replace(HEALTHY, judged=found))
    assert answer.level is Level.OUTAGE
    assert (answer.headline, answer.beside, answer.of_logs) == (DOWN.text, (WORN.text,), "")
    also_down = replace(DOWN, text="6 partitions refuse writes.")
    others = tuple(replace(WORN, text=f"Broker {one}: so it is.") for one in (13, 14))
    answer = verdict(replace(HEALTHY, judged=judged(DOWN, also_down, WORN, *others)))
    assert answer.sentence == (
        f"{DOWN.text} 6 partitions refuse writes. {WORN.text} And 2 other findings."
    )
    assert verdict(replace(HEALTHY, judged=judged())).headline == "No fault found."
    harmless = verdict(replace(HEALTHY, losses=(GHOSTS,), judged=judged(DOWN)))
    assert harmless.level is Level.OUTAGE, "a harmless divergence hides no outage"
    assert harmless.sentence.startswith(f"{DOWN.text} Nodes 2 and 3 held 22 records")


def test_a_copy_that_went_back_is_no_loss_of_the_cluster() -> None:
    gone = replace(GHOSTS, replicas=(ONE,), committed=22, superseded=0, is_kept=True)
    answer = verdict(replace(HEALTHY, losses=(gone,)))
    assert answer.level is Level.ATTENTION
    assert answer.sentence.startswith(
        "The copy of node 1 went back by 22 records (offsets 10 to 31, epoch 7), of which 22 were "
        "committed: other nodes keep these."
    )
    assert verdict(replace(HEALTHY, losses=(replace(gone, is_kept=False),))).level is Level.AT_RISK
