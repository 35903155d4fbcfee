"""The recording in README: `kraftlake what-happened` on recorded nodes, as a terminal shows it.

REWRITE_PICTURE=1 makes it anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.recording import COLUMNS, output_on_a_terminal, svg, wrapped
from tests.kraftlake_process import command_line

PICTURE = ROOT / "docs" / "explanation" / "images" / "what-happened.svg"


def test_the_recording_in_the_readme_shows_what_the_command_prints(tmp_path: Path) -> None:
    (tmp_path / "nodes").symlink_to(ROOT / "tests" / "data" / "kafka-4.1.1-dynamic" / "split")
    words = ["what-happened", "nodes/"]
    printed = output_on_a_terminal(command_line(*words), tmp_path, {"PYTHONPATH": str(ROOT)})
    assert printed.startswith("\x1b[31mOUTAGE ")
    made = svg(
        " ".join(["kraftlake", *words]),
        wrapped(printed),
        "kraftlake what-happened, on the nodes of a cluster with an outage",
        printed.splitlines()[0].partition("\x1b[0m")[2],
    )
    if os.environ.get("REWRITE_PICTURE"):
        PICTURE.write_text(made, encoding="utf-8")
        pytest.skip("made anew")
    assert PICTURE.read_text(encoding="utf-8") == made, "REWRITE_PICTURE=1 makes it anew"


def test_a_long_line_goes_on_below_its_text() -> None:
    lines = wrapped("\x1b[31mOUTAGE      \x1b[0m" + "word " * 30 + "\n\n  1. " + "word " * 30)
    assert (lines[0].label, lines[0].colour) == ("OUTAGE      ", "red")
    assert lines[1].text.startswith(" " * 12 + "word")
    assert lines[2].text == ""
    assert lines[3].text.startswith("  1. word")
    assert lines[4].text.startswith(" " * 5 + "word")
    assert all(len(line.label + line.text) <= COLUMNS for line in lines)
