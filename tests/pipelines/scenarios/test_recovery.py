"""`recover --plan` on what is left of the named scenarios, whichever disks are lost."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.history_log import replica_log
from replica.doctor.quorum.known_quorum import QuorumFiles
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.model.keys import ReplicaKey
from replica.simulate.scenarios.library import SCENARIOS
from replica.simulate.scenarios.writing import write_capture
from tests.pipelines.scenarios.chronicle import BatchId
from tests.pipelines.scenarios.played import TOLD, Moment, Played, batches
from tests.replica.doctor.quorum.planned import plan_recovery

safe_ones = pytest.mark.parametrize("name", [each.name for each in SCENARIOS if each.is_safe])
unsafe_ones = pytest.mark.parametrize("name", [each.name for each in SCENARIOS if not each.is_safe])


@pytest.mark.slow
@safe_ones
def test_whichever_disks_are_left_a_plan_called_safe_keeps_all_that_was_committed(
    plays: dict[str, Played], tmp_path: Path, name: str
) -> None:
    """Of those that are no majority none is called so."""
    moment = plays[name].at(TOLD)
    disks = examined(moment, tmp_path)
    sizes = range(1, len(disks) + 1)
    answers = []
    for left in chain.from_iterable(combinations(disks, size) for size in sizes):
        plan = plan_of([disks[node_id] for node_id in left])
        answers.append(plan.answer)
        if plan.answer is RecoveryDecision.SAFE:
            assert lacking(plan.winner.key, moment) == [], left
        if len(left) == 1:
            assert plan.answer is not RecoveryDecision.SAFE
    assert RecoveryDecision.SAFE in answers


@unsafe_ones
def test_a_plan_for_disks_that_lack_committed_records_is_refused(
    plays: dict[str, Played], tmp_path: Path, name: str
) -> None:
    moment = plays[name].at(TOLD)
    plan = plan_of(list(examined(moment, tmp_path).values()))
    assert lacking(plan.winner.key, moment), "otherwise the scenario shows nothing"
    assert plan.answer is RecoveryDecision.REFUSED


def examined(moment: Moment, folder: Path) -> dict[int, Examined]:
    write_capture(moment.capture, str(folder / "left"))
    return {
        node_id: examine(DirectoryPath(str(folder / "left" / str(node_id) / METADATA_FOLDER), "x"))
        for node_id in moment.capture.files
    }


def plan_of(disks: list[Examined]) -> RecoveryPlan:
    logs = [replica_log(one, str(place)) for place, one in enumerate(disks)]
    hidden = {log.key for log, one in zip(logs, disks, strict=True) if one.hides_entries}
    return plan_recovery(logs, QuorumFiles(unreadable=frozenset(hidden)))


def lacking(winner: ReplicaKey, moment: Moment) -> list[BatchId]:
    """What was committed and is neither in the winner's log nor below its start."""
    log = batches(moment.replicas()[winner])
    return [
        batch
        for batch in sorted(moment.committed)
        if batch.last >= min(log) and log.get(batch.base) != batch
    ]
