"""`kraftlake completion SHELL`: commands and options that a shell completes, by typer.

The script that a shell loads asks kraftlake itself at each Tab, by an environment variable, so that
it tells what this release has, with the help texts of `--help` where the shell shows them.
"""

from __future__ import annotations

from typer.completion import get_completion_inspect_parameters, get_completion_script

from jobs.output import write_text
from replica.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def run(shell: str, variable: str) -> int:
    """Print the script that a shell loads. UsageError for a shell that is none of SHELLS.

    variable: of the environment, by which the shell asks.
    """
    if shell not in SHELLS:
        raise UsageError(f"completion {shell}: name one of these shells: {', '.join(SHELLS)}")
    script = get_completion_script(prog_name="kraftlake", complete_var=variable, shell=shell)
    write_text(f"{script}\n")
    return 0


def make_known() -> None:
    """Have typer answer what a shell asks."""
    get_completion_inspect_parameters()
