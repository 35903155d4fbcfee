"""Makes the calls of a Python process to its disk and its clock lie, by orders in a file.

A process that has this folder in PYTHONPATH, and the file's path in LYING_DISKS, runs this module
at its start. kraftlake's storage reaches the disk by the calls below, so an order has the effect of
a fault of the kernel or of the disk, on real files and in a real process.

The file holds JSON: {"faults": [[CALL, PATTERN, ERRNO], ...], "clock_s": SECONDS}. A call whose
path matches the regular expression raises OSError with this number. A write that finds no space
writes half of its data first. Without the file all calls work as usual. Each call reads the file
again.
"""

import errno
import json
import os
import re
import time


def orders():
    try:
        with open(os.environ["LYING_DISKS"], encoding="utf-8") as file:
            return json.load(file)
    except (KeyError, FileNotFoundError):
        return {}


def fault(call, path):
    for name, pattern, number in orders().get("faults", ()):
        if name == call and re.search(pattern, path):
            return OSError(number, os.strerror(number))
    return None


def path_of(handle):
    return os.readlink(f"/proc/self/fd/{handle}")


def lying(call, true):
    def answer(handle, *arguments):
        error = fault(call, path_of(handle))
        if error is not None:
            raise error
        return true(handle, *arguments)

    return answer


def lying_write(true):
    def answer(handle, data, position):
        error = fault("pwrite", path_of(handle))
        if error is None:
            return true(handle, data, position)
        if error.errno == errno.ENOSPC and len(data) > 1:
            return true(handle, data[: len(data) // 2], position)
        raise error

    return answer


def lying_rename(true):
    def answer(source, target):
        error = fault("rename", os.fspath(target))
        if error is not None:
            raise error
        true(source, target)

    return answer


def lying_clock(true, units):
    return lambda: true() + units * orders().get("clock_s", 0)


if "LYING_DISKS" in os.environ:
    for _name in ("fsync", "pread", "preadv", "ftruncate"):
        setattr(os, _name, lying(_name, getattr(os, _name)))
    os.pwrite = lying_write(os.pwrite)
    os.replace = lying_rename(os.replace)
    time.time = lying_clock(time.time, 1)
    time.time_ns = lying_clock(time.time_ns, 1_000_000_000)
