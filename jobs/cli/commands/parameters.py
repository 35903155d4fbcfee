"""Declares commands with their options and arguments, in the form in which --help shows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from pkgutil import resolve_name
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args

import typer
from typer.models import ArgumentInfo

from jobs.cli.commands.help_pages import CommandPage

Text = str | None
Texts = list[str] | None
Number = int | None
_Options = TypeVar("_Options")
COMMANDS: dict[type, tuple[str, str]] = {}
"""By the class of a command's options: the function that does the work, as `MODULE:NAME` with a
module of jobs, and the line in the overview."""
_WORD = re.compile("[A-Z][a-z0-9]*")
_PARAMETER = "parameter"
"""The key, in a field's metadata, of typer's object for the option or argument."""


def shared_option(shown: str, meaning: str, **settings: Any) -> Any:
    """An option of several commands, for Annotated. shown: the option's names and the word for its
    value, such as `-o, --output FOLDER`. meaning: the option's help. settings: more arguments of
    typer.Option."""
    *short, last = shown.split(", ")
    name, _, value = last.partition(" ")
    return typer.Option(*short, name, metavar=value or None, help=meaning, **settings)


def shared_argument(shown: str, meaning: str, **settings: Any) -> Any:
    """An argument of several commands, for Annotated. shown: the argument's name in the line of
    usage, such as `[PATH...]`. The other parameters are as for `shared_option`."""
    return typer.Argument(metavar=shown, help=meaning, show_default=False, **settings)


def option(
    shown: str, meaning: str, *, default: Any = MISSING, is_secret: bool = False, **settings: Any
) -> Any:
    """A field for an option of one command. default: the value where the option is not given;
    without a default the option is required. is_secret: whether repr of the options leaves the
    value out. The other parameters are as for `shared_option`."""
    metadata = {_PARAMETER: shared_option(shown, meaning, **settings)}
    return field(default=default, repr=not is_secret, metadata=metadata)


def argument(shown: str, meaning: str, *, default: Any = MISSING, **settings: Any) -> Any:
    """A field for an argument of one command. default: as for `option`. The other parameters are as
    for `shared_argument`."""
    return field(
        default=default, metadata={_PARAMETER: shared_argument(shown, meaning, **settings)}
    )


@dataclass_transform(frozen_default=True, field_specifiers=(option, argument))
def command(function: str, short_help: str) -> Callable[[type[_Options]], type[_Options]]:
    """Makes a class the options of a command.

    The class becomes a dataclass. Its fields are the options in typer's form, and its docstring is
    the command's help. The module of the class must not import annotations from __future__, because
    the fields' types are read here. The command has the name of the class without `Options`.
    function, short_help: as in COMMANDS. The function takes the options and returns the exit code.
    Its module is imported when the command runs.
    """

    def declared(options: type[_Options]) -> type[_Options]:
        made: type[_Options] = dataclass(frozen=True, slots=True)(options)
        own = {
            one.name: Annotated[one.type, one.metadata[_PARAMETER]]
            for one in fields(made)  # type: ignore[arg-type]
            if _PARAMETER in one.metadata
        }
        init = vars(made)["__init__"]  # typer looks here
        init.__annotations__ = {**init.__annotations__, **own}
        COMMANDS[made] = function, short_help
        return made

    return declared


def shown_name(options: type, field_name: str) -> str:
    """The name of an option, such as --output, or of an argument, such as PATH. options: the class
    that has the field."""
    _, parameter = get_args(vars(options)["__init__"].__annotations__[field_name])
    if isinstance(parameter, ArgumentInfo):
        return str(parameter.metavar).strip("[.]")
    # typer keeps the first name as the default until it has read the signature
    return str((parameter.default, *(parameter.param_decls or ()))[-1])


def add(app: typer.Typer, options: type, heading: str | None = None) -> None:
    """Add the command with these options to an app, below a heading of its overview."""
    words = _WORD.findall(options.__name__.removesuffix("Options"))
    name = "-".join(words).lower()
    _, short_help = COMMANDS[options]
    app.command(name, cls=CommandPage, short_help=short_help, rich_help_panel=heading)(options)


def function_of(options: type) -> Callable[[Any], int]:
    """The function that does the work of a command. options: the class of its options."""
    jobs = __name__.removesuffix(".cli.commands.parameters")
    found: Callable[[Any], int] = resolve_name(f"{jobs}.{COMMANDS[options][0]}")
    return found


def run_command(options: object) -> int:
    """Runs the command with these options. Returns its exit code."""
    return function_of(type(options))(options)
