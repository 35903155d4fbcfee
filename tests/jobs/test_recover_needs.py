"""What the answer of `kraftlake recover --plan` rests on, as far as no file shows it."""

from __future__ import annotations

import pytest

from tests.jobs.conftest import Kraftlake
from tests.jobs.test_recover_words import SPLIT


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "paths",
    [(f"{SPLIT}/1", f"{SPLIT}/2"), (f"{SPLIT}/2",)],
    ids=["a majority", "no majority"],
)
def test_what_a_plan_relies_on_is_told(kraftlake: Kraftlake, paths: tuple[str, ...]) -> None:
    need = (
        "no log grew after the first directory was copied; if one grew, copy the directories of "
        "all running nodes anew, and stop no broker for that"
    )
    assert f"  needs: {need}" in kraftlake("recover", "--plan", *paths).lines
    rows = kraftlake("recover", "--plan", "--json", *paths).answers
    assert all(row["needs"][0] == need for row in rows)
    assert all(len(row["needs"]) == (1 if len(paths) == 1 else 3) for row in rows)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("paths", [(SPLIT,), (f"{SPLIT}/1", f"{SPLIT}/3")])
def test_logs_that_end_alike_show_by_themselves_that_none_grew_meanwhile(
    kraftlake: Kraftlake, paths: tuple[str, ...]
) -> None:
    ended = kraftlake("recover", "--plan", *paths)
    assert "needs: no disk given" in ended.out or "needs: node 2 has to" in ended.out
    assert "no log grew" not in ended.out


@pytest.mark.usefixtures("recorded")
def test_what_rests_on_no_copy_needs_no_stopped_nodes(kraftlake: Kraftlake) -> None:
    """All voters are here with the same log: whoever wins, no node loses a record."""
    whole = "kafka-4.4.0-dynamic/final"
    ended = kraftlake("recover", "--plan", whole)
    assert "  the quorum needs no recovery: every voter is here" in ended.lines
    assert "needs:" not in ended.out
    played = kraftlake("rehearse", "--seeds", "0:2", "--failures", "0", whole)
    assert (played.code, "needs:" in played.out) == (0, False)
    assert "Safe for the metadata log; topics' partitions are not rehearsed." in played.lines[1]
