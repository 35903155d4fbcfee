"""Great Expectations' Data Docs, as pages that need no network.

Its own site loads styles and scripts from elsewhere, and without them its index stays empty. So its
renderers make only the content of the page of a table that breaks an expectation, and this module
makes the frame around it. This module also makes the whole page of any other table, because Great
Expectations takes seconds to import.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipelines.quality.verdicts import ExpectationResult, TableResult

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #8886; padding: .35rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.broken, .text-danger { color: #c0392b; font-weight: 600; }
.badge { border: 1px solid #8886; border-radius: .3rem; padding: 0 .3rem; margin-right: .2rem; }
.fa-check-circle::before { content: "\\2713"; color: #27864a; }
.fa-times::before { content: "\\2717"; color: #c0392b; }
.fa-exclamation-triangle::before { content: "!"; color: #b9770e; }
"""


def pages(judged: Sequence[TableResult], at: datetime) -> dict[str, bytes]:
    """index.html and a page for each table of one run, by file name.

    at: the time of the run, in UTC.
    """
    found = {f"{one.suite.name}.html": _page(one.suite.name, _table_page(one)) for one in judged}
    return found | {"index.html": _page("Quality of the lake", _index(judged, at))}


def _table_page(judged: TableResult) -> str:
    rows = judged.verdicts[0].evaluated_rows
    content = _kept(judged.verdicts) if judged.result is None else _data_docs(judged.result)
    return f'<p>{rows} rows. <a href="index.html">All tables</a></p>{content}'


def _kept(verdicts: Sequence[ExpectationResult]) -> str:
    rows = "".join(
        f'<tr><td><i class="fa-check-circle"></i></td><td>{html.escape(one.expectation.meaning)}'
        f"</td><td>{html.escape(', '.join(one.expectation.columns))}</td></tr>"
        for one in verdicts
    )
    return (
        "<table><thead><tr><th>Status</th><th>Expectation</th><th>Columns</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _data_docs(judged: ExpectationSuiteValidationResult) -> str:
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view import DefaultJinjaSectionView

    result = deepcopy(judged)
    for one in result.results:
        # the templates show values as they are, and a log may hold any text
        one.result = _escaped(one.result)
    document = ValidationResultsPageRenderer().render(result)
    view: Any = DefaultJinjaSectionView()
    sections = [
        view.render({"section": section.to_json_dict(), "section_loop": {"index": number}})
        for number, section in enumerate(document.sections[1:], start=1)  # the first: an overview
    ]
    return "".join(sections)


def _escaped(value: Any) -> Any:
    """The same value, with every text in it escaped for HTML."""
    if isinstance(value, str):
        return html.escape(value)
    if isinstance(value, Mapping):
        return {name: _escaped(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(one) for one in value]
    return value


def _index(judged: Sequence[TableResult], at: datetime) -> str:
    rows = "".join(_index_row(one) for one in judged)
    return (
        f"<p>Judged at {at:%Y-%m-%d %H:%M:%S} UTC.</p>"
        "<table><thead><tr><th>table</th><th>rows</th><th>expectations</th><th>broken</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _index_row(judged: TableResult) -> str:
    broken = [
        f"{one.expectation.action}: {one.expectation.meaning} ({one.unexpected_rows} rows)"
        for one in judged.verdicts
        if not one.success
    ]
    told = "<br>".join(html.escape(text) for text in broken)
    name = html.escape(judged.suite.name)
    return (
        f'<tr><td><a href="{name}.html">{name}</a></td>'
        f'<td class="number">{judged.verdicts[0].evaluated_rows}</td>'
        f'<td class="number">{len(judged.verdicts)}</td><td class="broken">{told}</td></tr>'
    )


def _page(title: str, body: str) -> bytes:
    text = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1>{body}</body></html>"
    )
    return text.encode()
