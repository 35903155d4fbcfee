"""A steady load of metadata on a real cluster: topics are created, configured, and deleted."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

PARTITIONS = 3
ALIVE = 100
_ACL_EVERY, _SCRAM_EVERY = 10, 60
_ANSWERED_S = 30.0
_DONE = (KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.UNKNOWN_TOPIC_OR_PART)
"""Errors that a repeated request gets where its first attempt succeeded."""


class MetadataLoad:
    """About `rate` records per second once ALIVE topics exist, in requests once per second; in
    addition an ACL every 10 s and a SCRAM credential every minute.

    taken: changes that a controller has acknowledged. refused: changes that it has not, by Kafka's
    name of the error; they include changes while no node leads.
    """

    def __init__(self, bootstrap: str, rate: int) -> None:
        self.taken = 0
        self.refused: Counter[str] = Counter()
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._topics_each = max(1, rate // 10)
        # creating and deleting a topic takes one record, one for each partition, and one more
        self._configs_each = max(1, rate - self._topics_each * (PARTITIONS + 2))
        self._alive: deque[str] = deque()
        self._made = 0

    def run(self, stop: threading.Event) -> None:
        number, due = 0, time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            number += 1
            due = max(due + 1, time.monotonic())  # missed requests are not repeated
            self._change(number)

    def _change(self, number: int) -> None:
        self._alter_configs(number)
        self._create_topics()
        if len(self._alive) > ALIVE:
            gone = [self._alive.popleft() for _ in range(self._topics_each)]
            self._took(self._admin.delete_topics(gone, request_timeout=_ANSWERED_S).values())
        if number % _ACL_EVERY == 0:
            self._took(self._admin.create_acls([_acl(number)]).values())
        if number % _SCRAM_EVERY == 0:
            asked = [_credential(number)]
            self._took(self._admin.alter_user_scram_credentials(asked).values())

    def _create_topics(self) -> None:
        names = [f"soak-{self._made + each}" for each in range(self._topics_each)]
        self._made += len(names)
        wanted = [NewTopic(name, PARTITIONS, 1) for name in names]
        created = self._admin.create_topics(wanted, request_timeout=_ANSWERED_S)
        self._alive.extend(name for name in names if self._took([created[name]]))

    def _alter_configs(self, number: int) -> None:
        self._alive.rotate(self._configs_each)
        names = list(self._alive)[: self._configs_each]
        value = str(3_600_000 + number)
        entry = ConfigEntry("retention.ms", value, incremental_operation=AlterConfigOpType.SET)
        resources = [
            ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry]) for name in names
        ]
        if resources:
            self._took(self._admin.incremental_alter_configs(resources).values())

    def _took(self, futures: Iterable[Future[object]]) -> int:
        """The number of acknowledged requests."""
        taken = 0
        for future in futures:
            try:
                future.result(_ANSWERED_S)
            except KafkaException as error:
                code = error.args[0]
                if code.code() not in _DONE:
                    self.refused[code.name()] += 1
                    continue
            except TimeoutError:
                self.refused["_TIMED_OUT"] += 1
                continue
            taken += 1
        self.taken += taken
        return taken


def _acl(number: int) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        f"soak-{number}",
        ResourcePatternType.LITERAL,
        f"User:soak-{number % 50}",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def _credential(number: int) -> UserScramCredentialUpsertion:
    mechanism = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    return UserScramCredentialUpsertion(
        f"soak-{number % 10}", mechanism, f"T0P-SECRET-{number}".encode()
    )
