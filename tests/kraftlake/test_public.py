"""What a program gets by `import kraftlake`."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kraftlake
from tests.kraftlake_process import kraftlake as command

REPOSITORY = Path(__file__).parents[2]
SPLIT = "tests/data/kafka-4.1.1-dynamic/split"
SEGMENT = f"{SPLIT}/2/__cluster_metadata-0/00000000000000001262.log"


def test_each_name_is_there_for_programs_and_for_type_checkers() -> None:
    tree = ast.parse(Path(kraftlake.__file__ or "").read_text(encoding="utf-8"))
    (block,) = [one for one in tree.body if isinstance(one, ast.If)]
    typed = {
        alias.asname or alias.name
        for one in block.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    assert typed == {*kraftlake.__all__} == {*dir(kraftlake)} == {*kraftlake._PLACES}
    for name in kraftlake.__all__:
        assert getattr(kraftlake, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'checks'"):
        _ = kraftlake.checks


def test_the_import_loads_nothing_of_what_its_names_need() -> None:
    code = (
        "import sys, kraftlake; "
        "print([one for one in sys.modules if one.split('.')[0] in "
        "('replica', 'pipelines', 'jobs', 'typer', 'pyspark', 'pyarrow')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["check", "state", "timeline", "what_happened"])
def test_directories_are_told_as_the_command_tells_them(name: str) -> None:
    key = {"redact_key": "LICENSE"} if name == "state" else {}
    rows = getattr(kraftlake, name)(SPLIT, **key)
    of_the_command = [f"--redact-key={file}" for file in key.values()]
    printed = command(name.replace("_", "-"), "--json", *of_the_command, SPLIT).stdout
    assert rows == [json.loads(line) for line in printed.splitlines()]
    assert rows


def test_options_are_those_of_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    rows = kraftlake.check(SPLIT, family="files", no_replay=True, partitions=False, order=None)
    assert {row["family"] for row in rows if row["kind"] == "finding"} == {"files"}
    kinds = {row["entity"] for row in kraftlake.state(SPLIT, entity=["topic", "broker"])}
    assert kinds == {"topic", "broker"}
    assert capfd.readouterr().out == ""


def test_a_mistake_is_an_error_of_one_line() -> None:
    for call, said in (
        (lambda: kraftlake.check(SPLIT, famly="files"), "check: No such option: --famly"),
        (lambda: kraftlake.check(SPLIT, family="disks"), "--family"),
        (lambda: kraftlake.check("nowhere"), "nowhere: no such file or directory"),
        (lambda: kraftlake.check(), "check: name directories"),
        (lambda: list(kraftlake.decode("nowhere")), "nowhere"),
        (lambda: kraftlake.open_lake("nowhere"), "nowhere: no such folder"),
    ):
        with pytest.raises(kraftlake.KraftlakeError, match=said) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_a_directory_whose_name_begins_with_a_dash_is_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "--json").symlink_to(REPOSITORY / SPLIT)
    monkeypatch.chdir(tmp_path)
    assert kraftlake.check("--json")[0]["kind"] == "verdict"


def test_a_segment_is_decoded_as_dump_prints_it() -> None:
    printed = command("dump", "--json", "--redact-key", "LICENSE", SEGMENT).stdout
    dumped = [json.loads(line) for line in printed.splitlines()]
    for row in dumped:
        del row["file"]
    assert list(kraftlake.decode(SEGMENT, redact_key="LICENSE")) == dumped
    shown = kraftlake.decode(SEGMENT, keep_secrets=True)
    assert [row["data"] == other["data"] for row, other in zip(shown, dumped, strict=True)].count(
        False
    ) == printed.count('"salt":"***:')


def test_damage_is_told_behind_the_records(tmp_path: Path) -> None:
    whole = (REPOSITORY / SEGMENT).read_bytes()
    torn = tmp_path / Path(SEGMENT).name
    torn.write_bytes(whole[:-10])
    *rows, last = kraftlake.decode(torn)
    assert 0 < len(rows) < len([*kraftlake.decode(SEGMENT)])
    assert last["damage"] == "torn-tail"
    assert last["position"] + last["size"] == len(whole) - 10


def test_a_small_file_is_one_row(tmp_path: Path) -> None:
    (row,) = kraftlake.decode(f"{SPLIT}/2/meta.properties")
    assert (row["kind"], row["data"]["node.id"]) == ("meta-properties", "2")
    (tmp_path / "meta.properties").write_bytes(b"node.id\xff")
    with pytest.raises(kraftlake.KraftlakeError, match=r"meta\.properties"):
        list(kraftlake.decode(tmp_path / "meta.properties"))
    (tmp_path / "notes.txt").write_bytes(b"x")
    with pytest.raises(kraftlake.KraftlakeError, match="no segment, snapshot or other file"):
        list(kraftlake.decode(tmp_path / "notes.txt"))


def test_a_simulated_quorum_tells_how_to_run_it_again() -> None:
    result = kraftlake.simulate(7, 200)
    assert (result.seed, result.broken) == (7, None)
    assert result.trace == kraftlake.simulate(7, 200).trace
    assert "--seeds 7:8" in result.replay_command
    assert kraftlake.raft.Raft.__name__ == "Raft"
