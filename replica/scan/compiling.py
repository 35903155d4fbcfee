"""Compiles all kernels of the bulk reader before a command uses them.

python -P -m replica.scan.compiling            compiles every kernel that isn't stored yet
python -P -m replica.scan.compiling --beside   the same when nothing else wants the processor
"""

from __future__ import annotations

import os
import sys

from replica.errors import KraftlakeError
from replica.scan import store
from replica.scan.compiled import KERNELS
from replica.scan.native import Kernel

_LEAST_PRIORITY = 19


def compile_all() -> None:
    """Compile or load all kernels, as many at a time as there are CPUs. Raises KraftlakeError if
    the compiler fails."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(Kernel.load, KERNELS))


def main(*words: str) -> None:
    """Run as a command. The exit code is 1 if a kernel fails."""
    try:
        if words != ("--beside",):
            compile_all()
            return
        os.nice(_LEAST_PRIORITY)
        with store.compiling_alone() as is_alone:
            if is_alone:
                compile_all()
    except KraftlakeError as error:
        sys.exit(f"kraftlake: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
