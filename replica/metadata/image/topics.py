"""Topics and their partitions (Kafka: TopicsDelta, TopicDelta, ConfigurationsDelta for removal)."""

from __future__ import annotations

from replica.metadata.image import partition
from replica.metadata.image.kind import EntityKind
from replica.metadata.image.partition import RefusedPartitionError, without_elr
from replica.metadata.image.state import TOPIC_RESOURCE, Fields, Handler, Refused, State


def _create(state: State, offset: int, fields: Fields) -> None:
    """Creates a topic. If its id exists already, the topic begins again without partitions."""
    topic_id, name = fields["topicId"], fields["name"]
    _drop_partitions(state, topic_id)
    former = state.topics.values.get(topic_id)
    if former is not None:
        _forget_name(state, topic_id, former)
    state.topics.put(topic_id, name, offset)
    state.topic_ids[name] = topic_id


def _remove(state: State, offset: int, fields: Fields) -> Refused | None:
    """Removes a topic with its partitions, and with the configs of the topic's name. Returns a
    refusal if the topic doesn't exist, else None."""
    topic_id = fields["topicId"]
    name = state.topics.values.get(topic_id)
    if name is None:
        return _no_topic(state, topic_id)
    _drop_partitions(state, topic_id)
    state.topics.drop(topic_id)
    _forget_name(state, topic_id, name)
    for config in state.topic_configs.pop(name, ()):
        state.configs.drop((TOPIC_RESOURCE, name, config))
    state.removals["topics", topic_id] = state.removals["topic_ids", name] = offset
    return None


def _drop_partitions(state: State, topic_id: str) -> None:
    for partition_id in state.partition_ids.pop(topic_id, ()):
        state.partitions.drop((topic_id, partition_id))


def _forget_name(state: State, topic_id: str, name: str) -> None:
    """Removes the name, unless another topic has this name now."""
    if state.topic_ids.get(name) == topic_id:
        del state.topic_ids[name]


def _no_topic(state: State, topic_id: str) -> Refused:
    return f"there is no topic {topic_id}", state.removal("topics", topic_id)


def _register(state: State, offset: int, fields: Fields) -> Refused | None:
    topic_id, partition_id = fields["topicId"], fields["partitionId"]
    if topic_id not in state.topics.values:
        return _no_topic(state, topic_id)
    try:
        registered = partition.registered(fields)
    except RefusedPartitionError as error:
        return str(error), ()
    state.partitions.put((topic_id, partition_id), registered, offset)
    state.partition_ids.setdefault(topic_id, set()).add(partition_id)
    return None


def _change(state: State, offset: int, fields: Fields) -> Refused | None:
    topic_id = fields["topicId"]
    key = topic_id, fields["partitionId"]
    old = state.partitions.values.get(key)
    if old is None:
        if topic_id not in state.topics.values:
            return _no_topic(state, topic_id)
        reason = f"topic {topic_id} has no partition {key[1]}"
        return reason, (state.topics.offsets[topic_id],)
    try:
        state.partitions.put(key, partition.merged(old, fields), offset)
    except RefusedPartitionError as error:
        return str(error), (state.partitions.offsets[key],)
    return None


def _clear_elr(state: State, offset: int, fields: Fields) -> Refused | None:
    """Clears the ELR of the topic with this name, or of every topic if the name is empty.
    Partitions without an ELR don't change."""
    name = fields["topicName"]
    if not name:
        topic_ids = list(state.topics.values)
    elif name in state.topic_ids:
        topic_ids = [state.topic_ids[name]]
    else:
        return f"there is no topic named {name}", state.removal("topic_ids", name)
    for topic_id in topic_ids:
        for partition_id in state.partition_ids.get(topic_id, ()):
            key = topic_id, partition_id
            old = state.partitions.values[key]
            new = without_elr(old)
            if new is not old:
                state.partitions.put(key, new, offset)
    return None


def _topic_fields(topic_id: str, name: str) -> dict[str, object]:
    return {"name": name, "topicId": topic_id}


HANDLERS: dict[str, Handler] = {
    "TOPIC_RECORD": _create,
    "PARTITION_RECORD": _register,
    "PARTITION_CHANGE_RECORD": _change,
    "REMOVE_TOPIC_RECORD": _remove,
    "CLEAR_ELR_RECORD": _clear_elr,
}
TOPIC = EntityKind("topic", "topics", "TOPIC_RECORD", _topic_fields)
PARTITION = EntityKind(
    "partition",
    "partitions",
    "PARTITION_RECORD",
    partition.fields_of,
    lambda key: f"{key[0]}:{key[1]}",
    text=partition.text_of,
)
