"""Feeds damaged segments to both readers and stops at the first disagreement.

    python -m tests.fuzz.scan_campaign --seed 1 --inputs 100000

Input number n of seed s is the same in every run, so a failure is repeated with --only n. The
input is saved beside the current folder as scan-SEED-N.bin.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from replica.format.segment import scan
from tests.replica.scan.agreement import REDACTOR, hold_equal
from tests.replica.scan.damaging import Pool, damaged

_DATA = Path(__file__).parents[1] / "data"
_REPORT_SECONDS = 60


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def one_input(pool: Pool, seed: int, number: int) -> tuple[bytes, dict[str, object]]:
    """(bytes, arguments of hold_equal)."""
    chance = random.Random(f"{seed} {number}")
    segment, first = pool.segment(chance)
    data = damaged(segment, chance)
    return data, {
        "start": chance.choice((0, 1_000_000)),
        "expected": chance.choice((first, first, None)),
        "redactor": chance.choice((None, REDACTOR)),
        "forms": (chance.choice(("json", "variant")),),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    pool = Pool(_DATA, random.Random(options.seed))
    numbers = range(options.first, options.first + options.inputs)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    counts: Counter[str] = Counter()
    began = reported = time.monotonic()
    for number in numbers:
        data, arguments = one_input(pool, options.seed, number)
        try:
            counts["records"] += hold_equal(data, **arguments)  # type: ignore[arg-type]
        except BaseException as error:
            Path(f"scan-{options.seed}-{number}.bin").write_bytes(data)
            say(f"input {number} of seed {options.seed}: {arguments}: {error!r}"[:2000])
            if not isinstance(error, Exception):
                raise
            return 1
        counts["inputs"] += 1
        counts["bytes"] += len(data)
        if number % 16 == 0:
            counts.update(f"damage {d.kind} (1 in 16)" for d in scan(data).damages)
        if time.monotonic() - reported > _REPORT_SECONDS:
            reported = time.monotonic()
            say(f"{counts['inputs']} inputs in {reported - began:.0f} s")
    say(f"{time.monotonic() - began:.0f} s, no disagreement; {dict(sorted(counts.items()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
