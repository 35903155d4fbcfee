"""The picture of a report's slider, as a browser shows it: REWRITE_PICTURE=1 takes it anew.

Fonts differ from machine to machine, and so do the pixels. What is pictured does not: the picture
carries a digest of the words, the drawing and the styles that it shows, and that is compared.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from pathlib import Path

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.docs.pages import ROOT
from tests.pipelines.report.chromium import EXECUTABLE, browser, until
from tests.pipelines.report.fleet import fleet
from tests.pipelines.report.small_lake import write_lake

PICTURE = ROOT / "docs" / "how-to" / "images" / "report-moment.png"
_MOMENT = "#c1-travel;offset=52;search=payments"
_WIDTH, _HEIGHT = 1100, 900
_KEYWORD = b"kraftlake shows\0"

pytestmark = pytest.mark.skipif(
    not EXECUTABLE.exists(), reason=f"no {EXECUTABLE}: apt-get install chromium"
)


def shown_by(png: bytes) -> str:
    """The digest in a text chunk of a PNG (PNG, third edition, 11.3.3.2); empty without one."""
    at = 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8 : at + 8 + length]
        if kind == b"tEXt" and data.startswith(_KEYWORD):
            return data.removeprefix(_KEYWORD).decode("ascii")
        at += 12 + length
    return ""


def with_digest(png: bytes, digest: str) -> bytes:
    """The PNG with that text chunk before its end, which is a chunk of 12 bytes."""
    chunk = b"tEXt" + _KEYWORD + digest.encode("ascii")
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:-12] + whole + png[-12:]


@pytest.mark.slow
def test_the_picture_of_a_moment_is_what_a_report_shows(tmp_path: Path) -> None:
    lake, page = write_lake(tmp_path / "lake", fleet()), tmp_path / "report.html"
    assert run(app, ["report", "--lake", str(lake), "-o", str(page)]) == 0
    with browser() as launched, launched.page(page, width=_WIDTH) as opened:
        opened.page.goto(page.as_uri() + _MOMENT)
        opened.page.reload()
        opened.page.get_by_text("Next found").wait_for()
        section = opened.page.locator("section.travel")
        until(opened, "document.querySelector('[data-part=told]').textContent !== ''")
        parts = (
            section.locator(".journey").inner_text(),
            section.locator(".drawing").evaluate("(one) => one.outerHTML"),
            opened.page.locator("style").inner_text(),
        )
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        if os.environ.get("REWRITE_PICTURE"):
            opened.page.set_viewport_size({"width": _WIDTH, "height": _HEIGHT})
            section.scroll_into_view_if_needed()
            opened.value("document.querySelector('section.travel').scrollIntoView()")
            PICTURE.write_bytes(with_digest(opened.page.screenshot(), digest))
            pytest.skip("made anew")
    assert shown_by(PICTURE.read_bytes()) == digest, "REWRITE_PICTURE=1 makes it anew"
