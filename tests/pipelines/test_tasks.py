"""Parts of the work in other processes: their results, and what ends with whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from pipelines.tasks import Here, LostProcessError, cores, processes
from replica.errors import UsageError

_PARENT = """
import os, sys, time
from pipelines.tasks import processes
from tests.pipelines.test_tasks import tell_and_wait
if __name__ == "__main__":
    with processes(2) as tasks:
        tasks.map(tell_and_wait, [1, 2])
"""


def doubled(number: int) -> tuple[int, int]:
    return 2 * number, os.getpid()


def refused(number: int) -> int:
    raise UsageError(f"{number} is refused")


def killed(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def tell_and_wait(number: int) -> int:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    time.sleep(600)
    return number


def test_results_come_in_the_order_of_the_parts_from_other_processes() -> None:
    with processes(2) as tasks:
        found = tasks.map(doubled, [3, 1, 2])
    assert [number for number, _ in found] == [6, 2, 4]
    assert os.getpid() not in {process for _, process in found}


def test_work_for_one_process_runs_in_this_process() -> None:
    with processes(1) as tasks:
        assert tasks == Here()
        assert tasks.map(doubled, [4]) == [(8, os.getpid())]


def test_the_error_of_a_part_is_the_callers() -> None:
    with processes(2) as tasks, pytest.raises(UsageError, match=r"^2 is refused$"):
        tasks.map(refused, [2])


def test_a_process_that_the_system_ends_is_told_in_one_line() -> None:
    with processes(2) as tasks, pytest.raises(LostProcessError) as caught:
        tasks.map(killed, [1])
    assert "\n" not in str(caught.value)
    assert "run the same command again" in str(caught.value)


def test_processes_end_when_their_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 30
    while any(_is_alive(one) for one in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.stdout.close()
    assert not [one for one in children if _is_alive(one)]


def _is_alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_there_is_a_core() -> None:
    assert cores() >= 1


def test_threads_give_results_in_the_order_of_the_parts() -> None:
    assert Here(3).map(doubled, [3, 1, 2]) == [(2 * n, os.getpid()) for n in (3, 1, 2)]
    with pytest.raises(UsageError, match="1 is refused"):
        Here(3).map(refused, [1, 2, 3, 4])
