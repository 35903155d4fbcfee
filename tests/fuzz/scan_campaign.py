"""Feeds damaged segments, in memory or as files, to both readers; stops at a disagreement.

    python -m tests.fuzz.scan_campaign --seed 1 --inputs 100000

Input number n of seed s is the same in every run, so a failure is repeated with --only n. The
input is saved beside the current folder as scan-SEED-N.bin.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from replica.format.reading import MAX_LOG_BYTES, open_file
from replica.format.segment import scan
from replica.scan import regions
from tests.replica.scan.agreement import REDACTOR, hold_equal
from tests.replica.scan.agreement_on_meaning import hold_meaning_equal
from tests.replica.scan.damaging import Pool, damaged

_DATA = Path(__file__).parents[1] / "data"
_REPORT_SECONDS = 60
_WINDOWS = (1, 61, 300, 5000)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def one_input(pool: Pool, seed: int, number: int) -> tuple[bytes, dict[str, object]]:
    """(bytes, arguments of hold_equal)."""
    chance = random.Random(f"{seed} {number}")
    segment, first = pool.segment(chance)
    data = damaged(segment, chance)
    regions.WINDOW_BYTES = chance.choice(_WINDOWS)
    return data, {
        "start": chance.choice((0, 1_000_000)),
        "expected": chance.choice((first, first, None)),
        "redactor": chance.choice((None, REDACTOR)),
    }


def hold_equal_as_file(data: bytes, path: Path, arguments: dict[str, object]) -> int:
    """Does what hold_equal does, but the bulk reader reads from a file through its window."""
    path.write_bytes(data)
    with open_file(str(path), MAX_LOG_BYTES) as file:
        return hold_equal(data, **arguments, buffer=file)  # type: ignore[arg-type]


def hold_meaning(data: bytes, arguments: dict[str, object]) -> None:
    """Does what hold_meaning_equal does, from memory: the replay needs its bytes until it ends."""
    expected, redactor = arguments["expected"], arguments["redactor"]
    hold_meaning_equal(data, expected=expected, redactor=redactor)  # type: ignore[arg-type]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="kraftlake-fuzz-") as folder:
        return campaign(Path(folder) / "segment")


def campaign(path: Path) -> int:
    """Runs the campaign. path: the file to which inputs are written, one after another."""
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
            if number % 2:
                counts["records"] += hold_equal_as_file(data, path, arguments)
            else:
                counts["records"] += hold_equal(data, **arguments)  # type: ignore[arg-type]
            hold_meaning(data, arguments)
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
