"""Replaces the names that users gave by hashes. This module defines which fields hold names, and
the form of the hashes.

A name becomes its kind and 12 hex digits of a keyed hash, such as topic-0f3a5c7e9b21, which is a
legal name in Kafka. Equal names of a kind get equal hashes, so a topic's configs and ACLs still
belong to the topic. The prefix of a prefixed ACL gets another hash, which isn't a prefix of other
hashes. Broker and controller ids, hosts, racks, IP addresses, the wildcard, and the topics that
Kafka itself makes don't change.
"""

from __future__ import annotations

from replica.message.schema import REDACTED, Value
from replica.metadata.record import MetadataRecord
from replica.metadata.redact import Redactor

_KAFKAS_TOPICS = (
    "__cluster_metadata", "__consumer_offsets", "__remote_log_metadata", "__share_group_state",
    "__transaction_state",
)  # fmt: skip
_WILDCARD = "*"
_TOPIC, _GROUP, _USER = "topic", "group", "user"
_CONFIG_KINDS = {2: _TOPIC, 16: "client-metrics", 32: _GROUP}
"""Kinds of names by resourceType (org.apache.kafka.common.config.ConfigResource.Type)."""
_NAMING_CONFIGS = {
    "errors.deadletterqueue.topic.name": _TOPIC,
    "errors.deadletterqueue.topic.name.prefix": "topic-prefix",
    "match": "client-metrics-match",
}
"""Configs whose value is a name, or holds one: `match` of client metrics names client ids."""
_ACL_KINDS = {2: _TOPIC, 3: _GROUP, 5: "transactional-id"}
"""Kinds of names by resourceType (org.apache.kafka.common.resource.ResourceType)."""
_ACL_OF_USER = 7
_QUOTA_KINDS = {"user": _USER, "client-id": "client-id"}


class NameHasher:
    """Replaces users' names by hashes. Redactors with equal keys give equal hashes."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def hashed(self, record: MetadataRecord) -> MetadataRecord:
        """The record with hashes for names; the same object if it has no name."""
        find = _CHANGES.get(record.type)
        changes = {} if find is None else find(self, record)
        changes = {name: new for name, new in changes.items() if new != record.fields[name]}
        return record.with_fields(changes) if changes else record

    def name(self, kind: str, name: Value) -> Value:
        """The hash that replaces the name of a topic, group, user and so on. Null, the wildcard and
        the names of Kafka's own topics stay."""
        if not isinstance(name, str) or name == _WILDCARD:
            return name
        if kind == _TOPIC and name in _KAFKAS_TOPICS:
            return name
        digits = self._redactor.fingerprint(f"name of a {kind}", name.encode()).removeprefix(
            REDACTED
        )
        return f"{kind}-{digits}"

    def principal(self, principal: Value) -> Value:
        """The principal with a hashed name. Its type stays, as in User:alice."""
        assert isinstance(principal, str)
        kind, colon, name = principal.partition(":")
        if not colon:
            return self.name(_USER, principal)
        return kind + colon + str(self.name(_USER, name))

    def _topic(self, record: MetadataRecord) -> dict[str, Value]:
        return {"name": self.name(_TOPIC, record.fields["name"])}

    def _cleared_topic(self, record: MetadataRecord) -> dict[str, Value]:
        name = record.fields["topicName"]
        return {"topicName": self.name(_TOPIC, name) if name else name}  # "": of all topics

    def _config(self, record: MetadataRecord) -> dict[str, Value]:
        kind = _CONFIG_KINDS.get(_int(record.fields["resourceType"]))
        name, value = record.fields["resourceName"], record.fields["value"]
        value_kind = _NAMING_CONFIGS.get(str(record.fields["name"]))
        return {
            "resourceName": self.name(kind, name) if kind and name else name,
            "value": self.name(value_kind, value) if value_kind and value else value,
        }

    def _acl(self, record: MetadataRecord) -> dict[str, Value]:
        code, name = _int(record.fields["resourceType"]), record.fields["resourceName"]
        changes = {"principal": self.principal(record.fields["principal"])}
        if code == _ACL_OF_USER:
            changes["resourceName"] = name if name == _WILDCARD else self.principal(name)
        elif code in _ACL_KINDS:
            changes["resourceName"] = self.name(_ACL_KINDS[code], name)
        return changes

    def _quota(self, record: MetadataRecord) -> dict[str, Value]:
        entities = record.fields["entity"]
        assert isinstance(entities, tuple)
        return {"entity": tuple(map(self._quota_entity, entities))}

    def _quota_entity(self, entity: Value) -> Value:
        assert isinstance(entity, dict)
        kind = _QUOTA_KINDS.get(str(entity["entityType"]))
        if kind is None:
            return entity
        return {**entity, "entityName": self.name(kind, entity["entityName"])}

    def _user(self, record: MetadataRecord) -> dict[str, Value]:
        return {"name": self.name(_USER, record.fields["name"])}

    def _token(self, record: MetadataRecord) -> dict[str, Value]:
        renewers = record.fields["renewers"]
        assert isinstance(renewers, tuple)
        return {
            "owner": self.principal(record.fields["owner"]),
            "requester": self.principal(record.fields["requester"]),
            "renewers": tuple(map(self.principal, renewers)),
        }


_CHANGES = {
    "TOPIC_RECORD": NameHasher._topic,
    "CLEAR_ELR_RECORD": NameHasher._cleared_topic,
    "CONFIG_RECORD": NameHasher._config,
    "ACCESS_CONTROL_ENTRY_RECORD": NameHasher._acl,
    "CLIENT_QUOTA_RECORD": NameHasher._quota,
    "USER_SCRAM_CREDENTIAL_RECORD": NameHasher._user,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": NameHasher._user,
    "DELEGATION_TOKEN_RECORD": NameHasher._token,
}


def _int(value: Value) -> int:
    assert isinstance(value, int)
    return value
