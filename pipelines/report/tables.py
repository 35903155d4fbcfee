"""Tables that a phone shows as cards: each cell has the name of its column."""

from __future__ import annotations

import re

from markupsafe import Markup

_HEAD = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_CELL = re.compile(r"<tr\b|<(?:td|th)\b")


def labelled(table: Markup) -> Markup:
    """`table`, a table of a template, with the attribute data-label in each cell of its body: the
    head of the cell's column. All values of a lake are escaped in it, so every tag is one of the
    template."""
    head, body, rest = str(table).partition("<tbody>")
    labels = [Markup(one).striptags() for one in _HEAD.findall(head)]  # noqa: S704 - the template's
    place = 0

    def with_label(found: re.Match[str]) -> str:
        nonlocal place
        if found[0] == "<tr":
            place = 0
            return found[0]
        label = labels[place] if place < len(labels) else ""
        place += 1
        return f'{found[0]} data-label="{label}"'

    return Markup(head + body + _CELL.sub(with_label, rest))  # noqa: S704 - as it came, with labels
