"""Compiles one kernel by numba, in its own process, so that the caller's process needs no memory
for numba.

In this process numba optimizes nothing (NUMBA_OPT=0), because replica.scan.kernels.emit optimizes
everything once.
"""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec

from replica.errors import KraftlakeError, UsageError
from replica.import_path import environment, python_of
from replica.installation import line_that_adds


def compile_kernel(name: str) -> bytes:
    """The object file of the kernel `name`, for the CPU of replica.scan.target.

    This function logs a line, because compiling takes several seconds. Raises UsageError if numba
    isn't installed; KraftlakeError, with the compiler's last line, if the compiler fails or is
    killed.
    """
    if find_spec("numba") is None:
        raise UsageError(f"the bulk reader needs numba: {line_that_adds('scan')}")
    import logging

    log = logging.getLogger(__name__)
    log.warning("compiling the bulk reader's %s for this CPU, once: some seconds", name)
    done = subprocess.run(  # noqa: S603 - This is our own interpreter and module.
        python_of("replica.scan.kernels.emit", name),
        cwd=os.sep,  # numba reads a .numba_config.yaml of this folder
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise KraftlakeError(f"{name} doesn't compile on this machine: {said.splitlines()[-1]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """The environment for a process that compiles: that of this process, with its module path. This
    environment has no settings of numba except the settings that choose a CPU, and NUMBA_OPT is
    0."""
    settings = {k: v for k, v in environment().items() if not k.startswith("NUMBA_")}
    settings |= {k: v for k, v in os.environ.items() if k.startswith("NUMBA_CPU_")}
    return {**settings, "NUMBA_OPT": "0"}
