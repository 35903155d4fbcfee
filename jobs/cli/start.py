"""The start of the `kraftlake` command. This module loads almost nothing, so that Ctrl-C is handled
before the modules of the command are loaded."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """The console script. Ctrl-C while modules are loaded ends the process by the signal: no
    traceback, and a shell sees exit code 130. Where SIGINT is ignored, as by nohup, it stays
    ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jobs.cli.main import main as run_command

    try:
        signal.signal(signal.SIGINT, before)
        run_command()
    # the command has not begun; jobs.cli.outcome handles later interrupts
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
