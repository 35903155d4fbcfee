"""What check says about an invented case, in the words of a cell of tests/interop/STARTS.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.replica.doctor.startup.laid_out import Place

Row = Mapping[str, Any]


def answer(rows: Iterable[Row], place: Place) -> tuple[str, str]:
    """(joins, waits or refuses; Kafka's message) by the rows of `check --json --config` about the
    node at this place, among others or alone."""
    given = list(rows)
    (node,) = (row for row in given if row.get("config") == str(place.properties))
    (election,) = (row for row in given if row["kind"] == "election")
    if node["start"] == "refuses":
        words = next(one["kafka"] for one in node["obstacles"] if one["start"] == "refuses")
        return "refuses", shortened(words, place)
    joins = (node["start"], election["election"]) == ("starts", "elects")
    return ("joins" if joins else "waits"), ""


def shortened(text: str, place: Place) -> str:
    """The text with DIR, PORT and OTHER for the case's folder and ports."""
    short = text.replace(str(place.folder), "DIR")
    return short.replace(str(place.port), "PORT").replace(str(place.other), "OTHER")


def cell(did: str, words: str) -> str:
    """The cell in the table's form."""
    return f"{did}: {words}" if words else did
