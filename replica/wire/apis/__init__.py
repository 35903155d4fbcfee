"""Every API that kraftlake speaks, as tables: read from the message definitions of Kafka 4.4."""

from __future__ import annotations

from replica.wire.apis.cluster import API_VERSIONS, DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.membership import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UNREGISTER_CONTROLLER,
    UPDATE_FEATURES,
    UPDATE_RAFT_VOTER,
)
from replica.wire.apis.quorum import (
    BEGIN_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    END_QUORUM_EPOCH,
    VOTE,
)
from replica.wire.apis.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from replica.wire.schema import Api

APIS: dict[int, Api] = {
    each.key: each
    for each in (
        *(PRODUCE, FETCH, LIST_OFFSETS, METADATA, SASL_HANDSHAKE, API_VERSIONS, DELETE_RECORDS),
        *(OFFSET_FOR_LEADER_EPOCH, DESCRIBE_CONFIGS, ALTER_CONFIGS, SASL_AUTHENTICATE),
        *(INCREMENTAL_ALTER_CONFIGS, VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, DESCRIBE_QUORUM),
        *(UPDATE_FEATURES, FETCH_SNAPSHOT, DESCRIBE_CLUSTER),
        *(ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_RAFT_VOTER, UNREGISTER_CONTROLLER),
    )
}
"""By API key."""
