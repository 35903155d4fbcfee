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
        required("cluster_id string", "id of the cluster"),
        required("epoch int", "leader epoch"),
        optional(
            "leader_id int",
            "node id of the leader in its LEADER_CHANGE record, else in quorum-state files; "
            "NULL where neither names it",
        ),
        optional("start_offset bigint", "offset of the epoch's first record"),
        optional(
            "end_offset bigint",
            "end offset of the epoch, exclusive: the start of the agreed branch's next "
            "epoch; NULL for the newest epoch",
        ),
        optional("started_at timestamp", "time of the epoch's LEADER_CHANGE record"),
        optional("ended_at timestamp", "time of the next epoch's LEADER_CHANGE record"),
        optional(f"voters {LEADER_VOTERS}", "voters of the epoch"),
        optional(f"granting_voters {LEADER_VOTERS}", "voters that elected the leader"),
        required(
            "commitment string",
            "commitment of the epoch's first record: proven, unproven or superseded",
        ),
    ),
    keys=("cluster_id", "epoch"),
)

DIVERGENCE_POINTS = Contract(
    name="gold.divergence_points",
    description="Each pair of replicas in a capture group: whether their logs diverge, and where.",
    columns=(
        required("cluster_id string", "id of the cluster"),
        required("capture_group string", "id of the capture group that was compared"),
        required("node_a int", "node id of the first replica"),
        required("directory_a string", "its directory id"),
        required("node_b int", "node id of the second replica"),
        required("directory_b string", "its directory id"),
        required("capture_a string", "capture_id of the first replica"),
        required("capture_b string", "capture_id of the second replica"),
        required("is_latest boolean", "true for the cluster's newest capture group"),
        optional(
            "round_name string",
            "name of the group's round, given by ingest --order; NULL without --order",
        ),
        required(
            "relation string",
            "how the two logs relate: identical, prefix, diverged, conflict or disjoint",
        ),
        optional(
            "divergence_offset bigint",
            "first offset at which the epochs or the batches' bytes differ",
        ),
        optional("epoch_a int", "epoch of the first replica's batch at that offset"),
        optional("epoch_b int", "epoch of the second replica's batch at that offset"),
        optional(
            "truncating_node int",
            "node id of the replica that would lose an election between the two, and then "
            "truncate its log",
        ),
        optional(
            "truncation_offset bigint",
            "offset to which the fetch protocol truncates that replica's log",
        ),
        optional(
            "fetch_rounds int", "number of fetches until the logs agree, by the released protocol"
        ),
        optional(
            "draft_fetch_rounds int",
            "number of fetches until the logs agree, by FetchQuorumRecords of KIP-595's draft",
        ),
        optional("records_lost bigint", "number of records that the truncating replica would lose"),
        optional(
            "committed_lost bigint", "number of these records that are proven to be committed"
        ),
        optional(
            "unproven_lost bigint", "number of these records that are neither proven nor superseded"
        ),
        optional(
            "superseded_lost bigint",
            "number of these records at whose offset another record is proven",
        ),
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
    description="Records that a replica's log lost between two captures, other than by retention.",
    columns=(
        *REPLICA,
        required("from_offset bigint", "offset of the first record that vanished"),
        required("to_offset bigint", "end of the offsets that vanished, exclusive"),
        required("epochs array<int>", "leader epochs of the records that vanished"),
        required("records bigint", "number of records that vanished"),
        required(
            "committed_lost bigint", "number of these records that are proven to be committed"
        ),
        required(
            "unproven_lost bigint", "number of these records that are neither proven nor superseded"
        ),
        required(
            "superseded_lost bigint",
            "number of these records at whose offset another record is proven",
        ),
        optional(
            "last_seen timestamp", "captured_at of the last capture that held any of these records"
        ),
        required("seen_at timestamp", "captured_at of the capture that shows that they are gone"),
        optional(
            "seen_in_round string",
            "name of that capture's round, given by ingest --order; NULL without --order",
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
        required(
            "end_offset bigint",
            "end offset of the snapshot, exclusive: it contains the records below this offset",
        ),
        required(
            "epoch int", "epoch of the last record that the snapshot contains, from the file's name"
        ),
        required("capture_id string", "id of the capture"),
        required(
            "verdict string",
            "valid; invalid; or unverifiable: no fault was found, but no replay reaches the "
            "snapshot's end",
        ),
        required(
            f"broken_rules {_BROKEN}", "the findings that make it invalid, with their evidence"
        ),
        required(f"notes {_BROKEN}", "findings of severity info"),
    ),
    keys=("capture_id", "end_offset", "epoch"),
)

FINDINGS = Contract(
    name="gold.findings",
    description="What `kraftlake check` finds in each capture, with a replay of the agreed "
    "branch; and what it finds about each cluster's health in its newest state, in "
    "rows of the capture that holds this state.",
    columns=(
        *FINDING[:2],
        *REPLICA,
        *FINDING[2:],
        required("capture_id string", "id of the capture"),
        required("family string", "family of the rule: files or health"),
        optional(
            "subjects string",
            "the first 100 partitions, nodes and so on for which a rule of health holds: a "
            "JSON array of objects with name, what and offset; NULL for rules about files",
        ),
    ),
    keys=FINDING_KEYS,
    change_feed=True,
)

_ENTITY = (
    required("cluster_id string", "id of the cluster"),
    required("entity string", "kind of the entity: topic, partition, config and so on"),
    required("key string", "key of the entity, such as topicId:partitionId"),
)

METADATA_HISTORY = Contract(
    name="gold.metadata_history",
    description="Every version of every metadata entity on the agreed branch.",
    columns=(
        *_ENTITY,
        required("name string", "key of the entity for people, such as a topic's name"),
        required("value string", "the entity as a JSON object; secrets are redacted"),
        required(
            "valid_from_offset bigint",
            "offset of the record that made the version, or of the end of its transaction. "
            "The state at end offset N holds this version if valid_from_offset < N <= "
            "valid_to_offset",
        ),
        optional(
            "valid_to_offset bigint",
            "valid_from_offset of the next version, or the offset of the removal; the end "
            "of the known state, if the log then has a hole or a record that this release "
            "doesn't know; NULL while the version is valid",
        ),
        optional("valid_from timestamp", "time of the record at valid_from_offset"),
        optional(
            "valid_to timestamp",
            "time of the record at valid_to_offset; NULL while the version is valid, or "
            "where the known state ends",
        ),
        required("leader_epoch int", "epoch of the record at valid_from_offset"),
        optional(
            "record_offset bigint",
            "offset of the last record that wrote this version, which may repeat the same "
            "value; NULL if only a snapshot has the version",
        ),
        optional("record_type string", "Kafka's name of the record type, such as TOPIC_RECORD"),
    ),
    keys=("cluster_id", "entity", "key", "valid_from_offset"),
)

METADATA_CHANGES = Contract(
    name="gold.metadata_changes",
    description="What changed: one row for each typed change of an entity, with the old and the "
    "new value.",
    columns=(
        *_ENTITY,
        required("name string", "key of the entity for people, such as a topic's name"),
        required("change string", "type of the change, such as topic_created or leader_changed"),
        optional("old string", "the value before the change, as JSON; NULL where there was none"),
        optional("new string", "the value after the change, as JSON; NULL where there is none"),
        required("offset bigint", "the record's offset"),
        optional(
            "at timestamp",
            "time at which the change took effect: that of the record, or of the end of its "
            "transaction",
        ),
        required("leader_epoch int", "epoch of the record that made the change"),
        required("record_type string", "Kafka's name of the record type, such as TOPIC_RECORD"),
        required(
            "commitment string",
            "proven or unproven; or superseded: the record is on a branch that lost, so the "
            "change never took effect",
        ),
    ),
    keys=("cluster_id", "offset", "leader_epoch", "entity", "key", "change"),
    change_feed=True,
)

STATE_RANGES = Contract(
    name="gold.state_ranges",
    description="The end offsets at which the state of a cluster is known. "
    "gold.metadata_history has no versions for other offsets.",
    columns=(
        required("cluster_id string", "id of the cluster"),
        required(
            "from_offset bigint",
            "first end offset at which the state is known: 0, or the end of the snapshot "
            "with which the replay began",
        ),
        required(
            "to_offset bigint",
            "last end offset at which the state is known: the log's end, the start of a "
            "hole in the log, or the offset of a record that this release of kraftlake "
            "doesn't know",
        ),
    ),
    keys=("cluster_id", "from_offset"),
)

FAILURE_EXPOSURE = Contract(
    name="gold.failure_exposure",
    description="The harm that the failure of a rack, a broker, two brokers or a voter would do "
    "to the newest known state of a cluster, as `kraftlake state --exposure` shows "
    "it without --broker-config.",
    columns=(
        required("cluster_id string", "id of the cluster"),
        required(
            "kind string",
            "what fails: nothing (the row shows the present state), rack, broker, pair (two "
            "brokers, of up to 500 live ones) or voter",
        ),
        required(
            "gone string",
            "name of the rack that fails, or node ids with commas between; empty if nothing fails",
        ),
        required(
            "leaderless bigint",
            "number of partitions that would have no leader, because no replica that is "
            "left may lead",
        ),
        required(
            "needs_unclean bigint",
            "number of these partitions that still have a replica, but only such that are "
            "not in sync",
        ),
        required(
            "below_min_isr bigint",
            "number of partitions that would have a leader, but fewer in-sync replicas than "
            "min.insync.replicas, as far as the log names that config",
        ),
        optional(
            "voters_left int", "number of voters that would be left; NULL if the voters are unknown"
        ),
        optional(
            "has_majority boolean",
            "true if the voters that are left are a majority; NULL if the voters are unknown",
        ),
        optional(
            "since_offset bigint",
            "offset of the record since which the row has these numbers; NULL if no harm "
            "would be done, or if the lake doesn't know the time before",
        ),
        optional("since timestamp", "time of this record"),
        required("end_offset bigint", "end offset of the judged state, exclusive"),
        required(
            "min_isr_unknown bigint",
            "number of the cluster's partitions whose min.insync.replicas the log doesn't name",
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
    required("run_id string", "id of the build, or of the run of `kraftlake quality`"),
    required("at timestamp", "time of the run"),
    required("table_name string", "name of the table, such as bronze.log_records"),
    required("table_version bigint", "version of the table that was judged"),
)

QUALITY_RESULTS = Contract(
    name="gold.quality_results",
    description="Each expectation of each table in each run: whether the table meets it.",
    columns=(
        *_JUDGED_TABLE,
        required("expectation string", "type of the expectation, as Great Expectations names it"),
        required("meaning string", "what is expected, in a sentence"),
        required("columns array<string>", "columns that the expectation is about"),
        required(
            "action string", "what happens if a row doesn't meet it: warn, quarantine or stop"
        ),
        required("success boolean", "true if every row meets the expectation"),
        required("evaluated_rows bigint", "number of rows of the table"),
        required("unexpected_rows bigint", "number of rows that don't meet it"),
        required("sample_keys array<string>", "keys of some of these rows, each as a JSON object"),
    ),
    keys=("run_id", "table_name", "meaning"),
)

QUARANTINED_ROWS = Contract(
    name="gold.quarantined_rows",
    description="The rows that the newest build left out, and why.",
    columns=(
        *_JUDGED_TABLE,
        required("reason string", "expectation that the row doesn't meet"),
        required("row_key string", "keys of the row as a JSON object"),
        required(
            "content string",
            "the whole row as a JSON object, with binary values in base64 and without "
            "columns that are NULL",
        ),
    ),
    keys=("table_name", "row_key", "reason"),
)

QUALITY = (QUALITY_RESULTS, QUARANTINED_ROWS)
"""Tables with the results of a run about other tables. They are apart from GOLD, because they
differ from run to run."""
