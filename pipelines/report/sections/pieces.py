"""What sections are made of: tables, records as cells, details that open, and SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from pipelines.html_text import EMPTY, Html, element, joined
from pipelines.report.lanes import Fills
from pipelines.report.queries import LONG
from pipelines.report.record_rows import Cell, RecordRow

Shown: TypeAlias = str | int | None
"""The content of a cell."""


class Column(NamedTuple):
    """A column of a table."""

    head: str
    cell: str | Callable[[Any], Shown]
    """The name of the row's value, or a function of the row."""
    class_: str = ""
    """The style sheet's classes for the column's cells, with blanks between; "" for none."""
    is_head: bool = False
    """Whether each cell of the column names its row."""

    def shown(self, row: Any) -> Html:
        """The cell of a row."""
        value = row[self.cell] if isinstance(self.cell, str) else self.cell(row)
        return self.holding(value)

    def holding(self, value: Shown, *, span: int | None = None) -> Html:
        """A cell of the column with this content. A phone shows tables as cards, in which each cell
        is named by the head of its column. span: the number of columns over which the cell goes;
        None for one."""
        name, scope = ("th", "row") if self.is_head else ("td", None)
        content = "" if value is None else value if isinstance(value, str) else str(value)
        return element(
            name,
            content,
            scope=scope,
            class_=self.class_ or None,
            colspan=span,
            data_label=self.head,
        )


def head(title: str, cell: str | Callable[[Any], Shown], class_: str = "") -> Column:
    """A column whose cells name their rows."""
    return Column(title, cell, class_, is_head=True)


def number(title: str, cell: str | Callable[[Any], Shown], class_: str = "number") -> Column:
    """A column of numbers."""
    return Column(title, cell, class_)


def table(
    label: str,
    rows: Iterable[Any],
    columns: Sequence[Column],
    *,
    caption: str = "",
    beside: Iterable[Html] = (),
) -> Html:
    """A table in a region that scrolls. label: the region's name. beside: rows below the others."""
    heads = (
        element(
            "th",
            one.head,
            scope="col",
            class_="number" if "number" in one.class_.split() else None,
        )
        for one in columns
    )
    body = (element("tr", *(one.shown(row) for one in columns)) for row in rows)
    whole = element(
        "table",
        element("caption", caption) if caption else EMPTY,
        element("thead", element("tr", *heads)),
        element("tbody", *body, *beside),
    )
    return element("div", whole, class_="scroll", role="region", tabindex=0, aria_label=label)


def section(identity: str, name: str, title: str, *parts: str) -> Html:
    """A section of the page. `identity` and `name` make the id to which links lead."""
    heading = element("h3", title, id=f"{identity}-{name}")
    return element("section", heading, *parts, aria_labelledby=f"{identity}-{name}")


def details(summary: str, *parts: str, **attributes: object) -> Html:
    """An element of which only the summary is shown until the reader opens it. is_open=True opens
    it from the beginning."""
    is_open = "" if attributes.pop("is_open", False) else None
    return element("details", element("summary", summary), *parts, open=is_open, **attributes)


def sql(text: str, of: str) -> Html:
    """An element with the SQL behind a figure; empty where `text` is "", as for a figure that is
    made without a lake."""
    if not text:
        return EMPTY
    label = joined(("SQL", element("span", f" of {of}", class_="quiet")))
    code = element("pre", element("code", text), tabindex=0, aria_label=f"SQL of {of}")
    return details(label, code, class_="sql")


def more(count: int, noun: str, text: str) -> Html:
    """How many rows a table leaves out. text: the SQL behind the table; empty where there is
    none."""
    if count <= 0:
        return EMPTY
    how = ": the SQL without its LIMIT shows all." if text else "."
    return element("p", f"and {count} more {noun}{how}", class_="more")


def not_drawn(count: int, noun: str, where: str) -> Html:
    """How many things a drawing leaves out, and where they are."""
    if count <= 0:
        return EMPTY
    return element("p", f"and {count} more {noun} that are not drawn: {where}.", class_="more")


def quiet(text: str) -> Html:
    return element("span", text, class_="quiet")


def code(text: str) -> Html:
    return element("code", text)


def mark(class_: str) -> Html:
    """The sample of a fill beside its meaning, in a legend. class_: the fill's class in the style
    sheet."""
    return element("span", class_=f"key {class_}", aria_hidden="true")


def keys(fills: Fills) -> Html:
    """The legend of a drawing: what each fill means."""
    entries = (
        element("li", mark(f"fill-key {one.fill}"), Html(" "), one.text) for one in fills.key()
    )
    return element("ul", *entries, class_="keys quiet", aria_label="Fills")


def json(text: str) -> Html:
    """An element with JSON, of which only the first LONG characters are shown until the reader
    opens it."""
    if len(text) <= LONG:
        return code(text)
    link = element("span", f"… all {len(text)} characters", class_="link")
    return details(joined((code(text[:LONG]), Html(" "), link)), code(text), class_="long")


def records(rows: Sequence[RecordRow], heads: Sequence[str], caption: str) -> Html:
    """Records by offset, in a column for each branch."""
    columns = (element("th", one, scope="col") for one in heads)
    top = element("tr", element("th", "Offset", scope="col", class_="number"), *columns)
    return element(
        "table",
        element("caption", caption),
        element("thead", top),
        element("tbody", *(_row(one, heads) for one in rows)),
        class_="records",
    )


def _row(row: RecordRow, heads: Sequence[str]) -> Html:
    offset = element("th", str(row.offset), scope="row", class_="number")
    if len(row.cells) == 1 and len(heads) > 1:
        told = {"colspan": len(heads), "data_branch": "the same on all branches"}
        return element("tr", offset, element("td", *_cell(row.cells[0]), **told), class_="same")
    cells = (
        element("td", *_cell(one), data_branch=branch)
        for one, branch in zip(row.cells, heads, strict=False)
    )
    return element("tr", offset, *cells)


def _cell(record: Cell | None) -> Iterable[Html]:
    if record is None:
        return (quiet("no record"),)
    version = "" if record.version is None else f" v{record.version}"
    time = f", {record.time}" if record.time else ""
    kind = element("span", record.record_type, class_="type")
    about = element(
        "span", kind, f"{version} ", quiet(f"epoch {record.epoch}{time}"), class_="head"
    )
    return about, json(record.payload)
