"""Coverage-guided fuzzing of whatever reads bytes from outside.

    make fuzz-tool                                          # atheris, into build/fuzz
    python -m tests.fuzz.guided --minutes 60 --write        # all targets, one after another
    python -m tests.fuzz.guided --minutes 5 --only segments
    python -m tests.fuzz.guided --input build/fuzz/segments/found/X.bin --only segments

The campaign goes on where the last one stopped: inputs that reached new branches are kept in
build/fuzz. --write makes GUIDED.md anew. It ends with code 1 where an input breaks its target.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replica.scan import compiling
from tests.fuzz.guided.campaign import FOLDER, TOOL, campaign, findings
from tests.fuzz.guided.catalogue import TARGETS
from tests.fuzz.guided.record import RECORD, write


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", choices=tuple(TARGETS), action="append")
    parser.add_argument("--input", type=Path, help="read this one, and show what happens")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args()
    names = options.only or list(TARGETS)
    if options.input is not None:
        for name in names:
            TARGETS[name].run(options.input.read_bytes())
        return 0
    if options.minutes > 0:
        if not TOOL.is_dir():
            parser.error(f"{TOOL} is missing: make fuzz-tool")
        # A kernel that a worker compiles first would count as an input of over MAX_INPUT_S.
        compiling.main()
        campaign(names, options.minutes)
    found = [path for name in names for path in findings(name)]
    for path in found:
        sys.stdout.write(f"{path.relative_to(FOLDER)} breaks its target\n")
    if options.write:
        write(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
