"""The commands for the shell that kraftlake is typed in."""

from __future__ import annotations

import os
from typing import Annotated

from jobs.commands.parameters import argument

_ASKED_BY = "_KRAFTLAKE_COMPLETE"
"""The variable by which a shell asks for completions. typer makes its name from the command's."""

Shell = Annotated[str, argument("SHELL", "bash, zsh or fish.")]


def answer_shells() -> None:
    """Let typer answer where a shell asks for completions."""
    if _ASKED_BY in os.environ:
        from jobs.shell.completion import make_known

        make_known()


def completion(shell: Shell) -> int:
    """Print a script that makes a shell complete kraftlake's commands and options.

    Load it in the start file of bash or zsh; fish has a folder for such scripts. In zsh, compinit
    must run before it, as it does in most start files. At each Tab the shell asks kraftlake, so a
    newer release of kraftlake needs no new script.

    \b
    Examples:
      echo 'eval "$(kraftlake completion bash)"' >>~/.bashrc
      echo 'eval "$(kraftlake completion zsh)"' >>~/.zshrc
      kraftlake completion fish >~/.config/fish/completions/kraftlake.fish

    Exit codes: 0, 2 usage.
    """
    from jobs.shell import completion as job

    return job.run(shell, _ASKED_BY)
