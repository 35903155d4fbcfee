"""The directories that replace lost voters where no majority is left: copies of the newest log
under the voters' ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replica.doctor.check.examined import Examined
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.recovery import RecoveryPlan
from replica.doctor.rehearsal.step import ScenarioStep, StandIn
from replica.format.quorum_state import FILE_NAME as QUORUM_STATE
from replica.format.quorum_state import encode, new_state
from replica.format.snapshot import BOOTSTRAP_NAME
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.shell_text import Shell, line, path


@dataclass(frozen=True, slots=True)
class StandIns:
    """The stand-ins of a recovery plan: directories with which new nodes take the places of lost
    voters."""

    plan: RecoveryPlan
    winner: Examined
    """The directory of the log that is copied."""
    cluster_id: str
    """The cluster id as a word for a shell."""
    voters: Sequence[ReplicaKey]
    """The voters for which a directory is made."""

    def commands(self) -> tuple[Shell, ...]:
        """The shell commands that make the directories of the stand-ins."""
        return tuple(each for voter in self.voters for each in self._made(voter))

    def played(self) -> ScenarioStep:
        """The step that a rehearsal plays in place of `commands`."""
        state = self._quorum_state().encode()
        source = self.plan.winner.key.node_id
        made = tuple(StandIn(voter, source, state) for voter in self.voters)
        return ScenarioStep(stand_ins=made, start=())

    def _quorum_state(self) -> str:
        """The quorum-state of a stand-in. Without this file Kafka would take the log's last epoch.
        The lost voter may have voted or led in that epoch. Then a node that knows this would tell
        the stand-in that the stand-in leads, and its Kafka would end with "Cannot transition to
        Follower"."""
        logs = [standing.log for standing in self.plan.ranking]
        epoch = max(max(log.quorum_epoch, log.position().epoch) for log in logs) + 1
        own = self.winner.directory.quorum_state
        version = int(self.plan.is_dynamic) if own is None else own.version
        voters = tuple(voter.node_id for voter in sorted(self.plan.voters or ()))
        state = new_state(
            version=version, leader_id=NO_NODE, leader_epoch=epoch, current_voters=voters
        )
        return encode(state).decode()

    def _made(self, voter: ReplicaKey) -> Iterator[Shell]:
        folder = f"stand-in-{voter.node_id}"
        inner = f"{folder}/{partition_of(self.winner).shown}"
        yield line("mkdir", folder)
        yield line("cp", "-a", path(self.winner.shown), inner)
        yield line("printf", "%s", self._quorum_state(), Shell(">"), f"{inner}/{QUORUM_STATE}")
        if self.winner.directory.bootstrap is not None:
            yield line("cp", "-a", path(self.winner.shown_file(BOOTSTRAP_NAME)), f"{folder}/")
        lines = [f"cluster.id={self.cluster_id}", f"node.id={voter.node_id}"]
        if voter.directory_id != ZERO_UUID:
            lines.append(f"directory.id={voter.directory_id}")
        written = ("printf", r"%s\n", "version=1", *lines)
        yield line(*written, Shell(">"), f"{folder}/meta.properties")
