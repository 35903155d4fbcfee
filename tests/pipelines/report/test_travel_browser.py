"""The journey in a real browser: slider, keyboard, search and link, on phones and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.report.page import render
from tests.pipelines.report import small_lake
from tests.pipelines.report.chromium import EXECUTABLE, Browser, Opened, browser, until
from tests.pipelines.report.journeys import journey
from tests.pipelines.report.pages import report_of
from tests.pipelines.report.test_browser import CONTRAST, PHONE

pytestmark = pytest.mark.skipif(
    not EXECUTABLE.exists(), reason=f"no {EXECUTABLE}: apt-get install chromium"
)
HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _page(tmp_path_factory.mktemp("journey"), "orders")


def _page(folder: Path, topic: str) -> Path:
    page = folder / "report.html"
    lake = small_lake.write_lake(folder / "lake", journey(topic=topic))
    page.write_text(render(report_of(lake)), encoding="utf-8")
    return page


def part(opened: Opened, name: str) -> str:
    """The words that a part of the journey shows."""
    return " ".join(opened.page.locator(f"[data-part={name}]").inner_text().split())


def at(opened: Opened, offset: int) -> None:
    """Wait until the view shows the offset."""
    place = "document.querySelector('[data-part=place]').textContent"
    until(opened, f"{place}.includes('offset {offset},')")


def test_the_slider_begins_at_the_divergence_with_the_lost_branch_beside_the_kept_one(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        at(opened, 10)
        assert opened.told == []
        assert opened.asked == []
        assert "Election: node 3 leads from here on, epoch 2." in part(opened, "changes")
        lost = part(opened, "beside")
        assert "2 records of node 2 were truncated: offsets 10 to 11, epoch 1." in lost
        assert "10 topic_created ghost id g" in lost


def test_the_slider_shows_leaders_isr_brokers_and_health_as_they_were(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        slider = opened.page.locator("[data-part=range]")
        slider.fill("9")
        at(opened, 13)
        assert "leader_changed orders-0 11 -1" in part(opened, "changes")
        shown = part(opened, "partitions")
        assert shown.startswith("2 partitions: 1 without leader, 0 led with fewer in-sync")
        assert "orders-0 none 11 12" in shown
        assert "broker 11 fenced" in part(opened, "brokers")
        assert "partition-without-leader" in part(opened, "health")
        slider.fill("5")
        at(opened, 5)
        shown = part(opened, "partitions")
        assert shown.startswith("2 partitions: none without leader")
        assert "orders-0 11 11, 12 none" in shown
        assert "broker 11 serving 1" in part(opened, "brokers")
        assert "partition-without-leader" not in part(opened, "health")
        assert "Judged at this moment" in part(opened, "health")


def test_keys_move_the_slider_and_a_screen_reader_is_told_where_it_is(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        press = opened.page.keyboard.press
        opened.page.locator("[data-part=range]").focus()
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        press("End")
        at(opened, 13)
        assert opened.value(outline) != "none"
        press("ArrowLeft")
        at(opened, 12)
        told = opened.value("document.activeElement.getAttribute('aria-valuetext')")
        assert told.startswith("offset 12, 03:04:17.000 2026-01-02")
        assert opened.value("document.activeElement.labels[0].textContent").startswith("Moment")
        spoken = "document.querySelector('[data-part=told]').textContent"
        until(opened, f"{spoken}.includes('broker_fenced: broker 11')")
        assert "2 partitions: none without leader" in opened.value(spoken)
        press("Home")
        at(opened, 0)
        assert opened.page.locator("[data-part=previous]").is_disabled()
        opened.page.locator("[data-part=next]").press("Enter")
        at(opened, 1)


@pytest.mark.parametrize(
    ("words", "found", "offsets"),
    [
        ("orders", "5 changes at 4 moments found", [3, 4, 5, 13]),
        ("Broker 11", "2 changes at 2 moments found", [1, 12]),
        ("alice", "1 change at 1 moment found", [7]),
    ],
)
def test_a_search_finds_a_topic_a_broker_or_a_principal_and_goes_from_change_to_change(
    chromium: Browser, incident: Path, words: str, found: str, offsets: list[int]
) -> None:
    with chromium.page(incident) as opened:
        opened.page.locator("[data-part=range]").fill("0")
        opened.page.locator("[data-part=search]").fill(words)
        opened.page.get_by_text("Next found").wait_for()
        assert found in part(opened, "found")
        for offset in offsets:
            opened.page.click("[data-part=next]")
            at(opened, offset)
        assert opened.page.locator("[data-part=next]").is_disabled()
        assert opened.page.locator(".hit").count() == len(offsets)
        opened.page.locator("[data-part=search]").fill("nobody")
        opened.page.get_by_text("Nothing of that name ever changed here.").wait_for()


def test_a_link_keeps_the_moment_and_the_search(chromium: Browser, incident: Path) -> None:
    with chromium.page(incident) as opened:
        opened.page.locator("[data-part=search]").fill("orders & more=1;#%")
        opened.page.locator("[data-part=range]").fill("8")
        until(opened, "location.hash.includes('offset=12')")
        link = opened.value("location.href")
    with chromium.page(incident) as opened:
        opened.page.goto(link)
        opened.page.reload()
        at(opened, 12)
        assert opened.page.input_value("[data-part=search]") == "orders & more=1;#%"
        top = "document.querySelector('section.travel').getBoundingClientRect().top"
        assert opened.value(top) < 20
        opened.value("location.hash = '#c1-travel;offset=3;search=%E0%A4'")
        at(opened, 3)
        opened.value("location.hash = '#%E0%A4%A'")
        opened.page.locator("[data-part=moments] a").first.click()
        at(opened, 0)
        assert opened.told == []


def test_an_offset_a_time_and_a_time_of_day_can_be_gone_to(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        for text, offset in [("4", 4), ("2026-01-02 03:04:12", 7), ("03:04:16", 10), ("99", 13)]:
            opened.page.fill("[data-part=goto]", text)
            opened.page.press("[data-part=goto]", "Enter")
            at(opened, offset)
        opened.page.fill("[data-part=goto]", "yesterday")
        opened.page.press("[data-part=goto]", "Enter")
        assert "Write an offset" in opened.value(
            "document.querySelector('[data-part=goto]').validationMessage"
        )


def test_a_name_that_is_a_script_is_text_in_every_panel(chromium: Browser, tmp_path: Path) -> None:
    with chromium.page(_page(tmp_path, HOSTILE)) as opened:
        opened.page.locator("[data-part=range]").fill("9")
        at(opened, 13)
        assert f"leader_changed {HOSTILE}-0" in part(opened, "changes")
        assert HOSTILE in part(opened, "partitions")
        assert opened.value("window.ran") is None
        assert opened.told == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_slider_is_readable_in_both_themes_and_on_a_phone(
    chromium: Browser, incident: Path, scheme: str
) -> None:
    with chromium.page(incident, width=PHONE, scheme=scheme) as opened:
        for step in ("7", "9"):
            opened.page.locator("[data-part=range]").fill(step)
            opened.page.wait_for_timeout(50)
            assert opened.value(CONTRAST) == []
            assert opened.value("document.documentElement.scrollWidth") == PHONE


def test_paper_shows_the_moment_that_is_chosen_without_what_chooses_it(
    chromium: Browser, incident: Path
) -> None:
    with chromium.page(incident) as opened:
        opened.page.locator("[data-part=range]").fill("9")
        at(opened, 13)
        opened.page.emulate_media(media="print")
        assert opened.page.locator("[data-part=clock]").is_visible()
        assert opened.page.locator(".playhead").is_visible()
        assert "orders-0" in part(opened, "partitions")
        assert not opened.page.locator("[data-part=range]").is_visible()
        assert not opened.page.locator("[data-part=search]").is_visible()


def test_without_scripts_the_view_says_what_it_needs(chromium: Browser, incident: Path) -> None:
    with chromium.page(incident, scripts=False) as opened:
        assert opened.page.get_by_text("Scripts are off").is_visible()
        assert not opened.page.locator(".journey").is_visible()
