"""The compiled simulator: its values are the dataclasses', and its runs are the same."""

import importlib.util
import pickle
import subprocess
import sys

import pytest

from replica.simulate.faulty_run import run
from tests.replica.simulate.compiled.build import COLD, HOT, ROOT, copy, main
from tests.replica.simulate.compiled.values import written_out

SOURCE = """
from __future__ import annotations
from dataclasses import dataclass, field, replace
from typing import ClassVar

@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    cluster: str | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Base):
    epoch: int
    ids: tuple[int, ...] = ()

@dataclass(frozen=True, slots=True, order=True)
class Key:
    node: int
    directory: str = ""
    kind: ClassVar[str] = "key"

    def __post_init__(self) -> None:
        assert self.node >= 0, "no negative nodes"

@dataclass(slots=True)
class Log:
    entries: list[int] = field(default_factory=list)
    order: object = lambda key: -key
    doubled: int = field(init=False, compare=False, default=0)

@dataclass(frozen=True, slots=True)
class Result:
    seed: int

def later(request: Request, epoch: int) -> Request:
    assert isinstance(request, Key | Log | Request), "one of three"
    (epoch,) = (each for each in [epoch])
    return replace(request, epoch=epoch)
"""


def loaded(tmp_path, name, source):
    path = tmp_path / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(module):
    """What a program sees of the values of SOURCE."""
    request, key, log = module.Request(epoch=3, ids=(1,)), module.Key(2, "a"), module.Log()
    with pytest.raises(AssertionError, match="no negative nodes"):
        module.Key(-1)
    with pytest.raises(TypeError):
        module.Request()
    return (
        str((request, module.later(request, 4), key, module.Result(1))),
        (request == module.Request(epoch=3, ids=(1,)), request == module.Request(epoch=4)),
        (hash(request), hash(key)),
        (key < module.Key(2, "b"), key >= module.Key(3), key.kind),
        [each.node for each in sorted([module.Key(2), module.Key(1)])],
        (log == module.Log([], log.order), log == module.Log([1], log.order), log.order(2)),
        log.entries is module.Log().entries,
    )  # fmt: skip


def test_values_written_out_behave_as_the_dataclasses_do(tmp_path):
    known = {}
    assert "dataclass(" not in written_out(
        SOURCE.partition("@dataclass(frozen=True, slots=True)\nclass Result")[0], known
    )
    assert [field.name for field in known["Request"]] == ["cluster", "epoch", "ids"]
    plain = loaded(tmp_path, "plain", SOURCE)
    written = loaded(tmp_path, "written", written_out(SOURCE, {}))
    assert shown(written) == shown(plain)
    assert written.Result.__dataclass_fields__, "others ask for its fields"
    assert pickle.loads(pickle.dumps(written.Result(1))) == written.Result(1)  # noqa: S301


def test_every_pattern_of_what_is_compiled_or_left_out_finds_a_module():
    found = {pattern: [path.name for path in ROOT.glob(pattern)] for pattern in HOT}
    assert [pattern for pattern, names in found.items() if not names] == []
    assert set(COLD) <= {name for names in found.values() for name in names}


def test_a_seed_s_run_is_the_same_with_all_values_written_out(tmp_path):
    copy(tmp_path)
    assert trace_in(tmp_path) == run(5, 300).trace


@pytest.mark.slow
def test_a_seed_s_run_is_the_same_with_the_compiled_simulator(tmp_path):
    assert main(("--folder", str(tmp_path), "--level", "0")) == 0
    assert trace_in(tmp_path, suffix=".so") == run(5, 300).trace


def trace_in(folder, suffix=".py"):
    """The trace of a run of the simulator in `folder`, whose core is a file with this suffix."""
    program = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "from replica.raft import core; from replica.simulate.faulty_run import run\n"
        f"assert core.__file__.startswith({str(folder)!r}), core.__file__\n"
        f"assert core.__file__.endswith({suffix!r}), core.__file__\n"
        "import pickle; result = pickle.loads(pickle.dumps(run(5, 300)))\n"
        "print(result.trace)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
