"""Silver: what each replica's log says of epochs and voters."""

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

SILVER = (LEADER_EPOCHS, VOTER_SETS, COMMITTED_LOG)
