"""Machine code on disk: what is taken, what isn't, and what is removed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from replica.scan import compiled, store
from replica.scan.native import Kernel

_ROOT = Path(__file__).parents[3]
_GATHER = compiled.gather_values


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this digest, where nothing is kept yet."""
    monkeypatch.setattr(store, "_bases", lambda: iter((tmp_path,)))
    return tmp_path / f"kernels-{store.digest()}"


def _compiled_for_this_machine(kernel: Kernel) -> bytes:
    kernel.load()
    kept = store.find(kernel.name)
    assert kept is not None
    return kept


@pytest.fixture(scope="module")
def image() -> bytes:
    return _compiled_for_this_machine(_GATHER)


@pytest.fixture(scope="module")
def other() -> bytes:
    return _compiled_for_this_machine(compiled.walk_frames)


def _gathers() -> bool:
    """Whether a kernel of that name, loaded anew, does its work."""
    kernel = Kernel(_GATHER.module, _GATHER.name, *_GATHER.parameters)
    source = np.frombuffer(b"-abc-de-", np.uint8)
    rows = np.zeros(8 * 32_768, np.int64)
    rows.reshape(8, -1)[5:7, :2] = ((1, 5), (3, 2))  # positions and sizes of two values
    output, offsets = np.zeros(100, np.uint8), np.zeros(3, np.int64)
    size = kernel(source, rows, 0, 2, output, offsets)
    return output[:size].tobytes() == b"abcde" and offsets.tolist() == [0, 3, 5]


def test_a_kept_object_file_is_found(image: bytes, folder: Path) -> None:
    assert store.find(_GATHER.name) is None
    store.keep(_GATHER.name, image)
    assert store.find(_GATHER.name) == image
    assert [path.suffix for path in folder.iterdir()] == [".o"], "nothing is left beside it"
    assert _gathers()


def test_a_damaged_object_is_compiled_anew(image: bytes, folder: Path) -> None:
    store.keep(_GATHER.name, image)
    (path,) = folder.iterdir()
    path.write_bytes(image[: len(image) // 2])
    assert store.find(_GATHER.name) is None
    assert _gathers()
    assert store.find(_GATHER.name) == image


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", marks=pytest.mark.slow),  # each compiles for a second
        b"\x7fELF and no more",
        pytest.param(b"BC\xc0\xde", marks=pytest.mark.slow),
    ],
)
def test_a_file_that_is_no_object_is_compiled_anew(
    image: bytes, folder: Path, content: bytes
) -> None:
    """Its name is that of its content, so only the linker can tell."""
    store.keep(_GATHER.name, content)
    assert store.find(_GATHER.name) == content
    assert _gathers()


def test_the_object_of_another_kernel_is_compiled_anew(other: bytes, folder: Path) -> None:
    store.keep(_GATHER.name, other)
    assert _gathers()


def test_files_that_others_may_write_are_not_taken(image: bytes, folder: Path) -> None:
    store.keep(_GATHER.name, image)
    folder.chmod(0o777)
    assert store.find(_GATHER.name) is None


def test_a_kernel_works_where_its_object_file_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(store, "_bases", lambda: iter((tmp_path / "file",)))
    assert _gathers()
    assert store.find(_GATHER.name) is None


@pytest.mark.slow
def test_processes_that_compile_at_once_keep_a_sound_object(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from replica.scan import store;"
        "store._bases = lambda: iter((Path(sys.argv[1]),));"
        "from replica.scan.compiled import gather_values; gather_values.load()"
    )
    command = [sys.executable, "-c", code, str(folder.parent)]
    both = [subprocess.Popen(command, cwd=_ROOT, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, said = process.communicate()
        assert process.returncode == 0, said
    assert store.find(_GATHER.name) is not None
    assert all(path.suffix == ".o" for path in folder.iterdir())


def test_the_oldest_folders_of_other_digests_are_removed(image: bytes, folder: Path) -> None:
    others = [folder.parent / f"kernels-{k:016x}" for k in range(store.KEPT + 2)]
    for age, other in enumerate(others):
        other.mkdir(mode=0o700)
        (other / "walk_frames-0.o").write_bytes(b"old")
        os.utime(other, (1000 - age, 1000 - age))
    unrelated = folder.parent / "replica.cpython-311.pyc"
    unrelated.write_bytes(b"")
    store.keep(_GATHER.name, image)
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {folder.name, unrelated.name, *(path.name for path in others[: store.KEPT])}


def test_the_digest_covers_every_module_that_kernels_import() -> None:
    code = (
        "import sys; from importlib import import_module; from pathlib import Path;"
        "import replica.scan.kernels as k;"
        "[import_module(f'{k.__name__}.{p.stem}') for p in Path(k.__path__[0]).glob('[!_]*.py')];"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'replica'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    package = _ROOT / "replica"
    digested = {package / name for name in store.sources()}
    finding = {package / "scan" / name for name in ("store.py", "target.py")}
    imported = {Path(name) for name in done.stdout.split()}
    modules = {path for path in imported if path.name != "__init__.py"}
    assert modules - finding == digested


def test_the_digest_leaves_out_only_docstrings_and_comments() -> None:
    for name in store.sources():
        text = (_ROOT / "replica" / name).read_text()
        docstrings = [
            ast.get_source_segment(text, node)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ]
        found = [part.decode().strip() for part in store._NOT_COMPILED.findall(text.encode())]
        left_out = [part for part in found if part and not part.startswith("#")]
        assert sorted(left_out) == sorted(map(str, docstrings)), name


def test_the_digest_is_the_same_where_the_code_lies_in_a_zip(tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "code"), "zip", _ROOT, "replica")
    code = "from replica.scan import store; print(store.__file__, store.digest())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "code.zip")},
        capture_output=True,
        text=True,
        check=True,
    )
    file, digest = done.stdout.split()
    assert file.startswith(str(tmp_path / "code.zip"))
    assert digest == store.digest()
