"""Units done in this process, in its threads and in other processes, and what ends with whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.runners.attempt import TaskError
from pipelines.runners.local import PROCESS_WEIGHT, LocalRunner, LostProcessError, cores
from pipelines.runners.stage import Grain, Stage
from replica.errors import UsageError

_PARENT = """
from tests.pipelines.runners.test_local import in_processes, runner, tell_and_wait
if __name__ == "__main__":
    with runner(2) as local:
        local.run(in_processes(tell_and_wait), [1, 2])
"""


def runner(at_once: int) -> LocalRunner:
    return LocalRunner(at_once=at_once)


def in_processes(function: Callable[[int], Any]) -> Stage[int, Any]:
    return Stage("test", Grain.CLUSTER, function, weight=lambda _: PROCESS_WEIGHT)


def in_threads(function: Callable[[int], Any]) -> Stage[int, Any]:
    return Stage("test", Grain.CLUSTER, function, in_threads=True)


def light(function: Callable[[int], Any]) -> Stage[int, Any]:
    return Stage("test", Grain.CLUSTER, function)


def doubled(number: int) -> tuple[int, int]:
    return 2 * number, os.getpid()


def thread_of(number: int) -> int:
    time.sleep(0.05)
    return threading.get_ident()


def refused(number: int) -> int:
    raise UsageError(f"{number} is refused")


def broken(number: int) -> int:
    raise ValueError(f"{number} is odd")


def full(number: int) -> int:
    raise OSError(28, "no space", f"file {number}")


def killed(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def tell_and_wait(number: int) -> int:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    time.sleep(600)
    return number


def test_results_come_in_the_order_of_the_units_from_other_processes() -> None:
    with runner(2) as local:
        found = local.run(in_processes(doubled), [3, 1, 2])
        again = local.run(in_processes(doubled), [5, 4])
    assert [number for number, _ in found] == [6, 2, 4]
    processes = {process for _, process in found}
    assert os.getpid() not in processes
    assert {process for _, process in again} & processes, "the processes stay for the next stage"


def test_little_work_and_one_unit_are_done_in_this_process() -> None:
    with runner(2) as local:
        assert local.run(light(doubled), [4, 5]) == [(8, os.getpid()), (10, os.getpid())]
        assert local.run(in_processes(doubled), [4]) == [(8, os.getpid())]
        assert local.run(in_processes(doubled), []) == []
    assert [(one.units, one.tasks) for one in local.ran] == [(2, 1), (1, 1)]


def test_a_runner_of_one_core_starts_no_process() -> None:
    with runner(1) as local:
        assert local.run(in_processes(doubled), [4, 5]) == [(8, os.getpid()), (10, os.getpid())]


def test_threads_do_the_units_of_a_stage_that_asks_for_them() -> None:
    with runner(3) as local:
        found = local.run(in_threads(doubled), [3, 1, 2])
        threads = set(local.run(in_threads(thread_of), [1, 2, 3, 4, 5, 6]))
    assert found == [(2 * number, os.getpid()) for number in (3, 1, 2)]
    assert threading.get_ident() not in threads
    assert len(threads) > 1


@pytest.mark.parametrize("stage", [light, in_threads, in_processes])
@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (refused, UsageError, "^2 is refused$"),
        (full, OSError, "no space: 'file 2'$"),
        (broken, TaskError, "^ValueError: 2 is odd$"),
    ],
)
def test_the_error_of_the_first_unit_that_failed_is_the_callers(
    stage: Callable[..., Stage[int, Any]],
    function: Callable[[int], Any],
    kind: type[Exception],
    text: str,
) -> None:
    with runner(2) as local, pytest.raises(kind, match=text) as caught:
        local.run(stage(function), [2, 3, 4])
    assert local.ran == [], "a stage that failed is in no summary"
    if isinstance(caught.value, TaskError):
        assert "in broken" in caught.value.remote


def test_units_before_one_that_fails_are_told_as_done() -> None:
    done: list[int] = []
    with runner(1) as local, pytest.raises(UsageError):
        local.run(light(lambda one: refused(one) if one > 2 else one), [1, 2, 3], done.append)
    assert done == [1, 2]


def test_a_process_that_the_system_ends_is_told_in_one_line() -> None:
    with runner(2) as local, pytest.raises(LostProcessError) as caught:
        local.run(in_processes(killed), [1, 2])
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
