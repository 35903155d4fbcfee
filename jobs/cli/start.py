"""Where the `kraftlake` command begins. It loads next to nothing, so that Ctrl-C is answered before
the modules of the command are loaded."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> NoReturn:
    """The console script. Ctrl-C while modules are loaded ends the process by the signal, as it
    does other programs: no traceback, and a shell sees exit code 130. Where SIGINT is ignored, as
    behind nohup, it stays so."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jobs.cli.main import main as run_command

    try:
        signal.signal(signal.SIGINT, before)
        run_command()
    except KeyboardInterrupt:  # before the command has begun; jobs.cli.outcome has the others
        sys.exit(_INTERRUPTED)
