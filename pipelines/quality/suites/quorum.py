"""The expectations of gold's tables about the quorum."""

from __future__ import annotations

from pipelines.quality.expectation import Action, Suite, at_least, one_of
from pipelines.tables import quorum

WARN, _, STOP = Action

REPLICA_STATUS = Suite(
    quorum.REPLICA_STATUS,
    (
        one_of("role", ("leader", "follower", "observer", "candidate", "unattached")),
        one_of("high_watermark_evidence", ("majority", "snapshot")),
        STOP.unless(
            "a high watermark has its evidence, and only a high watermark",
            "(high_watermark IS NULL) = (high_watermark_evidence IS NULL)",
            ("high_watermark", "high_watermark_evidence"),
        ),
        at_least("lag_records", 0, action=WARN),
        at_least("own_records", 0, action=WARN),
    ),
)

ELECTIONS = Suite(
    quorum.ELECTIONS,
    (at_least("elections", 0, action=STOP), at_least("leaderless_epochs", 0, action=STOP)),
)

VOTES = Suite(
    quorum.VOTES,
    (
        at_least("epoch", 0, action=WARN),
        WARN.unless(
            "nobody voted twice in an epoch", "NOT is_double", ("voter_id", "epoch", "candidate_id")
        ),
    ),
)

VOTER_BELIEFS = Suite(
    quorum.VOTER_BELIEFS,
    (one_of("source", ("configuration", "quorum_state", "log", "snapshot", "meta_properties")),),
)

LOG_GROWTH = Suite(
    quorum.LOG_GROWTH,
    (at_least("records", 1, action=STOP), at_least("bytes", 0, action=STOP)),
)

SNAPSHOT_CADENCE = Suite(
    quorum.SNAPSHOT_CADENCE,
    (
        one_of("reached", ("bytes", "interval", "neither")),
        at_least("records_since", 0, action=WARN),
    ),
)

BATCH_SIZES = Suite(
    quorum.BATCH_SIZES,
    (
        STOP.unless(
            "the percentiles of batch sizes ascend",
            "p50_bytes <= p95_bytes AND p95_bytes <= p99_bytes AND p99_bytes <= max_bytes",
            ("p50_bytes", "p95_bytes", "p99_bytes", "max_bytes"),
        ),
    ),
)

RETENTION_FORECAST = Suite(
    quorum.RETENTION_FORECAST,
    (at_least("log_bytes", 0, action=STOP), at_least("snapshot_bytes", 0, action=STOP)),
)

QUORUM = (
    REPLICA_STATUS, ELECTIONS, VOTES, VOTER_BELIEFS, LOG_GROWTH, SNAPSHOT_CADENCE,
    BATCH_SIZES, RETENTION_FORECAST,
)  # fmt: skip
