"""A lake knows which voters are behind, and counts them as the directories' answers do."""

from __future__ import annotations

from pathlib import Path

from replica.doctor.quorum.log_ends import COPYING_MS
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_verdicts_in_a_lake import lake_of, rows


def test_a_voter_that_is_behind_is_counted_by_no_plan_of_a_lake(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    quorum = ScriptedQuorum("a voter behind in a lake", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.cut([3])
    quorum.run_ms(COPYING_MS + 5_000)
    quorum.append(1, topic_config("orders", "retention.ms", "1"))
    quorum.run_ms(600)
    nodes = tmp_path / "nodes"
    write_capture(quorum.capture(), str(nodes))
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    change = ("plan", "--json", "--remove-voter", "2")
    asked = [kraftlake(*change, nodes), kraftlake(*change, "--lake", lake)]
    by_files, by_lake = (ended.answers[0] for ended in asked)
    (reason,) = (one for one in by_files["reasons"] if "can't be counted" in one["detail"])
    assert "voter 3 can't be counted: its log ends " in reason["detail"]
    assert reason in by_lake["reasons"]
    assert by_files["answer"] == by_lake["answer"] == "unknown"
    exposure = ("state", "--exposure", "--json")
    left = [row["voters_left"] for row in kraftlake(*exposure, "--lake", lake).rows]
    assert left == [row["voters_left"] for row in kraftlake(*exposure, nodes).rows]
    assert left[0] == 2
    table = rows(lake, "SELECT voters_left FROM gold.failure_exposure WHERE kind = 'nothing'")
    assert [one["voters_left"] for one in table] in ([], [2])
