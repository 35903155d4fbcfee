"""Gold: the tables that answer questions about a cluster."""

from __future__ import annotations

from pipelines.tables.bronze import FINDING, REPLICA, REPLICA_KEYS
from pipelines.tables.contract import Contract, optional, required
from pipelines.tables.keys import FINDING_KEYS
from pipelines.tables.quorum import QUORUM
from pipelines.tables.silver import LEADER_VOTERS

LEADER_EPOCH_HISTORY = Contract(
    name="gold.leader_epoch_history",
    description="Who led when: one row for each leader epoch of a cluster.",
    columns=(
        required("cluster_id string", "the cluster"),
        required("epoch int", "leader epoch"),
        optional(
            "leader_id int",
            "the leader's node id by its LEADER_CHANGE record, else by the quorum-states; NULL "
            "where neither tells it",
        ),
        optional("start_offset bigint", "offset of the epoch's first record"),
        optional(
            "end_offset bigint",
            "where the next epoch of the agreed branch starts, exclusive; NULL while open",
        ),
        optional("started_at timestamp", "time of its LEADER_CHANGE record"),
        optional("ended_at timestamp", "time of the next epoch's LEADER_CHANGE record"),
        optional(f"voters {LEADER_VOTERS}", "voters of the epoch"),
        optional(f"granting_voters {LEADER_VOTERS}", "voters who elected the leader"),
        required(
            "commitment string", "of the epoch's first record: proven, unproven or superseded"
        ),
    ),
    keys=("cluster_id", "epoch"),
)

DIVERGENCE_POINTS = Contract(
    name="gold.divergence_points",
    description="Each pair of replicas in a capture group: whether and where their logs part.",
    columns=(
        required("cluster_id string", "the cluster"),
        required("capture_group string", "the captures compared"),
        required("node_a int", "node id of the first replica"),
        required("directory_a string", "its directory id"),
        required("node_b int", "node id of the second replica"),
        required("directory_b string", "its directory id"),
        required("capture_a string", "capture_id of the first"),
        required("capture_b string", "capture_id of the second"),
        required("is_latest boolean", "the cluster's newest capture group"),
        optional("round_name string", "the group's name in ingest --order; NULL without --order"),
        required("relation string", "identical, prefix, diverged, conflict or disjoint"),
        optional("divergence_offset bigint", "first offset where (epoch, batch bytes) differ"),
        optional("epoch_a int", "epoch of the first replica's batch there"),
        optional("epoch_b int", "epoch of the second replica's batch there"),
        optional("truncating_node int", "who loses an election between the two"),
        optional("truncation_offset bigint", "where the loser's log is cut by the fetch protocol"),
        optional("fetch_rounds int", "fetches until the logs agree, released protocol"),
        optional("draft_fetch_rounds int", "the same for the draft FetchQuorumRecords"),
        optional("records_lost bigint", "records the loser holds past the divergence"),
        optional("committed_lost bigint", "of them, proven to be committed"),
        optional("unproven_lost bigint", "of them, neither proven nor superseded"),
        optional("superseded_lost bigint", "of them, offsets where another record is proven"),
    ),
    keys=(
        "cluster_id",
        "capture_group",
        "node_a",
        "directory_a",
        "node_b",
        "directory_b",
    ),
)

TRUNCATIONS = Contract(
    name="gold.truncations",
    description="What vanished from a replica's log between two captures of it, deletion apart.",
    columns=(
        *REPLICA,
        required("from_offset bigint", "first offset that vanished"),
        required("to_offset bigint", "the offset behind the last one, exclusive"),
        required("epochs array<int>", "leader epochs of what vanished"),
        required("records bigint", "records that vanished"),
        required("committed_lost bigint", "of them, proven to be committed"),
        required("unproven_lost bigint", "of them, neither proven nor superseded"),
        required("superseded_lost bigint", "of them, offsets where another record is proven"),
        optional("last_seen timestamp", "captured_at of the last capture with any of them"),
        required("seen_at timestamp", "captured_at of the capture that shows them to be gone"),
        optional(
            "seen_in_round string", "that capture's name in ingest --order; NULL without --order"
        ),
    ),
    keys=(*REPLICA_KEYS, "seen_at", "from_offset"),
)

_BROKEN = "array<struct<rule:string,file:string,position:bigint,offset:bigint,message:string>>"

SNAPSHOT_VALIDITY = Contract(
    name="gold.snapshot_validity",
    description="Each complete snapshot of each capture: whether it is sound and equals the log.",
    columns=(
        *REPLICA,
        required("end_offset bigint", "exclusive end of what it contains"),
        required("epoch int", "epoch of the last contained record, by its name"),
        required("capture_id string", "the capture"),
        required(
            "verdict string",
            "valid; invalid; or unverifiable: nothing is broken, but no replay reaches it",
        ),
        required(f"broken_rules {_BROKEN}", "findings above info, with evidence"),
        required(f"notes {_BROKEN}", "findings of severity info"),
    ),
    keys=("capture_id", "end_offset", "epoch"),
)

FINDINGS = Contract(
    name="gold.findings",
    description="What `kraftlake check` says of each capture, by the replay of the agreed branch; "
    "and of each cluster's health, by its newest state, in rows of the capture that tells it.",
    columns=(
        *FINDING[:2],
        *REPLICA,
        *FINDING[2:],
        required("capture_id string", "the capture"),
        required("family string", "files or health, as `check --family`"),
        optional(
            "subjects string",
            "of a rule of health the first 100 partitions, nodes and so on for which it holds: a "
            "JSON array of objects with name, what and offset; NULL for rules about files",
        ),
    ),
    keys=FINDING_KEYS,
    change_feed=True,
)

_ENTITY = (
    required("cluster_id string", "the cluster"),
    required("entity string", "its kind: topic, partition, config and so on"),
    required("key string", "which one, such as topicId:partitionId"),
)

METADATA_HISTORY = Contract(
    name="gold.metadata_history",
    description="Every version of every metadata entity on the agreed branch: one row a version.",
    columns=(
        *_ENTITY,
        required("name string", "the key for people, such as a topic's name"),
        required("value string", "the entity as a JSON object, secrets redacted"),
        required(
            "valid_from_offset bigint",
            "the state of end offset N holds this version where valid_from_offset < N <= "
            "valid_to_offset: the record's offset, or its transaction's end",
        ),
        optional(
            "valid_to_offset bigint",
            "the next version's valid_from_offset, or that of the removal; the end of what is "
            "known where the log has a hole, or a record that this release doesn't know; NULL if "
            "open",
        ),
        optional("valid_from timestamp", "time of the record at valid_from_offset"),
        optional(
            "valid_to timestamp",
            "time of the record at valid_to_offset; NULL if open, or where the known state ends",
        ),
        required("leader_epoch int", "epoch of the record at valid_from_offset"),
        optional(
            "record_offset bigint",
            "the record that wrote the version, perhaps the same value again; NULL where a "
            "snapshot is all that knows it",
        ),
        optional("record_type string", "its Kafka name, such as TOPIC_RECORD"),
    ),
    keys=("cluster_id", "entity", "key", "valid_from_offset"),
)

METADATA_CHANGES = Contract(
    name="gold.metadata_changes",
    description="What changed, from what to what: one row for each typed change of an entity.",
    columns=(
        *_ENTITY,
        required("name string", "the key for people, such as a topic's name"),
        required("change string", "such as topic_created or leader_changed"),
        optional("old string", "what it was, as JSON; NULL where there was nothing"),
        optional("new string", "what it became, as JSON; NULL where nothing is left"),
        required("offset bigint", "the record's offset"),
        optional(
            "at timestamp", "when it took effect: time of the record or its transaction's end"
        ),
        required("leader_epoch int", "epoch of the record that made it so"),
        required("record_type string", "its Kafka name, such as TOPIC_RECORD"),
        required(
            "commitment string",
            "proven, unproven; superseded: on a branch that lost, so it never took effect",
        ),
    ),
    keys=("cluster_id", "offset", "leader_epoch", "entity", "key", "change"),
    change_feed=True,
)

STATE_RANGES = Contract(
    name="gold.state_ranges",
    description="The end offsets at which the state of a cluster is known: of others, "
    "gold.metadata_history has no versions.",
    columns=(
        required("cluster_id string", "the cluster"),
        required(
            "from_offset bigint",
            "the first such end offset: 0, or that of the snapshot with which the replay began",
        ),
        required(
            "to_offset bigint",
            "the last such end offset: the log's end, the start of a hole in the log, or the "
            "offset of a record that this release of kraftlake doesn't know",
        ),
    ),
    keys=("cluster_id", "from_offset"),
)

FAILURE_EXPOSURE = Contract(
    name="gold.failure_exposure",
    description="What the failure of a rack, a broker, two brokers or a voter would take away from "
    "the newest known state of a cluster, as `kraftlake state --exposure` without --broker-config.",
    columns=(
        required("cluster_id string", "the cluster"),
        required(
            "kind string",
            "nothing (what is so now), rack, broker, pair (of brokers, of up to 500 live ones) or "
            "voter",
        ),
        required(
            "gone string",
            "what fails: a rack's name, or ids with a comma between; empty where nothing does",
        ),
        required("leaderless bigint", "partitions that would be without any replica that may lead"),
        required(
            "needs_unclean bigint",
            "of them, those of which a replica is left, one that isn't in sync",
        ),
        required(
            "below_min_isr bigint",
            "partitions that would be led below min.insync.replicas, as far as the log tells it",
        ),
        optional("voters_left int", "voters that would be left; NULL where nobody knows them"),
        optional("has_majority boolean", "whether these may elect a leader; NULL as voters_left"),
        optional(
            "since_offset bigint",
            "the record with which the row's figures became what they are; NULL where nothing "
            "would be harmed, or where they were so before what the lake knows begins",
        ),
        optional("since timestamp", "time of that record"),
        required("end_offset bigint", "end offset of the state, exclusive"),
        required(
            "min_isr_unknown bigint",
            "partitions of the cluster whose min.insync.replicas the log doesn't tell",
        ),
    ),
    keys=("cluster_id", "kind", "gone"),
)

GOLD = (
    LEADER_EPOCH_HISTORY, DIVERGENCE_POINTS, TRUNCATIONS, SNAPSHOT_VALIDITY, FINDINGS,
    METADATA_HISTORY, METADATA_CHANGES, STATE_RANGES, FAILURE_EXPOSURE,
    *QUORUM,
)  # fmt: skip

_JUDGED_TABLE = (
    required("run_id string", "the build, or the run of `kraftlake quality`"),
    required("at timestamp", "when it ran"),
    required("table_name string", "the table, such as bronze.log_records"),
    required("table_version bigint", "the version of it that was judged"),
)

QUALITY_RESULTS = Contract(
    name="gold.quality_results",
    description="Each expectation of each table in each run: whether the table holds to it.",
    columns=(
        *_JUDGED_TABLE,
        required("expectation string", "its type, by Great Expectations' name"),
        required("meaning string", "what is expected, in a sentence"),
        required("columns array<string>", "the columns it is about"),
        required("action string", "warn, quarantine or stop"),
        required("success boolean", "whether every row holds to it"),
        required("evaluated_rows bigint", "rows of the table"),
        required("unexpected_rows bigint", "rows that break it"),
        required("sample_keys array<string>", "the keys of some of them, each as a JSON object"),
    ),
    keys=("run_id", "table_name", "meaning"),
)

QUARANTINED_ROWS = Contract(
    name="gold.quarantined_rows",
    description="The rows that the newest build left out of what it derived, and why.",
    columns=(
        *_JUDGED_TABLE,
        required("reason string", "the expectation that the row breaks"),
        required("row_key string", "its keys as a JSON object"),
        required(
            "content string",
            "the whole row as a JSON object, binary as base64, without columns that are NULL",
        ),
    ),
    keys=("table_name", "row_key", "reason"),
)

QUALITY = (QUALITY_RESULTS, QUARANTINED_ROWS)
"""Tables with the results of a run about other tables. They are apart from GOLD, because they
differ from run to run."""
