"""A recovery plan for logs that were not compared yet."""

from __future__ import annotations

from collections.abc import Sequence

from replica.doctor.quorum.known_quorum import NO_FILES, QuorumFiles
from replica.doctor.quorum.recovery import RecoveryPlan, plan_compared
from replica.doctor.quorum.went_back import ComparedRound
from replica.history.commitment import compare_group
from replica.history.log import ReplicaLog


def plan_recovery(logs: Sequence[ReplicaLog], files: QuorumFiles = NO_FILES) -> RecoveryPlan:
    return plan_compared(ComparedRound.of(compare_group(logs)), files)
