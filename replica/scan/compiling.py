"""Compiles kernels, each by numba in a process of its own.

A process of its own, as numba then optimizes nothing (NUMBA_OPT=0), which replica.scan.kernels.emit
does once and for all, and as the caller's process is spared numba's memory.

    python -m replica.scan.compiling      compiles what isn't kept yet; `make setup` does so
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

from replica.errors import UsageError


def compile_kernel(name: str) -> bytes:
    """The object file of the kernel of that name, for the CPU of replica.scan.target.

    Logs a line, as it takes some seconds. UsageError where numba isn't installed; RuntimeError with
    its last word where numba fails, which is a bug.
    """
    if find_spec("numba") is None:
        raise UsageError("the bulk reader needs numba: pip install 'kraftlake[scan]'")
    import logging

    logging.getLogger(__name__).warning("compiling %s for this machine, once: some seconds", name)
    done = subprocess.run(  # noqa: S603  # our own interpreter and module
        [sys.executable, "-m", "replica.scan.kernels.emit", name],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise RuntimeError(f"{name} doesn't compile: {said.splitlines()[-1]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """That of this process, with its module path, and what numba must know before its import."""
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return {**os.environ, "PYTHONPATH": path, "NUMBA_OPT": "0", "NUMBA_DISABLE_JIT": "0"}


def main() -> None:
    """Compiles or loads every kernel, as many at a time as there are CPUs."""
    from concurrent.futures import ThreadPoolExecutor

    from replica.scan.compiled import KERNELS

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda kernel: kernel.load(), KERNELS))


if __name__ == "__main__":
    main()
