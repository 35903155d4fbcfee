"""Runs a module with the compiled simulator: see tests.replica.simulate.compiled."""

from __future__ import annotations

import runpy
import sys

from tests.replica.simulate.compiled.build import FOLDER, is_made


def main() -> None:
    if not is_made():
        sys.exit("build/simulator is missing, or older than replica/: make simulator")
    assert "replica" not in sys.modules, "the copy comes first"
    sys.path.insert(0, str(FOLDER))
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
