"""Speed of the simulator: events per second on one core, checks and recoveries included.

python -m tests.bench.simulate [--seeds 50] [--events 2000]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from replica.simulate.faulty_run import run


@dataclass(frozen=True)
class Speed:
    """The speed of the simulator: `events` under faults for each of `seeds`. seconds: for all
    seeds."""

    seeds: int
    events: int
    seconds: float

    def __str__(self) -> str:
        rate = self.seeds * self.events / self.seconds
        return f"{rate:,.0f} events per second ({self.seeds} seeds of {self.events} events)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--events", type=int, default=2000)
    options = parser.parse_args()
    sys.stdout.write(f"simulator: {measure(options.seeds, options.events)}\n")
    return 0


def measure(seeds: int = 50, events: int = 2000) -> Speed:
    run(0, events)  # warms up
    start = time.perf_counter()
    broken = [result for result in (run(seed, events) for seed in range(seeds)) if result.broken]
    seconds = time.perf_counter() - start
    assert not broken, broken[0]
    return Speed(seeds, events, seconds)


if __name__ == "__main__":
    sys.exit(main())
