"""The quorum of a recovery plan: each step, with the commands of Kafka and of kraftlake that carry
it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from jobs.cli.directories.recover_fixed_steps import (
    COMBINED_FILE,
    CONTROLLER_FILE,
    RESTART_BROKERS,
    RecoverStep,
    kept_replicas,
    lost_replicas,
)
from jobs.cli.directories.recover_names import bundle_of, endpoints_of, shown_paths
from jobs.cli.directories.recover_second_logs import one_log_each, second_logs
from jobs.cli.directories.recover_stand_ins import StandIns
from replica.doctor.check.examined import Examined
from replica.doctor.check.partition import PartitionFolder, partition_of
from replica.doctor.health.hosted import HostedReplicas
from replica.doctor.quorum.conditions import if_its_own, late_voters
from replica.doctor.quorum.known_voter import NOT_AT_HAND, VoterDoubt
from replica.doctor.quorum.reasons import unless_changed
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.doctor.rehearsal import step as rehearsal
from replica.doctor.verdict.start_of_voters import NO_BROKER, StartOfVoters
from replica.metadata.image.partition import topic_of
from replica.model.keys import ReplicaKey
from replica.model.voters import majority
from replica.shell_text import Shell, identifier, line, noted, paths, word
from replica.words import named, sentence

_START = ("bin/kafka-server-start.sh", "-daemon")
_RUN = ("kraftlake", "replica", "run", "-c", "server.properties")
_OF_VOTERS = ("--type", "KRAFT_VOTERS", "--type", "LEADER_CHANGE")
_STATIC_VOTERS = (
    Shell("\"$(sed -n 's/^controller.quorum.voters=//p' "),
    Shell(" | sed 's/[0-9]*@//g')\""),
)
"""The shell text around the name of a node's properties that gives host:port of each voter of a
static quorum. The logs of such a quorum don't hold the addresses."""


class PlannedQuorum:
    """The quorum of a recovery plan, and the names in the commands of the plan's steps: the
    cluster, the voters with their addresses, and the directories that were given."""

    def __init__(
        self,
        plan: RecoveryPlan,
        by_key: Mapping[ReplicaKey, Examined],
        hosted: HostedReplicas,
    ) -> None:
        self.plan = plan
        self.by_key = by_key
        self.hosted = hosted
        self.winner = by_key[plan.winner.key]
        self.cluster_id = identifier(
            self.winner.owner.cluster_id, f"{self.winner.shown}: meta.properties: cluster.id"
        )
        self.partition: PartitionFolder = partition_of(self.winner)
        ranked = [by_key[standing.log.key] for standing in plan.ranking]
        self.shown = [examined.shown for examined in ranked]
        self.bundles = sorted({b for path in self.shown if (b := bundle_of(path)) is not None})
        self.hosts = endpoints_of(ranked)
        self.voters = sorted(plan.voters or ())
        self.doubted = [voter.key for voter in plan.doubted]
        self.not_given = [voter.key for voter in plan.quorum.in_doubt(*NOT_AT_HAND)]
        replaced = plan.quorum.in_doubt(VoterDoubt.ANOTHER_DIRECTORY)
        self.replaced_disks = [voter.key for voter in replaced]
        known = (*self.voters, *(voter.key for voter in plan.quorum.leaving))
        self.left = [v for v in known if v not in plan.missing and v not in self.doubted]
        self._late = [one for one in late_voters(plan.quorum) if one.key in self.left]
        stopped = {voter.node_id for voter in self.doubted}
        observers = {s.log.key.node_id for s in plan.ranking if s.is_voter is False}
        self.observers = sorted(observers - stopped)

    @property
    def _bootstrap(self) -> str:
        known = [self.hosts[v.node_id] for v in self.voters if v.node_id in self.hosts]
        if not known:
            before, behind = _STATIC_VOTERS
            return word(before, self._file(self._asked), behind)
        return ",".join(f"{host}:{port}" for host, port in known)

    @property
    def _asked(self) -> int:
        """The id of the node on which the tools run: commands name files of its Kafka."""
        return next(iter((*self.left, *self.voters, self.plan.winner.key))).node_id

    def on(self, node_id: int, *words: str, note: str = "") -> Shell:
        """The command line of these words, which runs on a node's host. note: the text after the
        host in the line's comment."""
        host = self.hosts.get(node_id)
        place = f"on node {node_id}" + ("" if host is None else f", {host[0]}")
        return noted(line(*words), f"{place}{note}")

    def unpack(self) -> RecoverStep:
        """The step that unpacks a bundle, because commands can't name files in it."""
        folders = [shown for shown in self.shown if bundle_of(shown) is None]
        return RecoverStep(
            "Unpack the bundles, and make the plan again for the folders: its commands name what "
            "they hold.",
            (
                line("kraftlake", "capture", *paths(self.bundles), "-o", "unpacked"),
                line("kraftlake", "recover", "--plan", "unpacked", *shown_paths(folders)),
            ),
        )

    def stop(self) -> RecoverStep:
        nodes = [voter.node_id for voter in self.voters] or [
            standing.log.key.node_id for standing in self.plan.ranking
        ]
        what = "controller" if self.partition.is_metadata else "replica of the quorum"
        first = "Only if these disks are gone: " if self.not_given else ""
        brokers = f" {NO_BROKER}" if self.plan.answer is not RecoveryDecision.REFUSED else ""
        return RecoverStep(sentence(f"{first}stop every {what}") + brokers, self._stopping(nodes))

    def start_with_own_disk(self, voter: ReplicaKey) -> RecoverStep:
        """The step for a voter about which only this is known: its directory was not given."""
        return RecoverStep(
            f"If node {voter.node_id} still has its own disk, start it with that disk, and leave "
            "out the next step. If the disk was restored from a backup, don't start it: first make "
            "the plan again with its directory.",
            (self.on(voter.node_id, *self.start_words(voter.node_id)),),
        )

    def start_words(self, node_id: int) -> tuple[str, ...]:
        """The words of the command that starts a node."""
        return (*_START, self._file(node_id)) if self.partition.is_metadata else _RUN

    def _file(self, node_id: int) -> str:
        """The path of a node's properties in Kafka's release archive. For a partition other than
        the metadata log it is the properties file of a replica of kraftlake."""
        if not self.partition.is_metadata:
            return _RUN[-1]
        return COMBINED_FILE if node_id in self.hosted else CONTROLLER_FILE

    def leave_stopped(self) -> RecoverStep:
        """The step that leaves voters stopped whose disks can't be relied on, so that they don't
        vote."""
        nodes = [voter.node_id for voter in self.doubted]
        which = named("node", [str(node) for node in nodes])
        dangers = "; ".join(f"node {one.key.node_id} {one.danger}" for one in self.plan.doubted)
        return RecoverStep(
            f"Keep {which} stopped until the step below that formats a new disk: {dangers}.",
            self._stopping(nodes),
        )

    def _stopping(self, nodes: Iterable[int]) -> tuple[Shell, ...]:
        if not self.partition.is_metadata:
            running = Shell("$(pgrep -f 'kraftlake replica run')")
            return tuple(self.on(node, "kill", running) for node in nodes)
        tool = "bin/kafka-server-stop.sh"
        return tuple(self.on(node, tool, f"--node-id={node}") for node in nodes)

    def keep(self) -> Iterator[RecoverStep]:
        """The steps that come before any node starts."""
        folder = f"kept-{self.cluster_id}"
        yield RecoverStep(
            "Keep a copy of each directory that was given.",
            (line("kraftlake", "capture", *shown_paths(self.shown), "-o", folder),),
        )
        if self.plan.answer is not RecoveryDecision.REFUSED:
            yield from map(one_log_each, second_logs(self.plan, self.by_key))

    def start(
        self, text: str, voters: Iterable[ReplicaKey], *, may_run: bool = False
    ) -> RecoverStep:
        """A step that starts nodes. may_run: whether they may run already, as far as files show."""
        started = [voter.node_id for voter in voters]
        note = ", only if it does not run" * may_run
        lines = tuple(
            self.on(node_id, *self.start_words(node_id), note=note) for node_id in started
        )
        nodes = tuple(sorted({*started, *self.observers}))
        return RecoverStep(text, lines, plays=(rehearsal.ScenarioStep(start=nodes),))

    def start_left(self, text: str, first: StartOfVoters | None = None) -> Iterator[RecoverStep]:
        """The steps that start the voters that are left. Voters whose disks may be older copies
        start in a separate step, which names this condition. first: the voters that start before
        the others."""
        if first is not None:
            text = f"{sentence(first.clause)} {text}"
        if not self._late:
            order = () if first is None else first.first
            started = sorted(self.left, key=lambda voter: voter.node_id not in order)
            yield self.start(text, started, may_run=True)
            return
        late = [voter.key for voter in self._late]
        nodes = named("node", [str(voter.node_id) for voter in late])
        others = self.start(
            f"{text} The next step starts {nodes}.", self.started_first, may_run=True
        )
        yield replace(others, plays=self.start(text, self.left).plays)
        else_ = "keep it stopped, and make the plan again without its directory"
        if self.rejoining:
            else_ = "keep it stopped until the step below that formats an empty disk for it"
        text = f"{if_its_own(self._late)} If it was, {else_}."
        yield replace(self.start(text, late, may_run=True), plays=())

    @property
    def started_first(self) -> list[ReplicaKey]:
        """The voters that start first: those that are left, and whose disks are no older copies."""
        late = [voter.key for voter in self._late]
        return [voter for voter in self.left if voter not in late]

    @property
    def rejoining(self) -> tuple[ReplicaKey, ...]:
        """The voters that join again with empty disks if their own disks turn out to be older
        copies. Empty where the other voters are no majority, because then nobody can join."""
        late = tuple(voter.key for voter in self._late)
        others = sum(voter in self.left and voter not in late for voter in self.voters)
        return late if others >= majority(len(self.voters)) else ()

    def describe(self, text: str) -> RecoverStep:
        if not self.partition.is_metadata:
            topic = topic_of(self.partition.name)
            words = ("kraftlake", "replica", "describe", "-b", self._bootstrap, "--topic", topic)
            return RecoverStep(text, (self.on(self._asked, *words),))
        described = self.on(self._asked, *self._tool, "describe", "--replication")
        return RecoverStep(text, (described,))

    @property
    def _tool(self) -> tuple[str, ...]:
        return ("bin/kafka-metadata-quorum.sh", "--bootstrap-controller", self._bootstrap)

    def _removal(self, voter: ReplicaKey) -> Shell:
        """The command that takes a voter out of a dynamic quorum."""
        removed = ("remove-controller", "--controller-id", str(voter.node_id))
        directory = f"--controller-directory-id={voter.directory_id}"
        return self.on(self._asked, *self._tool, *removed, directory)

    def _addition(self, node_id: int) -> Shell:
        """The command that makes a node, with the disk that it has, a voter of a dynamic quorum."""
        tool, *bootstrap = self._tool
        own = self._file(node_id)
        return self.on(node_id, tool, "--command-config", own, *bootstrap, "add-controller")

    def replace(self, voter: ReplicaKey) -> RecoverStep:
        """The step that replaces a lost voter by a node with the same id and an empty disk, when
        the other nodes run again."""
        on = partial(self.on, voter.node_id)
        first = ""
        if voter in self.not_given:
            first = f"Only if the disk of node {voter.node_id} is gone: "
        if voter in self.rejoining:
            first = f"Only if the disk of node {voter.node_id} was restored from an older copy: "
        if not self.partition.is_metadata:
            return RecoverStep(
                sentence(
                    f"{first}format node {voter.node_id} anew, on an empty log.dirs, and start it"
                ),
                (
                    on("kraftlake", "replica", "format", *_RUN[-2:], "-t", self.cluster_id),
                    on(*_RUN),
                ),
            )
        form, brokers = self._format(voter), self._replicas_of(voter)
        if not self.plan.is_dynamic:
            return RecoverStep(
                sentence(
                    f"{first}format node {voter.node_id} anew, on an empty disk; not before the "
                    "others have a leader, for an empty voter votes for anybody"
                )
                + brokers,
                (on(*form), on(*self.start_words(voter.node_id))),
                plays=(rehearsal.ScenarioStep(empty=(voter.node_id,)),),
            )
        return RecoverStep(
            sentence(
                f"{first}take node {voter.node_id} out of the voters, format an empty disk for "
                "it, and add it again once it has caught up (`describe` above shows it)"
            )
            + brokers,
            (
                self._removal(voter),
                on(*form, "--no-initial-controllers"),
                on(*self.start_words(voter.node_id)),
                self._addition(voter.node_id),
            ),
            plays=(
                rehearsal.ScenarioStep(remove_voter=voter.node_id),
                rehearsal.ScenarioStep(empty=(voter.node_id,)),
                rehearsal.ScenarioStep(add_voter=voter.node_id),
            ),
        )

    def admit(self, voter: ReplicaKey) -> RecoverStep:
        """The step that makes a node a voter again by the disk that it has now, when the others
        run."""
        node = voter.node_id
        return RecoverStep(
            f"Node {node} has another disk than the voter, so its votes don't count. If the disk "
            f"with directory id {voter.directory_id} still exists, start the node with that disk, "
            "and leave out the commands. If it is gone, take it out of the voters, and add the "
            "node with the disk that it has, once it has caught up (`describe` above shows it).",
            (
                self._removal(voter),
                self.on(node, *self.start_words(node)),
                self._addition(node),
            ),
            plays=(
                rehearsal.ScenarioStep(remove_voter=node),
                rehearsal.ScenarioStep(add_voter=node),
            ),
        )

    def empty(self, voter: ReplicaKey) -> RecoverStep:
        """The step that gives an empty disk to a node that the newest log no longer names as a
        voter."""
        on = partial(self.on, voter.node_id)
        return RecoverStep(
            f"Format an empty disk for node {voter.node_id}, and start it. The newest log names it "
            "a voter no more; where Kafka still lists it as one (see the step before), take it out "
            f"of the voters first.{self._replicas_of(voter)}",
            (
                on(*self._format(voter), "--no-initial-controllers"),
                on(*self.start_words(voter.node_id)),
            ),
            plays=(rehearsal.ScenarioStep(empty=(voter.node_id,)),),
        )

    def without_majority(self) -> Iterator[RecoverStep]:
        """The steps without a majority. Kafka has no command for this case. A voter is its node id
        and directory id, so a copy of the newest log under these two ids can replace a lost
        voter."""
        if not self.voters:
            yield RecoverStep(
                "Find out who the voters are.",
                (
                    line("kraftlake", "dump", *_OF_VOTERS, *shown_paths(self.shown)),
                    noted(
                        line("grep", "controller.quorum", self._file(self._asked)),
                        "on each controller",
                    ),
                ),
            )
            return
        missing = sorted(self.plan.missing)
        stand_ins = StandIns(self.plan, self.winner, self.cluster_id, missing)
        nodes = named("node", [str(voter.node_id) for voter in missing])
        accepted = f"Accept that what only {nodes} held is lost"
        if self.plan.quorum.is_blocking:
            accepted = f"No committed record is only on {nodes}"
        if self.plan.rests_on_same_voters:
            accepted += f", {unless_changed(self.plan.quorum)}"
        yield RecoverStep(
            f"{accepted}. Make directories for {nodes} from the "
            f"log of node {self.plan.winner.key.node_id}, each with a quorum-state without a vote, "
            "in an epoch that nobody has voted in.",
            stand_ins.commands(),
            makes_stand_ins=True,
            plays=(stand_ins.played(),),
        )
        yield RecoverStep(
            "Copy each of them into the empty log directory of its node: metadata.log.dir, or the "
            f"first of log.dirs.{''.join(map(self._replicas_of, missing))}",
            (
                noted(Shell("LOG_DIR=/var/lib/kafka/metadata"), "of each of these nodes"),
                *(line("scp", "-rp", f"stand-in-{v.node_id}/.", self._place(v)) for v in missing),
            ),
        )
        yield self.start("Start all voters.", self.voters)
        yield self.describe("See that one of them leads and the others follow it.")
        if self.partition.is_metadata and self.plan.answer is not RecoveryDecision.SAFE:
            yield RESTART_BROKERS

    def _format(self, voter: ReplicaKey) -> tuple[str, ...]:
        """Kafka's command that formats a voter's disk. A combined node may have other log.dirs that
        are formatted already."""
        cluster = ("--cluster-id", self.cluster_id, "--config", self._file(voter.node_id))
        kept = ("--ignore-formatted",) if voter.node_id in self.hosted else ()
        return ("bin/kafka-storage.sh", "format", *cluster, *kept)

    def _replicas_of(self, voter: ReplicaKey) -> str:
        """What happens to the partition replicas on a voter's node; "" where it is no broker."""
        replicas = self.hosted.get(voter.node_id)
        if replicas is None:
            return ""
        say = lost_replicas if voter in self.not_given else kept_replicas
        return say(voter, replicas)

    def _place(self, voter: ReplicaKey) -> Shell:
        """The host and the log directory of a voter, in the form host:path that scp takes."""
        host = self.hosts.get(voter.node_id)
        return word(f"node{voter.node_id}" if host is None else host[0], Shell(':"$LOG_DIR"/'))
