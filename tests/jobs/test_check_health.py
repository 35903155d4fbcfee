"""`kraftlake check --family`: the health of clusters, beside their files or alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake

ILL, WELL = "kafka-4.1.1-dynamic/final", "kafka-4.4.0-dynamic/final"
FIELDS = [
    "kind",
    "rule",
    "family",
    "severity",
    "file",
    "position",
    "offset",
    "epoch",
    "message",
    "cluster_id",
    "end_offset",
    "subjects",
]
pytestmark = pytest.mark.usefixtures("recorded")


@pytest.mark.parametrize("family", [(), ("--family", "all"), ("--family", "health")])
def test_a_healthy_cluster_is_said_to_be_healthy_at_an_offset(
    kraftlake: Kraftlake, family: tuple[str, ...]
) -> None:
    ended = kraftlake("check", *family, WELL)
    assert ended.code == 0
    assert ended.lines[0].startswith("HEALTHY     No fault found: ")
    assert ended.lines[0].endswith("all 624 partitions have a leader.")
    assert ended.lines[1] == "as of       2026-11-23 05:24:29 UTC, offset 2664 of node 1"


@pytest.mark.parametrize(
    ("family", "code", "errors"), [((), 1, 1), (("--family", "files"), 0, 0),
                                   (("--family", "health"), 1, 1), (("--family", "ALL"), 1, 1)]
)  # fmt: skip
def test_health_decides_about_the_exit_code_unless_files_alone_are_asked_for(
    kraftlake: Kraftlake, family: tuple[str, ...], code: int, errors: int
) -> None:
    ended = kraftlake("check", "--json", *family, ILL)
    assert (ended.code, ended.summary["exit_code"]) == (code, code)
    assert ended.summary["errors"] == errors
    families = {row["family"] for row in ended.findings}
    expected = {"--family files": {"files"}, "--family health": {"health"}}
    assert families == expected.get(" ".join(family), {"files", "health"})


def test_findings_of_health_name_all_in_json_and_the_first_in_text(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--json", "--family", "health", ILL)
    first = ended.findings[0]
    assert list(first) == FIELDS
    assert (first["rule"], first["end_offset"]) == ("no-eligible-leader", 3674)
    assert first["cluster_id"] == "Lr3UIdBxT-GFPYE5uprmrg"
    assert len(first["subjects"]) == 933
    assert first["subjects"][0] == {
        "name": "add-147-0-0",
        "what": "replicas [11], last known eligible [11]; none of these is up",
        "offset": 3430,
    }
    (told,) = ended.summary["health"]
    assert (told["verdict"], told["errors"], told["warnings"]) == ("error", 1, 1)
    assert (told["end_offset"], told["is_whole"]) == (3674, True)
    lines = kraftlake("check", "--family", "health", "--limit", "2", ILL).lines
    assert sum("last known eligible [" in line for line in lines) == 2
    assert any("... and 931 more; --limit 933 or --json lists all" in line for line in lines)
    assert not any(line.startswith("node ") for line in lines)


def test_severities_are_those_of_all_findings(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--json", "--family", "health", "--severity", "error", ILL)
    assert [row["rule"] for row in ended.findings] == ["no-eligible-leader"]
    assert kraftlake("check", "--family", "health", "--fail-on", "warning", WELL).code == 0
    assert kraftlake("check", "--family", "health", "--fail-on", "note", WELL).code == 1


def test_notes_of_health_are_counted_and_told_with_v(kraftlake: Kraftlake) -> None:
    place = "kafka-4.1.1-dynamic/split"
    lines = kraftlake("check", "--family", "health", place).lines
    assert any(line.endswith(" 1 note that needs no action (-v lists them)") for line in lines)
    assert not any("eligible-leader-replicas" in line for line in lines)
    told = kraftlake("check", "-v", place).lines
    assert any(line.startswith("note     eligible-leader-replicas: ") for line in told)


def test_a_file_on_its_own_is_judged_where_health_is_asked_for(kraftlake: Kraftlake) -> None:
    name = "00000000000000002571-0000000006.checkpoint"
    path = f"{ILL}/1/__cluster_metadata-0/{name}"
    assert kraftlake("check", path).code == 0
    ended = kraftlake("check", "--family", "health", path)
    assert ended.lines[0].startswith("OUTAGE      933 of 998 partitions")
    behind = f"{ILL}/1/__cluster_metadata-0/00000000000000001262.log"
    ended = kraftlake("check", "--family", "health", behind)
    assert ended.code == 1
    assert ended.lines[0].startswith("INCOMPLETE  ")


@pytest.mark.parametrize("family", ["health", "all"])
def test_a_folder_that_tells_no_state_is_not_taken_for_a_healthy_cluster(
    tmp_path: Path, kraftlake: Kraftlake, family: str
) -> None:
    (tmp_path / f"{0:020d}.log").write_bytes(b"noise" * 100)
    ended = kraftlake("check", "--family", family, tmp_path)
    assert ended.code == 1
    assert "HEALTHY" not in ended.out
    assert "no log or snapshot here has a record that tells it" in ended.out
    assert kraftlake("check", "--family", "health", "--json", tmp_path).code == 1


def test_a_broker_s_file_gives_the_defaults_that_no_log_holds(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("min.insync.replicas=0\n")
    ended = kraftlake("check", "--broker-config", file, WELL)
    assert (ended.code, ended.error) == (
        2, f"{file}: min.insync.replicas: 0 is not between 1 and 9223372036854775807"
    )  # fmt: skip
    assert (
        "name a server.properties file"
        in kraftlake("check", "--broker-config", tmp_path / "none", WELL).error
    )
    file.write_text("# nothing\n")
    assert kraftlake("check", "--broker-config", file, WELL).code == 0


def test_other_words_and_health_without_a_replay_are_refused(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    node = shutil.copytree(data / WELL / "1", tmp_path / "node")
    assert kraftlake("check", "--family", "both", node).error == (
        "--family both: expected files, health, all"
    )
    ended = kraftlake("check", "--family", "health", "--no-replay", node)
    assert ended.error == "--family health needs the replay: leave --no-replay out"
    lines = kraftlake("check", "--no-replay", node).lines
    assert any("cluster's health, because --no-replay was given" in line for line in lines)
