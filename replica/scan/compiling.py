"""Compiles all kernels before their first use; `make setup` runs it.

python -P -m replica.scan.compiling      compiles every kernel that isn't stored yet
"""

from __future__ import annotations

import os
import sys

from replica.errors import KraftlakeError
from replica.scan.compiled import KERNELS
from replica.scan.native import Kernel


def main() -> None:
    """Compile or load every kernel, one for each CPU at a time. The exit code is 1 if one fails."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(Kernel.load, KERNELS))
    except KraftlakeError as error:
        sys.exit(f"kraftlake: {error}")


if __name__ == "__main__":
    main()
