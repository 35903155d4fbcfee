"""The contracts of silver's tables: the epochs and voters in each replica's log, and the committed
log."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA
from pipelines.tables.contract import Contract, columns
from pipelines.tables.keys import REPLICA_KEYS

LEADER_VOTERS = "array<struct<voter_id:int,directory_id:string>>"
VOTERS = (
    "array<struct<voter_id:int,directory_id:string,"
    "endpoints:array<struct<name:string,host:string,port:int>>,"
    "min_supported_version:int,max_supported_version:int>>"
)

LEADER_EPOCHS = Contract(
    name="silver.leader_epochs",
    description="The leader epochs that one capture of one replica knows, from three sources.",
    columns=(
        *REPLICA,
        *columns(f"""
            capture_id string: id of the capture
            epoch int: leader epoch
            start_offset bigint null: first offset of the epoch in this replica's .log files, also
                below the log start; NULL if only leader-epoch-checkpoint has the epoch
            end_offset bigint null: end offset of the epoch, exclusive: the start of the next epoch,
                or the log end offset
            leader_id int null: node id of the leader in the epoch's LEADER_CHANGE record; NULL
                without the record
            voters {LEADER_VOTERS} null: voters that this record names
            granting_voters {LEADER_VOTERS} null: voters that granted the leader their vote, as this
                record names them
            started_at timestamp null: time of this record
            in_batches boolean: true if batches have the epoch
            in_control_record boolean: true if the log has the epoch's LEADER_CHANGE record
            in_checkpoint boolean: true if leader-epoch-checkpoint has the epoch
            agrees boolean: true if the three sources don't contradict each other
        """),
    ),
    keys=(*REPLICA_KEYS, "capture_id", "epoch"),
)

VOTER_SETS = Contract(
    name="silver.voter_sets",
    description="Every voter set that a replica's log, snapshots or quorum-state name.",
    columns=(
        *REPLICA,
        *columns(f"""
            offset bigint null: offset of the record, or end offset of the snapshot; NULL for
                quorum-state
            epoch int: epoch of the record, snapshot or quorum-state
            voters {VOTERS}: the voters, sorted by id; directory, endpoints and versions are NULL in
                a static quorum
            source string: where the voter set stands: kraft_voters, snapshot, leader_change or
                quorum_state
        """),
    ),
    keys=(*REPLICA_KEYS, "source", "offset", "epoch"),
)

COMMITTED_LOG = Contract(
    name="silver.committed_log",
    description="The branch that a cluster's replicas agree on: one row for each offset.",
    columns=columns("""
        cluster_id string: id of the cluster
        offset bigint: the record's offset
        leader_epoch int: epoch of the record's batch
        crc bigint: crc of the record's batch in bronze.log_batches
        commitment string: proven if a majority or a snapshot shows that the record is committed,
            else unproven
    """),
    keys=("cluster_id", "offset"),
)

_SPANS = "array<struct<from:timestamp,to:timestamp>>"

_HOLDERS = (
    "array<struct<node_id:int,directory_id:string,last_seen:timestamp,truncated_at:timestamp,"
    f"in_log:{_SPANS}>>"
)

LOG_RUNS = Contract(
    name="silver.log_runs",
    description="Contiguous batches of one epoch that the same captures of the same replicas held.",
    columns=columns(f"""
        cluster_id string: id of the cluster
        base_offset bigint: base offset of the first batch
        last_offset bigint: offset of the last batch's last record, inclusive
        leader_epoch int: epoch of the batches
        crc bigint: crc of the first batch in bronze.log_batches
        is_control boolean: true for a batch of the Raft layer, which is a run of its own
        batches bigint: number of batches
        record_count bigint: number of records that the batches' headers name
        size_bytes bigint: size of the batches in bytes
        max_timestamp timestamp null: largest time of the batches' records
        holders {_HOLDERS}:
            each replica that held the batches undamaged, with these columns of its rows in
            bronze.log_batches
    """),
    keys=("cluster_id", "base_offset", "leader_epoch", "crc", "last_offset", "size_bytes"),
)

_PARTS = "array<struct<start:bigint,end:bigint,capture_id:string,commitment:string>>"
_PAIRS = (
    "array<struct<node_a:int,directory_a:string,node_b:int,directory_b:string,"
    "capture_a:string,capture_b:string,relation:string,divergence_offset:bigint,epoch_a:int,"
    "epoch_b:int,truncating_node:int,truncation_offset:bigint,fetch_rounds:int,"
    "draft_fetch_rounds:int,records_lost:bigint,committed_lost:bigint,unproven_lost:bigint,"
    "superseded_lost:bigint,conflict_offset:bigint,conflict_epoch:int>>"
)
_PROGRESS = (
    "array<struct<capture_id:string,high_watermark:bigint,agreed_end:bigint,own_records:bigint,"
    "evidence:string,evidence_offset:bigint,evidence_epoch:int,holders:array<int>,"
    "position:struct<epoch:int,offset:bigint>>>"
)

CAPTURE_GROUPS = Contract(
    name="silver.capture_groups",
    description="What the logs of captures that were taken together show of each other.",
    columns=columns(f"""
        cluster_id string: id of the cluster
        capture_group string: id of the capture group
        captured_at timestamp: time of its newest capture
        ingest_seq bigint: number of the ingest round that brought it
        branch_start bigint null: first offset of the branch that its logs agree on; NULL where all
            logs are empty
        branch_end bigint null: end of that branch, exclusive
        branch array<struct<epoch:int,start_offset:bigint>>: epochs of that branch, each with its
            first offset there
        branch_parts {_PARTS}: ranges of that branch (start inclusive, end exclusive), each with the
            capture whose log holds it
        overruled {_PARTS}: ranges that a log holds and proves beside that branch
        contested array<struct<start:bigint,end:bigint,capture_id:string,epoch:int>>: ranges that
            have two proven entries, with the epoch at the start and a capture that holds it
        epochs array<struct<epoch:int,start_offset:bigint,commitment:string>>: offset at which a log
            first holds an epoch, and the commitment of the entry there
        pairs {_PAIRS}: what each two of its logs show, as in gold.divergence_points
        progress {_PROGRESS}: how far each capture's log is known to be committed, and by which
            evidence
    """),
    keys=("cluster_id", "capture_group"),
)

SILVER = (LOG_RUNS, CAPTURE_GROUPS, LEADER_EPOCHS, VOTER_SETS, COMMITTED_LOG)
