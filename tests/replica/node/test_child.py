"""A process that does one piece of work on a copy of this one's memory."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from replica.errors import UnwritableFileError
from replica.node.child import Child, LostChildError


def test_a_child_gives_what_its_work_returned():
    values = list(range(100_000))
    assert Child(lambda: values[::-1]).outcome() == values[::-1]


def test_an_error_of_the_work_is_raised_in_the_parent():
    def fails():
        raise UnwritableFileError("a.checkpoint.part", "no space left on device")

    with pytest.raises(UnwritableFileError, match=r"a\.checkpoint\.part: no space left on device"):
        Child(fails).outcome()


def test_a_child_that_is_killed_has_no_outcome():
    child = Child(threading.Event().wait)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(LostChildError, match="ended without an outcome"):
        child.outcome()


def test_a_signal_that_ends_the_whole_group_does_not_end_the_work():
    """Ctrl-C and a service manager send their signal to each process of a group. The parent decides
    whether it waits."""
    reached, reaching = os.pipe()
    go_on, going_on = os.pipe()

    def work():
        os.write(reaching, b".")
        return os.read(go_on, 1)

    child = Child(work)
    os.read(reached, 1)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(child.pid, number)
    os.write(going_on, b"x")
    assert child.outcome() == b"x"
    for handle in (reached, reaching, go_on, going_on):
        os.close(handle)


def test_a_connection_ends_when_the_parent_closes_it_though_the_child_goes_on():
    here, there = socket.socketpair()
    go_on, going_on = os.pipe()
    child = Child(lambda: os.read(go_on, 1))
    here.close()
    readable, _, _ = select.select([there], [], [], 60)
    assert readable
    assert there.recv(1) == b"", "the other side learns that the connection ended"
    os.write(going_on, b"x")
    assert child.outcome() == b"x"
    there.close()
    os.close(go_on)
    os.close(going_on)


def test_a_child_ends_with_its_parent():
    """It must not write into a folder whose lock ended with the parent."""
    program = (
        "import threading; from replica.node.child import Child; "
        "print(Child(threading.Event().wait).pid, flush=True); threading.Event().wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with parent:
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
