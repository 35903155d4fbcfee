"""`kraftlake completion SHELL`: completes commands and options in a shell, by typer.

The script that a shell loads asks kraftlake itself at each Tab, by an environment variable. So it
knows this release's commands, with their help texts where the shell shows them.
"""

from __future__ import annotations

from typer.completion import get_completion_inspect_parameters, get_completion_script

from jobs.output import write_text
from replica.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


def run(shell: str, variable: str) -> int:
    """Print the script that a shell loads. Raises UsageError for a shell other than SHELLS.

    variable: the environment variable by which the shell asks.
    """
    if shell not in SHELLS:
        raise UsageError(f"completion {shell}: name one of these shells: {', '.join(SHELLS)}")
    script = get_completion_script(prog_name="kraftlake", complete_var=variable, shell=shell)
    write_text(f"{script}\n")
    return 0


def make_known() -> None:
    """Let typer answer what a shell asks."""
    get_completion_inspect_parameters()
