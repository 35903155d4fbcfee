"""Knows whether the kernels are compiled, and compiles them while the scalar reader works.

Compiling takes half a minute of a processor, in which the scalar reader reads about 100 MB. So a
reader waits for the compiler only if there is much to read, and for little data nothing is
compiled.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from importlib.util import find_spec

from replica.import_path import environment, python_of
from replica.scan import store
from replica.scan.compiled import KERNELS
from replica.scan.compiling import compile_all

PAYS_BYTES = 64 * 1024 * 1024
"""The bytes that a process reads by the scalar reader before another process begins to compile."""
WAITS_BYTES = 256 * 1024 * 1024
"""The size in bytes of the smallest file for which waiting for the compiler is faster than the
scalar reader."""
_LOOKS_EVERY_S = 1.0
_CHANGING = threading.Lock()


class _Readiness:
    """What this process knows about the kernels."""

    is_ready = False
    looked_at = float("-inf")
    expected_bytes = 0
    compiling: subprocess.Popen[bytes] | None = None


def ready() -> bool:
    """Whether all kernels are compiled. After it was True once, the result stays True."""
    if not _Readiness.is_ready and time.monotonic() - _Readiness.looked_at >= _LOOKS_EVERY_S:
        _Readiness.looked_at = time.monotonic()
        _Readiness.is_ready = all(store.find(kernel.name) is not None for kernel in KERNELS)
    return _Readiness.is_ready


def expect(size_bytes: int) -> bool:
    """Announce that this many bytes will be read. Returns `ready()`.

    If the kernels aren't compiled, numba is installed and `size_bytes` is at least WAITS_BYTES,
    this function compiles them. For a smaller size, another process compiles them in the background
    once all announced bytes are at least PAYS_BYTES. Raises KraftlakeError if a compiler for which
    this function waits fails.
    """
    if ready() or find_spec("numba") is None:
        return _Readiness.is_ready
    if size_bytes >= WAITS_BYTES:
        compile_all()
        _Readiness.is_ready = True  # even where they can't be stored: this process has them
        return True
    with _CHANGING:
        _Readiness.expected_bytes += size_bytes
        if _Readiness.expected_bytes >= PAYS_BYTES and _Readiness.compiling is None:
            _Readiness.compiling = _compile_beside()
    return _Readiness.is_ready


def _compile_beside() -> subprocess.Popen[bytes]:
    """Another process that compiles. The other process ends with this process at the latest. Its
    results are stored."""
    logging.getLogger(__name__).warning(
        "compiling the bulk reader for this CPU, once, beside the slower one"
    )
    process = subprocess.Popen(  # noqa: S603 - This is our own interpreter and module.
        python_of("replica.scan.compiling", "--beside"),
        cwd=os.sep,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # with the compilers that it starts
    )
    atexit.register(_end, process, os.getpid())
    return process


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if process.poll() is None and os.getpid() == owner:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
