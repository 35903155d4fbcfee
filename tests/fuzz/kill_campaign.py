"""Kill the appender for as long as you like; a line of counts at the end, for RESULTS.md.

`python -m tests.fuzz.kill_campaign FOLDER --rounds N --seed S`: FOLDER decides which disk is used,
and keeps what a failed round left.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

from tests.replica.storage.killing import Killing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    killing = Killing(options.folder, Random(options.seed))
    started = time.monotonic()
    for _ in range(options.rounds):
        killing.round()
    sys.stdout.write(f"{options.rounds} rounds, {time.monotonic() - started:.0f} s\n")
    for what, count in sorted(killing.counts.items()):
        sys.stdout.write(f"  {what}: {count}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
