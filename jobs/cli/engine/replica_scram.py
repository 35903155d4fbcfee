"""`kraftlake replica scram`: prints a line of the file of SCRAM credentials."""

from __future__ import annotations

import getpass
import sys

from jobs.cli.commands.engine import ScramOptions
from jobs.cli.output import write_line
from replica.errors import UsageError
from replica.node.security.scram_file import line_for


def run(options: ScramOptions) -> int:
    """Prints the user's line of the file of SCRAM credentials. Returns 0. The password comes from
    the terminal or from stdin."""
    password = _asked_twice() if sys.stdin.isatty() else _first_line()
    write_line(line_for(options.user, options.mechanism, password, options.iterations))
    return 0


def _asked_twice() -> str:
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UsageError("the two passwords differ; run it again")
    return password


def _first_line() -> str:
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise UsageError("stdin: the password is not UTF-8") from error
