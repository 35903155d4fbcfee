"""Silver: what each replica's log says of epochs and voters."""

from __future__ import annotations

from pipelines.tables.bronze import REPLICA, REPLICA_KEYS
from pipelines.tables.contract import Column, Contract

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
        Column("capture_id", "string", "the capture", nullable=False),
        Column("epoch", "int", "leader epoch", nullable=False),
        Column(
            "start_offset",
            "bigint",
            "first offset of the epoch in this replica's .log files, leftovers below the log "
            "start included; NULL where only the checkpoint knows the epoch",
        ),
        Column("end_offset", "bigint", "where the next epoch starts, or LEO; exclusive"),
        Column("leader_id", "int", "leader by the LEADER_CHANGE record, NULL without it"),
        Column("voters", LEADER_VOTERS, "voters by that record"),
        Column("granting_voters", LEADER_VOTERS, "voters who granted their vote, by that record"),
        Column("started_at", "timestamp", "time of that record"),
        Column("in_batches", "boolean", "batches carry the epoch", nullable=False),
        Column("in_control_record", "boolean", "its LEADER_CHANGE record is here", nullable=False),
        Column("in_checkpoint", "boolean", "leader-epoch-checkpoint has it", nullable=False),
        Column("agrees", "boolean", "the three sources don't contradict", nullable=False),
    ),
    keys=(*REPLICA_KEYS, "capture_id", "epoch"),
)

VOTER_SETS = Contract(
    name="silver.voter_sets",
    description="Every voter set that a replica's log, snapshots or quorum-state name.",
    columns=(
        *REPLICA,
        Column(
            "offset",
            "bigint",
            "the record's offset; a snapshot's end offset; NULL for quorum-state",
        ),
        Column("epoch", "int", "epoch of the record, snapshot or quorum-state", nullable=False),
        Column(
            "voters",
            VOTERS,
            "the voters by id; directory, endpoints and versions NULL in a static quorum",
            nullable=False,
        ),
        Column(
            "source",
            "string",
            "kraft_voters, snapshot, leader_change or quorum_state",
            nullable=False,
        ),
    ),
    keys=(*REPLICA_KEYS, "source", "offset", "epoch"),
)

COMMITTED_LOG = Contract(
    name="silver.committed_log",
    description="The branch that a cluster's replicas agree on, to its end: one row an offset.",
    columns=(
        Column("cluster_id", "string", "the cluster", nullable=False),
        Column("offset", "bigint", "the record's offset", nullable=False),
        Column("leader_epoch", "int", "epoch of its batch", nullable=False),
        Column("crc", "bigint", "crc of its batch in bronze.log_batches", nullable=False),
        Column(
            "commitment",
            "string",
            "proven: a majority or a snapshot shows that it is committed; unproven: nothing does",
            nullable=False,
        ),
    ),
    keys=("cluster_id", "offset"),
)

SILVER = (LEADER_EPOCHS, VOTER_SETS, COMMITTED_LOG)
