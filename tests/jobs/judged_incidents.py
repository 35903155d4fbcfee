"""Directories of nodes of which both `check` and `report` give a verdict: recorded clusters, the
simulator's named scenarios, clusters with disks that were put back, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from tests.contradictions.answers import write
from tests.contradictions.clusters import DATA, RECORDED, ROUNDS, named
from tests.jobs.restored_disks import restored_quorum
from tests.jobs.two_histories import two_histories, with_folders


def _two_histories(folder: Path) -> None:
    with_folders(two_histories(folder))


def _named(name: str, folder: Path) -> None:
    write(named(name).newest, folder)


PUT_BACK: Mapping[str, Callable[[Path], object]] = {
    "two-histories": _two_histories,
    "one-disk-put-back": partial(restored_quorum, voters=3, restored=(2,)),
    "leader-s-disk-put-back": partial(restored_quorum, voters=3, restored=(1,)),
    "two-disks-put-back": partial(restored_quorum, voters=3, restored=(1, 2)),
    "only-voter-put-back": restored_quorum,
}
RECORDS = tuple(f"{cluster}/{one}" for cluster in RECORDED for one in ROUNDS)
INCIDENTS = (*RECORDS, *SCENARIOS_BY_NAME, *PUT_BACK)
SEEDS = tuple(f"seed-{one}{kind}" for one in range(30) for kind in ("", "-left", "-old"))
"""Random incidents, for the slow tests."""


def incident(name: str, folder: Path) -> Path:
    """The directories of an incident. folder: where they are written, unless they are recorded."""
    if name in RECORDS:
        return DATA / name
    PUT_BACK.get(name, partial(_named, name))(folder)
    return folder
