"""Inline SVG made of small pieces, without a viewBox, so that text keeps its size on a phone.

Values along x are percent of the drawing's width, values along y are pixels. A drawing is as wide
as the page, and nothing in it is scaled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.html_text import EMPTY, Html, element, joined

CHARACTER = 7.2
"""The width of a label's character in pixels, rounded up."""
NARROW, BROAD = 330, 900
"""The width of a drawing in pixels on a phone, and on a computer's screen."""


@dataclass(frozen=True)
class Scale:
    """Turns values into percent of a drawing's width; low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        assert self.low < self.high, "a scale needs an extent"

    def x(self, value: float) -> float:
        """The place of a value, in percent of the drawing's width. A value outside of the scale is
        placed at its edge."""
        inside = min(max(value, self.low), self.high)
        return 100 * (inside - self.low) / (self.high - self.low)


def percent(value: float) -> str:
    """The number as percent for an SVG attribute, with at most two decimals, such as `12.5%`."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def drawing(identity: str, title: str, description: str, height: float, *parts: str) -> Html:
    """The root element: an image with a title and a description for readers who don't see it."""
    head = (
        element("title", title, id=f"{identity}-title"),
        element("desc", description, id=f"{identity}-desc"),
    )
    return element(
        "svg",
        *head,
        *parts,
        class_="drawing",
        role="img",
        width="100%",
        height=f"{height:g}",
        aria_labelledby=f"{identity}-title {identity}-desc",
    )


def text(
    x: float, y: float, content: str, *, class_: str = "", anchor: str = "", dx: int | None = None
) -> Html:
    """One line of text at x percent and dx pixels more. anchor: middle or end."""
    place = {"x": percent(x), "dx": dx, "y": f"{y:g}"}
    return element("text", content, **place, class_=class_ or None, text_anchor=anchor or None)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    ends = {"x1": percent(x1), "y1": f"{y1:g}", "x2": percent(x2), "y2": f"{y2:g}"}
    return element("line", class_=class_, **ends)


def box(x: float, y: float, width: float, height: float, class_: str, title: str = "") -> Html:
    """A rectangle. title: its tooltip."""
    inner = (element("title", title),) if title else ()
    place = {"x": percent(x), "y": f"{y:g}", "width": percent(width), "height": f"{height:g}"}
    return element("rect", *inner, class_=class_, **place)


def label(x: float, y: float, width: float, texts: Iterable[str]) -> Html:
    """The longest of `texts` that fits into `width` percent, once for a phone and once for a wide
    screen. No text is shown where none fits. texts: the longest first. y: the baseline in
    pixels."""
    broad = _fitting(texts := tuple(texts), width * BROAD / 100)
    narrow = _fitting(texts, width * NARROW / 100)
    middle = x + width / 2
    if broad == narrow:
        return text(middle, y, broad, class_="in", anchor="middle") if broad else EMPTY
    return joined(
        text(middle, y, shown, class_=f"in {size}", anchor="middle")
        for shown, size in ((narrow, "narrow"), (broad, "broad"))
        if shown
    )


def _fitting(texts: Iterable[str], pixels: float) -> str:
    return next((one for one in texts if len(one) * CHARACTER + 6 <= pixels), "")


def beside(x: float, width: float, y: float, content: str, class_: str) -> Html:
    """Text beside x: to the right of it, or to the left in the right half of the drawing."""
    if x + width / 2 > 50:
        return text(x, y, content, class_=class_, anchor="end", dx=-6)
    return text(x + width, y, content, class_=class_, dx=6)


DIAMOND, CROSS = "M0 -5L5 0L0 5L-5 0Z", "M-5 -5L5 5M-5 5L5 -5"
"""Shapes of markers: paths of 10 pixels around (0, 0)."""


def marker(x: float, y: float, shape: str, class_: str, title: str = "") -> Html:
    """A shape at (x percent, y). title: its tooltip."""
    inner = (element("title", title),) if title else ()
    path = element("path", *inner, class_=class_, d=shape)
    return element("svg", path, x=percent(x), y=f"{y:g}", overflow="visible")
