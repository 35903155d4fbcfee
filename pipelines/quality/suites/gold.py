"""The expectations of gold: the rows of a table don't contradict each other."""

from __future__ import annotations

from pipelines.quality.expectation import Action, Beside, Expectation, at_least, one_of, suite
from pipelines.quality.predicates import is_json_or_null
from pipelines.quality.suites.bronze import FINDING
from pipelines.tables import gold, quorum
from replica.doctor.check.rule import Family
from replica.doctor.check.snapshot_validity import Validity
from replica.doctor.health.exposure import KINDS as KINDS_OF_FAILURE
from replica.doctor.verdict.verdict import LEVELS_OF_NEWEST, Level
from replica.history.divergence import Relation
from replica.metadata.image.image import KINDS
from replica.scan.json_texts import doubtful_texts

WARN, _, STOP = Action

_COMMITMENTS = ("proven", "unproven", "superseded")
_ENTITIES = tuple(kind.name for kind in KINDS)
_COUNTED = "committed_lost + unproven_lost + superseded_lost"
_BAD_LEVELS = tuple(one.value for one in Level if one.rank < Level.INCOMPLETE.rank)
_DIFFERENCE = ("divergence_offset", "epoch_a", "epoch_b")
_LOSS = (
    "truncation_offset", "fetch_rounds", "draft_fetch_rounds", "records_lost",
    "committed_lost", "unproven_lost", "superseded_lost",
)  # fmt: skip
_ENTITY_KEYS = ("cluster_id", "entity", "key")


def _null_unless(condition: str, columns: tuple[str, ...]) -> str:
    """SQL condition: all of the columns have a value where `condition` holds, and all are NULL
    elsewhere."""
    return " AND ".join(f"({name} IS NOT NULL) = ({condition})" for name in columns)


def _json(column: str) -> Expectation:
    return WARN.unless(f"{column} is JSON", is_json_or_null, (column,), doubtful_texts)


LEADER_EPOCH_HISTORY = suite(
    gold.LEADER_EPOCH_HISTORY,
    one_of("commitment", _COMMITMENTS),
    WARN.unless(
        "an epoch ends behind its start",
        "start_offset IS NULL OR end_offset IS NULL OR start_offset < end_offset",
        ("start_offset", "end_offset"),
    ),
    WARN.unless(
        "epochs that stand don't overlap",
        "commitment = 'superseded' OR start_offset IS NULL OR end_before IS NULL "
        "OR end_before <= start_offset",
        ("epoch", "start_offset", "end_offset", "commitment"),
    ),
    derived={
        "end_before": "max(CASE WHEN t.commitment = 'superseded' THEN NULL ELSE t.end_offset END) "
        "OVER (PARTITION BY t.cluster_id ORDER BY t.epoch NULLS FIRST "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    },
)

DIVERGENCE_POINTS = suite(
    gold.DIVERGENCE_POINTS,
    one_of("relation", (relation.value for relation in Relation)),
    STOP.unless(
        "a pair is named in order",
        "node_a < node_b OR (node_a = node_b AND directory_a < directory_b)",
        ("node_a", "directory_a", "node_b", "directory_b"),
    ),
    STOP.unless(
        "there is a difference where the relation says so, and only there",
        _null_unless("relation IN ('diverged', 'conflict')", _DIFFERENCE),
        ("relation", *_DIFFERENCE),
    ),
    STOP.unless(
        "what the loser gives up is known where there is a loser, and only there",
        _null_unless("truncating_node IS NOT NULL", _LOSS),
        ("truncating_node", *_LOSS),
    ),
    STOP.unless(
        "only diverged logs have a loser, one of the two",
        "truncating_node IS NULL "
        "OR (relation = 'diverged' AND truncating_node IN (node_a, node_b))",
        ("relation", "truncating_node", "node_a", "node_b"),
    ),
    STOP.unless(
        "committed, unproven and superseded are all that is lost",
        f"records_lost IS NULL OR records_lost = {_COUNTED}",
        (*_LOSS[-4:],),
    ),
)

TRUNCATIONS = suite(
    gold.TRUNCATIONS,
    WARN.unless(
        "a run of offsets has an end behind its start, and no more records than offsets",
        "from_offset < to_offset AND records BETWEEN 1 AND to_offset - from_offset",
        ("from_offset", "to_offset", "records"),
    ),
    STOP.unless(
        "committed, unproven and superseded are all that vanished",
        f"records = {_COUNTED}",
        ("records", "committed_lost", "unproven_lost", "superseded_lost"),
    ),
    WARN.unless(
        "what vanished was seen before",
        "last_seen IS NULL OR last_seen < seen_at",
        ("last_seen", "seen_at"),
    ),
)

SNAPSHOT_VALIDITY = suite(
    gold.SNAPSHOT_VALIDITY,
    one_of("verdict", Validity),
    STOP.unless(
        "a snapshot is invalid where a rule is broken, and only there",
        "(verdict = 'invalid') = (cardinality(broken_rules) > 0)",
        ("verdict", "broken_rules"),
    ),
    at_least("end_offset", 0, action=WARN),
)

FINDINGS = suite(
    gold.FINDINGS,
    *FINDING,
    one_of("family", Family),
    _json("subjects"),
    STOP.unless(
        "a rule of health names its subjects",
        "family <> 'health' OR subjects IS NOT NULL",
        ("family", "subjects"),
    ),
)

METADATA_HISTORY = suite(
    gold.METADATA_HISTORY,
    one_of("entity", _ENTITIES),
    _json("value"),
    STOP.unless(
        "a version ends behind its start, and no later than the next one starts",
        "valid_to_offset IS NULL AND next_from IS NULL OR valid_to_offset > valid_from_offset "
        "AND (next_from IS NULL OR valid_to_offset <= next_from)",
        ("valid_from_offset", "valid_to_offset"),
    ),
    beside={
        "next_from": Beside("valid_from_offset", _ENTITY_KEYS, "valid_from_offset", is_before=False)
    },
)

METADATA_CHANGES = suite(
    gold.METADATA_CHANGES,
    one_of("entity", _ENTITIES),
    one_of("commitment", _COMMITMENTS),
    _json("old"),
    _json("new"),
    WARN.unless("something changed", "old IS DISTINCT FROM new", ("old", "new")),
)

STATE_RANGES = suite(
    gold.STATE_RANGES,
    STOP.unless(
        "a range ends behind its start, and before the next one starts",
        "from_offset <= to_offset AND (next_from IS NULL OR to_offset < next_from)",
        ("from_offset", "to_offset"),
    ),
    beside={"next_from": Beside("from_offset", ("cluster_id",), "from_offset", is_before=False)},
)

VERDICTS = suite(
    gold.VERDICTS,
    one_of("level", LEVELS_OF_NEWEST),
    at_least("notes", 0, action=STOP),
    STOP.unless(
        "a verdict worse than incomplete has facts, and only such a verdict",
        f"(level IN {_BAD_LEVELS}) = (cardinality(facts) > 0)",
        ("level", "facts"),
    ),
    STOP.unless(
        "an incomplete verdict says what could not be judged, and a healthy one that nothing is "
        "left",
        f"level IN {_BAD_LEVELS} OR (level = '{Level.INCOMPLETE}') = (cardinality(not_judged) > 0)",
        ("level", "not_judged"),
    ),
    STOP.unless(
        "no record is proven that can't be committed",
        "proven_end <= possible_end",
        ("proven_end", "possible_end"),
    ),
)

FAILURE_EXPOSURE = suite(
    gold.FAILURE_EXPOSURE,
    one_of("kind", KINDS_OF_FAILURE),
    at_least("leaderless", 0, action=STOP),
    at_least("below_min_isr", 0, action=STOP),
    STOP.unless(
        "no more partitions need an unclean election than are without leader",
        "needs_unclean BETWEEN 0 AND leaderless",
        ("needs_unclean", "leaderless"),
    ),
    STOP.unless(
        "the majority is known where the voters are",
        "(voters_left IS NULL) = (has_majority IS NULL)",
        ("voters_left", "has_majority"),
    ),
    STOP.unless(
        "only what does harm has a beginning, within the state",
        "since_offset IS NULL OR since_offset < end_offset "
        "AND (leaderless > 0 OR below_min_isr > 0 OR NOT coalesce(has_majority, true))",
        ("since_offset", "end_offset", "leaderless", "below_min_isr", "has_majority"),
    ),
)

REPLICA_STATUS = suite(
    quorum.REPLICA_STATUS,
    one_of("role", ("leader", "follower", "observer", "candidate", "unattached")),
    one_of("high_watermark_evidence", ("majority", "snapshot")),
    STOP.unless(
        "a high watermark has its evidence, and only a high watermark",
        "(high_watermark IS NULL) = (high_watermark_evidence IS NULL)",
        ("high_watermark", "high_watermark_evidence"),
    ),
    at_least("lag_records", 0, action=WARN),
    at_least("own_records", 0, action=WARN),
)

ELECTIONS = suite(
    quorum.ELECTIONS,
    at_least("elections", 0, action=STOP),
    at_least("leaderless_epochs", 0, action=STOP),
)

VOTES = suite(
    quorum.VOTES,
    at_least("epoch", 0, action=WARN),
    WARN.unless(
        "nobody voted twice in an epoch", "NOT is_double", ("voter_id", "epoch", "candidate_id")
    ),
)

VOTER_BELIEFS = suite(
    quorum.VOTER_BELIEFS,
    one_of("source", ("configuration", "quorum_state", "log", "snapshot", "meta_properties")),
)

LOG_GROWTH = suite(
    quorum.LOG_GROWTH,
    at_least("records", 1, action=STOP),
    at_least("bytes", 0, action=STOP),
)

SNAPSHOT_CADENCE = suite(
    quorum.SNAPSHOT_CADENCE,
    one_of("reached", ("bytes", "interval", "neither")),
    at_least("records_since", 0, action=WARN),
)

BATCH_SIZES = suite(
    quorum.BATCH_SIZES,
    STOP.unless(
        "the percentiles of batch sizes ascend",
        "p50_bytes <= p95_bytes AND p95_bytes <= p99_bytes AND p99_bytes <= max_bytes",
        ("p50_bytes", "p95_bytes", "p99_bytes", "max_bytes"),
    ),
)

RETENTION_FORECAST = suite(
    quorum.RETENTION_FORECAST,
    at_least("log_bytes", 0, action=STOP),
    at_least("snapshot_bytes", 0, action=STOP),
)

GOLD = (
    LEADER_EPOCH_HISTORY, DIVERGENCE_POINTS, TRUNCATIONS, SNAPSHOT_VALIDITY, FINDINGS,
    METADATA_HISTORY, METADATA_CHANGES, STATE_RANGES, FAILURE_EXPOSURE, VERDICTS,
    REPLICA_STATUS, ELECTIONS, VOTES, VOTER_BELIEFS, LOG_GROWTH, SNAPSHOT_CADENCE,
    BATCH_SIZES, RETENTION_FORECAST,
)  # fmt: skip
