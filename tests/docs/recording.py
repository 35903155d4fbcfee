"""A command on a terminal as an SVG animation: the command is typed, then its lines appear.

A viewer without animation, or a user who asks for less motion, sees the last picture. The SVG needs
no font and no file. It wraps lines between words, and aligns them below their text, where a
terminal would break them anywhere.
"""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 104
_WIDTH, _MARGIN, _LINE = 860, 20, 18
_CHARACTER_S, _PAUSE_S, _LINE_S = 0.04, 0.5, 0.06
_COLOURED = re.compile(r"\x1b\[(\d+)m(.*?)\x1b\[0m")
_HANGING = re.compile(r"^(?: *\d+\. | *\S+(?: \S+)? {2,})")
_CLASSES = {"31": "red", "32": "green", "33": "yellow", "36": "cyan"}
_STYLE = """\
.page { fill: #f6f8fa; stroke: #d0d7de; }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  fill: #1f2328; white-space: pre; }
.prompt { fill: #57606a; } .red { fill: #cf222e; } .green { fill: #1a7f37; }
.yellow { fill: #9a6700; } .cyan { fill: #0550ae; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; stroke: #30363d; } text { fill: #e6edf3; }
  .prompt { fill: #9da7b3; } .red { fill: #ff7b72; } .green { fill: #3fb950; }
  .yellow { fill: #e3b341; } .cyan { fill: #79c0ff; }
}
@media (prefers-reduced-motion: no-preference) {
  text, tspan { animation: appear 1ms backwards; }
}
@keyframes appear { from { fill-opacity: 0; } }"""


@dataclass(frozen=True)
class Line:
    """A line of the picture. label: its coloured beginning; "" for none. colour: a class of the
    style sheet."""

    label: str
    colour: str
    text: str


def output_on_a_terminal(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    """What the command prints to a terminal, with the codes of colours.

    Raises CalledProcessError where the command fails. The exit code 1, which says that something is
    wrong with a cluster, is no failure.
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), **variables}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs
    )
    os.close(theirs)
    parts = []
    while part := _read(ours):
        parts.append(part)
    os.close(ours)
    if process.wait() not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, command)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the process has closed its end
        return b""


def wrapped(printed: str) -> list[Line]:
    """The lines of the picture. No line has more than COLUMNS characters."""
    return [line for text in printed.splitlines() for line in _wrapped(text)]


def _wrapped(text: str) -> list[Line]:
    found = _COLOURED.match(text)
    label, colour = (found[2], _CLASSES[found[1]]) if found else ("", "")
    plain = _COLOURED.sub(r"\2", text)
    hanging = _HANGING.match(plain)
    parts = textwrap.wrap(
        plain,
        COLUMNS,
        subsequent_indent=" " * (hanging.end() if hanging else 0),
        drop_whitespace=True,
        break_on_hyphens=False,
    )
    first, *rest = parts or [""]
    return [Line(label, colour, first.removeprefix(label)), *(Line("", "", part) for part in rest)]


def svg(command: str, lines: list[Line], title: str, description: str) -> str:
    """The picture of the command that a person types, and of the lines that follow."""
    typed_s = _PAUSE_S + len(command) * _CHARACTER_S
    rows = [_typed(command)]
    for number, line in enumerate(lines, start=1):
        y, begin = _y(number), typed_s + _PAUSE_S + number * _LINE_S
        label = f'<tspan class="{line.colour}">{html.escape(line.label)}</tspan>'
        shown = (label if line.label else "") + html.escape(line.text)
        rows.append(
            f'<text x="{_MARGIN}" y="{y}" style="animation-delay:{begin:.2f}s">{shown}</text>'
        )
    height = _y(len(lines)) + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">\n<title>{html.escape(title)}</title>\n'
        f"<desc>{html.escape(description)}</desc>\n<style>\n{_STYLE}\n</style>\n"
        f'<rect class="page" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def _y(row: int) -> int:
    return _MARGIN + 12 + row * _LINE


def _typed(command: str) -> str:
    characters = "".join(
        f'<tspan style="animation-delay:{_PAUSE_S + number * _CHARACTER_S:.2f}s">'
        f"{html.escape(character)}</tspan>"
        for number, character in enumerate(command)
    )
    return f'<text x="{_MARGIN}" y="{_y(0)}"><tspan class="prompt">$ </tspan>{characters}</text>'
