"""`kraftlake explain`: the meaning of a rule of `check`, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable

from jobs.cli.commands.directories import ExplainOptions
from jobs.cli.directories.verdict_text import runbook_text
from jobs.cli.option_values import value_named
from jobs.cli.output import write_either, write_json, write_table, write_text
from jobs.cli.schemas import schemas
from replica.doctor.check.catalogue import RULES, RULES_BY_ID
from replica.doctor.check.rule import Rule
from replica.doctor.verdict.runbooks import runbook_of
from replica.errors import UsageError
from replica.installation import shipped


def run(options: ExplainOptions) -> int:
    """Prints a runbook, a schema, one rule, or the list of all runbooks or rules. Returns 0. Raises
    UsageError for an unknown name."""
    if options.runbook == "":
        _list_runbooks(json_output=options.json_output)
    elif options.runbook is not None:
        _print_runbook(options)
    elif options.schema is not None:
        _print_schema(options)
    elif options.rule is not None:
        rule = value_named(options.rule, RULES_BY_ID, "rule", "`kraftlake explain` lists them")
        write_either([_plain(rule)], _described(rule), json_output=options.json_output)
    elif options.json_output:
        for rule in RULES:
            write_json(_plain(rule))
    else:
        rows = [(rule.id, rule.family, rule.severity, rule.meaning) for rule in RULES]
        write_table(("rule", "family", "severity", "meaning"), rows)
    return 0


def _print_schema(options: ExplainOptions) -> None:
    known = schemas()
    found = value_named(
        str(options.schema), known, "command with --json", f"there are {', '.join(known)}"
    )
    write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _list_runbooks(*, json_output: bool) -> None:
    rows = [*_occasions(_pages()[_OVERVIEW].read_text(encoding="utf-8"))]
    if json_output:
        for name, when in rows:
            write_json({"runbook": name, "when": when})
    else:
        write_table(("runbook", "when"), rows)


def _print_runbook(options: ExplainOptions) -> None:
    known = runbooks()
    text = value_named(str(options.runbook), known, "runbook", "`explain --runbook` lists them")
    row = {"runbook": str(options.runbook).strip().lower(), "text": text}
    write_either([row], page_lines(text), json_output=options.json_output)


def _plain(rule: Rule) -> dict[str, object]:
    return {
        "rule": rule.id,
        "family": str(rule.family),
        "severity": str(rule.severity),
        "meaning": rule.meaning,
        "kafka": rule.kafka,
        "next_step": rule.next_step,
        "issues": list(rule.issues),
        "runbook": runbook_of((rule.id,)),
    }


def _described(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} ({rule.severity}, {rule.family})"
    yield ""
    yield f"Meaning:  {rule.meaning}"
    yield f"Kafka:    {rule.kafka}"
    yield f"Next:     {rule.next_step}"
    if rule.issues:
        yield f"Seen in:  {', '.join(rule.issues)}"
    runbook = runbook_of((rule.id,))
    if runbook is not None:
        yield f"Runbook:  {runbook_text(runbook)}"


_FOLDED = re.compile(r"^<details markdown=.*?^</details>$\n*", re.MULTILINE | re.DOTALL)
"""The part of a runbook with the incidents that the documentation simulates."""


_OVERVIEW = "README"
"""The page whose tables say when to go to which runbook."""
_ROW = re.compile(r"^\| (.+?) \| (\[.+\]\(.+\.md\).*) \|$")
_LINK = re.compile(r"\]\(([\w-]+)\.md\)")


def runbooks() -> dict[str, str]:
    """The text of each runbook, by its name. Raises UsageError where this installation has none."""
    pages = _pages()
    names = sorted(pages.keys() - {_OVERVIEW})
    return {name: pages[name].read_text(encoding="utf-8") for name in names}


def _pages() -> dict[str, Traversable]:
    """The pages of the runbooks' folder. Raises UsageError where this installation has none."""
    folder = shipped("docs/how-to/runbooks", "runbooks")
    if folder is None:
        raise UsageError("--runbook: this installation has no runbooks")
    suffix = ".md"
    return {
        one.name.removesuffix(suffix): one for one in folder.iterdir() if one.name.endswith(suffix)
    }


def _occasions(overview: str) -> Iterator[tuple[str, str]]:
    """(runbook, when it helps) for each row of the overview's tables. The first table lists what
    you see, the second what you are about to do."""
    before = ""
    for line in overview.splitlines():
        if line.startswith("| you are about to "):
            before = "before you "
        elif (row := _ROW.match(line)) is not None:
            for name in _LINK.findall(row[2]):
                yield name, before + row[1]


def page_lines(text: str) -> Iterator[str]:
    """The lines of a runbook, without the folded parts."""
    yield from _FOLDED.sub("", text).rstrip().splitlines()
