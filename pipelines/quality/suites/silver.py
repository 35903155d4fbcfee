"""The expectations of silver. Our own code makes silver's rows, from input that may be damaged."""

from __future__ import annotations

from pipelines.quality.expectation import Action, Beside, at_least, one_of, suite
from pipelines.quality.predicates import voters_once
from pipelines.tables import silver
from pipelines.tables.keys import REPLICA_KEYS

WARN, _, STOP = Action

_CAPTURE = ", ".join((*REPLICA_KEYS, "capture_id"))

LEADER_EPOCHS = suite(
    silver.LEADER_EPOCHS,
    STOP.unless(
        "an epoch is known from somewhere, and has a start where batches carry it",
        "(in_batches OR in_control_record OR in_checkpoint) "
        "AND in_batches = (start_offset IS NOT NULL)",
        ("in_batches", "in_control_record", "in_checkpoint", "start_offset"),
    ),
    WARN.unless(
        "an epoch ends at or behind its start",
        "start_offset IS NULL OR end_offset IS NULL OR start_offset <= end_offset",
        ("start_offset", "end_offset"),
    ),
    WARN.unless(
        "a later epoch starts at a later offset",
        "start_offset IS NULL OR previous_start IS NULL OR previous_start < start_offset",
        ("epoch", "start_offset"),
    ),
    WARN.unless("batches, LEADER_CHANGE and leader-epoch-checkpoint agree", "agrees", ("agrees",)),
    derived={
        "previous_start": "max(t.start_offset) OVER (PARTITION BY "
        f"{_CAPTURE} ORDER BY t.epoch NULLS FIRST "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    },
)

VOTER_SETS = suite(
    silver.VOTER_SETS,
    one_of("source", ("kraft_voters", "snapshot", "leader_change", "quorum_state")),
    WARN.unless(
        "a voter set has voters, each of them once",
        voters_once,
        ("voters",),
    ),
    STOP.unless(
        "only quorum-state names voters without an offset",
        "(`offset` IS NULL) = (source = 'quorum_state')",
        ("offset", "source"),
    ),
    at_least("epoch", 0, action=WARN),
)

COMMITTED_LOG = suite(
    silver.COMMITTED_LOG,
    one_of("commitment", ("proven", "unproven")),
    STOP.unless(
        "an offset and an epoch are from 0 on",
        "`offset` >= 0 AND leader_epoch >= 0",
        ("offset", "leader_epoch"),
    ),
    WARN.unless(
        "the branch has no gap",
        "previous_offset IS NULL OR `offset` <= previous_offset + 1",
        ("offset",),
    ),
    WARN.unless(
        "epochs never go back along the branch",
        "previous_epoch IS NULL OR leader_epoch >= previous_epoch",
        ("offset", "leader_epoch"),
    ),
    beside={
        "previous_offset": Beside("offset", ("cluster_id",), "offset", is_before=True),
        "previous_epoch": Beside("leader_epoch", ("cluster_id",), "offset", is_before=True),
    },
)

LOG_RUNS = suite(
    silver.LOG_RUNS,
    STOP.unless(
        "a run has offsets from 0 on, its last one not below its first",
        "base_offset >= 0 AND last_offset >= base_offset AND leader_epoch >= 0",
        ("base_offset", "last_offset", "leader_epoch"),
    ),
    STOP.unless("a replica holds it", "cardinality(holders) > 0", ("holders",)),
    at_least("batches", 1, action=STOP),
)

CAPTURE_GROUPS = suite(
    silver.CAPTURE_GROUPS,
    WARN.unless(
        "a branch ends at or behind its start",
        "branch_start IS NULL OR branch_start <= branch_end",
        ("branch_start", "branch_end"),
    ),
    at_least("ingest_seq", 1, action=STOP),
)

SILVER = (LOG_RUNS, CAPTURE_GROUPS, LEADER_EPOCHS, VOTER_SETS, COMMITTED_LOG)
