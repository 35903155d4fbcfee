"""Compiles all kernels ahead of their first use; `make setup` does so.

python -m replica.scan.compiling      compiles what isn't kept yet
"""

from __future__ import annotations

import os
import sys

from replica.errors import KraftlakeError
from replica.scan.compiled import KERNELS
from replica.scan.native import Kernel


def main() -> None:
    """Compiles or loads every kernel, one a CPU at a time; exit code 1 if one fails."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(Kernel.load, KERNELS))
    except KraftlakeError as error:
        sys.exit(f"kraftlake: {error}")


if __name__ == "__main__":
    main()
