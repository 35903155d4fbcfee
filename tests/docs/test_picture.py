"""The picture of a report in README: its verdict and two of its drawings, as `report` makes them.

REWRITE_PICTURE=1 makes it anew.
"""

from __future__ import annotations

import html
import os
import re
import textwrap
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.docs.pages import ROOT
from tests.pipelines.report.incidents import split
from tests.pipelines.report.small_lake import write_lake

PICTURE = ROOT / "docs" / "explanation" / "images" / "report.svg"
_STYLES = ROOT / "pipelines" / "report" / "static" / "report.css"
_WIDTH, _MARGIN, _LINE = 860, 24, 22
_DRAWN = ("Leader epochs in the logs", "Divergence at offset")
_USED = re.compile(
    r"^(\.drawing|\.block|\.hue|\.many|\.axis|\.lost|\.trunk|\.branch|\.knot|\.cross|\.narrow)"
)


def picture(page: str) -> str:
    """The SVG, from the HTML of a report. It asks for no font and no file."""
    sentence = html.unescape(_first(r'<p class="sentence">(.*?)</p>', page)).strip()
    lines = textwrap.wrap(" ".join(sentence.split()), 110)
    y = _MARGIN + 16
    shown = []
    for line in lines:
        words = html.escape(line)
        shown.append(f'<text class="sentence" x="{_MARGIN}" y="{y}">{words}</text>')
        y += _LINE
    for name in _DRAWN:
        drawing = _drawing(name, page)
        height = int(_first(r'height="(\d+)"', drawing))
        place = f'x="{_MARGIN}" y="{y + 10}" width="{_WIDTH - 2 * _MARGIN}"'
        shown.append(drawing.replace('width="100%"', place, 1))
        y += height + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" '
        f'height="{y}" role="img">\n<title>A report of kraftlake</title>\n'
        f"<desc>{html.escape(sentence)}</desc>\n<style>\n{_style()}\n</style>\n"
        f'<rect class="page" width="{_WIDTH}" height="{y}"/>\n' + "\n".join(shown) + "\n</svg>\n"
    )


def _style() -> str:
    """Of the report's style sheet the colours, and what the drawings use."""
    sheet = _STYLES.read_text(encoding="utf-8")
    colours = sheet[sheet.index(":root") : sheet.index("* { box-sizing")].strip()
    used = [line for line in sheet.splitlines() if _USED.match(line)]
    own = ".page { fill: var(--page); } .sentence { font-size: 15px; fill: var(--ink); }"
    return "\n".join([colours, "text { font-family: system-ui, sans-serif; }", own, *used])


def _drawing(name: str, page: str) -> str:
    """The whole element of the drawing with that title, smaller ones inside it, too."""
    start = page.rindex('<svg class="drawing"', 0, page.index(f">{name}"))
    depth = 0
    for tag in re.finditer(r"<svg\b|</svg>", page[start:]):
        depth += 1 if tag[0] == "<svg" else -1
        if depth == 0:
            break
    return page[start : start + tag.end()]


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None, pattern
    return found[1]


def test_the_picture_in_the_readme_is_what_a_report_shows(tmp_path: Path) -> None:
    lake, page = write_lake(tmp_path / "lake", split()), tmp_path / "report.html"
    assert run(app, ["report", "--lake", str(lake), "-o", str(page)]) == 0
    made = picture(page.read_text(encoding="utf-8"))
    if os.environ.get("REWRITE_PICTURE"):
        PICTURE.write_text(made, encoding="utf-8")
        pytest.skip("made anew")
    assert PICTURE.read_text(encoding="utf-8") == made, "REWRITE_PICTURE=1 makes it anew"
