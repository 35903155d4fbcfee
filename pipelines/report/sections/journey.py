"""The view of any moment, by a slider: its frame, which the page's script fills."""

from __future__ import annotations

from pipelines.html_text import EMPTY, Html, element, joined, void
from pipelines.report.sections.pieces import keys, mark, sql
from pipelines.report.travel.shown import JourneyView
from pipelines.report.view import ClusterView

_LEGEND = (
    "The axis counts changes, not time. ",
    mark("lost-key"),
    " partitions without leader, and records that were lost; ",
    mark("short-key"),
    " partitions with fewer in-sync replicas than replicas; ",
    mark("snapshot-key"),
    " a broker changed. Arrow keys go one change on, Page Up and Page Down a tenth of the way.",
)


def journey(c: ClusterView, view: JourneyView) -> Html:
    identity = c.identity
    no_script = (
        "Scripts are off: this view needs the one of this page. The sections below tell the same "
        "as tables."
    )
    shown = element(
        "div",
        element(
            "p",
            element("span", class_="clock", data_part="clock"),
            Html(" "),
            element("span", class_="quiet", data_part="place"),
            class_="moment",
        ),
        _strip(c, view),
        keys(c.fills),
        element("p", *_LEGEND, class_="quiet legend"),
        _controls(identity, view),
        element("p", class_="found", data_part="found", role="status"),
        element("p", class_="hidden-label", data_part="told", role="status"),
        _panels(),
        class_="journey",
        hidden="",
    )
    return element(
        "section",
        element("h3", "The cluster at any moment", id=f"{identity}-travel"),
        element("p", no_script, class_="needs-script"),
        shown,
        element("p", view.sampled, class_="notice") if view.sampled else EMPTY,
        element("p", view.judged, class_="quiet"),
        *(sql(text, what) for text, what in view.asked),
        element("script", view.data, type="application/json", data_part="journey"),
        class_="travel",
        aria_labelledby=f"{identity}-travel",
        id=f"{identity}-journey",
        data_start=view.start,
    )


def _strip(c: ClusterView, view: JourneyView) -> Html:
    step = f"{c.identity}-step"
    hits = {"width": "100%", "height": view.strip_height, "data_part": "hits"}
    ends = {"min": 0, "max": view.last, "step": 1, "value": view.start}
    return element(
        "div",
        view.strip,
        element("svg", class_="hits", aria_hidden="true", **hits),
        element("span", class_="playhead", aria_hidden="true", data_part="playhead"),
        element("label", f"Moment of cluster {c.cluster_id}", class_="hidden-label", for_=step),
        void("input", type="range", id=step, **ends, data_part="range"),
        class_="strip",
    )


def _button(name: str, text: str) -> Html:
    return element("button", text, type="button", data_part=name)


def _controls(identity: str, view: JourneyView) -> Html:
    search, goto = f"{identity}-search", f"{identity}-goto"
    plain = {"autocomplete": "off", "spellcheck": "false"}
    example = {"placeholder": view.example, "data_part": "goto"}
    buttons = (_button("previous", "Previous change"), _button("next", "Next change"))
    return element(
        "div",
        element("div", joined(buttons, Html(" ")), class_="control-group"),
        element(
            "div",
            element("label", "Search a topic, broker or principal", for_=search),
            void("input", type="search", id=search, **plain, data_part="search"),
            class_="control",
        ),
        element(
            "form",
            element("label", "Go to offset or time (UTC)", for_=goto),
            void("input", type="text", id=goto, **plain, **example),
            Html(" "),
            element("button", "Go", type="submit"),
            class_="control",
            data_part="goto-form",
        ),
        class_="controls",
    )


def _panels() -> Html:
    column = (
        _panel("Quorum and brokers", "brokers"),
        _panel("Health and exposure", "health"),
        element(
            "div",
            element("h4", "Moments to look at"),
            element("ol", class_="moments", data_part="moments"),
            class_="panel",
        ),
    )
    beside = {"data_part": "beside-panel", "hidden": ""}
    return element(
        "div",
        _panel("What changed here", "changes", "panel wide"),
        _panel("Beside it, the branch that lost", "beside", "panel wide", **beside),
        element("div", *column),
        _panel("Partitions", "partitions"),
        class_="panels",
    )


def _panel(title: str, part: str, class_: str = "panel", **attributes: str) -> Html:
    content = element("div", data_part=part)
    return element("div", element("h4", title), content, class_=class_, **attributes)
