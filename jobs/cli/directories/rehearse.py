"""`kraftlake rehearse`: lets the captured directories of a quorum continue in the simulator."""

from __future__ import annotations

from contextlib import ExitStack

from jobs.cli.commands.options import names_in
from jobs.cli.commands.recovering import RehearseOptions
from jobs.cli.directories.notices import printed_at_the_end
from jobs.cli.directories.played_start import PlayedStart
from jobs.cli.directories.recover import given_nodes
from jobs.cli.directories.recover_rehearsed import recommended_start
from jobs.cli.directories.rehearse_text import describe, headline, rows
from jobs.cli.directories.rehearsed import Rehearsed, not_of_metadata, rehearsed_quorum
from jobs.cli.directories.verdict_text import labelled, write_verdict
from jobs.cli.option_values import MAX_REHEARSED, seeds_in, text_in
from jobs.cli.outcome import safety_code
from jobs.cli.output import ProgressLine, complain, write_either
from pipelines.capture.destination import CaptureDestination, destination_at
from pipelines.object_store import shown_uri
from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.losing import Search, smallest_loss
from replica.doctor.rehearsal.outcome import disks_after
from replica.doctor.rehearsal.runs import Rehearsal, judge, rehearse_all
from replica.doctor.rehearsal.scenario_file import MAX_FILE_BYTES, scenario_in, toml_of
from replica.doctor.rehearsal.step import Scenario
from replica.simulate.scenarios.writing import files_of, refuse_filled

_SMALLEST_LOSS = "smallest-loss.toml"
SEARCH_SEEDS = 10
"""The most seeds that are tried for each set of failures."""


def run(options: RehearseOptions) -> int:
    """Prints the outcomes of the runs. Returns the safety_code of the answer. Raises
    KraftlakeError. It writes only to the folder of -o."""
    seeds = seeds_in(options.seeds, most=MAX_REHEARSED)
    if options.output is not None:
        refuse_filled(options.output)
    with ExitStack() as stack:
        notices = stack.enter_context(printed_at_the_end())
        order, all_damages = names_in(options.order), options.json_output
        given = given_nodes(options.paths, stack, notices, order, all_damages=all_damages)
        notices += not_of_metadata(given.usable)
        rehearsed = rehearsed_quorum(given.usable, given.earlier, given.formatted)
        verdict = given.judged()[rehearsed.captured.cluster_id].verdict
        scenario = Scenario()
        if options.scenario is not None:
            text = text_in("--scenario", options.scenario, MAX_FILE_BYTES)
            scenario = scenario_in(text, options.scenario, rehearsed.captured)
        place = None
        if options.output is not None:
            place = stack.enter_context(destination_at(options.output))
        rehearsal, search = _played(rehearsed.captured, scenario, seeds, options.failures)
        judged = judge(rehearsal, rehearsed.doubts, rehearsed.refusals)
        named = options.scenario
        rests_on_copies = named is not None or rehearsed.plan.rests_on_copies
        asked = PlayedStart(rehearsal, *judged, rehearsed.refusal, rests_on_copies, named)
        recommended = None
        if options.scenario is None:
            recommended = _recommended(rehearsed, seeds)
        said = [labelled("rehearsed", headline(asked, recommended))]
        write_verdict(verdict, json_output=options.json_output, answer=said)
        lines = describe(asked, recommended, search, options.paths)
        found = rows(asked, recommended, search)
        write_either(found, lines, json_output=options.json_output)
        if place is not None and options.output is not None:
            _write(rehearsal, search, place, options.output)
    return safety_code(
        asked.answer.value,
        is_conditional=asked.is_conditional,
        needs_checked=options.needs_checked,
    )


def _recommended(rehearsed: Rehearsed, seeds: range) -> PlayedStart | None:
    """The start that `recover` recommends; None where it recommends none, or the start of all
    nodes."""
    captured = rehearsed.captured
    start = recommended_start(rehearsed.plan, rehearsed.by_key)
    if start is None or start.start is None or {*start.start} >= captured.nodes.keys():
        return None
    progress = ProgressLine()
    rehearsal = rehearse_all(
        captured, Scenario((start,)), seeds, lambda seed: progress.show(f"seed {seed}")
    )
    progress.clear()
    judged = judge(rehearsal, rehearsed.doubts, rehearsed.refusals)
    return PlayedStart(rehearsal, *judged, rehearsed.refusal)


def _played(
    captured: CapturedQuorum, scenario: Scenario, seeds: range, failures: int
) -> tuple[Rehearsal, Search | None]:
    progress = ProgressLine()
    rehearsal = rehearse_all(captured, scenario, seeds, lambda seed: progress.show(f"seed {seed}"))
    search = None
    if failures and not captured.quorum.conflicts:  # each run loses one of the two histories
        search = smallest_loss(
            captured,
            failures,
            seeds[:SEARCH_SEEDS],
            lambda step: progress.show(f"failures: dead {step.dead}, empty {step.empty}"),
        )
    progress.clear()
    return rehearsal, search


def _write(
    rehearsal: Rehearsal, search: Search | None, place: CaptureDestination, output: str
) -> None:
    """Writes the disks of the first run of each outcome, and the script of the smallest loss.
    search: the search for this loss; None where there was no search."""
    shown = shown_uri(output)
    for number, found in enumerate(rehearsal.outcomes, start=1):
        folder, seed = f"outcome-{number}", found.seeds[0]
        for path, data in files_of(disks_after(rehearsal.captured, rehearsal.scenario, seed)):
            place.write(f"{folder}/{path}", [data])
        complain(f"{shown}/{folder}: the disks after seed {seed}")
    if search is not None and search.loss is not None:
        script = "\n\n".join(map(toml_of, search.loss.scenario.steps)) + "\n"
        place.write(_SMALLEST_LOSS, [script.encode()])
        complain(f"{shown}/{_SMALLEST_LOSS}: the failures that lose committed records")
