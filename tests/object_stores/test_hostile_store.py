"""What an object store that lies can do to whoever reads a capture from it, or sends one there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.capture.remote import Downloaded, download
from replica.errors import KraftlakeError, UnreadableFileError
from replica.format.damage import DamageKind
from tests.kraftlake_process import kraftlake, started
from tests.object_stores.hostile_store import HostileStore, Request, hostile_store

NODE = "kafka-3.7.2-static/live/1"
URI = "s3://bucket/logs"
_LOG = "logs/1/__cluster_metadata-0/00000000000000000000.log"
_CLAIMED = 2**50

Lie = Callable[[Request], bool]


def _is_log(request: Request) -> bool:
    return request.key == _LOG


def _without_end(request: Request) -> bool:
    """A petabyte where the listing says some kilobytes."""
    if not _is_log(request):
        return False
    if request.handler.command == "HEAD":
        request.start(200, {"Content-Length": str(_CLAIMED)})
        return True
    first, _, last = request.handler.headers["Range"].removeprefix("bytes=").partition("-")
    end = int(last or _CLAIMED - 1)
    size = end - int(first) + 1
    where = f"bytes {first}-{end}/{_CLAIMED}"
    request.start(206, {"Content-Length": str(size), "Content-Range": where})
    for _ in range(0, size, 1 << 20):
        request.handler.wfile.write(bytes(1 << 20))
    return True


def _shorter(request: Request) -> bool:
    """The listing says twice the size."""
    return _listed(request, _LOG, lambda size: 2 * size)


def _listed(request: Request, key: str, size_of: Callable[[int], int]) -> bool:
    if not request.is_listing:
        return False
    sizes = {each: len(data) for each, data in request.store.objects.items()}
    request.list({**sizes, key: size_of(sizes[key])})
    return True


def _begun(request: Request) -> bytes:
    """The bytes of the log, after the head of an answer that promises all of them."""
    data = request.store.objects[_LOG]
    where = f"bytes 0-{len(data) - 1}/{len(data)}"
    request.start(206, {"Content-Length": str(len(data)), "Content-Range": where})
    return data


def _breaking_off(request: Request) -> bool:
    if not _is_log(request) or request.handler.command == "HEAD":
        return False
    data = _begun(request)
    request.handler.wfile.write(data[: len(data) // 2])
    request.handler.close_connection = True
    return True


def _elsewhere(request: Request) -> bool:
    if _is_log(request):
        request.send(307, b"", Location=f"http://127.0.0.1:{request.store.port}/elsewhere/x")
    return _is_log(request)


def _noise(request: Request) -> bool:
    if request.is_listing:
        request.send(200, b"<ListBucketResult>" + os.urandom(500))
    return request.is_listing


def _odd_keys(request: Request) -> bool:
    if not request.is_listing:
        return False
    odd = (
        "../../evil/quorum-state",
        "/etc/quorum-state",
        "a\nb/quorum-state",
        "a//quorum-state",
        "x" * 300 + "/quorum-state",
        "\u202egnp/quorum-state",
        "%2e%2e/quorum-state",
        "n/__cluster_metadata-0",
        "n/__cluster_metadata-0/quorum-state",
        "n/../../quorum-state",
    )
    sizes = {each: len(data) for each, data in request.store.objects.items()}
    outside = {"other/quorum-state": 5, "quorum-state": 5}
    request.list({**sizes, **outside, **{f"logs/{key}": 5 for key in odd}})
    return True


def downloaded(
    data: Path, folder: Path, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> tuple[Downloaded, HostileStore]:
    folder.mkdir()
    with hostile_store(data / NODE, "logs/1", lie) as store:
        for name, value in store.variables.items():
            monkeypatch.setenv(name, value)
        return download(URI, str(folder)), store


def test_an_object_without_end_fills_no_disk(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.capture.remote.GROWTH_BYTES", 1 << 20)
    folder = tmp_path / "spool"
    downloaded(data, folder, _without_end, monkeypatch)
    copied = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert copied < 3 << 20


def test_a_listing_that_claims_more_than_the_disk_holds_is_refused_before_anything_is_fetched(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnreadableFileError, match="more than half of the free space") as refused:
        downloaded(data, tmp_path / "spool", _claiming, monkeypatch)
    assert "\n" not in str(refused.value)
    assert not any((tmp_path / "spool").iterdir())


def _claiming(request: Request) -> bool:
    return _listed(request, _LOG, lambda _: _CLAIMED)


def test_an_object_shorter_than_listed_is_damage_and_is_not_read(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "spool"
    found, _ = downloaded(data, folder, _shorter, monkeypatch)
    (damage,) = found.damages
    assert (damage.kind, damage.file) == (DamageKind.UNREADABLE, f"{URI}/{_LOG[5:]}")
    size = (data / NODE / _LOG[7:]).stat().st_size
    assert f"it sends {size} bytes of {2 * size}" in damage.detail
    assert not (folder / _LOG[5:]).exists()


def test_keys_that_lead_elsewhere_or_move_a_terminal_stay_in_the_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "spool"
    found, store = downloaded(data, folder, _odd_keys, monkeypatch)
    assert {path.name for path in tmp_path.iterdir()} == {"spool"}
    assert {path.name for path in folder.iterdir()} >= {"1"}
    assert (folder / _LOG[5:]).read_bytes() == store.objects[_LOG]
    assert not [line for line in store.asked if "/other/" in line or "/etc/" in line]
    assert all("\n" not in damage.detail for damage in found.damages)


@pytest.mark.parametrize(
    "lie", [pytest.param(_breaking_off, marks=pytest.mark.slow), _elsewhere, _noise]
)
def test_a_broken_answer_is_one_line_or_damage(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    said, found = "", Downloaded(None, ())
    try:
        found, _ = downloaded(data, tmp_path / "spool", lie, monkeypatch)
    except KraftlakeError as error:
        said = str(error)
    texts = [said] if said else [f"{damage.file}: {damage.detail}" for damage in found.damages]
    assert texts
    assert all(text.startswith(URI) and "\n" not in text for text in texts)


def _same_page_again(request: Request) -> bool:
    if request.is_listing:
        request.list({"logs/1/quorum-state": 5}, more="again")
    return request.is_listing


def _drip(request: Request) -> bool:
    if not _is_log(request) or request.handler.command == "HEAD":
        return False
    for byte in _begun(request):
        request.handler.wfile.write(bytes([byte]))
        time.sleep(0.5)
    return True


_INGEST_IN_A_SECOND = """
import sys
from pipelines.capture import remote
remote.LISTING_S = remote.CHUNK_S = 1.0
from jobs.cli.main import main
main()
"""


@pytest.mark.parametrize("lie", [_same_page_again, _drip])
def test_an_ingest_of_what_never_ends_gives_up_and_ends(
    data: Path, tmp_path: Path, lie: Lie
) -> None:
    """The ingest runs in a process of its own. The call that it gives up goes on in that process,
    and later calls of pyarrow there could wait for it."""
    with hostile_store(data / NODE, "logs/1", lie) as store:
        ended = subprocess.run(
            [sys.executable, "-c", _INGEST_IN_A_SECOND, "ingest", "--lake", tmp_path / "lake", URI],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            env={**os.environ, **store.variables},
        )
    assert "the store gave no end of" in ended.stderr
    assert "within 1 s: try again, or later" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("lie", [_same_page_again, _drip])
def test_ctrl_c_ends_an_ingest_that_a_store_keeps_waiting(
    data: Path, tmp_path: Path, lie: Lie
) -> None:
    said = tmp_path / "said.txt"
    with hostile_store(data / NODE, "logs/1", lie) as store:
        command = ("ingest", "--lake", tmp_path / "lake", URI)
        process = started(said, *command, variables=store.variables)
        try:
            deadline = time.monotonic() + 60
            while len(store.asked) < 4:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
            process.wait()
    assert "Traceback" not in said.read_text()


@pytest.mark.slow
def test_an_ingest_of_odd_keys_shows_nothing_that_moves_a_terminal(
    data: Path, tmp_path: Path
) -> None:
    with hostile_store(data / NODE, "logs/1", _odd_keys) as store:
        ended = kraftlake("ingest", "--lake", tmp_path / "lake", URI, variables=store.variables)
    assert ended.returncode == 1
    assert "bronze.log_records" in ended.stdout
    said = ended.stdout + ended.stderr
    assert not {"\u202e", "\x1b"} & set(said)
    assert "Traceback" not in said
    assert {path.name for path in tmp_path.iterdir()} == {"lake"}


@pytest.mark.slow
@pytest.mark.parametrize("code", [200, 307, 500])
def test_a_store_that_takes_nothing_ends_a_capture_with_one_line(
    data: Path, tmp_path: Path, code: int
) -> None:
    def lie(request: Request) -> bool:
        if request.handler.command not in ("PUT", "POST"):
            return False
        request.handler.close_connection = True
        request.send(code, b"\xff" * 50, Location="http://127.0.0.1:1/x")
        return True

    with hostile_store(tmp_path / "nothing", "x", lie) as store:
        ended = kraftlake("capture", data / NODE, "-o", URI, variables=store.variables)
    assert "Traceback" not in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if "error: " in line]
    assert (ended.returncode, len(lines)) == (1, 1), ended.stderr
