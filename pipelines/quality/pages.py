"""Great Expectations' Data Docs, as pages that need no network.

Its own site loads styles and scripts from elsewhere, and without them its index stays empty. So its
renderers make the content of a table's page, and this module makes the frame around it, and the
index. Only the process of pipelines.quality.checkpoint imports this module.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaSectionView

from pipelines.quality.counted_run import CountedRun

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #8886; padding: .35rem .6rem; text-align: left;
  vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict { border-left: .4rem solid #27864a; padding: .2rem .8rem; }
.verdict.is-broken { border-color: #c0392b; }
.broken, .text-danger { color: #c0392b; font-weight: 600; }
.badge { border: 1px solid #8886; border-radius: .3rem; padding: 0 .3rem; margin-right: .2rem; }
.fa-check-circle::before { content: "\\2713"; color: #27864a; }
.fa-times::before { content: "\\2717"; color: #c0392b; }
.fa-exclamation-triangle::before { content: "!"; color: #b9770e; }
"""

_VIEW: Any = DefaultJinjaSectionView()  # compiles each template once
Results = Mapping[str, ExpectationSuiteValidationResult]
"""Great Expectations' result for each table, by the table's name."""


def pages(run: CountedRun, results: Results) -> dict[str, str]:
    """index.html and a page for each table of one run, by file name."""
    rows = {table["name"]: table["rows"] for table in run["tables"]}
    found = {
        f"{name}.html": _page(name, _table_page(rows[name], result))
        for name, result in results.items()
    }
    return found | {"index.html": _page("Quality of the lake", _index(run, rows, results))}


def _table_page(rows: int, result: ExpectationSuiteValidationResult) -> str:
    return f'<p>{rows} rows. <a href="index.html">All tables</a></p>{_data_docs(result)}'


def _data_docs(judged: ExpectationSuiteValidationResult) -> str:
    result = deepcopy(judged)
    for one in result.results:
        # the templates show values as they are, and a log may hold any text
        one.result = _escaped(one.result)
    document = ValidationResultsPageRenderer().render(result)
    sections = [
        _VIEW.render({"section": section.to_json_dict(), "section_loop": {"index": number}})
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


def _index(run: CountedRun, rows: Mapping[str, int], results: Results) -> str:
    lines = "".join(_index_row(name, rows[name], result) for name, result in results.items())
    heads = "".join(
        f'<th class="number">{head}</th>' for head in ("rows", "expectations", "broken")
    )
    return (
        f"{_verdict(run, results)}<p>Run {html.escape(run['run_id'])} of {run['job']}, judged at "
        f"{run['at']} UTC by Great Expectations.</p><table><thead><tr><th>table</th>{heads}"
        f"<th>what is broken</th></tr></thead><tbody>{lines}</tbody></table>"
    )


def _verdict(run: CountedRun, results: Results) -> str:
    """How the run ended, in a few sentences."""
    expected = sum(len(one.results) for one in results.values())
    broken = sum(len(_broken(one)) for one in results.values())
    told = [f"{expected - broken} of {expected} expectations of {len(results)} tables hold."]
    if run["stopped"]:
        told.append(f"The build was stopped and committed nothing: {run['stopped']}")
    elif run["job"] == "build":
        told.append(f"The build was not stopped. {_quarantined(results)}")
    kind = "verdict is-broken" if broken else "verdict"
    return f'<p class="{kind}">{"<br>".join(map(html.escape, told))}</p>'


def _quarantined(results: Results) -> str:
    rows = {
        name: sum(
            one.result["unexpected_count"]
            for one in _broken(result)
            if one.expectation_config.meta["action"] == "quarantine"
        )
        for name, result in results.items()
    }
    told = ", ".join(f"{number} of {name}" for name, number in rows.items() if number)
    if not told:
        return "No row was quarantined."
    return f"Rows were quarantined, and are in gold.quarantined_rows: {told}."


def _broken(result: ExpectationSuiteValidationResult) -> Sequence[Any]:
    return [one for one in result.results if not one.success]


def _index_row(name: str, rows: int, result: ExpectationSuiteValidationResult) -> str:
    broken = _broken(result)
    told = "<br>".join(html.escape(_broken_text(one)) for one in broken)
    numbers = (rows, len(result.results), len(broken))
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    link = f'<a href="{html.escape(name)}.html">{html.escape(name)}</a>'
    return f'<tr><td>{link}</td>{cells}<td class="broken">{told}</td></tr>'


def _broken_text(found: Any) -> str:
    config = found.expectation_config
    rows = found.result.get("unexpected_count")
    count = "" if rows is None else f" ({rows} rows)"
    return f"{config.meta['action']}: {config.description}{count}"


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1>{body}</body></html>"
    )
