"""The table in CAMPAIGN.md that says which rule holds which field names every field."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

from replica.model import control, stored
from replica.raft import messages

PAGE = Path(__file__).with_name("CAMPAIGN.md")
OF_EVERY_ANSWER = {"error": "error", "epoch": "epoch", "leader_id": "leader"}
FIELDS = {
    "SnapshotFacts": ("snapshot", {
        "snapshot_id": "end offset and epoch", "timestamp": "LastContainedLogTimestamp",
        "voters": "KRaftVoters", "kraft_version": "KRaftVersion", "size": "the state's records",
    }),
    "ElectionState": ("quorum-state", {
        "epoch": "epoch", "leader_id": "leader", "voted": "vote and its directory",
        "kraft_version": "version of the file", "voter_ids": "ids of voters",
    }),
    "LeaderChange": ("log", {
        "leader_id": "LeaderChange: leader", "voters": "voters",
        "granting_voters": "granting voters",
    }),
    "KRaftVersion": ("log", {"kraft_version": "KRaftVersion"}),
    "KRaftVoters": ("log", {"voters": "KRaftVoters"}),
    "LogFacts": ("log", {
        "log_start": "log start", "log_end": "offsets", "epochs": "epochs",
        "snapshots": "log start", "control_batches": "KRaftVersion, KRaftVoters",
    }),
    "VoteResponse": ("Vote", {"granted": "granted"}),
    "BeginQuorumEpochResponse": ("BeginQuorumEpoch, EndQuorumEpoch", {}),
    "EndQuorumEpochResponse": ("BeginQuorumEpoch, EndQuorumEpoch", {}),
    "FetchResponse": ("Fetch", {
        "data": "records", "batches": "records", "high_watermark": "high watermark",
        "log_start": "log start", "diverging": "diverging epoch", "snapshot_id": "snapshot id",
    }),
    "FetchSnapshotResponse": ("FetchSnapshot", {
        "snapshot_id": "snapshot id", "size": "size", "position": "position", "data": "bytes",
    }),
    "ApiVersionsResponse": ("ApiVersions", {
        "min_kraft_version": "lowest", "max_kraft_version": "highest kraft.version",
    }),
    "VoterChangeResponse": ("AddRaftVoter, RemoveRaftVoter, UpdateFeatures", {
        "message": "message",
    }),
    "DescribeQuorumResponse": ("DescribeQuorum, FetchQuorumRecords", dict.fromkeys(
        ("high_watermark", "voters", "observers"), "all"
    )),
    "FetchQuorumRecordsResponse": ("DescribeQuorum, FetchQuorumRecords", dict.fromkeys(
        ("next_fetch_offset", "next_fetch_epoch", "records", "high_watermark",
         "first_dirty_offset", "last_caught_up"), "all"
    )),
}  # fmt: skip
"""For each value that is written or told: the row of the table, and the words there for each field
but those of every answer."""


def table():
    """The table: its rows, as texts of their fields, by the place that the first column names."""
    page = PAGE.read_text(encoding="utf-8").partition("## Which rule holds which field")[2]
    rows, place = {}, ""
    for where, field, rule in re.findall(r"^\| (.*?) ?\| (.+?) \| (.*?) ?\|$", page, re.MULTILINE):
        place = where or place
        rows.setdefault(place, []).append((field, rule))
    return rows


def told():
    """The classes of answers, and of what is written for later."""
    for module in (messages, stored, control):
        for name, each in vars(module).items():
            if is_dataclass(each) and each.__module__ == module.__name__:
                is_answer = name.endswith("Response") and not name.startswith("_")
                if is_answer if module is messages else name != "LeaderAndEpoch":
                    yield each


def test_each_field_that_is_told_or_kept_is_in_the_table():
    rows = table()
    classes = list(told())
    assert {each.__name__ for each in classes} == set(FIELDS)
    for each in classes:
        place, words = FIELDS[each.__name__]
        named = {field.name for field in fields(each)}
        if each.__module__ == messages.__name__:
            common = {field.name for field in fields(messages._Response)}
            assert common == {*OF_EVERY_ANSWER, "leader_endpoints"}
            named -= common
        assert named == set(words), each.__name__
        for word in words.values():
            assert any(word in field for field, _ in rows[place]), (each.__name__, word)
    for word in (*OF_EVERY_ANSWER.values(), "endpoints"):
        assert any(word in field for field, _ in rows["every answer"])


def test_a_field_that_no_rule_holds_names_the_tests_that_do():
    root = PAGE.parents[3]
    for place, found in table().items():
        for field, rule in found:
            if rule.startswith("none"):
                paths = re.findall(r"tests/[\w/.]+\w", rule)
                assert paths or "every quorum" in rule, (place, field)
                assert all((root / path).exists() for path in paths), (place, field)
