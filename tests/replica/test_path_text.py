"""Names that a stranger chose, as names of folders of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.path_text import fault_of, folder_name, is_below

TEXTS = st.text(st.characters(exclude_categories=[]) | st.sampled_from("/\\.- \0\n:conNUL1"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("controller-1", "controller-1"),
        ("Knoten ä", "Knoten ä"),
        ("../../etc", "_.._etc"),
        ("-rf", "rf"),
        (".ssh", "ssh"),
        ("..", "node"),
        ("", "node"),
        ("a\nb\x1b[31m\u202e", "a_b__31m_"),
        ("c:\\x", "c__x"),
        ("con", "con_"),
        ("NUL.txt", "NUL.txt_"),
        ("node. ", "node"),
        ("odd \udcff", "odd _"),
        ("ä" * 300, "ä" * 50),
    ],
)
def test_a_name_stays_like_the_text_and_is_nothing_but_a_name(text: str, name: str) -> None:
    assert folder_name(text, "node") == name


@given(TEXTS)
def test_any_text_makes_a_name_that_is_safe_everywhere(text: str) -> None:
    name = folder_name(text, "node")
    assert fault_of(name) == ""
    assert is_below(name)
    assert name == os.path.basename(name)
    assert name[0] not in ".- "
    assert name[-1] not in ". "
    assert len(name.encode()) <= 101
    assert not set(name) & set('<>:"/\\|?*')
    assert folder_name(name, "node") == name


@given(TEXTS)
def test_a_path_without_fault_stays_in_its_folder(text: str) -> None:
    if fault_of(text) == "" and is_below(text):
        assert Path("/folder", text).resolve().is_relative_to("/folder")
