"""How pages are read: what is run, what is shown elsewhere, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import blocks, rewritten, steps
from tests.docs.reader import Reader, words

PAGE = """\
# A page
<!-- slow -->
<!-- with nodes = tests/data/x -->
```sh
kraftlake check nodes
```
<!-- shown by tests/test_y.py::test_z -->
```sh
shutdown now
```
```console
$ echo one; echo two
one
$ printf 'three\\n' | head -1
three
```
"""


def test_a_block_shown_elsewhere_is_no_step() -> None:
    assert [step.text for step in steps(PAGE)] == [
        "kraftlake check nodes\n",
        "echo one; echo two",
        "printf 'three\\n' | head -1",
    ]
    slow, elsewhere, shown = blocks(PAGE)
    assert (slow.is_slow, slow.copies) == (True, (("nodes", "tests/data/x"),))
    assert elsewhere.shown_by == "tests/test_y.py::test_z"
    assert not shown.is_slow


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("```\nkraftlake check x\n```\n", "expected one of console"),
        ("  ```sh\n  kraftlake check x\n  ```\n", "at the start of its line"),
        ("```sh\nkraftlake check x\n", "never closed"),
        ("<!-- slowly -->\n```sh\nkraftlake check x\n```\n", "slowly"),
        ("```sql\nSELECT 1\n```\n", "no text block follows"),
    ],
)
def test_a_block_that_would_go_unnoticed_is_refused(page: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(steps(page))


def test_the_real_output_replaces_the_shown_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = Reader(tmp_path, capsys)
    typed = [step for step in steps(PAGE) if step.kind == "console"]
    outputs = [(step, reader.output(step)) for step in typed]
    assert [output for _, output in outputs] == ["one\ntwo\n", "three\n"]
    assert "$ echo one; echo two\none\ntwo\n$ printf" in rewritten(PAGE, outputs)


def test_a_command_that_fails_fails_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = Reader(tmp_path, capsys)
    wrong = "$ kraftlake check nowhere"
    (typed,) = steps(f"```console\n{wrong}\n```\n")
    with pytest.raises(AssertionError, match="nowhere"):
        reader.output(typed)
    (typed,) = steps(f"```console\n{wrong} 2>&1\n```\n")
    assert reader.output(typed).startswith("kraftlake: error: nowhere: ")


def test_only_a_plain_kraftlake_command_runs_without_a_shell() -> None:
    assert words("kraftlake sql --lake l 'a | b' # why") == ["sql", "--lake", "l", "a | b"]
    assert words(".venv/bin/kraftlake dump x") == ["dump", "x"]
    assert words("kraftlake dump x | wc") is None
    assert words("ls") is None
