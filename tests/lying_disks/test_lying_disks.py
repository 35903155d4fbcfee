"""Disks and clocks that lie to a quorum of processes on real files: the replica concerned stops
with the reason in one line, and nothing that was acknowledged is lost."""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fuzz.quorum_kills import Appending, appended_in
from tests.interop.mixed_quorum import MixedQuorum, Voter
from tests.lying_disks.lies import ALL_FROM_DISK, Lies, ended


@pytest.fixture
def lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lies:
    lies = Lies(tmp_path)
    for name, value in lies.variables.items():
        monkeypatch.setenv(name, value)
    return lies


@contextmanager
def appending_to(quorum: MixedQuorum) -> Iterator[Appending]:
    appending = Appending(quorum)
    quorum.leader()
    appending.start()
    goes_on(quorum, appending)
    yield appending
    appending.stop()


def goes_on(quorum: MixedQuorum, appending: Appending) -> None:
    """Until three more batches were acknowledged."""
    known = len(appending.acknowledged)
    quorum.wait_until(lambda: len(appending.acknowledged) > known + 3, "nothing is appended")


def all_is_there(quorum: MixedQuorum, appending: Appending) -> None:
    """What was acknowledged is in all three logs, where it was said to be, and once."""
    end = quorum.wait_for_commits(max(appending.acknowledged.values()))
    quorum.wait_until(lambda: quorum.holding(end)[0] == 3, f"not all have the same up to {end}")
    _, size = quorum.holding(end)
    for voter in quorum.voters.values():
        found = appended_in(voter.log(0, size))
        assert {v: found.get(v) for v in appending.acknowledged} == {
            v: [offset] for v, offset in appending.acknowledged.items()
        }


def log_of(voter: Voter) -> str:
    return rf"/{voter.node_id}/log/.*\.log$"


FAULTS = {
    "a sync that fails": ("fsync", errno.EIO, "Input/output error"),
    "a write that fails": ("pwrite", errno.EIO, "Input/output error"),
    "a read that fails": ("pread", errno.EIO, "Input/output error"),
    "a full disk": ("pwrite", errno.ENOSPC, "No space left on device"),
}


def stops_and_comes_back(folder: Path, lies: Lies, fault: str, role: str) -> None:
    call, number, reason = FAULTS[fault]
    quorum = MixedQuorum(folder, kraftlake=3, properties=ALL_FROM_DISK)
    with quorum, appending_to(quorum) as appending:
        leader = quorum.leader()
        followers = [voter for voter in quorum.running if voter is not leader]
        victim = leader if role == "leader" else followers[0]
        lies.tell([(call, log_of(victim), number)])
        assert ended(victim).endswith(f"0.log: {reason}")
        goes_on(quorum, appending)
        lies.tell()
        victim.start()
        goes_on(quorum, appending)
        appending.stop()
        all_is_there(quorum, appending)


def test_a_follower_whose_disk_is_full_stops_and_comes_back_with_all_that_was_acknowledged(
    tmp_path: Path, lies: Lies
) -> None:
    stops_and_comes_back(tmp_path, lies, "a full disk", "follower")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "role"),
    [
        (fault, role)
        for fault in FAULTS
        for role in ("leader", "follower")
        if (fault, role) != ("a full disk", "follower")
    ],
)
def test_a_replica_that_cannot_use_its_log_stops_and_the_others_keep_what_was_acknowledged(
    tmp_path: Path, lies: Lies, fault: str, role: str
) -> None:
    stops_and_comes_back(tmp_path, lies, fault, role)


@pytest.mark.slow
def test_a_limit_of_the_kernel_on_the_size_of_files_stops_a_follower_in_one_line(
    tmp_path: Path,
) -> None:
    """No shim: the kernel itself refuses the write, with EFBIG."""
    with MixedQuorum(tmp_path, kraftlake=3) as quorum, appending_to(quorum) as appending:
        victim = next(voter for voter in quorum.running if voter is not quorum.leader())
        assert victim.process is not None
        limit = victim.size + 1000
        resource.prlimit(victim.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        assert ended(victim).endswith("0.log: File too large")
        goes_on(quorum, appending)
        victim.start()
        goes_on(quorum, appending)
        appending.stop()
        all_is_there(quorum, appending)


@pytest.mark.slow
def test_clocks_that_jump_by_a_day_cost_neither_an_election_nor_a_record(
    tmp_path: Path, lies: Lies
) -> None:
    with MixedQuorum(tmp_path, kraftlake=3) as quorum, appending_to(quorum) as appending:
        before = quorum.leader().election
        for clock_s in (86_400, -86_400, 0):
            lies.tell(clock_s=clock_s)
            goes_on(quorum, appending)
        assert quorum.leader().election == before
        lies.tell(clock_s=-86_400)  # The next start is a day before the last one.
        follower = next(voter for voter in quorum.running if voter is not quorum.leader())
        follower.kill()
        follower.start()
        quorum.leader().kill()
        quorum.leader(above_epoch=before[0])
        goes_on(quorum, appending)
        for voter in quorum.voters.values():
            if voter.process is None:
                voter.start()
        goes_on(quorum, appending)
        appending.stop()
        all_is_there(quorum, appending)
