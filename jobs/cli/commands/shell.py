"""The command for the user's shell: completion, by typer.

The script in a shell calls kraftlake at each Tab, with an environment variable. So the completions
are always those of the installed release. They have the commands' help texts where the shell shows
these.
"""

import os

from typer.completion import get_completion_inspect_parameters, get_completion_script

from jobs.cli.commands.parameters import argument, command
from jobs.cli.output import write_text
from replica.errors import UsageError

_ASKED_BY = "_KRAFTLAKE_COMPLETE"
"""The variable by which a shell asks for completions. typer makes the variable's name from the
command's name."""


_SHELLS = ("bash", "zsh", "fish")


def answer_shells() -> None:
    """Lets typer answer where a shell asks for completions."""
    if _ASKED_BY in os.environ:
        get_completion_inspect_parameters()


@command("cli.commands.shell:run", "Complete commands in bash, zsh or fish.")
class CompletionOptions:
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

    shell: str = argument("SHELL", "bash, zsh or fish.")


def run(options: CompletionOptions) -> int:
    """Prints the script. Returns 0. Raises UsageError for an unknown shell."""
    shell = options.shell
    if shell not in _SHELLS:
        raise UsageError(f"completion {shell}: name one of these shells: {', '.join(_SHELLS)}")
    script = get_completion_script(prog_name="kraftlake", complete_var=_ASKED_BY, shell=shell)
    write_text(f"{script}\n")
    return 0
