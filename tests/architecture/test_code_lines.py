"""What counts as a line of code."""

from __future__ import annotations

from tests.architecture.code_lines import code_lines


def test_imports_docstrings_comments_and_blank_lines_are_no_code() -> None:
    text = '"""A\nmodule."""\n\nfrom a import (\n    b,\n)\n\n# Why.\nX = (\n    1,  # one\n\n)\n'
    assert code_lines(text) == 3


def test_a_text_of_three_lines_that_is_a_value_counts_as_three() -> None:
    assert code_lines('X = """a\nb\nc"""\n') == 3
