"""The administrator's operations of a script, by Kafka's own tools, and their acknowledgements."""

from __future__ import annotations

import json
import re

from tests.interop.kafka_jars import numbers
from tests.interop.recorder.cluster import RecordedCluster
from tests.interop.recorder.script import (
    AddAcl,
    CreateTopic,
    DeleteTopic,
    Operation,
    Reassign,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SetScram,
    Upgrade,
)
from tests.interop.recorder.story import DONE, REFUSED, UNKNOWN, Story
from tests.interop.recorder.tools import Said

_TOPICS = "org.apache.kafka.tools.TopicCommand"
_CONFIGS = "kafka.admin.ConfigCommand"
_FEATURES = "org.apache.kafka.tools.FeatureCommand"
_REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
_REFUSALS = re.compile(
    r"InvalidReplicationFactor|UnknownTopicOrPartition|does not exist|InvalidConfiguration|"
    r"Invalid replication factor|UnsupportedVersion|InvalidUpdateVersion|InvalidRequest"
)


class Operations:
    """Operations on one cluster. Its story keeps what was acknowledged."""

    def __init__(self, cluster: RecordedCluster, story: Story) -> None:
        self.cluster, self.there = cluster, story.acknowledged
        self._acls = f"{'org.apache.kafka.tools' if self._is_new else 'kafka.admin'}.AclCommand"

    @property
    def _is_new(self) -> bool:
        return numbers(self.cluster.shape.version) >= (4, 0)

    def do(self, operation: Operation) -> tuple[str, str, str]:
        """(the outcome, the tool's output, the node or entity of the operation)."""
        match operation:
            case CreateTopic(name, partitions, replicas, configs):
                said = self._tool(
                    _TOPICS, "--create", "--topic", name, "--partitions", partitions,
                    "--replication-factor", min(replicas, len(self.cluster.brokers)),
                    *(word for key, value in configs for word in ("--config", f"{key}={value}")),
                )  # fmt: skip
                return self._kept(said, name, operation)
            case DeleteTopic(name):
                return self._kept(self._tool(_TOPICS, "--delete", "--topic", name), name, operation)
            case SetConfig(kind, name, key, value):
                change = ("--add-config", f"{key}={value}") if value else ("--delete-config", key)
                entity = ("--entity-name", name) if name else ("--entity-default",)
                said = self._tool(_CONFIGS, "--alter", "--entity-type", kind, *entity, *change)
                return self._kept(said, name or "default broker", operation)
            case AddAcl(principal, topic, verb):
                said = self._tool(self._acls, "--add", "--allow-principal", principal,
                                  "--operation", verb, "--topic", topic)  # fmt: skip
                return self._kept(said, f"{principal} {topic} {verb}", operation)
            case RemoveAcl(AddAcl(principal, topic, verb)):
                said = self._tool(self._acls, "--remove", "--force", "--allow-principal", principal,
                                  "--operation", verb, "--topic", topic)  # fmt: skip
                return self._kept(said, f"{principal} {topic} {verb}", operation)
            case SetScram(user):
                said = self._tool(
                    _CONFIGS, "--alter", "--entity-type", "users", "--entity-name", user,
                    "--add-config", f"SCRAM-SHA-256=[iterations=4096,password={user}]",
                )  # fmt: skip
                return self._kept(said, f"scram {user}", operation)
            case SetQuota(user, rate):
                said = self._tool(
                    _CONFIGS, "--alter", "--entity-type", "users", "--entity-name", user,
                    "--add-config", f"producer_byte_rate={rate}",
                )  # fmt: skip
                return self._kept(said, f"quota {user}", operation)
            case Reassign(topic):
                return self._kept(self._reassigned(topic), topic, operation)
            case Upgrade():
                said = self._tool(_FEATURES, "upgrade", *self._newest_release())
                return self._kept(said, "metadata.version", operation)

    def _newest_release(self) -> tuple[str, ...]:
        major, minor, _ = self.cluster.shape.version.split(".")
        if not self._is_new:  # 3.9's option is --metadata, as 3.7's is
            return ("--metadata", f"{major}.{minor}")
        return ("--release-version", f"{major}.{minor}")

    def _reassigned(self, topic: str) -> Said:
        """Moves all partitions of a topic to one broker."""
        to = self.cluster.brokers[len(topic) % len(self.cluster.brokers)]
        moves = [
            {"topic": topic, "partition": at, "replicas": [to], "log_dirs": ["any"]}
            for at in range(self.there.topics.get(topic, 1))
        ]
        file = self.cluster.folder / "moves.json"
        file.write_text(json.dumps({"version": 1, "partitions": moves}))
        return self._tool(_REASSIGN, "--execute", "--reassignment-json-file", file)

    def _kept(self, said: Said, name: str, operation: Operation) -> tuple[str, str, str]:
        outcome = UNKNOWN
        if said.is_done and "Error" not in said.text:
            outcome = DONE
        elif _REFUSALS.search(said.text):
            outcome = REFUSED
        if outcome == UNKNOWN:
            self.there.doubtful.append(name)
        elif outcome == DONE:
            self._keep(operation)
        return outcome, said.text, name

    def _keep(self, operation: Operation) -> None:
        there = self.there
        match operation:
            case CreateTopic(name, partitions, _, configs):
                there.topics[name] = partitions
                if configs:
                    there.configs.setdefault(f"topics {name}", {}).update(configs)
            case DeleteTopic(name):
                there.topics.pop(name, None)
                there.configs.pop(f"topics {name}", None)
                there.deleted.append(name)
            case SetConfig(kind, name, key, value):
                of = there.configs.setdefault(f"{kind} {name}", {})
                of.pop(key, None)
                if value is not None:
                    of[key] = value
            case _:
                self._keep_rights(operation)

    def _keep_rights(self, operation: Operation) -> None:
        there = self.there
        match operation:
            case AddAcl(principal, topic, verb):
                if [principal, topic, verb] not in there.acls:
                    there.acls.append([principal, topic, verb])
            case RemoveAcl(AddAcl(principal, topic, verb)):
                if [principal, topic, verb] in there.acls:
                    there.acls.remove([principal, topic, verb])
            case SetScram(user):
                there.users.append(user)
            case SetQuota(user, rate):
                there.quotas[user] = rate

    def listed(self) -> list[str] | None:
        """The topics; None where Kafka doesn't answer."""
        said = self._tool(_TOPICS, "--list")
        return said.text.split() if said.is_done else None

    def described(self) -> str:
        """The output of kafka-topics --describe."""
        said = self._tool(_TOPICS, "--describe")
        return said.text if said.is_done else ""

    def _tool(self, main_class: str, *arguments: object) -> Said:
        return self.cluster.tools.run(
            main_class, "--bootstrap-server", self.cluster.bootstrap,
            "--command-config", self.cluster.tools.client, *arguments,
        )  # fmt: skip
