"""A soak: an observer on a live Kafka quorum under load, whose leaders are killed, into a streamed
lake, through the quality gate, to a topic.

    python -m tests.soak --minutes 120 --write

SOAK.md says how the last one went. The folder has said/ (what each command said) and state.json,
renewed with every sample.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import sys
import tempfile
from pathlib import Path

from tests.kraftlake_process import REPOSITORY
from tests.soak.course import STORY, Plan, Soak, Story
from tests.soak.judging import judged
from tests.soak.record import RECORD, earlier, text


def main() -> int:
    asked = _arguments()
    for number in (signal.SIGTERM, signal.SIGINT):  # ends what it started, then writes its record
        signal.signal(number, signal.default_int_handler)
    os.environ.setdefault("PYTHONPATH", str(REPOSITORY))
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="kraftlake-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    if asked.judge:
        story: Story = pickle.loads((folder / STORY).read_bytes())  # noqa: S301 - our own
    else:
        sys.stdout.write(f"soak: in {folder}, see state.json and said/\n")
        sys.stdout.flush()
        story = Soak(_plan(asked), folder).run()
    verdict = judged(story, folder)
    said = text(story, verdict, folder)
    (folder / RECORD.name).write_text(said, encoding="utf-8")
    sys.stdout.write(said)
    if asked.write is not None:
        asked.write.write_text(said + earlier(asked.write), encoding="utf-8")
    return 0 if verdict.is_passed else 1


def _plan(asked: argparse.Namespace) -> Plan:
    return Plan(
        minutes=asked.minutes,
        rate=asked.rate,
        kill_s=asked.kill_every * 60,
        build_s=asked.build_every * 60,
        follow_s=asked.follow,
        seed=asked.seed,
        engine=asked.engine,
    )


def _arguments() -> argparse.Namespace:
    plan = Plan()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=plan.minutes, help="under load")
    parser.add_argument("--rate", type=int, default=plan.rate, help="records a second")
    parser.add_argument("--kill-every", type=float, default=plan.kill_s / 60, metavar="MIN")
    parser.add_argument("--build-every", type=float, default=plan.build_s / 60, metavar="MIN")
    parser.add_argument("--follow", type=int, default=plan.follow_s, metavar="S")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--engine", choices=("spark", "local"), default=plan.engine)
    parser.add_argument("--folder", type=Path, help="new or empty, kept; without, a temporary one")
    parser.add_argument("--judge", action="store_true", help="again, what --folder has")
    parser.add_argument("--write", type=Path, nargs="?", const=RECORD, help=f"also {RECORD.name}")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
