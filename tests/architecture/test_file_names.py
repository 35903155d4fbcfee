"""Each module that makes files or folders, with where their names come from. Names of a stranger's
go through replica.path_text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

MAKERS = {
    # the engine's files: names made of numbers, and of the user's own settings
    "replica/scan/native.py": "constant",
    "replica/scan/store.py": "hashes of the code",
    "replica/simulate/scenarios/writing.py": "constant, below -o",
    "replica/storage/directory_lock.py": "constant",
    "replica/storage/filesystem.py": "offsets and epochs, below the user's log.dirs",
    "replica/wire/tls.py": "a descriptor",
    # captures and copies
    "pipelines/capture/destination.py": "Kafka's names of files below path_text.folder_name",
    "pipelines/capture/private.py": "path_text.fault_of for bundles, path_text.is_below for stores",
    "pipelines/capture/inputs.py": "path_text.is_below",
    # the lake: names of contracts
    "pipelines/catalog/metastore.py": "the user's --catalog",
    "pipelines/data_files.py": "-o, and names of contracts",
    "pipelines/lake/lake.py": "constant, and names of contracts",
    "pipelines/lake/library_text.py": "a descriptor",
    "pipelines/lake/lock.py": "constant",
    "pipelines/lake/redaction.py": "constant",
    "pipelines/feeds/files.py": "versions, below --to",
    "pipelines/own_tables/deriving.py": "names of contracts",
    "pipelines/quality/checkpoint.py": "a descriptor",
    "pipelines/spark/jars.py": "constant, below the cache",
    "pipelines/spark/java.py": "hashes, below the cache",
    # commands: what the user named
    "jobs/cli/asking/sql_prompt.py": "constant, below the user's state",
    "jobs/cli/directories/archive_to_send.py": "-o, and what capture made",
    "jobs/cli/engine/simulate.py": "--state and -o",
    "jobs/cli/lake/demo.py": "our own archive",
    "jobs/cli/sharing/export_draft.py": "-o",
    "jobs/cli/sharing/export_targets.py": "-o, and names of contracts",
    "jobs/cli/sharing/register.py": "constant, below --catalog",
    "jobs/cli/page_file.py": "-o, --html",
}
MAKING = {"mkdir", "makedirs", "write_bytes", "touch", "symlink_to", "copyfile", "copytree",
          "extractall", "extract", "mkstemp", "link", "urlretrieve"}  # fmt: skip


def found_in(text: str) -> Iterator[int]:
    for node in nodes_of(text):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in MAKING:
                if not (name == "link" and isinstance(value, ast.Attribute)):  # of a disk port
                    yield node.lineno
            case ast.Call(func=ast.Attribute(attr="write_text")):
                yield node.lineno
            case ast.Attribute(attr="O_CREAT"):
                yield node.lineno
            case ast.Call(
                func=ast.Name(id="open" | "fdopen") | ast.Attribute(attr="open" | "fdopen")
            ):
                if any(map(_is_writing_mode, [*node.args, *(one.value for one in node.keywords)])):
                    yield node.lineno


def _is_writing_mode(argument: ast.expr) -> bool:
    match argument:
        case ast.IfExp(body=body, orelse=other):
            return _is_writing_mode(body) or _is_writing_mode(other)
        case ast.Constant(value=str(mode)):
            return set(mode) <= set("rwxabt+") and bool(set(mode) & set("wxa+")) and len(mode) < 4
    return False


def test_every_module_that_makes_files_says_where_their_names_come_from() -> None:
    makers = {
        str(path.relative_to(REPOSITORY))
        for path in python_files(REPOSITORY, *TOP_LEVEL)
        if list(found_in(path.read_text(encoding="utf-8")))
    }
    assert sorted(makers ^ MAKERS.keys()) == []


@pytest.mark.parametrize(
    "code",
    [
        'open(name, "w")', 'open(name, mode="ab")', 'path.open("xb")', "path.mkdir()",
        "path.write_text(x)", "os.open(name, os.O_CREAT)", "archive.extractall(folder)",
        'open(name, "w" if x else "x")',
    ],
)  # fmt: skip
def test_each_way_to_make_a_file_is_found(code: str) -> None:
    assert list(found_in(code))
