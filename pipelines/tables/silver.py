"""Silver: what each replica's log says of epochs and voters."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA, REPLICA_KEYS
from pipelines.tables.contract import Contract, optional, required

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
        required("capture_id string", "the capture"),
        required("epoch int", "leader epoch"),
        optional(
            "start_offset bigint",
            "first offset of the epoch in this replica's .log files, leftovers below the log "
            "start included; NULL where only the checkpoint knows the epoch",
        ),
        optional("end_offset bigint", "where the next epoch starts, or LEO; exclusive"),
        optional("leader_id int", "leader by the LEADER_CHANGE record, NULL without it"),
        optional(f"voters {LEADER_VOTERS}", "voters by that record"),
        optional(
            f"granting_voters {LEADER_VOTERS}", "voters who granted their vote, by that record"
        ),
        optional("started_at timestamp", "time of that record"),
        required("in_batches boolean", "batches carry the epoch"),
        required("in_control_record boolean", "its LEADER_CHANGE record is here"),
        required("in_checkpoint boolean", "leader-epoch-checkpoint has it"),
        required("agrees boolean", "the three sources don't contradict"),
    ),
    keys=(*REPLICA_KEYS, "capture_id", "epoch"),
)

VOTER_SETS = Contract(
    name="silver.voter_sets",
    description="Every voter set that a replica's log, snapshots or quorum-state name.",
    columns=(
        *REPLICA,
        optional(
            "offset bigint", "the record's offset; a snapshot's end offset; NULL for quorum-state"
        ),
        required("epoch int", "epoch of the record, snapshot or quorum-state"),
        required(
            f"voters {VOTERS}",
            "the voters by id; directory, endpoints and versions NULL in a static quorum",
        ),
        required("source string", "kraft_voters, snapshot, leader_change or quorum_state"),
    ),
    keys=(*REPLICA_KEYS, "source", "offset", "epoch"),
)

COMMITTED_LOG = Contract(
    name="silver.committed_log",
    description="The branch that a cluster's replicas agree on, to its end: one row an offset.",
    columns=(
        required("cluster_id string", "the cluster"),
        required("offset bigint", "the record's offset"),
        required("leader_epoch int", "epoch of its batch"),
        required("crc bigint", "crc of its batch in bronze.log_batches"),
        required(
            "commitment string",
            "proven: a majority or a snapshot shows that it is committed; unproven: nothing does",
        ),
    ),
    keys=("cluster_id", "offset"),
)

SILVER = (LEADER_EPOCHS, VOTER_SETS, COMMITTED_LOG)
