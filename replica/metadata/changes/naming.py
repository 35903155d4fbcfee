"""The name of an entity for people: a topic's name and partition, a config's resource, an ACL's
rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import QuotaKey

DEFAULT = "<default>"
"""The name of a default: a config or quota for all resources or entities that have none of their
own."""
_RESOURCES = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
"""Names for people of Kafka's ConfigResource.Type."""
SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_OPERATIONS = {
    **{2: "All", 3: "Read", 4: "Write", 5: "Create", 6: "Delete", 7: "Alter", 8: "Describe"},
    **{9: "ClusterAction", 10: "DescribeConfigs", 11: "AlterConfigs", 12: "IdempotentWrite"},
    **{13: "CreateTokens", 14: "DescribeTokens", 15: "TwoPhaseCommit"},
}
"""The names of Kafka's AclOperation, as kafka-acls spells them."""
_PERMISSIONS = {2: "denied", 3: "allowed"}
_ACL_RESOURCES = {
    **{2: "topic", 3: "group", 4: "cluster", 5: "transactional-id", 6: "delegation-token"},
    7: "user",
}
"""Names for people of Kafka's ResourceType."""
_PREFIXED = 4
"""The number of Kafka's PatternType.PREFIXED."""


def name_of(kind: EntityKind, key: Any, value: Any, topic_names: Mapping[str, str]) -> str:
    """The name of an entity for people, such as orders-0. value: any version of the entity, as
    State's tables hold it. topic_names: topic names by topic id."""
    if kind.name == "partition":
        return f"{topic_names.get(key[0], key[0])}-{key[1]}"
    return _NAMES[kind.name](key, value)


def _config(key: tuple[int, str, str], _: Any) -> str:
    resource_type, resource, name = key
    shown = _RESOURCES.get(resource_type, f"resource type {resource_type}")
    return f"{shown} {resource or DEFAULT}: {name}"


def _acl(_: str, acl: Mapping[str, Any]) -> str:
    resource = _ACL_RESOURCES.get(acl["resourceType"], f"resource type {acl['resourceType']}")
    rest = "*" if acl["patternType"] == _PREFIXED else ""
    permission = _PERMISSIONS.get(acl["permissionType"], f"permission {acl['permissionType']}")
    operation = _OPERATIONS.get(acl["operation"], f"operation {acl['operation']}")
    return (
        f"{acl['principal']} from {acl['host']} {permission} {operation} "
        f"on {resource} {acl['resourceName']}{rest}"
    )


def _quota(key: QuotaKey, _: Any) -> str:
    entity = ", ".join(f"{kind} {DEFAULT if n is None else n}" for kind, n in key[0])
    return f"{entity}: {key[1]}"


_NAMES: dict[str, Callable[[Any, Any], str]] = {
    "topic": lambda _, name: str(name),
    "config": _config,
    "broker": lambda key, _: f"broker {key}",
    "controller": lambda key, _: f"controller {key}",
    "feature": lambda key, _: str(key),
    "acl": _acl,
    "scram": lambda key, _: f"{key[0]} {SCRAM_MECHANISMS.get(key[1], f'mechanism {key[1]}')}",
    "client_quota": _quota,
    "delegation_token": lambda key, token: f"{token['owner']} {key}",
    "producer_ids": lambda *_: "producer ids",
    "zk_migration_state": lambda *_: "ZooKeeper migration",
    "voters": lambda *_: "voters",
    "kraft_version": lambda *_: "kraft.version",
}
