"""An observer and a voter, each a process of its own, whose leader lies to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from replica.format.segment import scan
from tests.interop.kafka_node import free_ports
from tests.jobs.lying_leader import (
    CLUSTER_ID,
    ENDURED,
    EachInTurn,
    Liar,
    Lie,
    endless_records,
    endless_snapshot,
    giant_frame,
    listening,
    on_the_way,
    silence,
    slow,
)
from tests.kraftlake_process import Process, kraftlake, started
from tests.process_status import status_of
from tests.waiting import until

_MOST_MIB = 120
"""Python with the engine takes 45 MiB; the largest answer that is taken at once 8 MiB."""
_SOON_S = 45.0


def _end(process: Process, said: Path) -> str:
    """Ended in order, with memory as it should be; what it has said."""
    peak = status_of(process.pid, "VmHWM") // 1024
    process.send_signal(signal.SIGTERM)
    assert process.wait(_SOON_S) == 0, said.read_text()
    text = said.read_text()
    assert peak < _MOST_MIB
    assert not [word for word in ("Traceback", "xception", "internal error") if word in text], text
    return text


def _ended_when(process: Process, said: Path, is_so: Callable[[], bool], otherwise: str) -> None:
    """Ends the process in order as soon as `is_so` gives True, and in any case."""
    try:
        until(is_so, otherwise, _SOON_S)
        _end(process, said)
    finally:
        process.kill()
        process.wait()


def _is_told_often(lies: EachInTurn) -> bool:
    return lies.told >= 3 * len(ENDURED)


def _check_sound(folder: Path) -> None:
    """Asserts that the only log below the folder has no damage, and no epoch of a lie."""
    (log,) = folder.rglob("*.log")
    found = scan(log.read_bytes(), expected_offset=0)
    assert not found.damages
    assert {batch.header.leader_epoch for batch in found.batches} <= {5}


def test_an_observer_outlives_every_lie_of_its_leader(tmp_path: Path) -> None:
    said, lies = tmp_path / "said.txt", EachInTurn(ENDURED)
    with listening(Liar(lies)) as address:
        process = started(said, "replica", "observe", "-b", address, "-o", tmp_path / "recording")
        _ended_when(process, said, lambda: _is_told_often(lies), "few lies were asked for")
    _check_sound(tmp_path / "recording")


def test_a_voter_outlives_every_lie_of_its_leader_and_keeps_its_log(tmp_path: Path) -> None:
    said, lies = tmp_path / "said.txt", EachInTurn(ENDURED)
    (port,) = free_ports(1)
    with listening(Liar(lies)) as address:
        properties = tmp_path / "server.properties"
        properties.write_text(
            f"process.roles=controller\nnode.id=2\nlog.dirs={tmp_path / 'log'}\n"
            f"listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.listener.names=CONTROLLER\n"
            f"controller.quorum.voters=1@{address},2@127.0.0.1:{port},3@127.0.0.1:1\n"
        )
        formatted = kraftlake("replica", "format", "-c", properties, "-t", CLUSTER_ID)
        assert formatted.returncode == 0, formatted.stderr
        process = started(said, "replica", "run", "-c", properties)
        _ended_when(process, said, lambda: _is_told_often(lies), "few lies were asked for")
    _check_sound(tmp_path / "log")


@pytest.mark.slow
@pytest.mark.parametrize("lie", [endless_records, endless_snapshot])
def test_an_endless_log_costs_an_observer_no_memory(tmp_path: Path, lie: Lie) -> None:
    said, recording = tmp_path / "said.txt", tmp_path / "recording"
    with listening(Liar(lie)) as address:
        process = started(said, "replica", "observe", "-b", address, "-o", recording)
        _ended_when(
            process, said, lambda: _size(recording) > 40 << 20, "the recording doesn't grow"
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["slow", "giant_frame", "silence"])
def test_an_observer_ends_in_time_whatever_comes_over_its_connection(
    tmp_path: Path, way: str
) -> None:
    liar = Liar(ENDURED[0])
    with listening(liar):
        chosen = {"slow": slow(liar.port), "giant_frame": giant_frame, "silence": silence}[way]
        with on_the_way(chosen) as address:
            output = tmp_path / "said.txt"
            command = ("replica", "observe", "-b", address, "-o", tmp_path / "recording")
            process = started(output, *command, "--until-caught-up", "--timeout", "2")
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    assert used.ru_maxrss // 1024 < _MOST_MIB
    (line,) = [text for text in output.read_text().splitlines() if "error: " in text]
    assert line.startswith("kraftlake: error: ")
    assert "Traceback" not in output.read_text()
