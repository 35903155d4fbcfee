"""Great Expectations' Data Docs, as pages that need no network.

Great Expectations' own site loads styles and scripts from elsewhere, and its index is empty without
them. So its renderers make the content of a table's page, and this module makes the frame around
it, and the index. Only the process of pipelines.quality.checkpoint imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaSectionView

from pipelines.html_text import Html, element, joined
from pipelines.quality.counted_run import CountedRun

_STYLE = Html("""
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
""")
_DOCTYPE, _CHARSET, _BREAK = Html("<!DOCTYPE html>"), Html('<meta charset="utf-8">'), Html("<br>")
_VIEWPORT = Html('<meta name="viewport" content="width=device-width, initial-scale=1">')

_VIEW: Any = DefaultJinjaSectionView()  # compiles each template once
Results = Mapping[str, ExpectationSuiteValidationResult]
"""Great Expectations' result for each table, by the table's name."""


def pages(run: CountedRun, results: Results) -> dict[str, str]:
    """index.html and a page for each table of one run, by file name."""
    rows = {table["name"]: table["rows"] for table in run["tables"]}
    found: dict[str, str] = {
        f"{name}.html": _page(name, _table_page(rows[name], result))
        for name, result in results.items()
    }
    return found | {"index.html": _page("Quality of the lake", _index(run, rows, results))}


def _table_page(rows: int, result: ExpectationSuiteValidationResult) -> Html:
    back = element("a", "All tables", href="index.html")
    return joined([element("p", f"{rows} rows. ", back), _data_docs(result)])


def _data_docs(judged: ExpectationSuiteValidationResult) -> Html:
    result = deepcopy(judged)
    for one in result.results:
        # the templates show values as they are, and a log may hold any text
        one.result = _escaped(one.result)
    document = ValidationResultsPageRenderer().render(result)
    return joined(
        Html(_VIEW.render({"section": section.to_json_dict(), "section_loop": {"index": number}}))
        # the first section is an overview
        for number, section in enumerate(document.sections[1:], start=1)
    )


def _escaped(value: Any) -> Any:
    """The same value, with every text in it escaped for HTML."""
    if isinstance(value, str):
        return str(joined([value]))
    if isinstance(value, Mapping):
        return {name: _escaped(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(one) for one in value]
    return value


def _index(run: CountedRun, rows: Mapping[str, int], results: Results) -> Html:
    lines = joined(_index_row(name, rows[name], result) for name, result in results.items())
    heads = (
        element("th", "table"),
        *(element("th", head, class_="number") for head in ("rows", "expectations", "broken")),
        element("th", "what is broken"),
    )
    table = element("table", element("thead", element("tr", *heads)), element("tbody", lines))
    told = f"Run {run['run_id']} of {run['job']}, judged at {run['at']} UTC by Great Expectations."
    return joined([_verdict(run, results), element("p", told), table])


def _verdict(run: CountedRun, results: Results) -> Html:
    """The outcome of the run, in a few sentences."""
    expected = sum(len(one.results) for one in results.values())
    broken = sum(len(_broken(one)) for one in results.values())
    told = [f"{expected - broken} of {expected} expectations of {len(results)} tables hold."]
    if run["stopped"]:
        told.append(f"The build was stopped and committed nothing: {run['stopped']}")
    elif run["job"] == "build":
        told.append(f"The build was not stopped. {_quarantined(results)}")
    kind = "verdict is-broken" if broken else "verdict"
    return element("p", joined(told, _BREAK), class_=kind)


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


def _index_row(name: str, rows: int, result: ExpectationSuiteValidationResult) -> Html:
    broken = _broken(result)
    numbers = (rows, len(result.results), len(broken))
    return element(
        "tr",
        element("td", element("a", name, href=f"{name}.html")),
        *(element("td", str(number), class_="number") for number in numbers),
        element("td", joined(map(_broken_text, broken), _BREAK), class_="broken"),
    )


def _broken_text(found: Any) -> str:
    config = found.expectation_config
    rows = found.result.get("unexpected_count")
    count = "" if rows is None else f" ({rows} rows)"
    return f"{config.meta['action']}: {config.description}{count}"


def _page(title: str, body: Html) -> Html:
    style = element("style", _STYLE)
    head = element("head", _CHARSET, _VIEWPORT, element("title", title), style)
    page = element("html", head, element("body", element("h1", title), body), lang="en")
    return joined([_DOCTYPE, page])
