"""The page in a real browser: without errors and requests, by keyboard, on phones and on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.report.page import render
from tests.pipelines.report import small_lake
from tests.pipelines.report.chromium import EXECUTABLE, Browser, Opened, browser
from tests.pipelines.report.incidents import split
from tests.pipelines.report.pages import report_of
from tests.pipelines.report.small_lake import replica
from tests.pipelines.report.test_page import HOSTILE, finding

pytestmark = pytest.mark.skipif(
    not EXECUTABLE.exists(), reason=f"no {EXECUTABLE}: apt-get install chromium"
)

PHONE, A4 = 390, 718
OUTSIDE = """() => [...document.body.querySelectorAll("*")]
    .filter((one) => one.checkVisibility() && !one.closest(".skip, .hidden-label, thead"))
    .filter((one) => {
      const place = one.getBoundingClientRect();
      return place.width && (place.right > innerWidth + 1 || place.left < -1);
    }).map((one) => `${one.tagName}.${one.className} ${one.textContent.trim().slice(0, 40)}`)"""
"""Elements that reach beyond the window; heads of tables aside, which are for screen readers."""
"""Pixels of width; of A4 between margins of 1 cm."""
CUT_OFF = """[...document.querySelectorAll(".scroll, pre")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)"""
CONTRAST = """() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || node.closest("script, style, title, desc")) continue;
    const style = getComputedStyle(node);
    const drawn = node instanceof SVGElement;
    let below = behind(node.closest("svg.drawing")?.parentElement || node);
    if (drawn && node.classList.contains("in")) {
      let box = node.previousElementSibling;
      while (box && !box.classList.contains("block")) box = box.previousElementSibling;
      below = rgb(getComputedStyle(box).fill);
    }
    const got = ratio(rgb(drawn ? style.fill : style.color), below);
    if (got < 4.5) found.push(`${walk.currentNode.data.trim().slice(0, 30)}: ${got.toFixed(2)}`);
  }
  return found;
}"""
"""Texts whose contrast is below that of WCAG 2.2, 1.4.3 (AA): 4.5 to 1."""


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with something in every section, hostile names included."""
    folder = tmp_path_factory.mktemp("report")
    rows = split(topic={"name": HOSTILE, "topicId": "AAAAAAAAAAAAAAAAAAAAAg"}, healed=True)
    judged = {**replica(1), "capture_id": "capture-1-3", "epoch": 2}
    broken = {"rule": "snapshot-footer", "file": HOSTILE, "position": 9, "message": "cut"}
    rows["gold.snapshot_validity"] = [
        {**judged, "end_offset": 12, "verdict": "invalid", "broken_rules": [broken]},
        {**judged, "end_offset": 8, "verdict": "valid"},
        {**judged, "end_offset": 3, "verdict": "unverifiable"},
    ]
    rows["gold.findings"] = [
        finding(5, rule="snapshot-footer", capture_id="capture-1-3", file="long/" * 60),
        finding(6, rule="log-divergence", severity="warning"),
        finding(7, rule="leftover", severity="info"),
    ]
    rows["bronze.damage"] = [{"capture_id": "capture-1-3", "file": "a.log", "kind": "framing"}]
    lake = small_lake.write_lake(folder / "lake", rows)
    page = folder / "report.html"
    page.write_text(render(report_of(lake)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as launched:
        yield launched


def focused(opened: Opened) -> Any:
    return opened.value("(document.activeElement.textContent || '').trim().slice(0, 30)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_runs_without_errors_or_requests_and_is_readable_in_both_themes(
    chromium: Browser, incident: Path, scheme: str
) -> None:
    with chromium.page(incident, scheme=scheme) as opened:
        opened.page.click("#open-all")
        assert opened.told == []
        assert opened.asked == []
        assert opened.value(CONTRAST) == []
        background = opened.value("getComputedStyle(document.body).backgroundColor")
        lightness = sum(map(int, re.findall(r"\d+", background)[:3]))
        assert (lightness > 600) == (scheme == "light")


def test_a_phone_scrolls_down_and_never_sideways(chromium: Browser, incident: Path) -> None:
    with chromium.page(incident, width=PHONE) as opened:
        opened.page.click("#open-all")
        assert opened.value("document.documentElement.scrollWidth") == PHONE
        outside = """() => [...document.querySelectorAll("svg.drawing text")]
            .filter((one) => getComputedStyle(one).display !== "none")
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1
                          || one.getBoundingClientRect().left < 0)
            .map((one) => one.textContent)"""
        assert opened.value(outside) == []


@pytest.mark.parametrize("width", [320, 400])
def test_on_a_phone_nothing_is_cut_off_and_no_element_is_wider_than_the_window(
    chromium: Browser, incident: Path, width: int
) -> None:
    with chromium.page(incident, width=width) as opened:
        opened.page.click("#open-all")
        assert opened.value(OUTSIDE) == []
        assert opened.value(CUT_OFF) == []
        cell = opened.page.locator("td[data-label='Captured from']").first
        label = "getComputedStyle(document.querySelector('td[data-label]'), '::before').content"
        assert cell.is_visible()
        assert opened.value(label) == '"Role"'


def test_on_paper_the_summary_has_two_pages_at_most_and_the_details_begin_on_another(
    chromium: Browser, incident: Path
) -> None:
    def pages(opened: Opened) -> int:
        return len(re.findall(rb"/Type\s*/Page\b", opened.page.pdf(format="A4")))

    with chromium.page(incident) as opened:
        whole = pages(opened)
        opened.value("document.querySelector('.summary').remove()")
        details = pages(opened)
        opened.page.reload()
        opened.value("document.querySelectorAll('article').forEach((one) => one.remove())")
        summary = pages(opened)
        assert opened.page.locator(".summary dt").all_inner_texts() == [
            "When",
            "Impact",
            "Confidence",
            "Next",
        ]
    assert summary <= 2
    assert whole in (summary + details - 1, summary + details)


@pytest.mark.slow
def test_of_many_clusters_the_verdicts_have_two_pages_at_most(
    chromium: Browser, tmp_path: Path
) -> None:
    parts = [_of_cluster(split(healed=True), f"cluster-{number}") for number in range(10)]
    page = tmp_path / "report.html"
    lake = small_lake.write_lake(tmp_path / "lake", small_lake.together(*parts))
    page.write_text(render(report_of(lake)), encoding="utf-8")
    with chromium.page(page) as opened:
        assert opened.page.locator(".summary .verdict").count() == 10
        opened.value("document.querySelectorAll('article').forEach((one) => one.remove())")
        pdf = opened.page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2


def _of_cluster(rows: small_lake.Rows, name: str) -> small_lake.Rows:
    """The same rows of another cluster, with captures of its own."""
    own = {"cluster_id": lambda _: name}
    own |= dict.fromkeys(("capture_id", "capture_group"), lambda text: f"{text} of {name}")
    return {
        table: [
            {key: own[key](value) if key in own else value for key, value in row.items()}
            for row in found
        ]
        for table, found in rows.items()
    }


def test_every_part_of_the_report_is_reached_and_opened_by_keyboard(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        press = opened.page.keyboard.press
        press("Tab")
        assert focused(opened) == "Skip to the verdict"
        assert opened.value("document.activeElement.getBoundingClientRect().left >= 0")
        press("Enter")
        assert opened.value("document.activeElement.id") == "main"
        for _ in range(60):
            press("Tab")
            if opened.value("document.activeElement.matches('.sql > summary')"):
                break
        assert focused(opened) == "SQL of the rounds"
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert opened.value(outline) != "none"
        is_open = "document.activeElement.parentElement.open"
        assert not opened.value(is_open)
        press("Enter")
        assert opened.value(is_open)
        press("Tab")
        assert opened.value("document.activeElement.tagName") == "PRE"


def test_a_link_to_a_folded_finding_opens_it(chromium: Browser, incident: Path) -> None:
    with chromium.page(incident) as opened:
        folded = "document.getElementById('c1-rule-leftover').open"
        assert not opened.value(folded)
        opened.value("location.hash = '#c1-rule-leftover'")
        opened.page.wait_for_function(folded)


def test_without_scripts_everything_is_there_and_opens(chromium: Browser, incident: Path) -> None:
    with chromium.page(incident, scripts=False) as opened:
        assert not opened.page.is_visible("#open-all")
        sql = opened.page.locator(".sql").first
        assert not sql.locator("pre").is_visible()
        sql.locator("summary").click()
        assert sql.locator("pre").is_visible()


def test_paper_shows_what_the_screen_folds_in_black_on_white(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident, scheme="dark", scripts=False) as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.locator(".sql pre").last.is_visible()
        assert not opened.page.locator("nav").first.is_visible()
        assert (
            opened.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        opened.page.set_viewport_size({"width": A4, "height": 1000})
        assert opened.value(CUT_OFF) == []
        pdf = opened.page.pdf(format="A4")
        assert pdf.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 3


def test_a_name_that_is_a_script_does_not_run_even_if_it_came_unescaped(
    chromium: Browser, incident: Path, tmp_path: Path
) -> None:
    page = tmp_path / "unescaped.html"
    text = incident.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    attack = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    page.write_text(text.replace("</main>", f"{attack}</main>"), encoding="utf-8")
    with chromium.page(page) as opened:
        assert opened.value("window.ran") is None
        assert any("Content Security Policy" in one for one in opened.told)
