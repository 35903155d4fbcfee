"""Prints what kraftlake's tables lack of a Kafka release or have otherwise, with the file to edit.

    python -m tests.drift 4.5.0

The release's jars are fetched once from Maven Central. Exit code 0 where nothing differs, 1 where
something does, 2 where the release's facts can't be had.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from replica.errors import UsageError
from tests.drift.comparing import drift
from tests.drift.facts import facts_of
from tests.drift.tables import Tables
from tests.interop.kafka_jars import NEWEST, numbers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", help="of Kafka, such as 4.5.0")
    version = parser.parse_args().version
    try:
        is_newest = numbers(version) >= numbers(NEWEST)
    except ValueError:
        return _failed(f"{version!r} is no release of Kafka; name one, such as {NEWEST}")
    try:
        facts = facts_of(version)
    except UsageError as error:
        return _failed(str(error))
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return _failed(
            f"the classes of Kafka {version} were not read: Maven Central does not have it, is out "
            "of reach, or a class is not where KafkaFacts.java looks for it (see above)"
        )
    lines = drift(facts, Tables(), is_newest=is_newest)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    counted = "1 difference" if len(lines) == 1 else f"{len(lines)} differences"
    summary = counted if lines else "nothing differs"
    sys.stderr.write(f"Kafka {version}: {summary}\n")
    return 1 if lines else 0


def _failed(why: str) -> int:
    sys.stderr.write(f"kafka-drift: {why}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
