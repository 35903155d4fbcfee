"""The script of a cluster, drawn from a seed: the cluster's shape, operations, incidents that are
healed, and what is wrong at the end. The same seed gives the same script."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

RELEASES = ("4.4.0", "4.3.1", "4.1.2", "3.9.2", "3.7.2")
_OLDER_LEVELS = {"4.4.0": "4.1", "4.3.1": "4.0", "4.1.2": "3.9", "3.9.2": "3.8", "3.7.2": "3.6"}
MIGRATED_VERSION = "3.9.2"
"""The release in which a cluster is migrated from ZooKeeper."""


class Kind(Enum):
    """The kinds of clusters: controllers 1 to 3 and broker 11; controller 1 and brokers 11, 12;
    controllers that are brokers, too; these with two log directories each; controller 1 and
    brokers 11, 12 that were migrated from ZooKeeper."""

    THREE = "three controllers"
    ONE = "one controller"
    COMBINED = "combined"
    JBOD = "combined, two log directories"
    MIGRATED = "one controller, migrated from ZooKeeper"


class Who(Enum):
    """The node of a step. The player finds out which node it is at that time: a follower is the
    only voter where there is one."""

    LEADER = "the leader"
    FOLLOWER = "a follower"
    BROKER = "a broker"
    MAJORITY = "a majority, the leader among it"
    ALL = "all nodes"


class How(Enum):
    """The way in which a process ends, or is suspended."""

    STOP = "SIGTERM"
    KILL = "SIGKILL"
    PAUSE = "SIGSTOP"


@dataclass(frozen=True)
class Shape:
    """The shape of a cluster. release_at_format: the release of metadata.version, where it isn't
    the newest. snapshot_bytes: the bytes of the log between snapshots."""

    kind: Kind
    version: str
    is_static: bool
    release_at_format: str | None
    snapshot_bytes: int

    @property
    def has_followers(self) -> bool:
        return self.kind not in (Kind.ONE, Kind.MIGRATED)

    def __str__(self) -> str:
        return f"{self.kind.value}, {'static' if self.is_static else 'dynamic'}"


@dataclass(frozen=True)
class CreateTopic:
    name: str
    partitions: int
    replicas: int
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DeleteTopic:
    name: str


@dataclass(frozen=True)
class SetConfig:
    """A change of a config. value: None removes it."""

    kind: str
    name: str
    key: str
    value: str | None


@dataclass(frozen=True)
class AddAcl:
    principal: str
    topic: str
    operation: str


@dataclass(frozen=True)
class RemoveAcl:
    acl: AddAcl


@dataclass(frozen=True)
class SetScram:
    user: str


@dataclass(frozen=True)
class SetQuota:
    user: str
    rate: int


@dataclass(frozen=True)
class Reassign:
    """Moves all partitions of a topic to its replicas in reverse order, or to another broker."""

    topic: str


@dataclass(frozen=True)
class Upgrade:
    """An upgrade of metadata.version to the newest level of the release."""


@dataclass(frozen=True)
class RemoveVoter:
    who: Who


@dataclass(frozen=True)
class AddVoter:
    """Adds the voter that was removed."""


@dataclass(frozen=True)
class End:
    who: Who
    how: How


@dataclass(frozen=True)
class Heal:
    """All ended or suspended nodes run again."""


@dataclass(frozen=True)
class Backup:
    """A copy of the disk of the follower with the lowest id, while it runs."""


@dataclass(frozen=True)
class Wipe:
    """A follower is killed, and its disk is formatted anew. starts: whether it is started again."""

    starts: bool


@dataclass(frozen=True)
class Restore:
    """The follower of the backup is killed and gets the older disk. starts: whether it is started
    again."""

    starts: bool


@dataclass(frozen=True)
class Wait:
    seconds: float


Operation = (
    CreateTopic | DeleteTopic | SetConfig | AddAcl | RemoveAcl | SetScram | SetQuota | Reassign
    | Upgrade
)  # fmt: skip
Fault = RemoveVoter | AddVoter | End | Heal | Backup | Wipe | Restore | Wait
Step = Operation | Fault


class Shown(Enum):
    """Which of the directories kraftlake gets."""

    ALL = "all directories"
    LEFT_OUT = "all but one voter's"
    FOREIGN = "one voter's is that of another cluster"
    OLDER = "one voter's is an older copy"


@dataclass(frozen=True)
class Round:
    """A round. steps: what is healed before Kafka is asked. left: what is still wrong when the
    directories are copied; it is healed afterwards."""

    steps: tuple[Step, ...]
    left: tuple[Step, ...]
    shown: Shown


@dataclass(frozen=True)
class Script:
    seed: int
    shape: Shape
    rounds: tuple[Round, ...]


def drawn(
    seed: int, version: str | None = None, rounds: int = 3, *, is_migrated: bool = False
) -> Script:
    """The script. version: any of RELEASES; None: the seed decides."""
    draws = Random(f"recorder {seed}")
    version = version or draws.choice(RELEASES)
    shape = _shape(draws, version)
    if is_migrated:
        shape = Shape(Kind.MIGRATED, MIGRATED_VERSION, True, None, shape.snapshot_bytes)
    operations = _Operations(draws)
    return Script(
        seed, shape, tuple(_round(draws, shape, operations, number) for number in range(rounds))
    )


def _round(draws: Random, shape: Shape, operations: _Operations, number: int) -> Round:
    steps: list[Step] = []
    if number == 0:
        steps = [operations.create(), operations.create()]
    if number == 1 and shape.release_at_format is not None:
        steps.append(Upgrade())
    if shape.has_followers:
        steps.append(Backup())
    steps += (operations.any() for _ in range(draws.randint(1, 3)))
    if draws.random() < 0.4:
        steps += [*_incident(draws, shape, operations), operations.any()]
    shown = draws.choice((Shown.ALL,) * 6 + tuple(Shown)) if shape.has_followers else Shown.ALL
    return Round(tuple(steps), _left(draws, shape, operations), shown)


def _shape(draws: Random, version: str) -> Shape:
    kind = draws.choice((Kind.THREE, Kind.THREE, Kind.ONE, Kind.COMBINED, Kind.COMBINED, Kind.JBOD))
    is_static = version.startswith("3.7") or draws.random() < 0.35
    older = _OLDER_LEVELS[version] if draws.random() < 0.35 else None
    if older is not None and older < "3.9" and (not is_static or kind is Kind.JBOD):
        older = None  # these need a later release
    return Shape(kind, version, is_static, older, draws.choice((2_000, 20_000, 20_971_520)))


def _incident(draws: Random, shape: Shape, operations: _Operations) -> list[Step]:
    """An incident that is over at the end."""
    whom = draws.choice((Who.LEADER, Who.LEADER, Who.FOLLOWER, Who.BROKER, Who.MAJORITY, Who.ALL))
    kinds = ["end"] * 5
    if shape.has_followers:
        kinds += ["wipe", "restore"]
        if not shape.is_static and shape.kind is Kind.THREE:
            kinds += ["voters", "voters"]
    match draws.choice(kinds):
        case "wipe":
            return [Wipe(starts=True), Wait(3)]
        case "restore":
            return [Restore(starts=True), Wait(3)]
        case "voters":
            between = [operations.any()] if draws.random() < 0.5 else []
            return [RemoveVoter(draws.choice((Who.FOLLOWER, Who.LEADER))), *between, AddVoter()]
    lasts = draws.choice((1.0, 4.0, 8.0))
    meanwhile = [operations.any()] if draws.random() < 0.5 else []
    return [End(whom, draws.choice(tuple(How))), Wait(lasts), *meanwhile, Heal()]


def _left(draws: Random, shape: Shape, operations: _Operations) -> tuple[Step, ...]:
    """Faults that aren't over when the directories are copied."""
    whom = [Who.LEADER, Who.FOLLOWER, Who.FOLLOWER, Who.BROKER, Who.BROKER, Who.MAJORITY, Who.ALL]
    if not shape.has_followers:
        whom = [Who.LEADER, Who.BROKER, Who.BROKER, Who.ALL]
    end = End(draws.choice(whom), draws.choice(tuple(How)))
    kinds = ["nothing", "end", "end", "end", "end"]
    if shape.has_followers:
        kinds += ["wiped", "wiped and started", "restored", "restored and started"]
    after = [operations.any()] if draws.random() < 0.4 else []
    match draws.choice(kinds):
        case "nothing":
            return (Wait(3),)
        case "wiped":
            return (Wipe(starts=False), *after, Wait(4))
        case "wiped and started":
            return (Wipe(starts=True), *after, Wait(4))
        case "restored":
            return (Restore(starts=False), *after, Wait(4))
        case "restored and started":
            return (Restore(starts=True), *after, Wait(4))
    return (end, Wait(draws.choice((1.0, 7.0, 12.0))), *after, Wait(2))


class _Operations:
    """Operations that are possible after the operations before them."""

    def __init__(self, draws: Random) -> None:
        self.draws = draws
        self.topics: list[str] = []
        self.acls: list[AddAcl] = []
        self._made = 0

    def create(self) -> CreateTopic:
        self._made += 1
        name = f"topic-{self._made}"
        self.topics.append(name)
        configs = (("retention.ms", str(self.draws.randint(1, 9) * 100_000)),)
        return CreateTopic(
            name,
            self.draws.choice((1, 2, 5)),
            self.draws.choice((1, 2, 2)),
            configs if self.draws.random() < 0.4 else (),
        )

    def any(self) -> Operation:
        draws = self.draws
        match draws.choice(("create", "create", "create", "delete", "config", "config", "acl",
                            "acl", "scram", "quota", "reassign")):  # fmt: skip
            case "delete" if len(self.topics) > 1:
                return DeleteTopic(self.topics.pop(draws.randrange(len(self.topics))))
            case "config":
                return self._config()
            case "acl":
                if self.acls and draws.random() < 0.3:
                    return RemoveAcl(self.acls.pop())
                acl = AddAcl(f"User:u{draws.randint(1, 3)}", draws.choice(self.topics),
                             draws.choice(("READ", "WRITE", "DESCRIBE")))  # fmt: skip
                if acl not in self.acls:
                    self.acls.append(acl)
                return acl
            case "scram":
                return SetScram(f"user{draws.randint(1, 4)}")
            case "quota":
                return SetQuota(f"user{draws.randint(1, 4)}", draws.randint(1, 9) * 1000)
            case "reassign":
                return Reassign(draws.choice(self.topics))
        return self.create()

    def _config(self) -> SetConfig:
        draws = self.draws
        if draws.random() < 0.6:
            key = draws.choice(("retention.ms", "cleanup.policy", "min.insync.replicas"))
            values = {"retention.ms": str(draws.randint(1, 99) * 10_000),
                      "cleanup.policy": draws.choice(("compact", "delete")),
                      "min.insync.replicas": "1"}  # fmt: skip
            value = values[key] if draws.random() < 0.8 else None
            return SetConfig("topics", draws.choice(self.topics), key, value)
        return SetConfig("brokers", "", "log.retention.ms", str(draws.randint(1, 9) * 1_000_000))
