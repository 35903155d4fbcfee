"""The sentences that say why a recovery plan isn't safe."""

from dataclasses import replace

import pytest

from replica.history.log import LogBatch
from replica.model.epochs import OffsetAndEpoch
from tests.replica.doctor.quorum.planned import plan_recovery
from tests.replica.doctor.quorum.test_recovery import ONE, THREE, TWO, log


def of_another_quorum(key):
    batches = tuple(LogBatch(offset, offset, 1, ("other", offset)) for offset in range(3))
    return replace(log(key, 1, 1, 1), batches=batches)


OLDER = "the disk of node 1 or 3 is older than it was, or was emptied"


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ((log(ONE, 1), log(THREE, 1, 1)), OLDER),
        ((log(THREE, 1, 2, quorum_epoch=2), log(ONE, 1, 2, 2, quorum_epoch=2)), OLDER),
        (
            (of_another_quorum(ONE), of_another_quorum(THREE)),
            "their logs conflict, and a person has to choose a history",
        ),
    ],
)
def test_the_reason_says_whose_disk_may_be_older(others, why):
    holder = log(TWO, 1, 1, 1, 1, snapshots=(OffsetAndEpoch(3, 1),))
    plan = plan_recovery([holder, *others])
    (told,) = (one for one in plan.reasons if one.startswith("node 3 (directory-3) may win"))
    assert told.endswith(f"of node 2 (directory-2): {why}")
