"""One soak: the cluster, its load and its kills, the commands, and the results."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.interop.kafka_cluster import KafkaCluster
from tests.kraftlake_process import REPOSITORY
from tests.soak.background import Background
from tests.soak.commands import ENDED_S, Command, Place, Ran, run
from tests.soak.ends import LakeTables, Messages, consumed, folded, recorded
from tests.soak.kills import Kill, LeaderKills, patiently
from tests.soak.load import MetadataLoad
from tests.soak.memory import Sample, held, live_heap, size

TOPIC = "metadata-changes"
SETTINGS: dict[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    # a busy machine must not cause an election or fence the broker
    "controller.quorum.election.timeout.ms": 5_000,
    "controller.quorum.fetch.timeout.ms": 15_000,
    "broker.session.timeout.ms": 60_000,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    "log.index.size.max.bytes": 1_048_576,
}
HEAP = "1g"
STORY = "story.pickle"
CHANGES = "SELECT count(*) FROM gold_metadata_changes"
_END = 'SELECT max("offset") + 1 FROM silver_committed_log'


@dataclass(frozen=True)
class Plan:
    """The plan. minutes: of load. rate: records per second. The other fields are in seconds:
    between kills of leaders, between builds, between checks of the streaming ingest, between
    samples, between full collections of the ingest's JVM. engine: of ingest and build, spark or
    local."""

    minutes: float = 120
    rate: int = 30
    kill_s: float = 300
    build_s: float = 1200
    follow_s: int = 60
    sample_s: float = 30
    heap_s: float = 600
    seed: int = 1
    engine: str = "spark"


@dataclass(frozen=True)
class Built:
    """A build at `at_s`: the topic's changes so far, and the bytes of lake and recording on disk
    then."""

    at_s: float
    ran: Ran
    log_end: int
    changes: int
    lake_bytes: int
    recording_bytes: int


@dataclass
class Story:
    """The results of a soak so far. samples: by command and kind (memory.held). heaps: the live
    objects of the ingest's JVM. failures: what ended it early, and exit codes that are not 0."""

    plan: Plan
    seconds: float = 0
    loaded_s: float = 0
    kills: list[Kill] = field(default_factory=list)
    taken: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    heaps: list[Sample] = field(default_factory=list)
    builds: list[Built] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    end: int = 0
    """The end (exclusive) of the recording when the observer was stopped; 0 before."""
    high_watermark: int = 0
    """The leader's high watermark at the end of the load."""
    archived_batches: int = 0
    messages: Messages | None = None
    leader: int = 0
    """The node whose log is compared at the end."""


class Soak:
    """A soak in `folder`, which is empty: kafka/, recording/, lake/, said/ (the output of each
    command), state.json. `story` is up to date at any moment."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.folder = folder
        self.lake = folder / "lake"
        self.recording = folder / "recording"
        self._place = Place(folder / "said", folder / "conf")
        self.story = Story(plan)
        self._plan = plan
        self._running: list[Command] = []
        self._began = time.monotonic()

    def run(self) -> Story:
        """Runs the whole soak. Errors are among the story's failures."""
        self._place.said.mkdir(parents=True)
        self._set_heap()
        try:
            with KafkaCluster(self.folder / "kafka", SETTINGS) as cluster:
                self._began = time.monotonic()
                try:
                    self._under_load(cluster)
                    self._drain(cluster)
                finally:
                    for command in self._running:
                        command.kill()
        except BaseException as error:  # noqa: BLE001 - the record tells of it
            self.story.failures.append(f"{type(error).__name__}: {error}")
        self.story.seconds = self._now
        self.write_state()
        (self.folder / STORY).write_bytes(pickle.dumps(self.story))
        return self.story

    def write_state(self) -> None:
        draft = self.folder / "state.json.draft"
        draft.write_text(json.dumps(_plain(self.story), indent=1))
        draft.rename(self.folder / "state.json")

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _set_heap(self) -> None:
        """Writes the commands' settings, which are ours except for the driver's heap."""
        shutil.copytree(REPOSITORY / "conf", self._place.conf)
        defaults = self._place.conf / "spark-defaults.conf"
        lines = [line for line in defaults.read_text().splitlines() if "driver.memory" not in line]
        defaults.write_text("\n".join([*lines, f"spark.driver.memory {HEAP}", ""]))

    def _start(self, name: str, *arguments: object) -> Command:
        command = Command(name, self._place, *arguments)
        self._running.append(command)
        return command

    def _under_load(self, cluster: KafkaCluster) -> None:
        bootstrap = ("-b", cluster.controllers)
        observer = self._start("observe", "replica", "observe", *bootstrap, "-o", self.recording)
        observer.wait_for("caught up at offset")
        follow = ("--follow", self._plan.follow_s)
        self._start("ingest", *self._stage("ingest"), *follow, self.recording)
        load = MetadataLoad(cluster.broker, self._plan.rate)
        kills = LeaderKills(cluster, self._plan.kill_s, Random(self._plan.seed))
        self.story.kills = kills.kills
        with ExitStack() as stack:
            everything = (load.run, kills.run, lambda stop: self._watch(stop, load))
            workers = [stack.enter_context(Background(work)) for work in everything]
            try:
                self._build_until(self._plan.minutes * 60, cluster, workers)
            finally:
                self.story.loaded_s = self._now
        self.story.taken, self.story.refused = load.taken, dict(load.refused)
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure

    def _build_until(self, end_s: float, cluster: KafkaCluster, workers: list[Background]) -> None:
        """Builds from the first finished ingest on. The first build starts the publisher, however
        late it is."""
        due = 0.0
        while self._now < end_s or not self.story.builds:
            self._check(workers)
            if self._now >= due and LakeTables(self.lake).log_end():
                due = self._now + self._plan.build_s
                self._build()
                if len(self.story.builds) == 1:
                    self._start("publish", *self._publish(cluster), "--follow")
            time.sleep(1)

    def _check(self, workers: list[Background]) -> None:
        for command in self._running:
            assert command.exit_code is None, f"{command.name} ended with {command.exit_code}"
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure

    def _stage(self, command: str) -> tuple[object, ...]:
        return (command, "--lake", self.lake, "--engine", self._plan.engine)

    def _publish(self, cluster: KafkaCluster) -> tuple[object, ...]:
        return ("publish", "--lake", self.lake, "-b", cluster.broker, "--topic", TOPIC)

    def _build(self) -> None:
        at = self._now
        ran = run(f"build-{len(self.story.builds) + 1}", self._place, *self._stage("build"))
        self._note(ran)
        tables = LakeTables(self.lake)
        self.story.builds.append(
            Built(
                at,
                ran,
                tables.number(_END, "silver.committed_log"),
                tables.number(CHANGES, "gold.metadata_changes"),
                size(self.lake),
                size(self.recording),
            )
        )

    def _note(self, ran: Ran) -> None:
        if ran.exit_code:
            self.story.failures.append(f"{ran.name} ended with {ran.exit_code}")

    def _watch(self, stop: threading.Event, load: MetadataLoad) -> None:
        heap_due = self._plan.heap_s
        while not stop.wait(self._plan.sample_s):
            for command in list(self._running):
                for kind, found in held(command.pid).items():
                    samples = self.story.samples.setdefault(f"{command.name} {kind}", [])
                    samples.append(Sample(self._now, found))
            if self._now >= heap_due:
                heap_due += self._plan.heap_s
                self._sample_heap()
            self.story.seconds = self._now
            self.story.taken, self.story.refused = load.taken, dict(load.refused)
            self.write_state()

    def _sample_heap(self) -> None:
        pid = next(command.pid for command in self._running if command.name == "ingest")
        found = live_heap(pid)
        if found is not None:
            self.story.heaps.append(Sample(self._now, found))

    def _drain(self, cluster: KafkaCluster) -> None:
        """Ends stage by stage, from the quorum to the topic: each stage is stopped when it has
        everything that the stage before it holds."""
        by_name = {command.name: command for command in self._running}
        self.story.high_watermark = _high_watermark(cluster)
        wanted = self.story.high_watermark
        patiently(lambda: cluster.wait_until(lambda: _observed_end(cluster) >= wanted, "not read"))
        self._end(by_name["observe"])
        batches = recorded(self.recording)
        self.story.end = batches[-1].last_offset + 1
        self._wait_for_ingest(by_name["ingest"])
        self._end(by_name["ingest"])
        archive = self.recording / "archive"
        if any(archive.iterdir()):
            self.story.archived_batches = len(recorded(archive))
            both = self.recording, archive
            self._note(run("ingest-archive", self._place, *self._stage("ingest"), *both))
        self._build()
        by_name["publish"].wait_for(" version ")
        self._end(by_name["publish"])
        self._note(run("publish-rest", self._place, *self._publish(cluster)))
        self.story.messages = folded(consumed(cluster.broker, TOPIC))
        end = self.story.end
        patiently(lambda: cluster.wait_until(lambda: _high_watermark(cluster) >= end, "not safe"))
        self.story.leader = patiently(cluster.leader)

    def _end(self, command: Command) -> None:
        """Sends SIGTERM, as a service manager does."""
        try:
            code: int | None = command.end()
        except subprocess.TimeoutExpired:
            code = None
            command.kill()
        self._running.remove(command)
        if code != 0:
            self.story.failures.append(f"{command.name} ended with {code} at SIGTERM")

    def _wait_for_ingest(self, ingest: Command) -> None:
        tables, deadline = LakeTables(self.lake), time.monotonic() + ENDED_S
        while tables.log_end() < self.story.end:
            assert ingest.exit_code is None, f"ingest ended with {ingest.exit_code}"
            assert time.monotonic() < deadline, "the ingest never reached the recording's end"
            time.sleep(1)


def _partition(cluster: KafkaCluster) -> dict[str, Any]:
    """The partition as the leader describes it."""
    found = cluster.described(patiently(cluster.leader))
    return {} if found is None else found


def _high_watermark(cluster: KafkaCluster) -> int:
    """The high watermark (exclusive); 0 where no node answered."""
    return int(_partition(cluster).get("highWatermark", 0))


def _observed_end(cluster: KafkaCluster) -> int:
    """The offset up to which the recorder has fetched, by the leader. The recorder has the highest
    id of all observers."""
    observers = _partition(cluster).get("observers", [])
    recorder = max(observers, key=lambda each: int(each["replicaId"]), default={})
    return int(recorder.get("logEndOffset", 0))


def _plain(story: Story) -> dict[str, Any]:
    """The story in JSON's types. Of the messages it has only the number."""
    fields = {name: value for name, value in vars(story).items() if name != "messages"}
    count = None if story.messages is None else story.messages.count
    return json.loads(json.dumps(fields | {"messages": count}, default=asdict))
