"""Compares the replay with Kafka's image code on random sequences of records. Stops at a
difference.

    python -m tests.fuzz.image_campaign --first 0 --sequences 1000

Sequence number n is the same in every run. Java 17+ is needed, and Kafka's jars are fetched once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.interop.image_agreement import hold_equal
from tests.interop.image_driver import ImageDriver
from tests.interop.kafka_jars import NEWEST, VERSIONS
from tests.interop.known_faults import UnexplainedError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--kafka", choices=VERSIONS, default=NEWEST)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    began = time.monotonic()
    with ImageDriver(options.kafka) as driver:
        for seed in range(options.first, options.first + options.sequences):
            try:
                counts += hold_equal(driver, seed)
            except UnexplainedError as error:
                sys.stdout.write(f"{error}\n")
                return 1
    sys.stdout.write(f"{time.monotonic() - began:.0f} s, all explained: {dict(counts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
