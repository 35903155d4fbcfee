"""How long a log with damaged places takes to scan, against the same log without them.

    python -m tests.bench.damaged [--rounds 5] [--write]

Places of 512 bytes to 64 KiB are overwritten at random. --write puts the figures into DAMAGED.md;
otherwise they are only printed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from replica.format.segment import SegmentScan, scan
from tests.bench.segments import batches
from tests.replica.scan.bulk import bulk_scan

_LOGS = ((9_500_000, 1), (9_500_000, 5), (40_000_000, 5), (40_000_000, 200), (120_000_000, 1))
"""(bytes of a log, number of overwritten places)."""
_PLACE_BYTES = (512, 4096, 65536)
_READERS: tuple[tuple[str, Callable[..., SegmentScan]], ...] = (
    ("scalar", scan),
    ("bulk", bulk_scan),
)


def overwritten(whole: bytes, places: int, chance: random.Random) -> bytes:
    """The log with random bytes at `places` places."""
    damaged = bytearray(whole)
    for _ in range(places):
        size = chance.choice(_PLACE_BYTES)
        at = chance.randrange(len(damaged) - size)
        damaged[at : at + size] = chance.randbytes(size)
    return bytes(damaged)


def best_ms(reader: Callable[..., SegmentScan], data: bytes, rounds: int) -> float:
    """The CPU milliseconds of the fastest round."""
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        reader(data, expected_offset=0)
        taken.append(time.process_time() - begin)
    return 1000 * min(taken)


def rows(rounds: int) -> Iterator[str]:
    """A line of the table for each log and reader."""
    for size, places in _LOGS:
        parts = [batch for batch, _ in batches(size, pool=4000)]
        whole = b"".join(parts)
        damaged = overwritten(whole, places, random.Random(places))
        for name, reader in _READERS:
            read = len(reader(damaged, expected_offset=0).batches)
            sound_ms, damaged_ms = (best_ms(reader, data, rounds) for data in (whole, damaged))
            yield (
                f"| {size // 1_000_000} MB | {places} | {name} | {sound_ms:.0f} | "
                f"{damaged_ms:.0f} | {damaged_ms / sound_ms:.2f} | {read / len(parts):.2%} |"
            )


def page(rounds: int) -> str:
    head = (
        "# Logs with damaged places\n\n"
        "CPU milliseconds of a scan, the best of the rounds (`python -m tests.bench.damaged "
        "--write`). `read` counts batches against those of the log before the damage.\n\n"
        "| log | places | reader | sound ms | damaged ms | ratio | read |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(f"{row}\n" for row in rows(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = page(options.rounds)
    sys.stdout.write(text)
    if options.write:
        stamp = datetime.now(UTC).strftime("%Y-%m-%d")
        Path(__file__).with_name("DAMAGED.md").write_text(f"{text}\nMeasured {stamp}.\n")


if __name__ == "__main__":
    main()
