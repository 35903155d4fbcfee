"""A man page for kraftlake and one for each of its commands, made of their help texts.

    python packaging/man_pages.py dist/man

The pages are in the format man(7), which every `man` reads. `man dist/man/kraftlake-check.1` shows
one. In a folder of MANPATH their place is the folder man1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from typer.main import get_command

from jobs.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
_LITERAL = "\b\n"
"""click's mark at the beginning of a paragraph whose lines stay unchanged."""
_DATE = "1980-01-01"
"""A constant date, so that the same texts give the same pages. The pages name the release."""
_HEADED = re.compile(r"(Examples|First steps|Exit codes?):\s*")


def pages(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """(name of the file, text) for the command and all its subcommands."""
    yield f"{name.replace(' ', '-')}.1", page(command, name)
    for word, inner in getattr(command, "commands", {}).items():
        yield from pages(inner, f"{name} {word}")


def page(command: Any, name: str) -> str:
    """The man page of one command, without its subcommands."""
    title = name.replace(" ", "-")
    first, *rest = (part.strip(" \n") for part in re.split(r"\n{2,}", command.help.strip()))
    lines = [
        f'.TH "{title.upper()}" "1" "{_DATE}" "kraftlake {version("kraftlake")}" "kraftlake"',
        ".SH NAME",
        f"{_plain(title)} \\- {_plain(_one_line(first).rstrip('.'))}",
        ".SH SYNOPSIS",
        rf"\fB{_plain(name)}\fR {_plain(_usage(command))}",
        ".SH DESCRIPTION",
        _plain(_one_line(first)),
    ]
    for part in rest:
        lines += _paragraph(part)
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    lines += _listed("ARGUMENTS", ((_names(each), each) for each in arguments))
    lines += _listed("OPTIONS", ((_names(each), each) for each in options))
    lines += _below(command, title)
    return "\n".join(lines) + "\n"


def _usage(command: Any) -> str:
    names = [_names(each) for each in command.params if each.param_type_name == "argument"]
    below = ["COMMAND [ARGS]..."] if hasattr(command, "commands") else []
    return " ".join(["[OPTIONS]", *names, *below])


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"{names} {parameter.metavar}" if parameter.metavar else names


def _paragraph(text: str) -> list[str]:
    literal = text.startswith(_LITERAL)
    text = text.removeprefix(_LITERAL)
    headed = _HEADED.match(text)
    lines = [f".SH {headed[1].upper()}"] if headed else [".PP"]
    body = text[headed.end() :] if headed else text
    if not literal and not (headed and "\n  " in text):
        return [*lines, _plain(_one_line(body))]
    return [*lines, ".nf", *(_plain(line.strip()) for line in body.splitlines()), ".fi"]


def _listed(heading: str, entries: Iterable[tuple[str, Any]]) -> list[str]:
    lines = [f".SH {heading}"]
    for names, parameter in entries:
        default = parameter.default
        shown = default not in (None, False, True) and not callable(default)
        text = f"{parameter.help or ''}{f' By default {default}.' if shown else ''}"
        lines += [".TP", rf"\fB{_plain(names)}\fR", _plain(_one_line(text))]
    return lines if len(lines) > 1 else []


def _below(command: Any, title: str) -> list[str]:
    inner = getattr(command, "commands", {})
    if not inner:
        return [".SH SEE ALSO", f".BR {_plain(title.rpartition('-')[0])} (1)"]
    lines = [".SH COMMANDS"]
    for word, one in inner.items():
        shown = _one_line(one.short_help or one.help.split("\n\n")[0])
        lines += [".TP", f".BR {_plain(f'{title}-{word}')} (1)", _plain(shown)]
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _plain(text: str) -> str:
    """The text, escaped so that man shows it unchanged: man finds no escape sequence or request in
    the result, and a reader can copy its hyphens."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist" / "man")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, text in pages(get_command(app), "kraftlake"):
        (folder / name).write_text(text, encoding="utf-8")
        count += 1
    sys.stdout.write(f"{folder}: {count} man pages\n")


if __name__ == "__main__":
    main()
