"""In-process speed of the bulk reader on one segment: warm page cache, best and median of rounds.

python -m tests.bench.segments /tmp/big.log && python -m tests.bench.scan_speed /tmp/big.log
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from replica.scan import frames, rows
from replica.scan.arrow import JSON, VARIANT, RecordScan
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table

Work = Callable[[bytes, int], int]


def walk(data: bytes, expected: int) -> int:
    """CRC and walk alone; the number of records."""
    table = program_table(keep_secrets=True)
    return sum(
        region.row_count
        for region in Regions(data, 0, expected).read(table)
        if isinstance(region, Chunk)
    )


def into_buffers(form: str) -> Work:
    """CRC, walk and the payload kernel, its bytes left in the reused buffer."""

    def run(data: bytes, expected: int) -> int:
        regions = Regions(data, 0, expected)
        kernel = rows._json_kernel() if form == JSON else rows._variant_kernel()
        count = 0
        for region in regions.read(program_table(keep_secrets=True)):
            assert isinstance(region, Chunk)
            low = 0
            while low < region.row_count:
                low = kernel(regions.array, region, low, -1).high
            count += region.row_count
        return count

    return run


def into_arrow(form: str, *, with_value: bool) -> Work:
    """The same as record batches, every column made."""

    def run(data: bytes, expected: int) -> int:
        scan = RecordScan(data, expected_offset=expected, payload=form, with_value=with_value)
        return sum(table.num_rows for table in scan)

    return run


def halves(data: bytes) -> list[tuple[memoryview, int]]:
    """Two parts at a batch boundary, each with its first base offset."""
    regions = Regions(data, 0, 0)
    cut, first = 0, 0
    for region in regions.read(None):
        assert isinstance(region, Chunk)
        cut = int(region.batches[frames.BATCH_POSITION, 0])
        first = int(region.batches[frames.BATCH_BASE_OFFSET, 0])
        if cut >= len(data) // 2:
            break
    view = memoryview(data)
    return [(view[:cut], 0), (view[cut:], first)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    data = options.path.read_bytes()
    works: dict[str, Work] = {
        "CRC + walk": walk,
        "+ JSON into buffers": into_buffers(JSON),
        "+ VARIANT into buffers": into_buffers(VARIANT),
        "+ JSON, Arrow without value": into_arrow(JSON, with_value=False),
        "+ JSON, Arrow": into_arrow(JSON, with_value=True),
        "+ VARIANT, Arrow": into_arrow(VARIANT, with_value=True),
    }
    parts = halves(data)
    for name, work in works.items():
        count = work(data, 0)
        alone, together, read = [], [], []
        with ThreadPoolExecutor(2) as threads:
            for _ in range(options.rounds):
                alone.append(_seconds(lambda work=work: work(data, 0)))
                pair = lambda work=work: list(  # noqa: E731
                    threads.map(lambda part: work(*part), parts)
                )
                together.append(_seconds(pair))
                read.append(_seconds(lambda: options.path.read_bytes()))
        best, middle = min(alone), statistics.median(alone)
        sys.stdout.write(
            f"{name:30} best {best:.3f} s median {middle:.3f} s: {count / best / 1e6:6.2f} "
            f"({count / middle / 1e6:.2f}) Mrec/s, {len(data) / best / 1e6:.0f} MB/s; "
            f"two threads {count / min(together) / 1e6:.2f} Mrec/s "
            f"({statistics.median(alone) / statistics.median(together):.2f}x); "
            f"with read() {count / (best + min(read)) / 1e6:.2f}\n"
        )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
