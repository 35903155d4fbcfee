"""One cluster from a seed: run, copied, examined by kraftlake. Then the actions that kraftlake
calls safe are carried out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.interop.recorder.answers import asked, asked_in_order
from tests.interop.recorder.cluster import RecordedCluster
from tests.interop.recorder.doing import compare_dumps, do_what_is_safe
from tests.interop.recorder.migrating import migrated
from tests.interop.recorder.player import Player
from tests.interop.recorder.script import Kind, Script, Shown
from tests.interop.recorder.statements import Statement, judged, judged_in_order
from tests.interop.recorder.story import Story, loaded
from tests.interop.recorder.tools import Tools

COPIES, ROUNDS = "copies", "rounds"


def recorded(folder: Path, script: Script) -> Iterator[Path]:
    """A folder for each round, with its copies and its story, as soon as it has been run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shape = script.shape
    before = migrated(folder) if shape.kind is Kind.MIGRATED else None
    with (
        Tools(folder, shape.version) as tools,
        RecordedCluster(folder, shape, tools, before) as cluster,
    ):
        player = Player(script, cluster)
        try:
            player.settle()
            for number, one in enumerate(script.rounds):
                place = folder / ROUNDS / f"round-{number}"
                player.play(one)
                copies = player.copies(place / COPIES, one.shown)
                then = deepcopy(player.story)
                then.save(place)
                do_what_is_safe(player, copies, Random(f"doing {script.seed} {number}"))
                compare_dumps(player, copies)
                then.done, then.dumps = player.story.done, player.story.dumps
                then.save(place)
                yield place
        finally:
            player.close()


def variants(place: Path) -> Iterator[tuple[Story, list[Path]]]:
    """The story and the copies of a round with all directories, changed for one voter: its copy is
    left out, or is the copy of the round before, as if restored from a backup."""
    story = loaded(place)
    if story.shown != Shown.ALL.value or len(story.voters) == 1:
        return
    copies = {int(one.name): one for one in (place / COPIES).iterdir()}
    before = place.parent / f"round-{int(place.name.rpartition('-')[2]) - 1}" / COPIES
    for voter in story.voters:
        other = replace(story, shown_node=voter, done=[], dumps={}, quiet="")
        left = [path for node, path in copies.items() if node != voter]
        yield replace(other, shown=Shown.LEFT_OUT.value), left
        older = before / str(voter)
        if older.is_dir() and story.cluster_id in (older / "meta.properties").read_text():
            backup = loaded(before.parent).copied
            yield replace(other, shown=Shown.OLDER.value, backup=backup), [*left, older]


def judged_again(place: Path) -> tuple[Story, str, list[Statement]]:
    """The story of a round, the headline of the verdict, and the statements about the present
    answers. Statements about all rounds so far are about the captures in their order."""
    story = loaded(place)
    answers = asked((place / COPIES).iterdir(), story.cluster_id)
    found = judged(story, answers)
    so_far = sorted(one.name for one in place.parent.iterdir() if one.name <= place.name)
    if len(so_far) > 1:
        events = asked_in_order(place.parent, so_far, story.cluster_id)
        earlier = [loaded(place.parent / name) for name in so_far]
        found += judged_in_order(earlier, events)
    return story, str(answers.verdict["headline"]), found
