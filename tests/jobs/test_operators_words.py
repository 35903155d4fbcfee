"""What an operator reads at night is true where it stands: no command sends to itself, each step
fits the kind of quorum, and counts say of what they count."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.jobs.conftest import Kraftlake

DYNAMIC, OTHER = "kafka-4.1.1-dynamic", "kafka-4.4.0-dynamic"


def copied(data: Path, folder: Path, *captures: tuple[str, str]) -> Path:
    for capture, node in captures:
        shutil.copytree(data / capture / node, folder / node)
    return folder


def test_no_command_refers_to_itself_and_nothing_else_is_said_to_be_found(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    captures = (f"{DYNAMIC}/final", "1"), (f"{DYNAMIC}/final", "2"), (f"{OTHER}/final", "3")
    folder = copied(data, tmp_path, *captures)
    out = kraftlake("recover", "--plan", folder).out
    assert "Give the node its own disk" in out
    assert "the plan has the commands" in out
    assert "`kraftlake recover" not in out
    out = kraftlake("what-happened", folder).out
    assert "`kraftlake what-happened" not in out
    # its events are told below, and unclean elections may be among them
    assert "See above. Its directories show no other fault now." in out
    assert "Nothing else" not in out


def test_a_plan_of_a_static_quorum_needs_its_voters_in_the_configuration(
    kraftlake: Kraftlake, data: Path
) -> None:
    """Kafka starts without them, and waits for ever."""
    needed = "  needs: controller.quorum.voters of each node names voters 1, 2 and 3; "
    static = kraftlake("recover", "--plan", data / "kafka-3.7.2-static/final").lines
    assert any(one.startswith(needed) for one in static)
    dynamic = kraftlake("recover", "--plan", data / f"{DYNAMIC}/final").out
    assert "controller.quorum.voters" not in dynamic


def test_what_only_a_broker_s_copy_of_the_log_has_is_counted(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    live = [(f"{DYNAMIC}/live", node) for node in "123"]
    folder = copied(data, tmp_path, *live, (f"{DYNAMIC}/final", "12"))
    told = re.compile(
        r"Of the (\d+) newer records node 12 holds all. Of these (\d+) are known to be committed"
    )
    for command in ("what-happened", "check"):
        (line,) = (one for one in kraftlake(command, folder).lines if one.startswith("as of "))
        assert "No voter's log given here goes beyond offset 1523. " in line
        assert (found := told.search(line)) is not None
        assert [int(one) for one in found.groups()] == [2150, 1074]
    plan = kraftlake("recover", "--plan", folder).out
    assert "of these 1074 committed, 0 never committed, 1076 unknown" in plan
    assert "beyond" not in kraftlake("check", folder / "12").out, "no voter was given"
    assert "beyond" not in kraftlake("what-happened", data / f"{DYNAMIC}/live").out


def test_a_plan_says_what_kafka_does_to_a_log_in_conflict(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """The controllers were formatted anew; brokers follow them, and keep what they had below."""
    folder = tmp_path / "lost"
    assert kraftlake("simulate", "lost-disks", "-o", folder).code == 0
    out = kraftlake("recover", "--plan", folder).out
    assert "start no node" in out
    assert "wins the election" not in out
    assert "may win the election" not in out
    assert re.search(
        r"holds other records than the first log at offsets \d+ to \d+ \(\d+ records\): Kafka "
        r"would keep them below the first log's newer ones, and not notice",
        out,
    )


def test_a_torn_batch_that_others_hold_is_fetched_again(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    captures = [(f"{DYNAMIC}/live", node) for node in "12"]
    folder = copied(data, tmp_path, *captures)
    log = max((folder / "1/__cluster_metadata-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-7])
    (line,) = (one for one in kraftlake("check", "-v", folder).lines if "node 2 holds" in one)
    assert re.search(
        r"node 2 holds the log from offset \d+ on, so nothing is lost: Kafka cuts the batch off at "
        r"the next start, and the node fetches it again",
        line,
    )
    alone = kraftlake("check", "-v", folder / "1").out
    assert "torn-tail" in alone
    assert "so nothing is lost" not in alone
