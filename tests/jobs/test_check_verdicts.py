"""`kraftlake check`: which severities are shown, which end it with 1, and what it says of each
directory as a whole, in text and in the summary of --json."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.editing import flip

DYNAMIC, STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"
DYNAMIC_ID, STATIC_ID = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
METADATA = "__cluster_metadata-0"
VOTERS = [
    {"node_id": 1, "directory_id": "w1rJ2UULXXXZu6RS0Vk1kg"},
    {"node_id": 2, "directory_id": "vVWAweqkRhqksC9dk42J8Q"},
    {"node_id": 3, "directory_id": "YabyXINkS7WFoc_9PzSg0w"},
]
"""The voters of the recorded dynamic quorum at its end."""


@pytest.fixture
def node(data: Path, tmp_path: Path) -> Path:
    """A copy of a recorded node that may be damaged."""
    return Path(shutil.copytree(data / DYNAMIC / "final/3", tmp_path / "node"))


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("word", ["note", "info", "Note"])
def test_the_word_that_lines_show_is_a_severity(kraftlake: Kraftlake, word: str) -> None:
    ended = kraftlake("check", "--severity", word, f"{STATIC}/final")
    assert ended.code == 0
    assert any(line.startswith("note     leftover: ") for line in ended.lines)
    assert kraftlake("check", "--fail-on", word, f"{STATIC}/final").code == 1


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("level", ["note", "warning", "error"])
def test_what_is_shown_changes_neither_the_verdict_nor_the_exit_code(
    kraftlake: Kraftlake, level: str
) -> None:
    words = ("--severity", level, "--family", "files", f"{STATIC}/split")
    ended = kraftlake("check", *words)
    assert ended.code == 1
    assert ended.lines[0].startswith("ATTENTION   Node 2: its log goes up to offset 749, and ends ")
    assert ended.lines[2].startswith("also        Nodes 2 and 11 will discard 22 records")
    assert any(line.startswith("warning  log-div") for line in ended.lines) is (level != "error")
    assert ended.lines[-1].startswith(
        "5 directories or files checked: 0 errors, 3 warnings, 3 notes"
    )
    assert kraftlake("check", "--json", *words).summary["exit_code"] == 1


def test_a_directory_whose_warnings_are_not_shown_is_not_called_ok(
    kraftlake: Kraftlake, node: Path
) -> None:
    (node / "meta.properties").unlink()
    ended = kraftlake("check", "--severity", "error", "--family", "files", node)
    assert ended.code == 1
    (row,) = [line for line in ended.lines if line.endswith(f"{node}/{METADATA}")]
    assert row.split()[0] == "-", "no file says whose directory it is"
    assert " 1 warning " in row
    assert ended.lines[-1] == (
        "1 directory or file checked: 0 errors, 1 warning, 1 note (not shown: warnings and notes)"
    )


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("level", "place", "code"),
    [
        ("error", f"{STATIC}/split", 0),
        ("warning", f"{STATIC}/split", 1),
        ("note", f"{STATIC}/split", 1),
        ("warning", f"{STATIC}/final", 0),
        ("note", f"{STATIC}/final", 1),
        ("note", f"{DYNAMIC}/final/11", 0),
    ],
)
def test_the_exit_code_is_1_from_the_severity_of_fail_on_up(
    kraftlake: Kraftlake, level: str, place: str, code: int
) -> None:
    words = ("--fail-on", level, "--family", "files", place)
    assert kraftlake("check", *words).code == code
    ended = kraftlake("check", "--json", *words)
    assert (ended.code, ended.summary["exit_code"]) == (code, code)


@pytest.mark.usefixtures("recorded")
def test_a_clean_check_as_json_is_a_summary(kraftlake: Kraftlake) -> None:
    ended = kraftlake("check", "--json", "--family", "files", f"{DYNAMIC}/final/11")
    assert (ended.code, ended.findings) == (0, [])
    assert ended.summary == {
        "level": "incomplete",
        "checked": 1,
        "errors": 0,
        "warnings": 0,
        "notes": 0,
        "exit_code": 0,
        "directories": [
            {
                "directory": f"{DYNAMIC}/final/11/{METADATA}",
                "cluster_id": DYNAMIC_ID,
                "node_id": 11,
                "directory_id": "WPQlCXSJUfqbeEDd_9L0Zw",
                "role": "observer",
                "role_by_own_log": "observer",
                "partition": METADATA,
                "verdict": "ok",
                "errors": 0,
                "warnings": 0,
                "notes": 0,
                "log_start_offset": 0,
                "log_end_offset": 3674,
                "epoch": 6,
                "lag_records": 0,
                "lag_ms": 0,
                "snapshots": {"valid": 1},
            }
        ],
        "health": [],
        "quorums": [
            {"cluster_id": DYNAMIC_ID, "voters": VOTERS, "not_checked": VOTERS},
        ],
    }


@pytest.mark.usefixtures("recorded")
def test_the_summary_counts_what_is_not_shown_and_names_each_verdict(kraftlake: Kraftlake) -> None:
    about_files = ("--json", "--severity", "error", "--family", "files")
    ended = kraftlake("check", *about_files, f"{STATIC}/split")
    assert (ended.code, ended.findings) == (1, [])
    counts = {name: ended.summary[name] for name in ("checked", "errors", "warnings", "notes")}
    assert counts == {"checked": 5, "errors": 0, "warnings": 3, "notes": 3}
    ended = kraftlake("check", "--json", f"{DYNAMIC}/final/3", "--no-replay")
    assert ended.summary["directories"][0]["verdict"] == "no-fault-found"


SCENARIOS = ("lost-disks", "two-quorums", "wiped-voter", "endless-elections", "ghost-writes")


@pytest.mark.parametrize("name", [*SCENARIOS, f"{DYNAMIC}/split", f"{STATIC}/live"])
def test_the_summary_counts_every_finding_and_agrees_with_verdict_and_exit_code(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, name: str
) -> None:
    folder = data / name if "/" in name else tmp_path
    if "/" not in name:
        write_capture(SCENARIOS_BY_NAME[name].capture(), str(folder))
    ended = kraftlake("check", "--json", folder)
    found = Counter(one["severity"] for one in ended.findings)
    told = ended.summary
    assert (told["errors"], told["warnings"], told["notes"]) == (
        found["error"], found["warning"], found["info"]
    )  # fmt: skip
    warns = bool(found["error"] + found["warning"])
    assert ended.code == told["exit_code"] == int(warns)
    assert (told["level"] in ("outage", "at-risk", "attention")) is warns
    for one in told["directories"]:
        outer = one["directory"].removesuffix(METADATA)
        naming = [
            each
            for each in ended.findings
            if each["family"] == "files" and each["file"].startswith(outer)
        ]
        assert len(naming) == one["errors"] + one["warnings"] + one["notes"], one["directory"]
        worst = min((each["severity"] for each in naming), default="info")
        assert worst == "info" or one["verdict"] == worst, one["directory"]


def test_a_directory_with_a_finding_of_the_comparison_is_not_ok(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """Node 1 went back to an older copy: only the other logs show it."""
    shutil.copytree(data / DYNAMIC / "final", tmp_path / "nodes")
    shutil.rmtree(tmp_path / "nodes/1")
    shutil.copytree(data / DYNAMIC / "live/1", tmp_path / "nodes/1")
    ended = kraftlake("check", "--json", tmp_path / "nodes")
    rules = {one["rule"] for one in ended.findings if "nodes/1" in one["file"]}
    assert "stale-voter" in rules
    told = {one["node_id"]: one["verdict"] for one in ended.summary["directories"]}
    assert told[1] == "warning"


def test_the_summary_of_damage_says_how_bad_the_worst_is(kraftlake: Kraftlake, node: Path) -> None:
    path = node / METADATA / "leader-epoch-checkpoint"
    path.write_text(path.read_text().replace("3 751", "3 760"))
    ended = kraftlake("check", "--json", node)
    (told,) = ended.summary["directories"]
    assert (told["verdict"], told["errors"], ended.summary["exit_code"]) == ("error", 1, 1)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("scenario", "cluster"), [(DYNAMIC, DYNAMIC_ID), (STATIC, STATIC_ID)])
def test_cluster_and_role_of_each_node_are_told(
    kraftlake: Kraftlake, scenario: str, cluster: str
) -> None:
    ended = kraftlake("check", "--json", f"{scenario}/final")
    told = [(one["cluster_id"], one["node_id"], one["role"])
            for one in ended.summary["directories"]]  # fmt: skip
    assert told == [
        (cluster, node, "voter" if node < 4 else "observer") for node in (1, 2, 3, 11, 12)
    ]


def test_a_voter_on_a_new_disk_is_an_observer(kraftlake: Kraftlake, node: Path) -> None:
    meta = node / "meta.properties"
    meta.write_text(meta.read_text().replace("YabyXINkS7WFoc_9PzSg0w", "AAAAAAAAAAAAAAAAAAAAKg"))
    ended = kraftlake("check", "--json", node)
    (told,) = ended.summary["directories"]
    assert (told["role"], told["verdict"]) == ("observer", "warning")


def test_a_node_that_takes_itself_for_another_role_is_shown_with_both(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    """Node 1 follows with a new disk, and its log ends before the record that makes it a voter."""
    for one in ("1", "2"):
        shutil.copytree(data / DYNAMIC / "final" / one, tmp_path / one)
    metadata = tmp_path / "1" / METADATA
    for path in metadata.iterdir():
        if path.name.startswith(("00000000000000001262", "00000000000000002")):
            path.unlink()
    (row,) = [line for line in kraftlake("check", tmp_path).lines if line.endswith(f"1/{METADATA}")]
    assert row.startswith("1     voter (observer by its own log)")
    first, second = kraftlake("check", "--json", tmp_path).summary["directories"]
    assert (first["role"], first["role_by_own_log"]) == ("voter", "observer")
    assert (second["role"], second["role_by_own_log"]) == ("voter", "voter")


def test_a_static_voter_with_an_empty_log_is_known_by_its_quorum_state(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    for node in ("2", "11"):
        folder = Path(shutil.copytree(data / STATIC / "final" / node, tmp_path / node))
        for path in (folder / METADATA).iterdir():
            if path.name != "quorum-state":
                path.unlink()
    ended = kraftlake("check", "--json", tmp_path)
    assert [told["role"] for told in ended.summary["directories"]] == ["voter", "observer"]


def test_nothing_is_said_of_the_role_where_nobody_knows_the_voters(
    kraftlake: Kraftlake, node: Path
) -> None:
    for path in (node / METADATA).iterdir():
        if path.suffix in (".log", ".checkpoint"):
            path.unlink()
    ended = kraftlake("check", node)
    (row,) = [line for line in ended.lines if line.endswith(f"{node}/{METADATA}")]
    assert row.split()[:5] == ["3", "-", "no", "record", "-"]
    assert ended.lines[0] == (
        "INCOMPLETE  No fault found in what was given. Not judged: the cluster's state."
    )


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "name",
    ["00000000000000002571-0000000006.checkpoint", "00000000000000001262.log", "quorum-state"],
)
def test_a_file_on_its_own_is_not_called_ok_nor_its_cluster_healthy(
    kraftlake: Kraftlake, name: str
) -> None:
    path = f"{DYNAMIC}/final/1/{METADATA}/{name}"
    ended = kraftlake("check", path)
    assert ended.code == 0
    assert ended.lines[0] == (
        "INCOMPLETE  No fault found in what was given. Not judged: the rest of the directory"
        f"{', and 1 more' if name.endswith('.checkpoint') else ''}."
    )
    assert any(line.endswith(f" no fault found  {path}") for line in ended.lines)


def test_damage_is_told_with_its_place(kraftlake: Kraftlake, node: Path) -> None:
    (log,) = [one for one in node.rglob("*.log") if one.name.endswith("2722.log")]
    flip(log, 70)
    told = [one for one in kraftlake("check", node).lines if "CRC-32C doesn't match" in one]
    assert f". Found: offset 2722, in {log.name} at byte 0." in told[0]
