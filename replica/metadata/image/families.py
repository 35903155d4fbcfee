"""Every family of entities, in canonical order."""

from replica.metadata.image import (
    acls,
    brokers,
    client_quotas,
    configs,
    controllers,
    delegation_tokens,
    features,
    producer_ids,
    scram,
    topics,
    zk_migration,
)

FAMILIES = (
    topics, configs, brokers, controllers, features, acls, scram, client_quotas,
    delegation_tokens, producer_ids, zk_migration,
)  # fmt: skip
"""Those of metadata records: each has HANDLERS by record type, and KINDS. Voters are apart: their
records are the Raft layer's."""
